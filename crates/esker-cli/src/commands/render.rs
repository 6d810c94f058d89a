//! `esker render`: pictures and clips of a recording, without display or GPU.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, bail};
use clap::Args;
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use esker_record::Recording;
use glam::DVec3;

use crate::arguments::time;
use crate::exit_code::ExitCode;
use crate::run_folder::open_recording;
use esker::output_file;
use esker::picture::{Clip, Color, Drawing, Shown, Style};

/// Draw frames of a recording.
#[derive(Args)]
#[command(
    after_help = "Examples:\n  esker render out/drum -o drum.png\n  esker render out/drum -o drum.png --at 1.5 --color height --view side\n  esker render out/drum --gif drum.gif\n  esker render out/drum --frames pictures\n  esker render out/pile -o profile.png --view front --color material --hide floor --clip 'y>0'"
)]
pub struct Arguments {
    /// Folder of a run, or a recording
    run: PathBuf,
    /// Picture to write (PNG)
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Time of the picture, s; the nearest frame is taken [default: the last]
    #[arg(long, value_name = "TIME", value_parser = time)]
    at: Option<f64>,
    /// Write all frames as numbered pictures into a folder
    #[arg(long, value_name = "DIR")]
    frames: Option<PathBuf>,
    /// Write all frames as an animated GIF
    #[arg(long, value_name = "FILE")]
    gif: Option<PathBuf>,
    /// Write all frames as an animated PNG
    #[arg(long, value_name = "FILE")]
    apng: Option<PathBuf>,
    /// Take every Nth frame of a clip
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..))]
    every: u32,
    /// Frames of a clip shown per second
    #[arg(long, value_name = "RATE", default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..=100))]
    rate: u32,
    /// What colours show
    #[arg(long, default_value = Color::Speed.name(), value_parser = color())]
    color: Color,
    /// Draw contacts as bars by normal force, in half-transparent grains
    #[arg(long)]
    chains: bool,
    /// Draw the joints of machines, in half-transparent bodies: anchors, axes, and those that are
    /// driven
    #[arg(long)]
    joints: bool,
    /// From where: oblique, or a viewing direction X,Y,Z; front, side and top are without
    /// perspective and show a pile's profile
    #[arg(
        long,
        visible_alias = "camera",
        value_name = "VIEW",
        default_value = "oblique",
        allow_hyphen_values = true
    )]
    view: String,
    /// Values at the two ends of the colours [default: those of the grains]
    #[arg(long, value_names = ["LOW", "HIGH"], num_args = 2, allow_negative_numbers = true, value_parser = finite)]
    range: Vec<f64>,
    /// Magnification
    #[arg(long, value_name = "FACTOR", default_value_t = 1.0, value_parser = positive)]
    zoom: f64,
    /// Point in the middle of the picture, m [default: all is in it]
    #[arg(long, value_name = "X,Y,Z", value_parser = super::parse_point, allow_hyphen_values = true)]
    focus: Option<DVec3>,
    /// Show one half of space only, such as y<0.05; may be given several times
    #[arg(long, value_name = "HALF")]
    clip: Vec<Clip>,
    /// Leave out a wall, by its name; may be given several times
    #[arg(long, value_name = "WALL")]
    hide: Vec<String>,
    /// Colour of a material, such as sand=#d8b070; may be given several times
    #[arg(long, value_name = "NAME=COLOUR", value_parser = material_color)]
    material_color: Vec<(String, [u8; 3])>,
    /// Width and height in pixels
    #[arg(long, value_name = "WxH", default_value = "1280x960", value_parser = size)]
    size: (u32, u32),
}

/// Largest picture, pixels per side.
const LARGEST: u32 = 8192;

fn finite(text: &str) -> Result<f64, String> {
    let number = text.parse::<f64>().ok().filter(|x| x.is_finite());
    number.ok_or_else(|| "a finite number is wanted".into())
}

fn positive(text: &str) -> Result<f64, String> {
    finite(text).and_then(|x| match x > 0.0 {
        true => Ok(x),
        false => Err("a number greater than 0 is wanted".into()),
    })
}

fn material_color(text: &str) -> Result<(String, [u8; 3]), String> {
    let (name, color) = text
        .rsplit_once('=')
        .ok_or("a material and its colour are wanted, such as sand=#d8b070")?;
    let color = esker_scene::parse_color(color)?;
    Ok((name.to_owned(), color))
}

fn color() -> impl TypedValueParser<Value = Color> {
    let names = Color::ALL.map(|color| PossibleValue::new(color.name()).help(color.meaning()));
    PossibleValuesParser::new(names).try_map(|name| name.parse::<Color>())
}

