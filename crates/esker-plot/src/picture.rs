//! Discs and segments in data coordinates: side views, force networks, cells.

use std::fmt::Write;

use crate::colour::colour_of;
use crate::text::{escape, number};

/// A disc coloured by a value.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Disc {
    /// Centre.
    pub centre: [f64; 2],
    /// Radius, in the same unit.
    pub radius: f64,
    /// What its colour shows.
    pub value: f64,
}

/// A segment coloured by a value.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Segment {
    /// Its ends.
    pub ends: [[f64; 2]; 2],
    /// Its width, in the unit of the ends.
    pub width: f64,
    /// What its colour shows.
    pub value: f64,
}

/// Discs and segments with one colour scale; both axes have the same unit.
#[derive(Clone, Debug, PartialEq)]
pub struct Picture {
    /// Title above.
    pub title: String,
    /// What the colour shows, with its unit.
    pub legend: String,
    /// Values at the ends of the colour scale.
    pub range: [f64; 2],
    /// Discs, drawn first to last.
    pub discs: Vec<Disc>,
    /// Segments, drawn above the discs.
    pub segments: Vec<Segment>,
    /// Largest width and height of the drawing, px.
    pub size: [f64; 2],
}

impl Picture {
    /// An empty picture whose colours span `range`.
    pub fn new(title: impl Into<String>, legend: impl Into<String>, range: [f64; 2]) -> Self {
        Picture {
            title: title.into(),
            legend: legend.into(),
            range,
            discs: Vec::new(),
            segments: Vec::new(),
            size: [420.0, 420.0],
        }
    }

    /// The picture as an `<svg>` element.
    pub fn svg(&self) -> String {
        let (low, high) = self.bounds();
        let span = [high[0] - low[0], high[1] - low[1]];
        let scale = (self.size[0] / span[0]).min(self.size[1] / span[1]);
        let width = (span[0] * scale).max(180.0);
        let height = span[1] * scale;
        let at = |p: [f64; 2]| {
            [
                (p[0] - low[0]) * scale + 0.5 * (width - span[0] * scale),
                (high[1] - p[1]) * scale + 28.0,
            ]
        };
        let total = height + 76.0;
        let mut out = String::new();
        // Writing to a string cannot fail.
        let _ = write!(
            out,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width:.0} {total:.0}\" \
             width=\"{width:.0}\" height=\"{total:.0}\" font-family=\"sans-serif\" \
             font-size=\"11\" role=\"img\"><rect width=\"100%\" height=\"100%\" fill=\"white\"/>\
             <text x=\"{:.1}\" y=\"16\" text-anchor=\"middle\" font-weight=\"bold\">{}</text>",
            0.5 * width,
            escape(&self.title)
        );
        for disc in &self.discs {
            let [x, y] = at(disc.centre);
            let _ = write!(
                out,
                "<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"{:.1}\" fill=\"{}\"/>",
                disc.radius * scale,
                self.colour(disc.value)
            );
        }
        for segment in &self.segments {
            let ([x0, y0], [x1, y1]) = (at(segment.ends[0]), at(segment.ends[1]));
            let _ = write!(
                out,
                "<path d=\"M{x0:.1} {y0:.1}L{x1:.1} {y1:.1}\" stroke=\"{}\" \
                 stroke-width=\"{:.2}\" stroke-linecap=\"round\"/>",
                self.colour(segment.value),
                (segment.width * scale).max(0.15)
            );
        }
        self.draw_colour_bar(&mut out, width, height + 40.0);
        out.push_str("</svg>");
        out
    }

    fn colour(&self, value: f64) -> String {
        colour_of((value - self.range[0]) / (self.range[1] - self.range[0]))
    }

    /// The smallest box around everything; a unit box where there is nothing.
    fn bounds(&self) -> ([f64; 2], [f64; 2]) {
        let discs = self.discs.iter().flat_map(|d| {
            let r = d.radius;
            [
                [d.centre[0] - r, d.centre[1] - r],
                [d.centre[0] + r, d.centre[1] + r],
            ]
        });
        let corners = discs.chain(self.segments.iter().flat_map(|s| s.ends));
        let (low, high) = corners
            .filter(|p| p[0].is_finite() && p[1].is_finite())
            .fold(
                ([f64::INFINITY; 2], [f64::NEG_INFINITY; 2]),
                |(l, h): ([f64; 2], [f64; 2]), p| {
                    (
                        [l[0].min(p[0]), l[1].min(p[1])],
                        [h[0].max(p[0]), h[1].max(p[1])],
                    )
                },
            );
        if low[0] < high[0] && low[1] < high[1] {
            (low, high)
        } else {
            ([0.0; 2], [1.0; 2])
        }
    }

    fn draw_colour_bar(&self, out: &mut String, width: f64, top: f64) {
        const PIECES: usize = 24;
        let bar = (width - 40.0).min(220.0);
        let left = 0.5 * (width - bar);
        for k in 0..PIECES {
            let _ = write!(
                out,
                "<rect x=\"{:.2}\" y=\"{top:.1}\" width=\"{:.2}\" height=\"8\" fill=\"{}\"/>",
                left + bar * k as f64 / PIECES as f64,
                bar / PIECES as f64 + 0.3,
                colour_of((k as f64 + 0.5) / PIECES as f64)
            );
        }
        for (x, value) in [(left, self.range[0]), (left + bar, self.range[1])] {
            let _ = write!(
                out,
                "<text x=\"{x:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{}</text>",
                top + 20.0,
                number(value, 3)
            );
        }
        let _ = write!(
            out,
            "<text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{}</text>",
            0.5 * width,
            top + 32.0,
            escape(&self.legend)
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_picture_draws_every_disc_and_segment() {
        let mut picture = Picture::new("bed", "speed (m/s)", [0.0, 1.0]);
        picture.discs = (0..5)
            .map(|i| Disc {
                centre: [i as f64, 0.0],
                radius: 0.5,
                value: 0.2 * i as f64,
            })
            .collect();
        picture.segments.push(Segment {
            ends: [[0.0, 0.0], [1.0, 0.0]],
            width: 0.1,
            value: 1.0,
        });
        let svg = picture.svg();
        assert_eq!(svg.matches("<circle").count(), 5);
        assert_eq!(svg.matches("<path").count(), 1);
        assert!(svg.contains("speed (m/s)"));
    }

    #[test]
    fn an_empty_picture_has_no_broken_numbers() {
        let svg = Picture::new("", "", [0.0, 1.0]).svg();
        assert!(!svg.contains("NaN") && !svg.contains("inf"));
    }
}
