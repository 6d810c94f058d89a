//! Grains and bars in camera space, addressed by one index.

use glam::{DQuat, DVec3};

use crate::camera::View;
use crate::color::Linear;
use crate::framing::is_drawable;
use crate::picture::{Line, Picture, Sphere};
use crate::visibility::{Ball, Capsule, VisibilityBuffer};

/// Light that the dark octants of a grain with orientation return, relative to the others.
const DARK_OCTANT: f32 = 0.66;

/// Bodies of one kind of layer, in the order of the picture: first the grains, then the bars.
pub(crate) struct Bodies {
    balls: Vec<Ball>,
    /// From camera axes to the grain's own axes, where the grain shows its rotation.
    markers: Vec<Option<DQuat>>,
    capsules: Vec<Capsule>,
    colors: Vec<Linear>,
    /// Camera axes in world coordinates, to undo the turn into camera space.
    axes: [DVec3; 3],
    /// Balls whose centres lie in or near the picture.
    shown: Vec<u32>,
}

impl Bodies {
    pub fn new(picture: &Picture, spheres: &[Sphere], lines: &[Line], view: &View) -> Self {
        let range = picture.effective_range();
        let color = |value: f64| picture.color(value, range);
        let mut bodies = Self {
            balls: Vec::with_capacity(spheres.len()),
            markers: Vec::with_capacity(spheres.len()),
            capsules: Vec::with_capacity(lines.len()),
            colors: Vec::with_capacity(spheres.len() + lines.len()),
            axes: [view.right, view.up, view.forward],
            shown: Vec::new(),
        };
        for sphere in spheres.iter().filter(|sphere| is_drawable(sphere)) {
            let ball = Ball {
                centre: view.to_camera(sphere.centre),
                radius: sphere.radius * view.scale,
            };
            if is_near_picture(view, &ball, picture.size) {
                bodies.shown.push(bodies.balls.len() as u32);
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
    }

    /// Balls in or near the picture; bars are represented by their ends.
    pub fn shown_balls(&self) -> impl Iterator<Item = Ball> + '_ {
        let ends = self.capsules.iter().flat_map(|bar| {
            [bar.from, bar.to].map(|centre| Ball {
                centre,
                radius: bar.radius,
            })
        });
        let balls = self.shown.iter().map(|&index| self.balls[index as usize]);
        balls.chain(ends)
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
            let radii = self
                .shown
                .iter()
                .map(|&index| self.balls[index as usize].radius);
            mean(radii.sum(), self.shown.len())
        }
    }

    /// Unit normal of a body at a point of its surface.
    pub fn normal(&self, item: u32, p: DVec3) -> DVec3 {
        let index = item as usize;
        let inner = match self.balls.get(index) {
            Some(ball) => ball.centre,
            None => self.capsules[index - self.balls.len()].axis_point(p),
        };
        (p - inner).normalize_or(DVec3::NEG_Z)
    }

    pub fn radius(&self, item: u32) -> f64 {
        let index = item as usize;
        match self.balls.get(index) {
            Some(ball) => ball.radius,
            None => self.capsules[index - self.balls.len()].radius,
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

/// Whether a ball's centre lies in the picture or within a fifth of its size around it.
fn is_near_picture(view: &View, ball: &Ball, (width, height): (u32, u32)) -> bool {
    if view.perspective && ball.centre.z <= View::NEAR {
        return false;
    }
    let (u, v) = view.slopes(ball.centre);
    let near = |place: f64, size: u32| (place / f64::from(size) - 0.5).abs() < 0.7;
    near(view.pixel_x(u), width) && near(view.pixel_y(v), height)
}
