//! What requests of the page are answered with.

use std::sync::Arc;

use esker::picture::{Color, PictureError, camera};
use esker::record::{Frame, FramePartner, RecordingHeader};
use esker::render::Projection;
use esker::world::GrainId;
use glam::DVec3;
use serde_json::{Value, json};

use crate::frame_bytes::{self, Wanted};
use crate::query::Query;
use crate::{LiveState, Source, ViewError, about, series, surfaces};

/// Grains that can be picked at once.
const MOST_PICKED: usize = 16;
/// Series that can be plotted at once.
const MOST_COLUMNS: usize = 16;
/// Places of a trace that are sent at once.
const MOST_PLACES: usize = 400;
/// Steps that one command makes.
const MOST_STEPS: u64 = 1_000_000;

/// An answer.
pub enum Answer {
    /// JSON.
    Json(Value),
    /// Numbers.
    Binary(Vec<u8>),
    /// Nothing has changed.
    Unchanged,
}

/// Answers a question of the page; `None` where it is none.
pub fn ask(source: &Source, path: &str, query: &Query<'_>) -> Option<Result<Answer, ViewError>> {
    Some(match path {
        "about" => about::about(source).map(Answer::Json),
        "status" => Ok(Answer::Json(status(source))),
        "moments" => Ok(Answer::Json(moments(source))),
        "surfaces" => Ok(Answer::Binary(surfaces::encode(&source.header()))),
        "frame" => frame(source, query),
        "view" => view(source, query).map(Answer::Json),
        "range" => range(source, query).map(Answer::Json),
        "series" => plot(source, query).map(Answer::Json),
        "grain" => grain(source, query).map(Answer::Json),
        "trace" => trace(source, query).map(Answer::Json),
        _ => return None,
    })
}

/// Does what the page tells a live run to do.
pub fn command(source: &Source, query: &Query<'_>) -> Result<Answer, ViewError> {
    let live = source.live()?;
    match query.get("do") {
        Some("pause") => live.pause(),
        Some("resume") => live.resume(),
        Some("step") => live.step(query.parse("count")?.unwrap_or(1).min(MOST_STEPS)),
        Some("stop") => live.stop(),
        _ => {
            let known = "a live run can pause, resume, step and stop";
            return Err(ViewError::Request(known.to_owned()));
        }
    }
    Ok(Answer::Json(status(source)))
}

fn status(source: &Source) -> Value {
    let moments = source.moments();
    let last = moments.last();
    let problem = match source {
        Source::Recorded(run) => run.problem(),
        Source::Live(_) => None,
    };
    let live = source.live().ok().map(|live| {
        let (state, progress) = (live.state(), live.progress());
        json!({
            "state": state.name(),
            "failure": match &state {
                LiveState::Failed(why) => Some(why),
                _ => None,
            },
            "step": progress.step,
            "time": progress.time,
            "end": live.end(),
            "grains": progress.grains,
            "contacts": progress.contacts,
            "residual": progress.residual,
            "wall_seconds": progress.wall_seconds,
            "speed": progress.speed,
            "folder": live.folder(),
        })
    });
    json!({
        "frames": moments.len(),
        "first_step": moments.first().map(|moment| moment.step),
        "last_step": last.map(|moment| moment.step),
        "problem": problem,
        "live": live,
    })
}

fn moments(source: &Source) -> Value {
    let moments = source.moments();
    json!({
        "step": moments.iter().map(|moment| moment.step).collect::<Vec<_>>(),
        "time": moments.iter().map(|moment| moment.time).collect::<Vec<_>>(),
    })
}

/// The frame that a query names: of a step, or what is newest.
fn named_frame(source: &Source, query: &Query<'_>) -> Result<Arc<Frame>, ViewError> {
    match (query.get("step"), source) {
        (None | Some("newest"), Source::Live(live)) => live.newest(query.parse("after")?),
        (None | Some("newest"), Source::Recorded(_)) => source.newest(),
        (Some(_), _) => {
            let step = query.parse("step")?.unwrap_or(0);
            source.frame(step)
        }
    }
}

fn named_color(query: &Query<'_>) -> Result<Color, ViewError> {
    let name = query.get("color").unwrap_or(Color::Speed.name());
    name.parse().map_err(ViewError::Request)
}

fn frame(source: &Source, query: &Query<'_>) -> Result<Answer, ViewError> {
    let header = source.header();
    let color = named_color(query)?;
    color.check(&header.settings)?;
    let chains = query.get("chains") == Some("1");
    if chains {
        Color::Force.check(&header.settings)?;
    }
    let joints = query.get("joints") == Some("1");
    if joints && header.joints.is_empty() {
        return Err(PictureError::NoJoints.into());
    }
    let picked: Vec<u64> = query.list("picked", MOST_PICKED)?;
    let frame = named_frame(source, query)?;
    if query
        .parse("after")?
        .is_some_and(|after: u64| frame.step <= after)
    {
        return Ok(Answer::Unchanged);
    }
    let wanted = Wanted {
        color,
        chains,
        joints,
        picked: &picked,
    };
    let bytes = frame_bytes::encode(&header, &frame, &wanted);
    Ok(Answer::Binary(bytes))
}

