//! Curves on two axes.

use std::fmt::Write;

use crate::axis::{Axis, FittedAxis};
use crate::colour::SERIES_COLOURS;
use crate::text::escape;

/// One curve or set of points.
#[derive(Clone, Debug, PartialEq)]
pub struct Series {
    /// Its name in the legend; empty: not in the legend.
    pub name: String,
    /// The points, in drawing order.
    pub points: Vec<[f64; 2]>,
    /// Lower and upper bound at each point, drawn as a band.
    pub band: Option<Vec<[f64; 2]>>,
    /// Colour; `None`: the next of [`SERIES_COLOURS`].
    pub colour: Option<String>,
    line: bool,
    dashed: bool,
    marks: bool,
}

impl Series {
    /// A solid line.
    pub fn line(name: impl Into<String>, points: Vec<[f64; 2]>) -> Self {
        Series {
            name: name.into(),
            points,
            band: None,
            colour: None,
            line: true,
            dashed: false,
            marks: false,
        }
    }

    /// A dashed line: a law, a reference.
    pub fn dashed(name: impl Into<String>, points: Vec<[f64; 2]>) -> Self {
        Series {
            dashed: true,
            ..Series::line(name, points)
        }
    }

    /// Points without a line.
    pub fn points(name: impl Into<String>, points: Vec<[f64; 2]>) -> Self {
        Series {
            line: false,
            marks: true,
            ..Series::line(name, points)
        }
    }

    /// The series with a mark at every point.
    pub fn with_points(mut self) -> Self {
        self.marks = true;
        self
    }

    /// The series with a band from the lower to the upper bounds.
    pub fn with_band(mut self, band: Vec<[f64; 2]>) -> Self {
        self.band = Some(band);
        self
    }

    /// The series in a colour of its own.
    pub fn coloured(mut self, colour: impl Into<String>) -> Self {
        self.colour = Some(colour.into());
        self
    }
}

/// Curves on two axes.
#[derive(Clone, Debug, PartialEq)]
pub struct Plot {
    /// Title above the frame.
    pub title: String,
    /// Horizontal axis.
    pub x: Axis,
    /// Vertical axis.
    pub y: Axis,
    /// What is drawn.
    pub series: Vec<Series>,
    /// Width and height, px.
    pub size: [f64; 2],
}

const LEFT: f64 = 68.0;
const RIGHT: f64 = 16.0;
const TOP: f64 = 34.0;
const BOTTOM: f64 = 52.0;
const LEGEND_LINE: f64 = 17.0;

impl Plot {
    /// An empty plot.
    pub fn new(title: impl Into<String>, x: Axis, y: Axis) -> Self {
        Plot {
            title: title.into(),
            x,
            y,
            series: Vec::new(),
            size: [620.0, 400.0],
        }
    }

    /// The plot with one more series.
    pub fn with(mut self, series: Series) -> Self {
        self.series.push(series);
        self
    }

