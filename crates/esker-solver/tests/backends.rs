//! Back ends behind one seam: what is asked of one is asked of all.
//!
//! Several processes that share a step are threads here, each with a back end, bodies and a
//! part of the blocks of its own; all that passes between them passes through the seam.

#[path = "common/crowd.rs"]
mod crowd;
#[path = "common/reference.rs"]
mod reference;

use std::sync::{Barrier, Mutex};

use crowd::*;
use esker_contact::{BodyState, Impulse};
use esker_parallel::Team;
use esker_solver::backend::{
    Alone, Exchange, Partners, SubstepBackend, SubstepState, VelocityChange,
};
use esker_solver::block_sweep::BlockSweeper;
use esker_solver::plan::SweepPlan;
use glam::DVec3;
use reference::ReferenceBackend;

/// What a step leaves.
#[derive(Debug, PartialEq)]
struct Outcome {
    bodies: Vec<BodyState>,
    moved: Vec<[DVec3; 2]>,
    /// Impulses, and sums over the step, of all contacts.
    impulses: Vec<Impulse>,
    sums: Vec<Impulse>,
    impacts: usize,
}

/// Advances a crowd by the contacts at these places of its order, which are in that of `plan`.
fn advance<B: SubstepBackend + Default, E: Exchange>(
    crowd: &Crowd,
    (plan, places): (&SweepPlan, &[usize]),
    threads: usize,
    exchange: &E,
) -> Outcome {
    let (mut team, mut backend) = (Team::new(threads), B::default());
    let mut bodies = crowd.bodies.clone();
    let all: Vec<u32> = (0..places.len() as u32).collect();
    let (problem, run) = (crowd.problem(plan), crowd.run(&all));
    backend
        .upload(&mut team, problem, &bodies, |i| crowd.rows[places[i]])
        .unwrap();
    let partners = Partners {
        jointed: None,
        exchange,
    };
    let impacts = backend
        .advance(&mut team, problem, &mut bodies, run, partners)
        .unwrap();
    let mut impulses = Vec::new();
    backend.download(&mut team, plan, &mut impulses).unwrap();
    Outcome {
        moved: (0..crowd.movable).map(|body| backend.moved(body)).collect(),
        sums: backend.impulse_sums().to_vec(),
        bodies,
        impulses,
        impacts,
    }
}

fn alone<B: SubstepBackend + Default>(crowd: &Crowd, threads: usize) -> Outcome {
    let places: Vec<usize> = (0..crowd.rows.len()).collect();
    advance::<B, _>(crowd, (&crowd.plan, &places), threads, &Alone)
}

/// Blocks of a plan that one process has, and where its contacts are in the whole order.
fn part_of(plan: &SweepPlan, is_own: impl Fn(usize) -> bool) -> (SweepPlan, Vec<usize>) {
    let mut part = SweepPlan::default();
    for starts in [&mut part.groups, &mut part.blocks, &mut part.colours] {
        starts.push(0);
    }
    let mut places = Vec::new();
    for colour in plan.colours.windows(2) {
        for block in (colour[0] as usize..colour[1] as usize).filter(|&b| is_own(b)) {
            for group in plan.blocks[block] as usize..plan.blocks[block + 1] as usize {
                places.extend(plan.groups[group] as usize..plan.groups[group + 1] as usize);
                part.groups.push(places.len() as u32);
                part.laws.push(plan.laws[group]);
            }
            part.blocks.push(part.laws.len() as u32);
        }
        part.colours.push(part.blocks.len() as u32 - 1);
    }
    part.order = places.iter().map(|&place| plan.order[place]).collect();
    (part, places)
}

/// A body as its last owner left it.
type Message = (usize, [DVec3; 2], Option<VelocityChange>);

/// A board that processes read what others wrote on.
struct Board {
    messages: Mutex<Vec<Message>>,
    all: Barrier,
}

/// One process at the board.
struct AtBoard<'a> {
    board: &'a Board,
    /// Bodies that its blocks touch, by colour.
    touched: Vec<Vec<usize>>,
}

impl Exchange for AtBoard<'_> {
    fn after_colour(&self, colour: usize, state: &mut dyn SubstepState) {
        let own = self.touched[colour]
            .iter()
            .map(|&body| (body, state.velocity(body), state.impact_change(body)));
        self.board.messages.lock().unwrap().extend(own);
        self.board.all.wait();
        for (body, velocity, change) in self.board.messages.lock().unwrap().iter() {
            state.set_velocity(*body, *velocity);
            if let Some(change) = change {
                state.set_impact_change(*body, *change);
            }
        }
        if self.board.all.wait().is_leader() {
            self.board.messages.lock().unwrap().clear();
        }
        self.board.all.wait();
    }
}

