//! The force network: grains as nodes, normal forces as edges.

use crate::series::Histogram;
use crate::{MissingField, Partner, Snapshot};

/// Statistics of the forces between grains.
#[derive(Clone, Debug, PartialEq)]
pub struct Network {
    /// Contacts among grains that carry force.
    pub contacts: usize,
    /// Mean normal force, N.
    pub mean_force: f64,
    /// Share of contacts with more than the mean force: the strong network.
    pub strong_share: f64,
    /// Share of the sum of forces that strong contacts carry.
    pub strong_load: f64,
    /// Grains in the largest set that strong contacts connect, as a share of all grains.
    pub strong_cluster: f64,
    /// Mean number of loaded contacts per grain, walls included.
    pub coordination: f64,
    /// The same without grains of fewer than two contacts (rattlers).
    pub coordination_without_rattlers: f64,
    /// Share of grains with fewer than two loaded contacts.
    pub rattlers: f64,
}

/// Loaded contacts among grains: pair and normal force, N.
fn edges(snapshot: &Snapshot) -> Result<Vec<(usize, usize, f64)>, MissingField> {
    Ok(snapshot
        .contacts()?
        .iter()
        .filter(|c| c.normal_force > 0.0)
        .filter_map(|c| match c.partner {
            Partner::Grain(b) => Some((c.grain, b, c.normal_force)),
            Partner::Wall(_) => None,
        })
        .collect())
}

/// Statistics of the force network.
pub fn statistics(snapshot: &Snapshot) -> Result<Network, MissingField> {
    let edges = edges(snapshot)?;
    let mut degree = vec![0_usize; snapshot.len()];
    for contact in snapshot.contacts()?.iter().filter(|c| c.normal_force > 0.0) {
        degree[contact.grain] += 1;
        if let Partner::Grain(b) = contact.partner {
            degree[b] += 1;
        }
    }
    let total: f64 = edges.iter().map(|e| e.2).sum();
    let mean = total / edges.len().max(1) as f64;
    let strong: Vec<_> = edges.iter().filter(|e| e.2 > mean).collect();
    let strong_sum: f64 = strong.iter().map(|e| e.2).sum();
    let links = strong.iter().map(|e| (e.0, e.1));
    let share = |part: usize, whole: usize| part as f64 / whole.max(1) as f64;
    let firm: Vec<usize> = degree.iter().copied().filter(|&d| d >= 2).collect();
    Ok(Network {
        contacts: edges.len(),
        mean_force: mean,
        strong_share: share(strong.len(), edges.len()),
        strong_load: if total > 0.0 { strong_sum / total } else { 0.0 },
        strong_cluster: share(largest_cluster(snapshot.len(), links), snapshot.len()),
        coordination: share(degree.iter().sum(), degree.len()),
        coordination_without_rattlers: share(firm.iter().sum(), firm.len()),
        rattlers: share(degree.len() - firm.len(), degree.len()),
    })
}

/// Distribution of `f/⟨f⟩` over contacts among grains, from 0 to `max`.
pub fn force_distribution(
    snapshot: &Snapshot,
    max: f64,
    bins: usize,
) -> Result<Histogram, MissingField> {
    let edges = edges(snapshot)?;
    let mean = edges.iter().map(|e| e.2).sum::<f64>() / edges.len().max(1) as f64;
    let scaled: Vec<f64> = edges.iter().map(|e| e.2 / mean).collect();
    Ok(Histogram::new(&scaled, 0.0, max, bins))
}

/// Nodes in the largest connected set that has a link.
fn largest_cluster(nodes: usize, links: impl Iterator<Item = (usize, usize)>) -> usize {
    let mut parent: Vec<usize> = (0..nodes).collect();
    fn root(parent: &mut [usize], mut node: usize) -> usize {
        while parent[node] != node {
            parent[node] = parent[parent[node]];
            node = parent[node];
        }
        node
    }
    let mut linked = vec![false; nodes];
    for (a, b) in links {
        (linked[a], linked[b]) = (true, true);
        let (ra, rb) = (root(&mut parent, a), root(&mut parent, b));
        parent[ra.max(rb)] = ra.min(rb);
    }
    let mut size = vec![0; nodes];
    for node in (0..nodes).filter(|&n| linked[n]) {
        size[root(&mut parent, node)] += 1;
    }
    size.into_iter().max().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use glam::DVec3;

    use super::*;
    use crate::snapshot::{bare_contact, equal_grains};

    fn chain() -> Snapshot {
        // 0–1–2–3 with forces 1, 5, 6; grain 3 on a wall; grain 4 alone.
        let mut snapshot = equal_grains(vec![DVec3::ZERO; 5], 0.1);
        let mut contacts: Vec<_> = [1.0, 5.0, 6.0]
            .iter()
            .enumerate()
            .map(|(i, f)| {
                let mut c = bare_contact(i, Partner::Grain(i + 1), DVec3::X);
                c.normal_force = *f;
                c
            })
            .collect();
        let mut wall = bare_contact(3, Partner::Wall(0), DVec3::NEG_Z);
        wall.normal_force = 2.0;
        contacts.push(wall);
        contacts.push(bare_contact(4, Partner::Grain(0), DVec3::X));
        snapshot.contacts = Some(contacts);
        snapshot
    }

    #[test]
    fn a_chain_has_known_statistics() {
        let n = statistics(&chain()).unwrap();
        assert_eq!((n.contacts, n.mean_force), (3, 4.0));
        assert!((n.strong_share - 2.0 / 3.0).abs() < 1e-12);
        assert!((n.strong_load - 11.0 / 12.0).abs() < 1e-12);
        assert!((n.strong_cluster - 3.0 / 5.0).abs() < 1e-12);
        assert!((n.coordination - 7.0 / 5.0).abs() < 1e-12);
        assert_eq!(n.coordination_without_rattlers, 2.0);
        assert!((n.rattlers - 2.0 / 5.0).abs() < 1e-12);
    }

    #[test]
    fn the_force_distribution_is_scaled_by_the_mean() {
        let h = force_distribution(&chain(), 2.0, 2).unwrap();
        // f/⟨f⟩ = 0.25, 1.25, 1.5.
        assert!((h.density[0] - 1.0 / 3.0).abs() < 1e-12);
        assert!((h.density[1] - 2.0 / 3.0).abs() < 1e-12);
    }

    #[test]
    fn a_snapshot_without_contacts_is_refused_and_an_empty_network_is_calm() {
        let mut snapshot = equal_grains(vec![DVec3::ZERO], 0.1);
        assert!(statistics(&snapshot).is_err());
        snapshot.contacts = Some(Vec::new());
        assert_eq!(statistics(&snapshot).unwrap().mean_force, 0.0);
    }
}
