//! Steps whose substeps a GPU computes, beside steps of the same beds on all cores.

use esker::device_for;
use esker_scene::{Device, DevicePrecision};
use esker_solver::device::DeviceWork;
use esker_solver::packed::{BYTES_PER_CONTACT, BYTES_WRITTEN_PER_CONTACT};
use esker_solver::plan::MOST_FLAT;
use esker_world::definition::WorldDef;
use esker_world::{Stage, StageTimes, World};
use serde::Serialize;

use super::bed::{RowCount, SettledBox, sub_stepped};
use crate::exit_code::ExitCode;
use crate::threads::cores;

/// Grains of the beds, about.
const SIZES: [usize; 4] = [10_000, 100_000, 300_000, 1_000_000];
/// Beds of a quick run.
const QUICK: usize = 2;
/// Substeps per step.
const SUBSTEPS: usize = 25;
/// Steps before any is timed.
const RUN_UP: usize = 10;
/// Steps that are timed.
const TIMED: usize = 20;

/// Everything measured.
#[derive(Debug, Serialize)]
struct Report {
    device: String,
    threads: usize,
    beds: Vec<BedTime>,
}

/// Mean times of steps of one bed.
#[derive(Debug, Serialize)]
struct BedTime {
    grains: usize,
    contacts: usize,
    /// On the GPU.
    order: Order,
    precision: Precision,
    /// Steps, s: on all cores, on the GPU, and those on the GPU that left the grains there.
    seconds_per_step: [f64; 3],
    /// Stages, s, in the same order.
    stages: Vec<(&'static str, [f64; 3])>,
    /// Kernels of the substeps of a step, s.
    kernel_seconds: f64,
    launches: usize,
    /// Bytes sent to the GPU and fetched in a step.
    copied: [usize; 2],
    /// Bytes of contacts that sweeps read and write, over the time of the kernels and the bandwidth
    /// of the GPU's memory.
    bandwidth_share: f64,
}

/// Runs the comparison and prints it.
pub fn run(quick: bool, json: bool) -> anyhow::Result<ExitCode> {
    let threads = cores();
    // Asked for first: who has no GPU need not wait to be told so.
    device_for(Device::Gpu, DevicePrecision::Double, &WorldDef::default())?;
    let settled = SettledBox::prepare(threads)?;
    let mut report = Report {
        device: String::new(),
        threads,
        beds: Vec::new(),
    };
    let sizes = if quick { &SIZES[..QUICK] } else { &SIZES };
    for &grains in sizes {
        let bed = settled.bed(grains, RowCount::Three, sub_stepped(SUBSTEPS));
        let mut world = World::new(&bed)?;
        world.set_threads(threads);
        // As a run that states no device.
        let on_cpu = Timed::of(&mut world)?;
        world.set_device_order(true);
        world.leave_on_device(true);
        for (order, precision) in VARIANTS {
            let choice = match precision {
                Precision::Double => DevicePrecision::Double,
                Precision::Mixed => DevicePrecision::Mixed,
            };
            if let Some(device) = device_for(Device::Gpu, choice, &WorldDef::default())?.gpu() {
                device.name().clone_into(&mut report.device);
                device.hand_to(&mut world)?;
            }
            world.set_most_flat(order.most_flat());
            let on_gpu = Timed::of(&mut world)?;
            world.fetch()?;
            let times = BedTime::of(&world, (order, precision), [&on_cpu, &on_gpu]);
            report.beds.push(times);
        }
    }
    if json {
        println!("{}", serde_json::to_string_pretty(&report)?);
    } else {
        print(&report);
    }
    Ok(ExitCode::SUCCESS)
}

/// What contacts are swept by.
#[derive(Clone, Copy, Debug, Serialize)]
#[serde(rename_all = "snake_case")]
enum Order {
    Colours,
    Blocks,
}

/// What it computes with.
#[derive(Clone, Copy, Debug, Serialize)]
#[serde(rename_all = "snake_case")]
enum Precision {
    Double,
    Mixed,
}

/// What steps are made with. Runs choose the order by how many contacts there are
/// ([`MOST_FLAT`]).
const VARIANTS: [(Order, Precision); 4] = [
    (Order::Colours, Precision::Double),
    (Order::Blocks, Precision::Double),
    (Order::Colours, Precision::Mixed),
    (Order::Blocks, Precision::Mixed),
];

impl Order {
    /// Whether runs have this order where there are so many contacts.
    fn is_chosen(self, contacts: usize) -> bool {
        matches!(self, Order::Colours) == (contacts <= MOST_FLAT)
    }

