//! A step in steady state allocates nothing.

mod common;

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

use common::*;
use esker_geometry::{OpenFaces, Pose, Region, Side, WallShape};
use esker_world::definition::*;
use glam::{DQuat, DVec3};

thread_local! {
    static ALLOCATIONS: Cell<u64> = const { Cell::new(0) };
}

/// The system's allocator with a count per thread: other tests run beside.
struct Counting;

// SAFETY: every call is passed on to the system's allocator unchanged; the
// counter is a `Cell` without a destructor, so counting neither allocates nor
// fails while a thread ends.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.set(ALLOCATIONS.get() + 1);
        // SAFETY: the caller's promises, passed on.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: the caller's promises, passed on.
        unsafe { System.dealloc(pointer, layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        ALLOCATIONS.set(ALLOCATIONS.get() + 1);
        // SAFETY: the caller's promises, passed on.
        unsafe { System.realloc(pointer, layout, size) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// 200 grains in a closed drum that turns: contacts come and go all the time.
fn drum(method: Method) -> WorldDef {
    let law = PairLaw {
        friction: 0.5,
        rolling: 0.1,
        restitution: 0.2,
        ..Default::default()
    };
    let mut def = scene(pellet(), law, method, 5e-3);
    def.bounds = Some([DVec3::splat(-1.0), DVec3::splat(1.0)]);
    def.sinks = vec![SinkDef {
        name: "never reached".into(),
        region: Region::Sphere {
            radius: 0.1,
            pose: Pose::from_position(DVec3::X * 5.0),
        },
    }];
    def.walls = vec![WallDef {
        motion: Motion::Rotate {
            axis: DVec3::Y,
            centre: DVec3::ZERO,
            rate: 2.0,
            start: 0.0,
            stop: f64::INFINITY,
        },
        ..wall(
            WallShape::Cylinder {
                radius: 0.1,
                length: 0.06,
                side: Side::Inside,
                open: OpenFaces::NONE,
            },
            Pose::new(DVec3::ZERO, DQuat::from_rotation_arc(DVec3::Z, DVec3::Y)),
        )
    }];
    def.packings = vec![PackingDef {
        shape: None,
        material: 0,
        velocity: DVec3::ZERO,
        placement: Placement::Lattice {
            region: Region::Cylinder {
                radius: 0.09,
                length: 0.06,
                pose: def.walls[0].pose,
            },
            spacing: None,
            jitter: 0.0,
            count: Some(200),
            sizes: SizeDistribution::Fixed {
                radius: PELLET_RADIUS,
            },
        },
    }];
    def
}

#[test]
fn the_counter_counts() {
    let before = ALLOCATIONS.get();
    let text = std::hint::black_box(vec![1_u8; 100]);
    assert_eq!(ALLOCATIONS.get(), before + 1);
    drop(text);
}

#[test]
fn a_step_in_steady_state_allocates_nothing() {
    let tolerant = Method::WholeStep(WholeStep {
        tolerance: Some(1e-2),
        ..Default::default()
    });
    let methods = [
        sub_stepped(25),
        whole_step(20, history(0.85)),
        whole_step(20, WarmStart::Cold),
        tolerant,
    ];
    for method in methods {
        let mut world = build(&drum(method.clone()));
        assert_eq!(world.grains().len(), 200);
        // Long enough for buffers to have met their largest sizes.
        run(&mut world, 12.0);
        let before = ALLOCATIONS.get();
        let mut contacts = 0;
        for _ in 0..200 {
            contacts += world.step().expect("the state stays finite").contacts;
        }
        let count = ALLOCATIONS.get() - before;
        assert!(contacts > 200 * 200, "too few contacts to prove anything");
        assert_eq!(count, 0, "allocations in 200 steps, {method:?}");
    }
}
