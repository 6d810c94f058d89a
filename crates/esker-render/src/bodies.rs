//! Grains, bars and solids in camera space, addressed by one index.

use glam::{DQuat, DVec3};

use crate::camera::View;
use crate::color::Linear;
use crate::framing::is_drawable;
use crate::picture::{Line, Picture, Solid, Sphere};
use crate::solids::PlacedSolid;
use crate::visibility::{Ball, Capsule, VisibilityBuffer};

/// Light that the dark octants of a grain with orientation return, relative to the others.
const DARK_OCTANT: f32 = 0.66;

/// Bodies of one kind of layer, in the order of the picture: first the spheres, then the bars,
/// then the other grains.
pub(crate) struct Bodies<'a> {
    balls: Vec<Ball>,
    /// From camera axes to the grain's own axes, where the grain shows its rotation.
    markers: Vec<Option<DQuat>>,
    capsules: Vec<Capsule>,
    solids: Vec<PlacedSolid<'a>>,
    colors: Vec<Linear>,
    /// Camera axes in world coordinates, to undo the turn into camera space.
    axes: [DVec3; 3],
    /// Balls whose centres lie in or near the picture, those around solids too.
    shown: Vec<Ball>,
}

/// What one layer of a picture shows.
#[derive(Clone, Copy, Default)]
pub(crate) struct Subjects<'a> {
    pub spheres: &'a [Sphere],
    pub solids: &'a [Solid<'a>],
    pub lines: &'a [Line],
}

impl<'a> Bodies<'a> {
    pub fn new(picture: &Picture, subjects: Subjects<'a>, view: &View) -> Self {
        let Subjects {
            spheres,
            solids,
            lines,
        } = subjects;
        let range = picture.effective_range();
        let color = |value: f64| picture.color(value, range);
        let mut bodies = Self {
            balls: Vec::with_capacity(spheres.len()),
            markers: Vec::with_capacity(spheres.len()),
            capsules: Vec::with_capacity(lines.len()),
            solids: Vec::with_capacity(solids.len()),
            colors: Vec::with_capacity(spheres.len() + lines.len() + solids.len()),
            axes: [view.right, view.up, view.forward],
            shown: Vec::new(),
        };
        for sphere in spheres.iter().filter(|sphere| is_drawable(sphere)) {
            let ball = Ball {
                centre: view.to_camera(sphere.centre),
                radius: sphere.radius * view.scale,
            };
            if is_near_picture(view, &ball, picture.size) {
                bodies.shown.push(ball);
            }
            bodies.balls.push(ball);
            let marker = sphere
                .orientation
                .filter(|q| q.is_finite() && q.length_squared() > 0.0);
            bodies.markers.push(marker.map(|q| q.normalize().inverse()));
            bodies.colors.push(color(sphere.value));
        }
        for line in lines {
            let finite = line.from.is_finite() && line.to.is_finite() && line.radius.is_finite();
            if finite && line.radius > 0.0 {
                bodies.capsules.push(Capsule {
                    from: view.to_camera(line.from),
                    to: view.to_camera(line.to),
                    radius: line.radius * view.scale,
                });
                bodies.colors.push(color(line.value));
            }
        }
        for solid in solids {
            let Some(placed) = PlacedSolid::new(solid, view) else {
                continue;
            };
            if is_near_picture(view, &placed.ball(), picture.size) {
                bodies.shown.push(placed.ball());
            }
            bodies.solids.push(placed);
            bodies.colors.push(color(solid.value));
        }
        bodies
    }

    /// Draws all bodies into a buffer of the camera itself.
    pub fn draw(&self, view: &View, buffer: &mut VisibilityBuffer) {
        self.draw_moved(view, buffer, |p| p);
    }

    /// Draws all bodies into the buffer of another view, given in this camera's space.
    pub fn draw_as_seen_by(&self, view: &View, buffer: &mut VisibilityBuffer) {
        self.draw_moved(view, buffer, |p| view.to_camera(p));
    }

