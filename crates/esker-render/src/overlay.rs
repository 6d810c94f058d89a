//! Flat drawing on a finished picture: text, rectangles and the colour key.

use crate::color::{ColorMap, from_srgb, luminance, to_srgb};
use crate::font::{pen_paths, pen_radius};
use crate::image::Image;
use crate::picture::{Background, Legend, Picture};

const DARK_INK: [u8; 3] = [34, 40, 49];
const LIGHT_INK: [u8; 3] = [232, 235, 240];

/// Where the given x is in the text.
#[derive(Clone, Copy)]
enum Align {
    Left,
    Right,
}

/// Sizes of the overlay for one picture, in pixels.
struct Style {
    capital: f64,
    ink: [u8; 3],
    halo: [u8; 3],
}

impl Style {
    fn new(picture: &Picture) -> Self {
        let height = f64::from(picture.size.1).min(0.75 * f64::from(picture.size.0));
        let Background { top, bottom } = picture.background;
        let light = luminance(from_srgb(top)) + luminance(from_srgb(bottom)) > 0.4;
        Self {
            capital: (0.0175 * height).max(6.0),
            ink: if light { DARK_INK } else { LIGHT_INK },
            halo: bottom,
        }
    }

    /// Draws a text on the baseline `y`, made smaller where it would be wider than `most`.
    fn text(&self, image: &mut Image, text: &str, (x, y): (f64, f64), align: Align, most: f64) {
        let (paths, width) = pen_paths(text);
        if paths.is_empty() || most <= 0.0 {
            return;
        }
        let capital = if width * self.capital > most {
            most / width
        } else {
            self.capital
        };
        let left = match align {
            Align::Left => x,
            Align::Right => x - width * capital,
        };
        let pen = (pen_radius() * capital).max(0.5);
        let reach = pen + 2.5;
        let (origin_x, origin_y) = ((left - reach).floor(), (y - 1.5 * capital - reach).floor());
        let columns = (width * capital + 2.0 * reach).ceil() as usize + 1;
        let rows = (2.0 * capital + 2.0 * reach).ceil() as usize + 1;
        let mut distance = vec![f64::INFINITY; columns * rows];
        for path in &paths {
            for ends in path.windows(2) {
                let [a, b] = [ends[0], ends[1]]
                    .map(|(px, py)| (left + px * capital - origin_x, y - py * capital - origin_y));
                let range = |a: f64, b: f64, count: usize| {
                    let first = (a.min(b) - reach).max(0.0) as usize;
                    first..((a.max(b) + reach).max(0.0) as usize + 1).min(count)
                };
                for row in range(a.1, b.1, rows) {
                    for column in range(a.0, b.0, columns) {
                        let here = (column as f64 + 0.5, row as f64 + 0.5);
                        let nearest = &mut distance[row * columns + column];
                        *nearest = nearest.min(distance_to_segment(here, a, b));
                    }
                }
            }
        }
        for row in 0..rows {
            for column in 0..columns {
                let beyond_pen = distance[row * columns + column] - pen;
                let place = (origin_x + column as f64, origin_y + row as f64);
                blend(
                    image,
                    place,
                    self.halo,
                    0.55 * (1.0 - 0.5 * beyond_pen).clamp(0.0, 1.0),
                );
                blend(image, place, self.ink, (0.5 - beyond_pen).clamp(0.0, 1.0));
            }
        }
    }
}

fn distance_to_segment(p: (f64, f64), a: (f64, f64), b: (f64, f64)) -> f64 {
    let (dx, dy) = (b.0 - a.0, b.1 - a.1);
    let (px, py) = (p.0 - a.0, p.1 - a.1);
    let length_squared = dx * dx + dy * dy;
    let t = if length_squared > 0.0 {
        ((px * dx + py * dy) / length_squared).clamp(0.0, 1.0)
    } else {
        0.0
    };
    (px - t * dx).hypot(py - t * dy)
}

/// Mixes a colour into the pixel at a place, if it is inside.
fn blend(image: &mut Image, (x, y): (f64, f64), color: [u8; 3], weight: f64) {
    let inside =
        x >= 0.0 && y >= 0.0 && x < f64::from(image.width()) && y < f64::from(image.height());
    if !inside || weight <= 0.0 {
        return;
    }
    let pixel = &mut image.row_mut(y as u32)[x as usize];
    for (old, new) in pixel.iter_mut().zip(color) {
        *old = (f64::from(*old) + (f64::from(new) - f64::from(*old)) * weight + 0.5) as u8;
    }
}

