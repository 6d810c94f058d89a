//! Line plots as SVG: no script, no fonts of their own, readable in any browser.

use std::fmt::Write;

/// A curve of a plot.
pub struct Curve {
    pub name: String,
    /// Points (x, y); those that are not finite, or not positive on a
    /// logarithmic axis, interrupt the curve.
    pub points: Vec<(f64, f64)>,
}

/// A plot of curves over a common x axis.
pub struct Plot {
    pub title: String,
    pub x_label: String,
    pub y_label: String,
    pub logarithmic: bool,
    pub curves: Vec<Curve>,
}

const WIDTH: f64 = 640.0;
const HEIGHT: f64 = 300.0;
const LEFT: f64 = 72.0;
const RIGHT: f64 = 16.0;
const TOP: f64 = 34.0;
const BOTTOM: f64 = 46.0;
/// Points drawn per curve: more cannot be told apart on a page.
const MOST_POINTS: usize = 1500;
/// Colours that all kinds of colour vision tell apart.
const COLORS: [&str; 6] = [
    "#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9",
];

/// A data range that maps onto an axis.
struct Axis {
    low: f64,
    high: f64,
    logarithmic: bool,
}

impl Axis {
    fn of(values: impl Iterator<Item = f64>, logarithmic: bool) -> Axis {
        let usable = values.filter(|v| v.is_finite() && (!logarithmic || *v > 0.0));
        let (low, high) = usable.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), v| {
            (low.min(v), high.max(v))
        });
        let (low, high) = match (low < high, low.is_finite()) {
            (true, _) => (low, high),
            (false, true) if logarithmic => (0.5 * low, 2.0 * low),
            (false, true) => (
                low - 0.5 * low.abs().max(1.0),
                low + 0.5 * low.abs().max(1.0),
            ),
            (false, false) if logarithmic => (0.1, 1.0),
            (false, false) => (0.0, 1.0),
        };
        Axis {
            low,
            high,
            logarithmic,
        }
    }

    /// Place on the axis, 0 to 1; `None` for what has none.
    fn place(&self, value: f64) -> Option<f64> {
        let scale = |x: f64| if self.logarithmic { x.log10() } else { x };
        let place = (scale(value) - scale(self.low)) / (scale(self.high) - scale(self.low));
        place.is_finite().then_some(place)
    }

    fn ticks(&self) -> Vec<f64> {
        if self.logarithmic {
            let (first, last) = (
                self.low.log10().ceil() as i32,
                self.high.log10().floor() as i32,
            );
            let stride = ((last - first) / 6 + 1).max(1) as usize;
            return (first..=last)
                .step_by(stride)
                .map(|e| 10_f64.powi(e))
                .collect();
        }
        let rough = (self.high - self.low) / 5.0;
        let power = 10_f64.powf(rough.log10().floor());
        let step = [1.0, 2.0, 5.0, 10.0]
            .map(|m| m * power)
            .into_iter()
            .find(|s| *s >= rough * 0.999)
            .unwrap_or(rough);
        let first = (self.low / step).ceil() as i64;
        let last = (self.high / step).floor() as i64;
        (first..=last).map(|i| i as f64 * step).collect()
    }
}

/// A number as a tick shows it.
fn tick_text(value: f64) -> String {
    let size = value.abs();
    if size != 0.0 && !(1e-3..1e5).contains(&size) {
        format!("{value:.0e}")
    } else {
        // Rounding takes away what multiplication left in the last digits.
        format!("{}", (value * 1e6).round() / 1e6)
    }
}

/// Text that may stand in HTML and SVG.
pub fn escaped(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
        .replace('"', "&quot;")
}

