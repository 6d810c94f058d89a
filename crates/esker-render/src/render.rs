//! The passes of one picture.

use crate::bodies::{Bodies, Subjects};
use crate::camera::View;
use crate::color::{Linear, from_srgb, to_srgb};
use crate::floor::FloorLayer;
use crate::image::Image;
use crate::light::{Light, Openness};
use crate::occlusion::{ShadowMap, openness};
use crate::overlay;
use crate::picture::{Background, Picture};
use crate::visibility::{NOTHING, SAMPLES, VisibilityBuffer, sample_x, sample_y};
use crate::walls::{FragmentRow, WallLayer};

/// Draws a picture. Never fails: bodies that cannot be shown are skipped, and a camera that sees
/// nothing (eye on target, no angle of view) gives the background. The same picture gives the
/// same pixels on every call. Needs about 100 bytes of memory per pixel.
pub fn render(picture: &Picture) -> Image {
    let mut image = Image::new(picture.size, picture.background.top);
    let background = |y: u32| background_color(picture.background, y, picture.size.1);
    match View::new(&picture.camera, picture.size) {
        Some(view) => Scene::new(picture, &view).compose(&mut image, background),
        None => {
            for y in 0..image.height() {
                image.row_mut(y).fill(to_srgb(background(y)));
            }
        }
    }
    overlay::draw(&mut image, picture);
    image
}

fn background_color(Background { top, bottom }: Background, y: u32, height: u32) -> Linear {
    let weight = if height > 1 {
        f64::from(y) / f64::from(height - 1)
    } else {
        0.0
    };
    let between = |a: u8, b: u8| f64::from(a) + (f64::from(b) - f64::from(a)) * weight;
    let stored: [f64; 3] = std::array::from_fn(|i| between(top[i], bottom[i]));
    from_srgb(stored.map(|x| x.round() as u8))
}

/// Bodies, seen through one visibility buffer.
struct Layer<'a> {
    bodies: Bodies<'a>,
    seen: VisibilityBuffer,
}

impl<'a> Layer<'a> {
    fn new(bodies: Bodies<'a>, view: &View, size: (u32, u32)) -> Self {
        let mut seen = VisibilityBuffer::new(size);
        bodies.draw(view, &mut seen);
        Self { bodies, seen }
    }
}

/// A picture after the geometry passes.
struct Scene<'a> {
    view: &'a View,
    light: Light,
    /// What hides everything behind it.
    opaque: Layer<'a>,
    openness: Vec<Openness>,
    /// Translucent grains and their opacity.
    ghosts: Option<(Layer<'a>, f32)>,
    walls: WallLayer,
    floors: FloorLayer,
    shadows: ShadowMap,
    /// Width of outlines in pixels.
    outline: f64,
}

impl<'a> Scene<'a> {
    fn new(picture: &Picture<'a>, view: &'a View) -> Self {
        let size = picture.size;
        let opacity = if picture.sphere_opacity.is_nan() {
            1.0
        } else {
            picture.sphere_opacity.clamp(0.0, 1.0)
        };
        let grains = Subjects {
            spheres: picture.spheres,
            solids: picture.solids,
            lines: &[],
        };
        let (shown, ghostly) = if opacity < 1.0 {
            (Subjects::default(), grains)
        } else {
            (grains, Subjects::default())
        };
        let shown = Subjects {
            lines: picture.lines,
            ..shown
        };
        let light = Light::new(view, picture.camera.up);
        let opaque = Layer::new(Bodies::new(picture, shown, view), view, size);
        let shadows = ShadowMap::new(&opaque.bodies, &light, size.0.max(size.1));
        let openness = openness(&opaque.bodies, view, &shadows, &opaque.seen);
        let has_ghosts = !(ghostly.spheres.is_empty() && ghostly.solids.is_empty());
        let ghosts = (opacity > 0.0 && has_ghosts).then(|| {
            (
                Layer::new(Bodies::new(picture, ghostly, view), view, size),
                opacity,
            )
        });
        let outline = (f64::from(size.1) / 800.0).clamp(0.6, 4.0);
        let walls = WallLayer::new(picture.walls, view, size, 1.3 * outline);
        Self {
            view,
            light,
            opaque,
            openness,
            ghosts,
            walls,
            floors: FloorLayer::new(picture.floors, view),
            shadows,
            outline,
        }
    }

