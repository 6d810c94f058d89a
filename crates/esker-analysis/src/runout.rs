//! How far grains have run: the position of the front.

/// A grain as the front sees it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Reached {
    /// Distance of its centre along the way, m.
    pub distance: f64,
    /// Radius, m.
    pub radius: f64,
    /// Mass, kg.
    pub mass: f64,
}

/// Where the front stands, m.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Front {
    /// The far side of the grain with which a given share of the mass is reached:
    /// it leaves out the few grains that roll on alone.
    pub front: f64,
    /// The far side of the foremost grain.
    pub farthest: f64,
}

/// The front of grains; `None` where there are none.
pub fn front(mut grains: Vec<Reached>, share: f64) -> Option<Front> {
    let far = |g: &Reached| g.distance + g.radius;
    grains.sort_by(|a, b| far(a).total_cmp(&far(b)));
    let total: f64 = grains.iter().map(|g| g.mass).sum();
    let mut mass = 0.0;
    let reached = grains.iter().find(|g| {
        mass += g.mass;
        // Rounding must not move the front to the next grain.
        mass >= share * total * (1.0 - 1e-12)
    });
    let last = grains.last()?;
    Some(Front {
        front: far(reached.unwrap_or(last)),
        farthest: far(last),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_single_runaway_moves_the_farthest_point_but_not_the_front() {
        let grain = |distance| Reached {
            distance,
            radius: 0.5,
            mass: 2.0,
        };
        let mut grains: Vec<Reached> = (0..100).rev().map(|i| grain(f64::from(i))).collect();
        grains.push(grain(1e3));
        let found = front(grains.clone(), 0.99).unwrap();
        assert_eq!((found.front, found.farthest), (99.5, 1000.5));
        assert_eq!(front(grains, 1.0).unwrap().front, 1000.5);
        assert_eq!(front(Vec::new(), 0.5), None);
    }
}