impl Plot {
    /// The plot as an SVG element.
    pub fn to_svg(&self) -> String {
        let all = || self.curves.iter().flat_map(|c| &c.points);
        let x_axis = Axis::of(all().map(|p| p.0), false);
        let y_axis = Axis::of(all().map(|p| p.1), self.logarithmic);
        let x = |place: f64| LEFT + place * (WIDTH - LEFT - RIGHT);
        let y = |place: f64| HEIGHT - BOTTOM - place * (HEIGHT - TOP - BOTTOM);
        let mut svg = format!(
            "<svg viewBox=\"0 0 {WIDTH} {HEIGHT}\" role=\"img\" aria-label=\"{0}\">\
             <text class=\"title\" x=\"{LEFT}\" y=\"18\">{0}</text>",
            escaped(&self.title)
        );
        // Writing to a string cannot fail.
        let mut put = |part: std::fmt::Arguments<'_>| _ = svg.write_fmt(part);
        let (left, right, top, bottom) = (x(0.0), x(1.0), y(1.0), y(0.0));
        for tick in y_axis.ticks() {
            let Some(at) = y_axis.place(tick).map(y) else {
                continue;
            };
            put(format_args!(
                "<line class=\"grid\" x1=\"{left}\" x2=\"{right}\" y1=\"{at:.1}\" y2=\"{at:.1}\"/>\
                 <text class=\"tick\" text-anchor=\"end\" x=\"{:.1}\" y=\"{:.1}\">{}</text>",
                left - 6.0,
                at + 4.0,
                tick_text(tick)
            ));
        }
        for tick in x_axis.ticks() {
            let Some(at) = x_axis.place(tick).map(x) else {
                continue;
            };
            put(format_args!(
                "<line class=\"grid\" x1=\"{at:.1}\" x2=\"{at:.1}\" y1=\"{top}\" y2=\"{bottom}\"/>\
                 <text class=\"tick\" text-anchor=\"middle\" x=\"{at:.1}\" y=\"{:.1}\">{}</text>",
                bottom + 16.0,
                tick_text(tick)
            ));
        }
        put(format_args!(
            "<text class=\"label\" text-anchor=\"middle\" x=\"{:.1}\" y=\"{:.1}\">{}</text>\
             <text class=\"label\" text-anchor=\"middle\" transform=\"translate(14 {:.1}) rotate(-90)\">{}</text>",
            0.5 * (left + right),
            HEIGHT - 8.0,
            escaped(&self.x_label),
            0.5 * (top + bottom),
            escaped(&self.y_label)
        ));
        for (i, curve) in self.curves.iter().enumerate() {
            let color = COLORS[i % COLORS.len()];
            put(format_args!(
                "<path fill=\"none\" stroke=\"{color}\" stroke-width=\"1.5\" d=\"{}\"/>",
                path_of(&curve.points, |(px, py)| Some((
                    x(x_axis.place(px)?),
                    y(y_axis.place(py)?)
                )))
            ));
            if self.curves.len() > 1 {
                put(format_args!(
                    "<text class=\"tick\" fill=\"{color}\" style=\"fill:{color}\" x=\"{:.1}\" y=\"{:.1}\">{}</text>",
                    left + 8.0 + 95.0 * (i % 6) as f64,
                    top - 4.0,
                    escaped(&curve.name)
                ));
            }
        }
        svg.push_str("</svg>");
        svg
    }
}

fn path_of(points: &[(f64, f64)], place: impl Fn((f64, f64)) -> Option<(f64, f64)>) -> String {
    let stride = points.len().div_ceil(MOST_POINTS).max(1);
    let mut path = String::new();
    let mut command = 'M';
    for point in points.iter().step_by(stride) {
        match place(*point) {
            Some((x, y)) => {
                _ = write!(path, "{command}{x:.1} {y:.1}");
                command = 'L';
            }
            None => command = 'M',
        }
    }
    path
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plot(points: Vec<(f64, f64)>, logarithmic: bool) -> String {
        Plot {
            title: "a < b".into(),
            x_label: "time (s)".into(),
            y_label: "energy (J)".into(),
            logarithmic,
            curves: vec![Curve {
                name: "energy".into(),
                points,
            }],
        }
        .to_svg()
    }

    #[test]
    fn ends_of_the_data_lie_on_the_frame_of_the_axes() {
        let svg = plot(vec![(0.0, 1.0), (2.0, 3.0)], false);
        assert!(
            svg.contains(&format!("M{LEFT:.1} {:.1}", HEIGHT - BOTTOM)),
            "{svg}"
        );
        assert!(svg.contains(&format!("L{:.1} {TOP:.1}", WIDTH - RIGHT)));
        assert!(svg.contains("a &lt; b") && svg.contains("energy (J)"));
    }

    #[test]
    fn gaps_and_hopeless_data_do_not_break_a_plot() {
        let svg = plot(vec![(0.0, 1.0), (1.0, f64::NAN), (2.0, 10.0)], true);
        assert_eq!(svg.matches('M').count(), 2);
        for points in [vec![], vec![(0.0, 0.0)], vec![(1.0, f64::INFINITY)]] {
            for logarithmic in [false, true] {
                let svg = plot(points.clone(), logarithmic);
                assert!(!svg.contains("NaN") && !svg.contains("inf"), "{svg}");
            }
        }
    }

    #[test]
    fn ticks_are_round_numbers() {
        let axis = Axis::of([0.0, 0.73].into_iter(), false);
        let texts: Vec<String> = axis.ticks().into_iter().map(tick_text).collect();
        assert_eq!(texts, ["0", "0.2", "0.4", "0.6"]);
        let axis = Axis::of([2e-7, 3e-2].into_iter(), true);
        assert_eq!(axis.ticks(), [1e-6, 1e-5, 1e-4, 1e-3, 1e-2]);
    }
}