fn view(source: &Source, query: &Query<'_>) -> Result<Value, ViewError> {
    let aspect: f64 = query.parse("aspect")?.unwrap_or(1.0);
    if !(0.01..=100.0).contains(&aspect) {
        let wrong = "\"aspect\" is the width of the picture over its height".to_owned();
        return Err(ViewError::Request(wrong));
    }
    let subject = source.subject(query.parse("step")?)?;
    let name = query.get("view").unwrap_or("oblique");
    let camera = camera(&source.header(), name, aspect, &subject.bounds)?;
    let (fov_y, height) = match camera.projection {
        Projection::Perspective { fov_y } => (Some(fov_y), None),
        Projection::Orthographic { height } => (None, Some(height)),
    };
    Ok(json!({
        "eye": camera.eye.to_array(),
        "target": camera.target.to_array(),
        "up": camera.up.to_array(),
        "fov_y": fov_y,
        "height": height,
        "low": subject.bounds.min.to_array(),
        "high": subject.bounds.max.to_array(),
        "floors": subject.floors,
        "floor_middle": subject.middle.to_array(),
        "floor_radius": subject.floor_radius,
    }))
}

fn range(source: &Source, query: &Query<'_>) -> Result<Value, ViewError> {
    let (low, high) = source.color_range(named_color(query)?)?;
    Ok(json!({ "low": low, "high": high }))
}

fn plot(source: &Source, query: &Query<'_>) -> Result<Value, ViewError> {
    let columns: Vec<usize> = query.list("columns", MOST_COLUMNS)?;
    let all = series::list(&source.header())
        .as_array()
        .map_or(0, Vec::len);
    if columns.iter().any(|&column| column >= all) {
        let wrong = format!("there are {all} series to plot");
        return Err(ViewError::Request(wrong));
    }
    let points = query.parse("points")?.unwrap_or(500);
    source.with_scalars(|scalars| series::read(scalars, &columns, points))
}

/// The row of the grain that a query names by its id, or by its place in what was sent.
fn named_row(frame: &Frame, query: &Query<'_>) -> Result<usize, ViewError> {
    let row = match query.parse("id")? {
        Some(id) => frame.index_of(id),
        None => {
            let place: usize = query.parse("index")?.ok_or(ViewError::NoGrain)?;
            frame_bytes::order(frame).get(place).copied()
        }
    };
    row.ok_or(ViewError::NoGrain)
}

fn grain(source: &Source, query: &Query<'_>) -> Result<Value, ViewError> {
    let header = source.header();
    let frame = named_frame(source, query)?;
    let row = named_row(&frame, query)?;
    Ok(state_of_grain(&header, &frame, row))
}

/// Everything that a frame knows about a grain; what it does not know is null.
fn state_of_grain(header: &RecordingHeader, frame: &Frame, row: usize) -> Value {
    let id = frame.id[row];
    let vector = |list: &[DVec3]| list.get(row).map(|v| v.to_array());
    let number = |list: &[f64]| list.get(row).copied();
    let material = frame.material.get(row).map(|&m| usize::from(m));
    let contacts = header.settings.contacts.then(|| {
        let own = frame
            .contacts
            .iter()
            .filter(|contact| contact.grain == id || contact.partner == FramePartner::Grain(id));
        own.map(|contact| {
            let with = match contact.partner {
                FramePartner::Wall(wall) => {
                    let wall = usize::try_from(wall).ok().and_then(|w| header.walls.get(w));
                    wall.map_or_else(String::new, |wall| wall.name.clone())
                }
                FramePartner::Grain(other) if contact.grain == id => name_of(other),
                FramePartner::Grain(_) => name_of(contact.grain),
            };
            json!({
                "with": with,
                "force": contact.normal_impulse / header.impulse_step,
                "friction": contact.friction_impulse.length() / header.impulse_step,
                "overlap": contact.overlap,
            })
        })
        .collect::<Vec<_>>()
    });
    json!({
        "step": frame.step,
        "time": frame.time,
        // As text: a number of JavaScript has 53 bits.
        "id": id.to_string(),
        "name": name_of(id),
        "position": vector(&frame.position),
        "velocity": vector(&frame.velocity),
        "angular_velocity": vector(&frame.angular_velocity),
        "orientation": frame.orientation.get(row).map(|q| q.to_array()),
        "radius": number(&frame.radius),
        "mass": number(&frame.mass),
        "material": material.and_then(|m| header.materials.get(m)),
        "aggregate": frame.aggregate.get(row),
        "contacts": contacts,
    })
}

fn name_of(id: u64) -> String {
    GrainId::from_u64(id).to_string()
}

/// Where a grain was up to a step, at evenly chosen frames.
fn trace(source: &Source, query: &Query<'_>) -> Result<Value, ViewError> {
    let id: u64 = query.parse("id")?.ok_or(ViewError::NoGrain)?;
    let until = query.parse("until")?.unwrap_or(u64::MAX);
    let moments = source.moments();
    let shown = &moments[..moments.partition_point(|moment| moment.step <= until)];
    let stride = shown.len().div_ceil(MOST_PLACES).max(1);
    let chosen = shown.iter().rev().step_by(stride);
    let mut places: Vec<Value> = Vec::new();
    for moment in chosen {
        let frame = source.frame(moment.step)?;
        let row = frame.index_of(id);
        let place = row.and_then(|row| frame.position.get(row));
        places.push(json!(place.map(|p| p.to_array())));
    }
    places.reverse();
    Ok(json!({ "id": id.to_string(), "places": places }))
}
