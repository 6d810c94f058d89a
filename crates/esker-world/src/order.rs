//! The order that contacts are swept in: each as a plan sees it.
//!
//! It depends on where contacts are and on nothing else. The order in which grains
//! are stored or listed therefore does not change the result, nor does the number
//! of threads.

use esker_contact::Form;
use esker_solver::plan::{ContactDescriptor, ContactDescriptors, FIXED};

use crate::candidate::{ACROSS, Candidate, FOLLOWS};
use crate::collide::Scene;
use crate::contact::{ContactGeometry, Partner};
use crate::material::{ContactClass, PairTable};
use crate::shaped_contacts::ShapedContacts;

/// Shares of a step: open contacts that can close within the first of them,
/// within the second and later have groups of their own.
const SOON: [f64; 2] = [0.15, 0.5];

/// Class of a contact in the sweep's plan.
fn plan_class(contact: &ContactGeometry, step: f64) -> u8 {
    if contact.overlap >= 0.0 {
        return 0;
    }
    let within = |share: f64| -contact.overlap < share * step * contact.closing_speed;
    let later = SOON.iter().filter(|share| !within(**share)).count() as u8;
    match contact.partner {
        Partner::Grain(_) => 1 + later,
        Partner::Wall(_) => 1,
    }
}

/// The order that contacts are put into.
#[derive(Clone, Copy)]
pub struct Order<'a> {
    /// Edge of the plan's blocks, m.
    pub edge: f64,
    /// Pairs of materials, and the law of each.
    pub laws: (&'a PairTable, &'a [u16]),
    /// How much larger a law's index is for contacts that follow their bodies;
    /// twice that for contacts of the general form, three times where one of their
    /// bodies is locked along an axis.
    pub following: u16,
    /// Whether contacts are swept by colours, as devices do it.
    pub is_coloured: bool,
    /// Contacts up to which these are colours of all of space.
    pub most_flat: usize,
    /// Whether contacts simply go from the bottom up, one per group: the plain
    /// serial order that block orders are compared with.
    pub plain: bool,
}

/// The contacts as a plan sees them, part after part; `SHAPED` says whether some are of
/// bodies that are no spheres.
pub(crate) struct Chosen<'a, const SHAPED: bool> {
    pub(crate) parts: &'a [Vec<Candidate>],
    pub(crate) shaped: &'a ShapedContacts,
    /// How many parts have contacts of spheres.
    pub(crate) spheres: usize,
    pub(crate) scene: Scene<'a>,
    pub(crate) order: Order<'a>,
}

impl<const SHAPED: bool> Chosen<'_, SHAPED> {
    /// The part of a contact and its place there.
    #[inline]
    pub(crate) fn find(&self, contact: usize) -> (usize, usize) {
        let mut slot = contact;
        for (k, part) in self.parts.iter().enumerate() {
            if slot < part.len() {
                return (k, slot);
            }
            slot -= part.len();
        }
        unreachable!("a contact is in one of the parts")
    }

    /// A contact's candidate; where a body is no sphere, also the list and place of its
    /// point of contact.
    #[inline]
    fn candidate(&self, contact: usize) -> (&Candidate, Option<(usize, usize)>) {
        let (part, slot) = self.find(contact);
        let candidate = &self.parts[part][slot];
        let list = if SHAPED {
            part.checked_sub(self.spheres)
        } else {
            None
        };
        (candidate, list.map(|l| (l, candidate.detail.as_point())))
    }

    /// A contact's geometry.
    #[inline]
    pub(crate) fn geometry(&self, contact: usize) -> ContactGeometry {
        match self.candidate(contact) {
            (candidate, None) => candidate.geometry(self.scene.grains),
            (candidate, Some(point)) => self.shaped.geometry(self.scene.grains, candidate, point),
        }
    }

    /// A contact as a plan sees it.
    #[inline(always)]
    fn describe(&self, candidate: &Candidate, contact: ContactGeometry) -> ContactDescriptor {
        let Scene {
            grains,
            walls,
            reach,
            ..
        } = self.scene;
        let (pairs, laws) = self.order.laws;
        let mut bodies = [contact.grain, contact.partner.row().unwrap_or(FIXED)];
        // Frozen grains and what joints hold are seen through ghosts, as walls are.
        if grains.free_count() < grains.len() {
            bodies = bodies.map(|i| match i {
                i if i != FIXED && grains.has_ghost(i as usize) => FIXED,
                i => i,
            });
        }
        let is_pair = matches!(contact.partner, Partner::Grain(_));
        let follows = is_pair && candidate.feature & FOLLOWS != 0;
        let is_across = is_pair && candidate.feature & ACROSS != 0;
        let law = if pairs.is_single() && contact.class == ContactClass::Curved {
            laws[0]
        } else {
            let other = contact.partner.material(grains, walls);
            laws[pairs.index(
                grains.material[contact.grain as usize],
                other,
                contact.class,
            )]
        };
        let is_locked = || {
            bodies
                .into_iter()
                .any(|i| i != FIXED && grains.is_locked(i as usize))
        };
        ContactDescriptor {
            point: contact.point,
            // Blocks do not know that its grains, at opposite ends, are side by side:
            // no arm is long enough for them.
            arms: match contact.form {
                _ if is_across => [f64::INFINITY; 2],
                Form::Radial => contact.arms,
                Form::General(_) => self.scene.arms_at_middle(&contact),
            },
            bodies,
            name: [
                contact.key.owner.as_u64(),
                contact.key.other,
                u64::from(contact.key.feature),
            ],
            law: law
                + self.order.following
                    * match contact.form {
                        Form::Radial => u16::from(follows),
                        Form::General(_) => 2 + u16::from(is_locked()),
                    },
            class: plan_class(&contact, reach.step),
        }
    }
}

impl<const SHAPED: bool> ContactDescriptors for Chosen<'_, SHAPED> {
    fn count(&self) -> usize {
        self.parts.iter().map(Vec::len).sum()
    }

    #[inline]
    fn descriptor(&self, contact: usize) -> ContactDescriptor {
        // A branch of its own for spheres: most of their geometry is not needed here.
        match self.candidate(contact) {
            (candidate, None) => self.describe(candidate, candidate.geometry(self.scene.grains)),
            (candidate, Some(point)) => {
                let geometry = self.shaped.geometry(self.scene.grains, candidate, point);
                self.describe(candidate, geometry)
            }
        }
    }
}

impl Scene<'_> {
    /// Distances from a contact point to the centres of its bodies in the middle
    /// of the step, m.
    fn arms_at_middle(&self, contact: &ContactGeometry) -> [f64; 2] {
        let centre = |i: u32| self.midpoints.0[i as usize].pose.position;
        let distance = |i: u32| contact.point.distance(centre(i));
        match contact.partner {
            Partner::Grain(j) => [distance(contact.grain), distance(j)],
            Partner::Wall(_) => [distance(contact.grain), 0.0],
        }
    }
}
