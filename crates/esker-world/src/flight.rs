//! Impacts in the middle of a whole step.
//!
//! Two bodies with the gap `γ` that approach at `v`, with an acceleration `a`
//! towards each other, meet before the step `h` is over. Velocities of whole
//! steps are means over the step before (`x_{i+1} = x_i + h v_{i+1}`), so that
//! the speed at its end is `v + a h/2`, and
//!
//! ```text
//! γ = (v + a h/2) t + a t²/2,       v_c = v + a h/2 + a t,              (1)
//! u_{i+1} = e v_c − a (h/2 − t),                                        (2)
//! γ_{i+1} = max(0, e v_c (h − t) − a (h − t)²/2).                       (3)
//! ```
//!
//! (2) is the target of the impact, less the `−a h` that gravity still adds.
//! Stopping the bodies at the start of the step instead leaves them a gap to
//! fall through again, which looks like a rebound. `x_i + h v_{i+1}` is not (3)
//! either; at walls, to which gravity brings a body back, the difference is made
//! up for where the body meets nobody else. (Between two free bodies gravity does
//! not act, and moving them would cost angular momentum.)

use esker_contact::{BodyState, Contact, ContactRows, GeneralContact, Impulse, Spring};
use esker_parallel::Team;
use glam::DVec3;

/// The meeting of two bodies within a step.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Flight {
    /// Acceleration `a`, m/s².
    acceleration: f64,
    /// Time `t` at which they meet, s.
    time: f64,
    /// Speed `v_c` at which they do, m/s.
    speed: f64,
    /// Step h, s.
    step: f64,
}

impl Flight {
    /// Of the bodies of a contact, if they meet within the step.
    pub(crate) fn of(
        rows: ContactRows<'_>,
        overlap: f64,
        [a, b]: [&BodyState; 2],
        gravity: DVec3,
        step: f64,
    ) -> Option<Self> {
        let falls = |body: &BodyState| f64::from(u8::from(body.inverse_mass > 0.0));
        let [free_a, free_b] = rows.free();
        let fall = free_a * falls(a) - free_b * falls(b);
        let acceleration = rows.contact.normal.dot(gravity * fall);
        let approach = 0.5 * acceleration * step - rows.normal_velocity(a, b);
        let gap = (-overlap).max(0.0);
        let square = approach * approach + 2.0 * acceleration * gap;
        if approach <= 0.0 || square < 0.0 {
            return None;
        }
        let speed = square.sqrt();
        let time = 2.0 * gap / (approach + speed);
        (time < step).then_some(Flight {
            acceleration,
            time,
            speed,
            step,
        })
    }

    /// Separation speed that the impact stage aims at, m/s.
    pub(crate) fn target(&self, restitution: f64) -> f64 {
        restitution * self.speed + self.acceleration * (0.5 * self.step + self.time)
    }

    /// The gap (3) at the end of the step, m.
    fn gap_after(&self, restitution: f64) -> f64 {
        let rest = self.step - self.time;
        (restitution * self.speed * rest - 0.5 * self.acceleration * rest * rest).max(0.0)
    }
}

/// One impact of a whole step.
#[derive(Clone, Copy, Debug, Default)]
struct Impact {
    contact: u32,
    restitution: f64,
    flight: Flight,
}

/// The impacts of a whole step; keeps its memory.
#[derive(Clone, Debug, Default)]
pub(crate) struct Impacts {
    impacts: Vec<Impact>,
    /// Contacts per body that touch or close within the step.
    active: Vec<u32>,
    /// The two smallest gaps of every body, m; negative for an overlap.
    gaps: Vec<[f64; 2]>,
}

/// What impacts are found among: one entry per contact in all but the bodies.
#[derive(Clone, Copy)]
pub(crate) struct Meeting<'a> {
    pub(crate) contacts: &'a [Contact],
    pub(crate) general: &'a [GeneralContact],
    pub(crate) springs: &'a [Spring],
    pub(crate) bodies: &'a [BodyState],
    pub(crate) restitutions: &'a [f64],
    /// Those of the last step: a loaded contact is not an impact.
    pub(crate) impulses: &'a [Impulse],
    /// Approach speed above which a contact is an impact, m/s.
    pub(crate) impact_speed: f64,
    pub(crate) gravity: DVec3,
    pub(crate) step: f64,
}