/// Whole pixels of a rectangle: left, top, width, height.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Rectangle {
    left: f64,
    top: f64,
    width: f64,
    height: f64,
}

fn fill(image: &mut Image, area: Rectangle, color_of_row: impl Fn(f64) -> [u8; 3]) {
    for row in 0..area.height as usize {
        for column in 0..area.width as usize {
            let place = (area.left + column as f64, area.top + row as f64);
            blend(image, place, color_of_row(row as f64), 1.0);
        }
    }
}

fn frame_around(area: Rectangle) -> Rectangle {
    Rectangle {
        left: area.left - 1.0,
        top: area.top - 1.0,
        width: area.width + 2.0,
        height: area.height + 2.0,
    }
}

/// Draws the legend and the time stamp.
pub(crate) fn draw(image: &mut Image, picture: &Picture) {
    let style = Style::new(picture);
    let (width, height) = (f64::from(picture.size.0), f64::from(picture.size.1));
    if let Some(legend) = &picture.legend {
        match picture.color_map {
            ColorMap::Categorical => draw_swatches(image, picture, legend, &style),
            _ => draw_bar(image, picture, legend, &style),
        }
    }
    if let Some(text) = &picture.time_stamp {
        let place = (2.0 * style.capital, height - 2.0 * style.capital);
        style.text(image, text, place, Align::Left, 0.7 * width);
    }
}

fn bar_area(picture: &Picture) -> Rectangle {
    let (width, height) = (f64::from(picture.size.0), f64::from(picture.size.1));
    Rectangle {
        left: (width * 0.905).floor(),
        top: (height * 0.26).floor(),
        width: (width * 0.017).ceil(),
        height: (height * 0.5).floor().max(1.0),
    }
}

fn draw_bar(image: &mut Image, picture: &Picture, legend: &Legend, style: &Style) {
    let area = bar_area(picture);
    let range = picture.effective_range();
    fill(image, frame_around(area), |_| style.ink);
    fill(image, area, |row| {
        let fraction = 1.0 - (row + 0.5) / area.height;
        picture
            .color_map
            .color(range.0 + (range.1 - range.0) * fraction, range)
    });
    for (value, label) in ticks(range.0, range.1) {
        let fraction = (value - range.0) / (range.1 - range.0);
        let y = area.top + area.height * (1.0 - fraction);
        let right = area.left + area.width;
        let mark = Rectangle {
            left: right,
            top: (y - 0.5).floor(),
            width: (0.4 * style.capital).ceil(),
            height: 1.0,
        };
        fill(image, mark, |_| style.ink);
        let text_left = right + 0.8 * style.capital;
        let place = (text_left, y + 0.5 * style.capital);
        let most = f64::from(picture.size.0) - text_left - 2.0;
        style.text(image, &label, place, Align::Left, most);
    }
    let width = f64::from(picture.size.0);
    let place = (width - 1.4 * style.capital, area.top - 1.6 * style.capital);
    style.text(image, &legend.title, place, Align::Right, 0.4 * width);
}

fn draw_swatches(image: &mut Image, picture: &Picture, legend: &Legend, style: &Style) {
    let area = bar_area(picture);
    let side = (1.3 * style.capital).round();
    let left = (f64::from(picture.size.0) * 0.87).floor();
    for (index, name) in legend.categories.iter().enumerate() {
        let swatch = Rectangle {
            left,
            top: (area.top + index as f64 * 2.2 * style.capital).round(),
            width: side,
            height: side,
        };
        fill(image, frame_around(swatch), |_| style.ink);
        let color = to_srgb(picture.color(index as f64, (0.0, 1.0)));
        fill(image, swatch, |_| color);
        let text_left = left + side + 0.7 * style.capital;
        let place = (text_left, swatch.top + 0.5 * (side + style.capital));
        let most = f64::from(picture.size.0) - text_left - 2.0;
        style.text(image, name, place, Align::Left, most);
    }
    let place = (left, area.top - 1.6 * style.capital);
    let most = f64::from(picture.size.0) - left - 2.0;
    style.text(image, &legend.title, place, Align::Left, most);
}