    /// The plot as an `<svg>` element; its legend stands below the frame.
    pub fn svg(&self) -> String {
        let [width, height] = self.size;
        let entries = self.legend_entries();
        let columns = 2;
        let legend_height = LEGEND_LINE * entries.len().div_ceil(columns) as f64;
        let total = height + legend_height;
        let x = self.x.fit(
            self.series
                .iter()
                .flat_map(|s| s.points.iter().map(|p| p[0])),
            [LEFT, width - RIGHT],
        );
        let y = self.y.fit(
            self.series.iter().flat_map(|s| {
                let band = s.band.iter().flatten().flatten().copied();
                s.points.iter().map(|p| p[1]).chain(band)
            }),
            [height - BOTTOM, TOP],
        );
        let mut out = String::new();
        // Writing to a string cannot fail.
        let _ = write!(
            out,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {total}\" \
             width=\"{width}\" height=\"{total}\" font-family=\"sans-serif\" font-size=\"12\" \
             role=\"img\"><rect width=\"{width}\" height=\"{total}\" fill=\"white\"/>\
             <text x=\"{:.1}\" y=\"20\" text-anchor=\"middle\" font-size=\"14\" \
             font-weight=\"bold\">{}</text>",
            0.5 * (LEFT + width - RIGHT),
            escape(&self.title)
        );
        self.draw_frame(&mut out, &x, &y);
        let clip = format!("clip{:x}", fingerprint(&self.title, &self.y.label));
        let _ = write!(
            out,
            "<clipPath id=\"{clip}\"><rect x=\"{LEFT}\" y=\"{TOP}\" width=\"{:.1}\" \
             height=\"{:.1}\"/></clipPath><g clip-path=\"url(#{clip})\">",
            width - RIGHT - LEFT,
            height - BOTTOM - TOP
        );
        for (i, series) in self.series.iter().enumerate() {
            self.draw_series(&mut out, series, self.colour(i), &x, &y);
        }
        out.push_str("</g>");
        for (k, &i) in entries.iter().enumerate() {
            let left = LEFT + (k % columns) as f64 * 0.5 * (width - LEFT - RIGHT);
            let middle = height + LEGEND_LINE * ((k / columns) as f64 + 0.2);
            self.draw_legend_entry(&mut out, i, left, middle);
        }
        out.push_str("</svg>");
        out
    }

    fn colour(&self, index: usize) -> &str {
        self.series[index]
            .colour
            .as_deref()
            .unwrap_or(SERIES_COLOURS[index % SERIES_COLOURS.len()])
    }

    fn legend_entries(&self) -> Vec<usize> {
        (0..self.series.len())
            .filter(|&i| !self.series[i].name.is_empty())
            .collect()
    }

    fn draw_frame(&self, out: &mut String, x: &FittedAxis, y: &FittedAxis) {
        let [width, height] = self.size;
        let (bottom, right) = (height - BOTTOM, width - RIGHT);
        for (value, label) in x.ticks() {
            let at = x.at(value);
            let strong = if label.is_empty() {
                "#f2f2f2"
            } else {
                "#dddddd"
            };
            let _ = write!(
                out,
                "<path d=\"M{at:.1} {TOP}V{bottom}\" stroke=\"{strong}\"/>\
                 <text x=\"{at:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{label}</text>",
                bottom + 16.0
            );
        }
        for (value, label) in y.ticks() {
            let at = y.at(value);
            let strong = if label.is_empty() {
                "#f2f2f2"
            } else {
                "#dddddd"
            };
            let _ = write!(
                out,
                "<path d=\"M{LEFT} {at:.1}H{right}\" stroke=\"{strong}\"/>\
                 <text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\">{label}</text>",
                LEFT - 6.0,
                at + 4.0
            );
        }
        let _ = write!(
            out,
            "<rect x=\"{LEFT}\" y=\"{TOP}\" width=\"{:.1}\" height=\"{:.1}\" fill=\"none\" \
             stroke=\"#444444\"/><text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{}</text>\
             <text transform=\"translate(16 {:.1}) rotate(-90)\" text-anchor=\"middle\">{}</text>",
            right - LEFT,
            bottom - TOP,
            0.5 * (LEFT + right),
            height - 14.0,
            escape(&self.x.label),
            0.5 * (TOP + bottom),
            escape(&self.y.label)
        );
    }