impl Meeting<'_> {
    /// The rows of a contact as the step starts.
    pub(crate) fn rows(&self, i: usize) -> ContactRows<'_> {
        self.contacts[i].rows(self.general, -0.5 * self.step)
    }

    fn flight(&self, i: usize) -> Option<Flight> {
        let bodies = self.contacts[i].bodies.map(|k| &self.bodies[k as usize]);
        Flight::of(
            self.rows(i),
            self.springs[i].overlap,
            bodies,
            self.gravity,
            self.step,
        )
    }

    /// The flight of a contact that is an impact if nobody else takes part.
    fn impact(&self, i: usize) -> Option<Flight> {
        let contact = &self.contacts[i];
        let [a, b] = contact.bodies.map(|k| &self.bodies[k as usize]);
        let is_fast = -self.rows(i).normal_velocity(a, b) > self.impact_speed;
        let is_free = self.impulses[i].normal == 0.0 && !self.springs[i].is_resolved;
        (is_fast && is_free).then(|| self.flight(i)).flatten()
    }
}

impl Impacts {
    /// Finds the impacts of a step; returns how many there are.
    ///
    /// An impact takes no time. Where the bodies meet others while it lasts and the
    /// step is not long against that, these would have to answer at once: each
    /// impact then costs a row of grains energy. Such collisions are left to the
    /// main stage.
    pub(crate) fn find(&mut self, team: &mut Team, meeting: Meeting<'_>) -> usize {
        team.select(
            meeting.contacts.len(),
            &mut self.impacts,
            |i| meeting.impact(i).is_some(),
            |i| Impact {
                contact: i as u32,
                restitution: meeting.restitutions[i],
                flight: meeting.impact(i).unwrap_or_default(),
            },
        );
        if self.impacts.is_empty() {
            return 0;
        }
        self.active.clear();
        self.active.resize(meeting.bodies.len(), 0);
        self.gaps.clear();
        self.gaps.resize(meeting.bodies.len(), [f64::INFINITY; 2]);
        for (i, contact) in meeting.contacts.iter().enumerate() {
            let gap = -meeting.springs[i].overlap;
            for body in contact.bodies {
                let [nearest, second] = &mut self.gaps[body as usize];
                *second = second.min(gap.max(*nearest));
                *nearest = nearest.min(gap);
            }
            if meeting.springs[i].overlap > 0.0 || meeting.flight(i).is_some() {
                for body in contact.bodies {
                    self.active[body as usize] += 1;
                }
            }
        }
        let (active, gaps) = (&self.active, &self.gaps);
        self.impacts.retain(|impact| {
            let i = impact.contact as usize;
            let spring = &meeting.springs[i];
            let way = impact.flight.speed * spring.followed_time;
            let is_alone = |body: u32| {
                let [nearest, second] = gaps[body as usize];
                let other = if nearest == -spring.overlap {
                    second
                } else {
                    nearest
                };
                active[body as usize] <= 1 && other > way
            };
            way == 0.0 || meeting.contacts[i].bodies.into_iter().all(is_alone)
        });
        self.impacts.len()
    }

    /// The flight of a contact that is an impact.
    pub(crate) fn flight(&self, contact: usize) -> Option<&Flight> {
        let place = self
            .impacts
            .binary_search_by_key(&contact, |impact| impact.contact as usize);
        place.ok().map(|k| &self.impacts[k].flight)
    }

    /// Displacements that bring pairs which met nobody else to the gap (3):
    /// `shift(body, displacement)`, from the velocities after the step.
    pub(crate) fn place(
        &self,
        (contacts, general): (&[Contact], &[GeneralContact]),
        springs: &[Spring],
        after: &[BodyState],
        mut shift: impl FnMut(usize, DVec3),
    ) {
        for impact in &self.impacts {
            let i = impact.contact as usize;
            let contact = &contacts[i];
            let [a, b] = contact.bodies.map(|k| k as usize);
            let at_wall = after[a].inverse_mass * after[b].inverse_mass == 0.0;
            if !at_wall || self.active[a] > 1 || self.active[b] > 1 || springs[i].overlap > 0.0 {
                continue;
            }
            let Flight { step, .. } = impact.flight;
            let rows = contact.rows(general, 0.5 * step);
            let separation = rows.normal_velocity(&after[a], &after[b]);
            let gap = separation * step - springs[i].overlap;
            let missing = impact.flight.gap_after(impact.restitution) - gap;
            let [share_a, share_b] = [a, b].map(|k| after[k].inverse_mass / springs[i].mobility);
            shift(a, contact.normal * (-missing * share_a));
            shift(b, contact.normal * (missing * share_b));
        }
    }
}
