//! Time series for plots: scalars of every step and loads of walls, as many points as a plot has.

use esker::record::{RecordingHeader, SCALARS, Scalars};
use serde_json::{Value, json};

/// Most points that are sent of a series.
const MOST_POINTS: usize = 4000;

/// Loads of a wall that can be plotted.
const OF_WALL: [(&str, &str); 3] = [("force", "N"), ("torque", "N m"), ("power", "W")];

/// What can be plotted: first the scalars, then the loads of every wall.
pub fn list(header: &RecordingHeader) -> Value {
    let scalars = SCALARS.iter().map(|scalar| {
        json!({ "name": scalar.name.replace('_', " "), "unit": scalar.unit, "meaning": scalar.meaning })
    });
    let loads = header.walls.iter().flat_map(|wall| {
        OF_WALL.map(|(load, unit)| {
            json!({
                "name": format!("{load} on {}", wall.name),
                "unit": unit,
                "meaning": format!("{load} of the grains on {}, mean over the step", wall.name),
            })
        })
    });
    scalars.chain(loads).collect()
}

/// Smallest and largest values of some series in equal stretches of steps.
pub fn read(scalars: &Scalars, columns: &[usize], points: usize) -> Value {
    let steps = scalars.len();
    let points = points.clamp(1, MOST_POINTS).min(steps.max(1));
    let stretch = |i: usize| i * steps / points..((i + 1) * steps / points).max(1).min(steps);
    let time = SCALARS.iter().position(|s| s.name == "time").unwrap_or(0);
    let rows = scalars.rows();
    let times: Vec<f64> = (0..points)
        .filter_map(|i| stretch(i).next_back())
        .map(|step| rows[step][time])
        .collect();
    let loads: Vec<_> = scalars.loads().collect();
    let value = |column: usize, step: usize| -> f64 {
        let Some(load) = column.checked_sub(SCALARS.len()) else {
            return rows[step][column];
        };
        let Some(of_wall) = loads[step].get(load / OF_WALL.len()) else {
            return f64::NAN;
        };
        match load % OF_WALL.len() {
            0 => of_wall.force.length(),
            1 => of_wall.torque.length(),
            _ => of_wall.power,
        }
    };
    let columns = columns.iter().map(|&column| {
        let ends = (0..points).map(|i| {
            let values = stretch(i).map(|step| value(column, step));
            let known = values.filter(|x| x.is_finite());
            known.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), x| {
                (low.min(x), high.max(x))
            })
        });
        // What is not finite is null: not known.
        let (low, high): (Vec<f64>, Vec<f64>) = ends.unzip();
        json!({ "low": low, "high": high })
    });
    json!({ "time": times, "columns": columns.collect::<Vec<_>>() })
}