    fn draw_series(
        &self,
        out: &mut String,
        series: &Series,
        colour: &str,
        x: &FittedAxis,
        y: &FittedAxis,
    ) {
        let shown = |p: &[f64; 2]| self.x.shows(p[0]) && self.y.shows(p[1]);
        if let Some(band) = &series.band {
            let edge = |k: usize| {
                series
                    .points
                    .iter()
                    .zip(band)
                    .map(move |(p, b)| [p[0], b[k]])
                    .filter(shown)
                    .map(|p| format!("{:.1} {:.1}", x.at(p[0]), y.at(p[1])))
                    .collect::<Vec<_>>()
            };
            let (low, mut high) = (edge(0), edge(1));
            high.reverse();
            if !low.is_empty() && !high.is_empty() {
                let _ = write!(
                    out,
                    "<path d=\"M{}L{}Z\" fill=\"{colour}\" fill-opacity=\"0.15\"/>",
                    low.join("L"),
                    high.join("L")
                );
            }
        }
        let points: Vec<[f64; 2]> = series
            .points
            .iter()
            .filter(|p| shown(p))
            .map(|p| [x.at(p[0]), y.at(p[1])])
            .collect();
        if series.line && points.len() > 1 {
            let path: Vec<String> = points
                .iter()
                .map(|p| format!("{:.1} {:.1}", p[0], p[1]))
                .collect();
            let dashes = if series.dashed {
                " stroke-dasharray=\"6 4\""
            } else {
                ""
            };
            let _ = write!(
                out,
                "<path d=\"M{}\" fill=\"none\" stroke=\"{colour}\" stroke-width=\"1.8\"{dashes}/>",
                path.join("L")
            );
        }
        if series.marks {
            for p in &points {
                let _ = write!(
                    out,
                    "<circle cx=\"{:.1}\" cy=\"{:.1}\" r=\"3\" fill=\"{colour}\"/>",
                    p[0], p[1]
                );
            }
        }
    }

    fn draw_legend_entry(&self, out: &mut String, index: usize, left: f64, middle: f64) {
        let (series, colour) = (&self.series[index], self.colour(index));
        if series.line {
            let dashes = if series.dashed {
                " stroke-dasharray=\"6 4\""
            } else {
                ""
            };
            let _ = write!(
                out,
                "<path d=\"M{left:.1} {middle:.1}h24\" stroke=\"{colour}\" \
                 stroke-width=\"1.8\"{dashes}/>"
            );
        }
        if series.marks {
            let _ = write!(
                out,
                "<circle cx=\"{:.1}\" cy=\"{middle:.1}\" r=\"3\" fill=\"{colour}\"/>",
                left + 12.0
            );
        }
        let _ = write!(
            out,
            "<text x=\"{:.1}\" y=\"{:.1}\">{}</text>",
            left + 30.0,
            middle + 4.0,
            escape(&series.name)
        );
    }
}

/// A name for the plot's clip region: plots on one page share one name space.
fn fingerprint(a: &str, b: &str) -> u64 {
    a.bytes()
        .chain([0])
        .chain(b.bytes())
        .fold(0xcbf2_9ce4_8422_2325, |h, byte| {
            (h ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plot_holds_its_title_labels_names_and_every_showable_point() {
        let plot = Plot::new("A < B", Axis::log("n"), Axis::linear("error (%)"))
            .with(
                Series::line("cold & dry", vec![[1.0, 2.0], [10.0, 3.0], [0.0, 9.0]])
                    .with_points()
                    .with_band(vec![[1.0, 3.0], [2.0, 4.0], [0.0, 0.0]]),
            )
            .with(Series::dashed("", vec![[1.0, 2.5], [10.0, 2.5]]));
        let svg = plot.svg();
        for text in [
            "A &lt; B",
            ">n<",
            "error (%)",
            "cold &amp; dry",
            "stroke-dasharray",
        ] {
            assert!(svg.contains(text), "{text} is missing");
        }
        // Two showable points and one mark in the legend.
        assert_eq!(svg.matches("<circle").count(), 3);
        assert_eq!(svg, plot.svg());
    }

    #[test]
    fn an_empty_plot_is_still_a_plot() {
        let svg = Plot::new("nothing", Axis::log("x"), Axis::log("y")).svg();
        assert!(svg.starts_with("<svg") && svg.ends_with("</svg>"));
        assert!(!svg.contains("NaN"));
    }
}
