//! The broad phase against the definition of what it finds.

mod common;

use common::numbers;
use std::sync::atomic::{AtomicUsize, Ordering};

use esker_geometry::{Aabb, BroadPhase, Crowd, DVec3};
use esker_parallel::Team;
use proptest::prelude::*;

fn brute_force(centres: &[DVec3], reach: &[f64]) -> Vec<[u32; 2]> {
    let mut pairs = Vec::new();
    for i in 0..centres.len() {
        for j in i + 1..centres.len() {
            let sum = reach[i] + reach[j];
            if reach[i] >= 0.0
                && reach[j] >= 0.0
                && centres[i].distance_squared(centres[j]) < sum * sum
            {
                pairs.push([i as u32, j as u32]);
            }
        }
    }
    pairs
}

fn found(centres: &[DVec3], reach: &[f64]) -> Vec<[u32; 2]> {
    let mut pairs = Vec::new();
    BroadPhase::new()
        .find_pairs(centres, reach, &mut pairs)
        .unwrap();
    pairs.sort_unstable();
    pairs
}

fn sphere() -> impl Strategy<Value = (DVec3, f64)> {
    let place = prop_oneof![
        20 => prop::array::uniform3(-1.0..1.0_f64),
        // Exactly on cell borders, and coincident.
        3 => prop::array::uniform3((-4..4_i32).prop_map(|k| f64::from(k) * 0.2)),
        1 => prop::array::uniform3(-1e6..1e6_f64),
        1 => prop::array::uniform3(prop::sample::select(vec![0.0, 1e300, -1e300, f64::MAX])),
        1 => prop::array::uniform3(prop::sample::select(vec![0.0, f64::NAN, f64::INFINITY])),
    ];
    let reach = prop_oneof![10 => 0.005..0.1_f64, 4 => Just(0.1), 1 => Just(0.0)];
    (place.prop_map(DVec3::from), reach)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn every_near_pair_is_found_exactly_once(spheres in prop::collection::vec(sphere(), 0..400)) {
        let (centres, reach): (Vec<_>, Vec<_>) = spheres.into_iter().unzip();
        prop_assert_eq!(found(&centres, &reach), brute_force(&centres, &reach));
    }
}

/// Reaches much wider than the distances: cells hold many spheres.
#[test]
fn crowded_cells_lose_no_pair() {
    let mut next = numbers(3);
    let centres: Vec<_> = (0..2500)
        .map(|_| DVec3::new(next(), next(), next()))
        .collect();
    for largest in [0.08, 0.2] {
        let reach: Vec<_> = (0..2500)
            .map(|i| {
                if i % 9 == 0 {
                    largest
                } else {
                    0.06 + 0.02 * next()
                }
            })
            .collect();
        let expected = brute_force(&centres, &reach);
        assert!(expected.len() > 20_000);
        assert!(found(&centres, &reach) == expected);
    }
}

#[test]
fn order_of_pairs_does_not_depend_on_earlier_calls() {
    let mut next = numbers(1);
    let centres: Vec<_> = (0..3000)
        .map(|_| DVec3::new(next(), next(), next()))
        .collect();
    let reach: Vec<_> = (0..3000).map(|_| 0.01 + 0.05 * next()).collect();
    let mut fresh = Vec::new();
    BroadPhase::new()
        .find_pairs(&centres, &reach, &mut fresh)
        .unwrap();
    let mut used = BroadPhase::new();
    let mut pairs = Vec::new();
    used.find_pairs(&centres[..1000], &reach[..1000], &mut pairs)
        .unwrap();
    used.find_pairs(&centres, &reach, &mut pairs).unwrap();
    assert_eq!(fresh, pairs);
    assert_eq!(brute_force(&centres, &reach).len(), pairs.len());
}

#[test]
fn large_sets_with_strays_and_size_ratio_twenty_are_complete() {
    let mut next = numbers(2);
    let n = 6000;
    let centres: Vec<_> = (0..n)
        .map(|i| {
            let far = if i % 500 == 7 { 1e6 } else { 1.0 };
            far * DVec3::new(next(), next() - 0.5, next())
        })
        .collect();
    let reach: Vec<_> = (0..n).map(|_| 0.002 * 20_f64.powf(next())).collect();
    assert_eq!(found(&centres, &reach), brute_force(&centres, &reach));
}

#[test]
fn spheres_a_hundred_times_larger_than_others_lose_no_pair() {
    let mut next = numbers(6);
    let mut centres: Vec<_> = (0..5000)
        .map(|_| DVec3::new(next(), next(), next()))
        .collect();
    let mut reach = vec![0.004; 5000];
    // In the middle of all, at a corner, beside all, and inside one another.
    for place in [
        DVec3::splat(0.5),
        DVec3::ZERO,
        DVec3::new(1.39, 0.5, 0.5),
        DVec3::splat(0.51),
    ] {
        centres.push(place);
        reach.push(0.4);
    }
    for step in 0..5 {
        let moved: Vec<_> = centres
            .iter()
            .zip(&reach)
            .map(|(&x, &r)| x + DVec3::X * (f64::from(step) * 0.07 * f64::from(u8::from(r > 0.1))))
            .collect();
        let expected = brute_force(&moved, &reach);
        assert!(expected.len() > 2000);
        assert_eq!(found(&moved, &reach), expected);
    }
}