    fn most_flat(self) -> usize {
        match self {
            Order::Colours => usize::MAX,
            Order::Blocks => 0,
        }
    }
}

/// Some steps.
struct Timed {
    contacts: usize,
    stages: StageTimes,
    /// Of these, steps that left the grains on the GPU.
    stayed: usize,
    resident: StageTimes,
    /// What a device did in a step, in the mean.
    work: DeviceWork,
}

impl Timed {
    fn of(world: &mut World) -> anyhow::Result<Timed> {
        for _ in 0..RUN_UP {
            world.step()?;
        }
        let mut timed = Timed {
            contacts: 0,
            stages: StageTimes::default(),
            stayed: 0,
            resident: StageTimes::default(),
            work: DeviceWork::default(),
        };
        for _ in 0..TIMED {
            let report = world.step()?;
            timed.contacts = report.contacts;
            timed.stages.add(&report.times);
            if let Some(device) = world.resident_device().filter(|_| world.is_on_device()) {
                let seconds = timed.work.kernel_seconds;
                timed.work = device.work()?;
                timed.work.kernel_seconds += seconds;
                timed.stayed += 1;
                timed.resident.add(&report.times);
            }
        }
        timed.work.kernel_seconds /= timed.stayed.max(1) as f64;
        Ok(timed)
    }

    fn seconds(&self, stage: Stage) -> f64 {
        self.stages.get(stage).as_secs_f64() / TIMED as f64
    }
}

impl BedTime {
    fn of(world: &World, (order, precision): (Order, Precision), timed: [&Timed; 2]) -> Self {
        let [_, on_gpu] = timed;
        let bytes = BYTES_PER_CONTACT[0] + BYTES_WRITTEN_PER_CONTACT[0];
        let moved = (bytes * on_gpu.contacts * SUBSTEPS) as f64;
        let work = on_gpu.work;
        BedTime {
            grains: world.grains().len(),
            contacts: on_gpu.contacts,
            order,
            precision,
            seconds_per_step: [
                timed[0].stages.total().as_secs_f64() / TIMED as f64,
                on_gpu.stages.total().as_secs_f64() / TIMED as f64,
                on_gpu.resident.total().as_secs_f64() / on_gpu.stayed.max(1) as f64,
            ],
            stages: Stage::ALL
                .map(|stage| {
                    let [cpu, gpu] = timed.map(|t| t.seconds(stage));
                    let stayed = on_gpu.resident.get(stage).as_secs_f64();
                    let times = [cpu, gpu, stayed / on_gpu.stayed.max(1) as f64];
                    (stage.name(), times)
                })
                .to_vec(),
            kernel_seconds: work.kernel_seconds,
            launches: work.launches,
            copied: work.copied,
            bandwidth_share: match work.bandwidth {
                0.0 => 0.0,
                bandwidth => moved / (work.kernel_seconds * bandwidth),
            },
        }
    }
}

fn print(report: &Report) {
    println!(
        "steps of {SUBSTEPS} substeps on {} threads; on {}; and those of them that left the \
         grains there",
        report.threads, report.device
    );
    for bed in &report.beds {
        let [cpu, gpu, alone] = bed.seconds_per_step.map(|s| s * 1e3);
        let (grains, contacts) = (bed.grains, bed.contacts);
        println!(
            "{grains} grains, {contacts} contacts, by {}{}: {cpu:.2}, {gpu:.2} and {alone:.2} ms \
             per step",
            match bed.order {
                Order::Colours => "colours",
                Order::Blocks => "blocks",
            },
            match (bed.precision, bed.order.is_chosen(contacts)) {
                (Precision::Double, true) => ", as runs do",
                (Precision::Double, false) => "",
                (Precision::Mixed, true) => " in mixed precision, as runs do",
                (Precision::Mixed, false) => " in mixed precision",
            }
        );
        for (name, times) in &bed.stages {
            let [cpu, gpu, alone] = times.map(|s| s * 1e3);
            println!("{name:>12} {cpu:8.2} {gpu:8.2} {alone:8.2} ms");
        }
        let [sent, fetched] = bed.copied.map(|bytes| bytes as f64 * 1e-6);
        println!(
            "{:>12} {:8.2} ms in {} launches, {:.3} ns per contact and sweep, \
             {:.0} % of the memory's bandwidth; {sent:.1} MB sent, {fetched:.1} MB fetched",
            "kernels",
            bed.kernel_seconds * 1e3,
            bed.launches,
            bed.kernel_seconds * 1e9 / (bed.contacts * SUBSTEPS) as f64,
            bed.bandwidth_share * 1e2,
        );
    }
}