/// Round values between the ends, at steps of 1, 2 or 5 times a power of ten, with their labels.
fn ticks(one_end: f64, other_end: f64) -> Vec<(f64, String)> {
    const MOST: f64 = 7.0;
    let (low, high) = (one_end.min(other_end), one_end.max(other_end));
    let finest = (high - low) / MOST;
    let power = 10_f64.powf(finest.log10().floor());
    let Some(step) = [1.0, 2.0, 5.0, 10.0]
        .into_iter()
        .map(|m| m * power)
        .find(|step| *step >= finest)
    else {
        return Vec::new();
    };
    // A small part of a step makes up for rounding, so that round ends get their tick.
    let (first, last) = ((low / step - 1e-6).ceil(), (high / step + 1e-6).floor());
    if !(first.is_finite() && last - first <= 2.0 * MOST) {
        return Vec::new();
    }
    let exponent = (step * 1.000_001).log10().floor() as i32;
    let largest = low.abs().max(high.abs());
    let plain = largest < 1e5 && exponent >= -4;
    (0..=(last - first) as usize)
        .map(|i| {
            let multiple = first + i as f64;
            // Dividing by a whole number gives the nearest double to the decimal.
            let value = if exponent < 0 && exponent > -300 {
                (multiple * (step * 10_f64.powi(-exponent)).round()) / 10_f64.powi(-exponent)
            } else {
                multiple * step
            };
            let value = value + 0.0;
            let label = if plain {
                format!("{value:.*}", (-exponent).max(0) as usize)
            } else {
                let digits = if value == 0.0 {
                    0
                } else {
                    (value.abs().log10().floor() as i32 - exponent).max(0)
                };
                format!("{value:.*e}", digits as usize)
            };
            (value, label)
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::camera::Camera;
    use crate::framing::Bounds;
    use glam::DVec3;

    fn labels(low: f64, high: f64) -> Vec<String> {
        ticks(low, high)
            .into_iter()
            .map(|(_, label)| label)
            .collect()
    }

    #[test]
    fn ticks_are_round_numbers_that_include_round_ends() {
        assert_eq!(labels(0.0, 1.0), ["0.0", "0.2", "0.4", "0.6", "0.8", "1.0"]);
        assert_eq!(
            labels(-1.0, 2.0),
            ["-1.0", "-0.5", "0.0", "0.5", "1.0", "1.5", "2.0"]
        );
        assert_eq!(
            labels(0.0, 0.3),
            ["0.00", "0.05", "0.10", "0.15", "0.20", "0.25", "0.30"]
        );
        assert_eq!(labels(13.0, 99.0), ["20", "40", "60", "80"]);
        assert_eq!(
            labels(0.0, 3e6),
            ["0e0", "5e5", "1.0e6", "1.5e6", "2.0e6", "2.5e6", "3.0e6"]
        );
    }

    #[test]
    fn ticks_of_any_range_are_few_and_inside() {
        let ends = [0.0, 1e-300, -3.7e-9, 0.1, 7.3, 123_456.0, -2e200, 1e300];
        for low in ends {
            for high in ends {
                for (value, _) in ticks(low, high) {
                    let slack = 1e-5 * (high - low).abs();
                    assert!(value >= low.min(high) - slack && value <= low.max(high) + slack);
                }
                assert!(ticks(low, high).len() <= 8, "{low} {high}");
            }
        }
    }

    #[test]
    fn the_bar_shows_the_colour_of_each_value_at_its_height() {
        let mut picture = Picture::new(Camera::fit(&Bounds::EMPTY, DVec3::Y, 1.0), (400, 300));
        picture.range = Some((2.0, 6.0));
        picture.legend = Some(Legend::new("force (N)"));
        let image = crate::render(&picture);
        let area = bar_area(&picture);
        let x = (area.left + 0.5 * area.width) as u32;
        for (value, _) in ticks(2.0, 6.0)
            .into_iter()
            .filter(|(value, _)| *value > 2.0 && *value < 6.0)
        {
            let y = area.top + area.height * (6.0 - value) / 4.0;
            let seen = image.pixel(x, y as u32).unwrap();
            let right = picture.color_map.color(value, (2.0, 6.0));
            assert!(
                (0..3).all(|i| seen[i].abs_diff(right[i]) <= 4),
                "{value} {seen:?} {right:?}"
            );
        }
    }

    #[test]
    fn texts_leave_ink_and_none_leaves_the_background() {
        let mut picture = Picture::new(Camera::fit(&Bounds::EMPTY, DVec3::Y, 1.0), (200, 100));
        picture.background = Background::WHITE;
        let plain = crate::render(&picture);
        assert!(plain.pixels().iter().all(|pixel| *pixel == [255; 3]));
        picture.time_stamp = Some("t = 1.25 s".to_owned());
        let stamped = crate::render(&picture);
        let dark = stamped
            .pixels()
            .iter()
            .filter(|pixel| pixel[0] < 128)
            .count();
        assert!((40..600).contains(&dark), "{dark}");
    }
}