    fn draw_moved(
        &self,
        view: &View,
        buffer: &mut VisibilityBuffer,
        place: impl Fn(DVec3) -> DVec3,
    ) {
        let scale = (place(DVec3::X) - place(DVec3::ZERO)).length();
        let placed = self.balls.iter().map(|ball| Ball {
            centre: place(ball.centre),
            radius: ball.radius * scale,
        });
        let mut from_near: Vec<(u32, Ball)> = (0..).zip(placed).collect();
        from_near.sort_by(|(_, a), (_, b)| a.centre.z.total_cmp(&b.centre.z));
        for (index, ball) in &from_near {
            buffer.draw_ball(view, ball, *index);
        }
        for (index, capsule) in self.capsules.iter().enumerate() {
            let capsule = Capsule {
                from: place(capsule.from),
                to: place(capsule.to),
                radius: capsule.radius * scale,
            };
            buffer.draw_capsule(view, &capsule, (self.balls.len() + index) as u32);
        }
        let first = (self.balls.len() + self.capsules.len()) as u32;
        let placed = self.solids.iter().map(|solid| solid.moved(&place, scale));
        let mut from_near: Vec<(u32, PlacedSolid<'_>)> = (first..).zip(placed).collect();
        from_near.sort_by(|(_, a), (_, b)| a.centre.z.total_cmp(&b.centre.z));
        for (index, solid) in &from_near {
            buffer.draw_solid(view, solid, *index);
        }
    }

    /// Balls in or near the picture; bars are represented by their ends.
    pub fn shown_balls(&self) -> impl Iterator<Item = Ball> + '_ {
        let ends = self.capsules.iter().flat_map(|bar| {
            [bar.from, bar.to].map(|centre| Ball {
                centre,
                radius: bar.radius,
            })
        });
        self.shown.iter().copied().chain(ends)
    }

    /// Mean radius of the balls in the picture, of the bars if there are none; 0 without bodies.
    pub fn mean_radius(&self) -> f64 {
        let mean = |sum: f64, count: usize| if count == 0 { 0.0 } else { sum / count as f64 };
        if self.shown.is_empty() {
            mean(
                self.capsules.iter().map(|bar| bar.radius).sum(),
                self.capsules.len(),
            )
        } else {
            let radii = self.shown.iter().map(|ball| ball.radius);
            mean(radii.sum(), self.shown.len())
        }
    }

    fn body(&self, item: u32) -> Body<'_, 'a> {
        let index = item as usize;
        let Some(ball) = self.balls.get(index) else {
            let index = index - self.balls.len();
            return match self.capsules.get(index) {
                Some(bar) => Body::Bar(bar),
                None => Body::Solid(&self.solids[index - self.capsules.len()]),
            };
        };
        Body::Ball(ball)
    }

    /// Unit normal of a body at a point of its surface.
    pub fn normal(&self, item: u32, p: DVec3) -> DVec3 {
        let inner = match self.body(item) {
            Body::Ball(ball) => ball.centre,
            Body::Bar(bar) => bar.axis_point(p),
            Body::Solid(solid) => return solid.normal(p),
        };
        (p - inner).normalize_or(DVec3::NEG_Z)
    }

    /// Radius of a body, or of a ball that holds it.
    pub fn radius(&self, item: u32) -> f64 {
        match self.body(item) {
            Body::Ball(ball) => ball.radius,
            Body::Bar(bar) => bar.radius,
            Body::Solid(solid) => solid.ball().radius,
        }
    }

    /// How far inside the outline of a body, and inside its edges, a point of its surface
    /// appears, in radii; `facing` is the cosine between normal and sight line.
    pub fn inset(&self, item: u32, p: DVec3, towards_eye: DVec3, facing: f64) -> f64 {
        match self.body(item) {
            Body::Ball(_) | Body::Bar(_) => 1.0 - (1.0 - facing * facing).sqrt(),
            Body::Solid(solid) => solid.inset(p, towards_eye, facing) / solid.ball().radius,
        }
    }

    /// Colour of a body where its normal is `normal`.
    pub fn albedo(&self, item: u32, normal: DVec3) -> Linear {
        let color = self.colors[item as usize];
        let Some(Some(to_own_axes)) = self.markers.get(item as usize) else {
            return color;
        };
        let [right, up, forward] = self.axes;
        let own = *to_own_axes * (normal.x * right + normal.y * up + normal.z * forward);
        if own.x * own.y * own.z < 0.0 {
            color.map(|x| x * DARK_OCTANT)
        } else {
            color
        }
    }
}

/// A body of a layer.
enum Body<'b, 'a> {
    Ball(&'b Ball),
    Bar(&'b Capsule),
    Solid(&'b PlacedSolid<'a>),
}

/// Whether a ball's centre lies in the picture or within a fifth of its size around it.
fn is_near_picture(view: &View, ball: &Ball, (width, height): (u32, u32)) -> bool {
    if view.perspective && ball.centre.z <= View::NEAR {
        return false;
    }
    let (u, v) = view.slopes(ball.centre);
    let near = |place: f64, size: u32| (place / f64::from(size) - 0.5).abs() < 0.7;
    near(view.pixel_x(u), width) && near(view.pixel_y(v), height)
}