/// The same step by several processes, which have blocks at random.
fn shared<B: SubstepBackend + Default>(crowd: &Crowd, processes: usize, seed: u64) -> Outcome {
    let mut noise = Noise(seed);
    let blocks = crowd.plan.blocks.len() - 1;
    let owner: Vec<usize> = (0..blocks)
        .map(|_| (noise.next() * processes as f64) as usize)
        .collect();
    let board = Board {
        messages: Mutex::default(),
        all: Barrier::new(processes),
    };
    let parts: Vec<_> = (0..processes)
        .map(|process| part_of(&crowd.plan, |block| owner[block] == process))
        .collect();
    let outcomes: Vec<Outcome> = std::thread::scope(|scope| {
        let run = |(plan, places): &(SweepPlan, Vec<usize>), threads: usize| {
            let colours = plan.colours.windows(2).map(|ends| {
                let first = |block: u32| plan.groups[plan.blocks[block as usize] as usize] as usize;
                let contacts = &places[first(ends[0])..first(ends[1])];
                let bodies = contacts.iter().flat_map(|&i| crowd.rows[i].contact.bodies);
                let bodies = bodies.map(|body| body as usize);
                bodies.filter(|&body| body < crowd.movable).collect()
            });
            let exchange = AtBoard {
                board: &board,
                touched: colours.collect(),
            };
            advance::<B, _>(crowd, (plan, places), threads, &exchange)
        };
        let handles: Vec<_> = parts
            .iter()
            .zip([1, 2].into_iter().cycle())
            .map(|(part, threads)| scope.spawn(move || run(part, threads)))
            .collect();
        handles.into_iter().map(|h| h.join().unwrap()).collect()
    });
    let contacts = crowd.rows.len();
    let mut whole = Outcome {
        bodies: outcomes[0].bodies.clone(),
        moved: outcomes[0].moved.clone(),
        impulses: vec![Impulse::default(); contacts],
        sums: vec![Impulse::default(); contacts],
        impacts: 0,
    };
    for (outcome, (_, places)) in outcomes.iter().zip(&parts) {
        // All know what became of all bodies; ghosts belong to who has their contact.
        let movable = ..crowd.movable;
        assert_eq!(outcome.bodies[movable], whole.bodies[movable]);
        assert_eq!(outcome.moved, whole.moved);
        whole.impacts += outcome.impacts;
        for (k, &place) in places.iter().enumerate() {
            whole.impulses[place] = outcome.impulses[k];
            whole.sums[place] = outcome.sums[k];
        }
    }
    whole
}

fn processes_that_exchange_after_every_colour_give_the_bits_of_one<B: SubstepBackend + Default>() {
    let crowd = crowd::crowd(9, true);
    let one = alone::<B>(&crowd, 2);
    assert!(one.impacts > 10, "the crowd has impacts");
    for (processes, seed) in [(1, 1), (2, 2), (3, 3), (5, 4)] {
        let several = shared::<B>(&crowd, processes, seed);
        assert!(several == one, "{processes} processes");
    }
}

#[test]
fn processes_with_block_sweeps_give_the_bits_of_one() {
    processes_that_exchange_after_every_colour_give_the_bits_of_one::<BlockSweeper>();
}

#[test]
fn processes_with_the_reference_give_the_bits_of_one() {
    processes_that_exchange_after_every_colour_give_the_bits_of_one::<ReferenceBackend>();
}

#[test]
fn block_sweeps_and_the_reference_agree_to_rounding_behind_the_seam() {
    for rolls in [false, true] {
        let crowd = crowd::crowd(9, rolls);
        let [a, b] = [
            alone::<BlockSweeper>(&crowd, 2),
            alone::<ReferenceBackend>(&crowd, 1),
        ];
        assert_eq!(a.impacts, b.impacts);
        let speed =
            |list: &[[DVec3; 2]], k: usize| list.iter().map(|v| v[k].length()).fold(0.0, f64::max);
        for k in [0, 1] {
            let max = speed(&b.moved, k);
            for (x, y) in a.moved.iter().zip(&b.moved) {
                assert!((x[k] - y[k]).length() < 1e-11 * max);
            }
        }
        let load = b.sums.iter().map(|p| p.normal).fold(0.0, f64::max);
        for (x, y) in a.sums.iter().zip(&b.sums) {
            assert!((x.normal - y.normal).abs() < 1e-11 * load);
            assert!((x.friction - y.friction).length() < 1e-11 * load);
        }
    }
}