    /// Shades, blends and averages the samples of each pixel.
    fn compose(&self, image: &mut Image, background: impl Fn(u32) -> Linear) {
        let width = image.width() as usize;
        let mut fragments = FragmentRow::new(width);
        let mut sums: Vec<Linear> = vec![[0.0; 3]; width];
        for y in 0..image.height() {
            sums.fill([0.0; 3]);
            let behind = background(y);
            for row in y as usize * SAMPLES..(y as usize + 1) * SAMPLES {
                fragments.clear();
                let solid = &self.opaque.seen.nearness[row * width..][..width];
                self.walls
                    .draw_row(row, &self.light, self.view, solid, &mut fragments);
                let world = (self.view, &self.light, &self.shadows);
                self.floors.draw_row(row, world, solid, &mut fragments);
                self.add_ghosts(row, &mut fragments);
                let open = &self.openness[y as usize * width..][..width];
                for (column, sum) in sums.iter_mut().enumerate() {
                    let base = self
                        .shade(&self.opaque, row, column, open[column])
                        .unwrap_or(behind);
                    let color = fragments.over(column, base);
                    for (total, part) in sum.iter_mut().zip(color) {
                        // A highlight counts as white at most, else it would spoil smooth edges.
                        *total += part.min(1.0) / SAMPLES as f32;
                    }
                }
            }
            for (pixel, sum) in image.row_mut(y).iter_mut().zip(&sums) {
                *pixel = to_srgb(*sum);
            }
        }
    }

    fn add_ghosts(&self, row: usize, fragments: &mut FragmentRow) {
        let Some((layer, opacity)) = &self.ghosts else {
            return;
        };
        for column in 0..layer.seen.width {
            let sample = layer.seen.index(row, column);
            let nearness = layer.seen.nearness[sample];
            if nearness > self.opaque.seen.nearness[sample]
                && let Some(color) = self.shade(layer, row, column, Openness::FULL)
            {
                fragments.insert(column, nearness, color, *opacity);
            }
        }
    }

    /// Colour of what a layer shows at a sample.
    fn shade(
        &self,
        layer: &Layer<'_>,
        row: usize,
        column: usize,
        open: Openness,
    ) -> Option<Linear> {
        let sample = layer.seen.index(row, column);
        let item = layer.seen.item[sample];
        if item == NOTHING {
            return None;
        }
        let (u, v) = (
            self.view.u(column as f64 + sample_x(row)),
            self.view.v(sample_y(row)),
        );
        let nearness = f64::from(layer.seen.nearness[sample]);
        let point = self.view.point(u, v, nearness);
        let normal = layer.bodies.normal(item, point);
        let towards_eye = self.view.towards_eye(u, v);
        let facing = normal.dot(towards_eye).clamp(0.0, 1.0);
        let pixels = layer.bodies.radius(item) * self.view.magnification(nearness);
        let from_rim = pixels * layer.bodies.inset(item, point, towards_eye, facing);
        // Grains of few pixels would be all outline: theirs is thinner and fainter.
        let width = self.outline.min(0.2 * pixels);
        let strength = ((pixels - 1.5) / 5.0).clamp(0.0, 1.0);
        let inside = (from_rim / width.max(1e-9)).clamp(0.0, 1.0);
        let inside_rim = (1.0 - strength * (1.0 - inside * inside)) as f32;
        let albedo = layer.bodies.albedo(item, normal);
        Some(
            self.light
                .on_body(normal, towards_eye, albedo, open, inside_rim),
        )
    }
}