#[test]
fn threads_share_the_pairs_out() {
    let mut next = numbers(4);
    let centres: Vec<_> = (0..5000)
        .map(|_| DVec3::new(next(), next(), next()))
        .collect();
    let reach: Vec<_> = (0..5000)
        .map(|i| 0.005 + 0.03 * next() + 0.1 * f64::from(u8::from(i % 50 == 0)))
        .collect();
    let mut expected = brute_force(&centres, &reach);
    let all = expected.len();
    expected.retain(|pair| !pair.contains(&3));
    assert!(expected.len() < all);
    for threads in [1, 2, 5] {
        let mut lists = vec![Vec::new(); threads];
        let mut broad_phase = BroadPhase::default();
        broad_phase
            .search(
                &mut Team::new(threads),
                Crowd::new(&centres, &reach),
                |i| i as u32,
                &mut lists,
                |[a, b]| {
                    assert_eq!((a.index, b.index), (*a.user_data, *b.user_data));
                    assert_eq!(a.centre, centres[a.index as usize]);
                    let pair = [a.index.min(b.index), a.index.max(b.index)];
                    (pair, !pair.contains(&3))
                },
            )
            .unwrap();
        let mut pairs = lists.concat();
        pairs.sort_unstable();
        assert!(pairs == expected, "{threads} threads");
    }
}

/// A ball around a plate holds half of a bed, of which only what is near the plate counts.
#[test]
fn boxes_of_giants_leave_out_what_is_far_from_them_alone() {
    let mut next = numbers(11);
    let mut centres: Vec<_> = (0..4000)
        .map(|_| DVec3::new(next(), next(), next()))
        .collect();
    let mut reach: Vec<_> = (0..4000).map(|_| 0.005 + 0.02 * next()).collect();
    let first = centres.len();
    let plates = [
        Aabb::new(DVec3::new(0.1, 0.2, 0.48), DVec3::new(0.9, 0.8, 0.52)),
        Aabb::new(DVec3::new(0.3, -0.5, 0.1), DVec3::new(0.35, 1.5, 0.9)),
    ];
    for plate in &plates {
        centres.push(0.5 * (plate.min + plate.max));
        reach.push(0.5 * plate.min.distance(plate.max));
    }
    let near = |[a, b]: [u32; 2]| {
        let (a, b) = (a as usize, b as usize);
        let square = plates
            .get(b - first.min(b))
            .filter(|_| b >= first && a < first)
            .map_or(0.0, |plate| plate.distance_squared(centres[a]));
        square < reach[a] * reach[a]
    };
    let mut expected = brute_force(&centres, &reach);
    let all = expected.len();
    expected.retain(|&pair| near(pair));
    let crowd = Crowd {
        boxes: (first, &plates),
        ..Crowd::new(&centres, &reach)
    };
    for threads in [1, 3] {
        let mut lists = vec![Vec::new(); threads];
        let tried = AtomicUsize::new(0);
        BroadPhase::default()
            .search(
                &mut Team::new(threads),
                crowd,
                |_| (),
                &mut lists,
                |pair| {
                    tried.fetch_add(1, Ordering::Relaxed);
                    let [a, b] = pair.map(|entry| entry.index);
                    let pair = [a.min(b), a.max(b)];
                    (pair, near(pair))
                },
            )
            .unwrap();
        let mut pairs = lists.concat();
        pairs.sort_unstable();
        assert!(pairs == expected, "{threads} threads");
        let spared = (all - tried.into_inner()) as f64 / (all - expected.len()) as f64;
        assert!(spared > 0.5, "{spared}");
    }
}

#[test]
fn coincident_crowd_is_an_error_and_not_a_full_memory() {
    let centres = vec![DVec3::ONE; 10_000];
    let reach = vec![0.5; 10_000];
    let mut pairs = Vec::new();
    let error = BroadPhase::new()
        .find_pairs(&centres, &reach, &mut pairs)
        .unwrap_err();
    assert_eq!(error.limit, BroadPhase::<()>::pair_limit(10_000));
    assert!(pairs.len() <= error.limit + 10_000);
    // A thousand coincide: half a million pairs, which is still an answer.
    let pairs = found(&centres[..1000], &reach[..1000]);
    assert_eq!(pairs.len(), 1000 * 999 / 2);
}

/// Prints the time per call; run with `--ignored --nocapture`.
#[test]
#[ignore = "measures instead of checking"]
fn time_of_a_hundred_thousand_spheres() {
    let measure = |label: &str, centres: &[DVec3], reach: &[f64]| {
        let mut broad_phase = BroadPhase::new();
        let mut pairs = Vec::new();
        let mut best = f64::INFINITY;
        for _ in 0..20 {
            let start = std::time::Instant::now();
            broad_phase.find_pairs(centres, reach, &mut pairs).unwrap();
            best = best.min(start.elapsed().as_secs_f64());
        }
        println!("{label}: {:.2} ms, {} pairs", 1e3 * best, pairs.len());
    };
    let mut next = numbers(3);
    let n = 100_000;
    // About 60 % by volume of spheres of radius 0.5.
    let side = (n as f64 * std::f64::consts::FRAC_PI_6 / 0.6).cbrt();
    let mut centres: Vec<_> = (0..n)
        .map(|_| side * DVec3::new(next(), next(), next()))
        .collect();
    measure("equal", &centres, &vec![0.52; n]);
    centres[17] = DVec3::splat(1e6);
    centres[71] = DVec3::new(-1e6, 3.0, 1e5);
    measure("equal with strays", &centres, &vec![0.52; n]);
    // Half of the volume in each of the sizes 1 to 20: mostly small ones.
    let reach: Vec<_> = (0..n)
        .map(|_| 0.25 * (1.0 - next() * (1.0 - 20_f64.powi(-2))).powf(-0.5))
        .collect();
    measure("size ratio 1:20", &centres, &reach);
}