fn size(text: &str) -> Result<(u32, u32), String> {
    let parse = |side: &str| side.parse().ok().filter(|n| (16..=LARGEST).contains(n));
    text.split_once('x')
        .and_then(|(width, height)| Some((parse(width)?, parse(height)?)))
        .ok_or_else(|| format!("expected WIDTHxHEIGHT with 16 to {LARGEST} pixels each"))
}

/// Runs the command.
pub fn run(arguments: &Arguments) -> anyhow::Result<ExitCode> {
    for (path, format, endings) in [
        (&arguments.output, "a PNG picture", &["png"][..]),
        (&arguments.gif, "an animated GIF", &["gif"]),
        (&arguments.apng, "an animated PNG", &["png", "apng"]),
    ] {
        if let Some(path) = path {
            check_ending(path, format, endings)?;
        }
    }
    let recording = open_recording(&arguments.run)?;
    let count = recording.frames().len();
    if count == 0 {
        bail!("the recording has no frames yet");
    }
    let clip: Vec<usize> = (0..count).step_by(arguments.every as usize).collect();
    let outputs = [
        &arguments.output,
        &arguments.frames,
        &arguments.gif,
        &arguments.apng,
    ];
    if outputs.iter().all(|output| output.is_none()) {
        bail!("nothing to write: give -o FILE, --frames DIR, --gif FILE or --apng FILE");
    }
    if let Some(path) = &arguments.output {
        let index = match arguments.at {
            Some(time) => recording.nearest(time).unwrap_or(count - 1),
            None => count - 1,
        };
        let image = drawing(&recording, arguments, &[index])?.draw(index)?;
        write(path, &image.encode_png()?)?;
    }
    if arguments.frames.is_none() && arguments.gif.is_none() && arguments.apng.is_none() {
        return Ok(ExitCode::SUCCESS);
    }
    let drawing = drawing(&recording, arguments, &clip)?;
    if let Some(folder) = &arguments.frames {
        fs::create_dir_all(folder)
            .with_context(|| format!("cannot create {}", folder.display()))?;
        for &index in &clip {
            let path = folder.join(format!("frame-{index:06}.png"));
            output_file::write(&path, &drawing.draw(index)?.encode_png()?)?;
        }
        println!("{} pictures in {}", clip.len(), folder.display());
    }
    if arguments.gif.is_some() || arguments.apng.is_some() {
        let images = clip
            .iter()
            .map(|&i| drawing.draw(i))
            .collect::<Result<Vec<_>, _>>()?;
        let delay = Duration::from_secs_f64(1.0 / f64::from(arguments.rate));
        if let Some(path) = &arguments.gif {
            write(path, &esker_render::encode_gif(&images, delay)?)?;
        }
        if let Some(path) = &arguments.apng {
            write(path, &esker_render::encode_apng(&images, delay)?)?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn drawing<'a>(
    recording: &'a Recording,
    arguments: &Arguments,
    frames: &[usize],
) -> anyhow::Result<Drawing<'a>> {
    let style = Style {
        // Bars and grains share one colour scale.
        color: if arguments.chains {
            Color::Force
        } else {
            arguments.color
        },
        chains: arguments.chains,
        joints: arguments.joints,
        view: arguments.view.clone(),
        size: arguments.size,
        range: match arguments.range[..] {
            [low, high] => Some([low, high]),
            _ => None,
        },
        zoom: arguments.zoom,
        focus: arguments.focus,
        shown: Shown {
            hidden: arguments.hide.clone(),
            clips: arguments.clip.clone(),
        },
        material_colors: arguments.material_color.clone(),
    };
    Ok(Drawing::new(recording, style, frames)?)
}

/// Refuses a name that promises another format than is written.
fn check_ending(path: &Path, format: &str, endings: &[&str]) -> anyhow::Result<()> {
    let Some(ending) = path.extension().map(|ending| ending.to_string_lossy()) else {
        return Ok(());
    };
    if !endings
        .iter()
        .any(|known| ending.eq_ignore_ascii_case(known))
    {
        bail!(
            "{} would be {format}: its name must end in .{}; other formats are --gif FILE.gif \
             and --apng FILE.png",
            path.display(),
            endings.join(" or .")
        );
    }
    Ok(())
}

fn write(path: &Path, bytes: &[u8]) -> anyhow::Result<()> {
    output_file::write(path, bytes)?;
    println!("{}", path.display());
    Ok(())
}
