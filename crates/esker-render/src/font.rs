//! A stroke font of our own: glyphs are pen paths, drawn at any size with smooth edges.
//!
//! A glyph is written as its width and its strokes. A stroke is a list of points, one digit for
//! `x` and one hexadecimal digit for `y`, in units of a ninth of the capital height: the baseline
//! is at 3, small letters reach 9, capitals c, descenders 0. `-` joins the points by straight
//! lines, `~` by a Catmull–Rom curve (closed when the last point is the first).

/// Height of capitals in font units.
const CAPITAL: f64 = 9.0;
const BASELINE: f64 = 3.0;
/// Space between glyphs, font units.
const TRACKING: f64 = 2.7;
/// Half the width of the pen, font units.
const PEN: f64 = 0.58;

/// A point of a pen path, `y` upwards from the baseline.
pub(crate) type Point = (f64, f64);

const O_SMALL: &str = "~293957553323050729";

#[rustfmt::skip]
fn glyph(character: char) -> (f64, &'static [&'static str]) {
    match character {
        ' ' => (2.5, &[]),
        '!' => (0.0, &["-0c06", "-0303"]),
        '"' => (2.0, &["-0c09", "-2c29"]),
        '#' => (6.0, &["-2c13", "-5c43", "-0969", "-0666"]),
        '$' => (6.0, &["~6a4c2c0a1857654323 05", "-3d32"]),
        '%' => (6.0, &["-6c03", "~1c0b1a2b1c", "~5544536455"]),
        '&' => (6.0, &["~63191b2c3b390604234467"]),
        '\'' => (0.0, &["-0c09"]),
        '(' => (2.0, &["~2d0a0522"]),
        ')' => (2.0, &["~0d2a2502"]),
        '*' => (4.0, &["-2b27", "-0a48", "-084a"]),
        '+' => (6.0, &["-3a34", "-0767"]),
        ',' => (1.0, &["-1301"]),
        '-' | '−' | '–' => (4.0, &["-0747"]),
        '.' => (0.0, &["-0303"]),
        '/' => (4.0, &["-024d"]),
        '0' => (6.0, &["~3c1b0906143354 66695b3c"]),
        '1' => (3.0, &["-0a3c33"]),
        '2' => (6.0, &["~0a1b3c5b69572503", "-0363"]),
        '3' => (6.0, &["~0b3c5b593828", "~2838676533 04"]),
        '4' => (6.0, &["-434c0666"]),
        '5' => (6.0, &["-5c1c08", "~083967653304"]),
        '6' => (6.0, &["~5c2b07053365673906"]),
        '7' => (6.0, &["-0c6c23"]),
        '8' => (6.0, &["~3c1b1938595b3c", "~38070533656738"]),
        '9' => (6.0, &["~1344686a3c0a083669"]),
        ':' => (0.0, &["-0404", "-0808"]),
        ';' => (1.0, &["-1818", "-1402"]),
        '<' => (5.0, &["-5a0754"]),
        '=' => (5.0, &["-0959", "-0656"]),
        '>' => (5.0, &["-0a5704"]),
        '?' => (5.0, &["~0a2c4c5a4826", "-2323"]),
        '@' => (8.0, &["~734214071a4c7b88756569", "~6849374567"]),
        'A' => (6.0, &["-033c63", "-1656"]),
        'B' => (6.0, &["-3808030c3c", "~3c5b5938", "~38676433", "-3303"]),
        'C' => (6.0, &["~6a5b3c1b0906143354 65"]),
        'D' => (6.0, &["-2c0c0323", "~2c5b69665423"]),
        'E' => (5.0, &["-5c0c0353", "-0848"]),
        'F' => (5.0, &["-5c0c03", "-0848"]),
        'G' => (6.0, &["~6a5b3c1b0906143354 65", "-656747"]),
        'H' => (6.0, &["-0c03", "-6c63", "-0868"]),
        'I' => (0.0, &["-0c03"]),
        'J' => (4.0, &["-4c47", "~47452305"]),
        'K' => (6.0, &["-0c03", "-6c07", "-2963"]),
        'L' => (5.0, &["-0c0353"]),
        'M' => (8.0, &["-030c458c83"]),
        'N' => (6.0, &["-030c636c"]),
        'O' => (7.0, &["~3c4c6b797664433314 06091b3c"]),
        'P' => (6.0, &["-030c3c", "~3c5b6a695837", "-3707"]),
        'Q' => (7.0, &["~3c4c6b797664433314 06091b3c", "-4572"]),
        'R' => (6.0, &["-030c3c", "~3c5b6a695837", "-3707", "-3763"]),
        'S' => (6.0, &["~6a4c2c0a1857654323 05"]),
        'T' => (6.0, &["-0c6c", "-3c33"]),
        'U' => (6.0, &["-0c07", "~0705336567", "-676c"]),
        'V' => (6.0, &["-0c336c"]),
        'W' => (8.0, &["-0c234b638c"]),
        'X' => (6.0, &["-0c63", "-6c03"]),
        'Y' => (6.0, &["-0c376c", "-3733"]),
        'Z' => (6.0, &["-0c6c0363"]),
        '[' => (2.0, &["-2d0d0222"]),
        '\\' => (4.0, &["-0d42"]),
        ']' => (2.0, &["-0d2d2202"]),
        '^' => (4.0, &["-092c49"]),
        '_' => (6.0, &["-0262"]),
        '`' => (2.0, &["-0c2a"]),
        'a' => (5.0, &[O_SMALL, "-5953"]),
        'b' => (5.0, &[O_SMALL, "-0c03"]),
        'c' => (5.0, &["~5839290705233354"]),
        'd' => (5.0, &[O_SMALL, "-5c53"]),
        'e' => (5.0, &["-0656", "~5657392907052333 54"]),
        'f' => (3.0, &["~3c1b19", "-1913", "-0939"]),
        'g' => (5.0, &[O_SMALL, "-5953", "~53513001"]),
        'h' => (5.0, &["-0c03", "~07293957", "-5753"]),
        'i' => (0.0, &["-0903", "-0c0c"]),
        'j' => (1.0, &["-1c1c", "-1913", "~131100"]),
        'k' => (4.0, &["-0c03", "-4906", "-1743"]),
        'l' => (1.0, &["-0c05", "~050413"]),
        'm' => (8.0, &["-0903", "~07193947", "-4743", "~47597987", "-8783"]),
        'n' => (5.0, &["-0903", "~07293957", "-5753"]),
        'o' => (5.0, &[O_SMALL]),
        'p' => (5.0, &[O_SMALL, "-0900"]),
        'q' => (5.0, &[O_SMALL, "-5950"]),
        'r' => (3.0, &["-0903", "~061839"]),
        's' => (5.0, &["~58392908164654332304"]),
        't' => (3.0, &["-1c15", "~151433", "-0939"]),
        'u' => (5.0, &["-0905", "~05233355", "-5953"]),
        'v' => (4.0, &["-092349"]),
        'w' => (8.0, &["-0923486389"]),
        'x' => (4.0, &["-0943", "-4903"]),
        'y' => (4.0, &["-0923", "-4910"]),
        'z' => (4.0, &["-09490343"]),
        '{' => (3.0, &["~3d1b1907", "~07151432"]),
        '|' => (0.0, &["-0d02"]),
        '}' => (3.0, &["~0d2b2937", "~37252402"]),
        '~' => (6.0, &["~06284668"]),
        'µ' | 'μ' => (5.0, &["-0900", "~05233355", "-5953"]),
        '°' => (2.0, &["~1c0b1a2b1c"]),
        '²' => (2.0, &["~0b1c2b2a08", "-0828"]),
        '³' => (2.0, &["~0c2c2b1a", "~1a2908"]),
        '·' => (0.0, &["-0707"]),
        '×' => (4.0, &["-0945", "-4905"]),
        _ => (6.0, &["-0c6c63030c"]),
    }
}

/// The pen paths of a text whose capitals have the height 1, and its width.
pub(crate) fn pen_paths(text: &str) -> (Vec<Vec<Point>>, f64) {
    let mut paths = Vec::new();
    let mut start = 0.0;
    for character in text.chars() {
        let (width, strokes) = glyph(character);
        for stroke in strokes {
            let path = stroke_path(stroke);
            let placed = path
                .into_iter()
                .map(|(x, y)| ((start + x) / CAPITAL, (y - BASELINE) / CAPITAL));
            paths.push(placed.collect());
        }
        start += width + TRACKING;
    }
    (paths, (start - TRACKING).max(0.0) / CAPITAL)
}

/// Half the width of the pen when capitals have the height 1.
pub(crate) fn pen_radius() -> f64 {
    PEN / CAPITAL
}

fn stroke_path(stroke: &str) -> Vec<Point> {
    let digits: Vec<f64> = stroke
        .chars()
        .filter_map(|c| c.to_digit(16))
        .map(f64::from)
        .collect();
    let points: Vec<Point> = digits
        .chunks_exact(2)
        .map(|pair| (pair[0], pair[1]))
        .collect();
    if stroke.starts_with('~') {
        curve(&points)
    } else {
        points
    }
}

/// Catmull–Rom curve through the points.
fn curve(points: &[Point]) -> Vec<Point> {
    const PIECES: usize = 6;
    let last = points.len() - 1;
    let closed = points[0] == points[last];
    let at = |i: isize| {
        let period = last as isize;
        let index = if closed {
            i.rem_euclid(period)
        } else {
            i.clamp(0, period)
        };
        points[index as usize]
    };
    let mut path = Vec::with_capacity(last * PIECES + 1);
    for i in 0..last as isize {
        let [a, b, c, d] = [at(i - 1), at(i), at(i + 1), at(i + 2)];
        for piece in 0..PIECES {
            let t = piece as f64 / PIECES as f64;
            let blend = |a: f64, b: f64, c: f64, d: f64| {
                0.5 * (2.0 * b
                    + t * ((c - a)
                        + t * ((2.0 * a - 5.0 * b + 4.0 * c - d) + t * (3.0 * (b - c) + d - a))))
            };
            path.push((blend(a.0, b.0, c.0, d.0), blend(a.1, b.1, c.1, d.1)));
        }
    }
    path.push(points[last]);
    path
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_printable_ascii_character_and_the_unit_signs_have_their_own_glyph() {
        let missing = glyph('\u{1F600}');
        let characters = (' '..='~').chain("µ°²³·×".chars());
        let glyphs: Vec<_> = characters.map(|c| (c, glyph(c))).collect();
        for (i, (character, shape)) in glyphs.iter().enumerate() {
            assert_ne!(*shape, missing, "{character}");
            for (other, other_shape) in &glyphs[..i] {
                assert_ne!(shape, other_shape, "{character} {other}");
            }
            for stroke in shape.1 {
                assert_eq!(
                    stroke.chars().filter(char::is_ascii_hexdigit).count() % 2,
                    0
                );
                assert!(stroke_path(stroke).len() >= 2, "{character}");
            }
        }
    }

    #[test]
    fn glyphs_stay_within_their_width_and_height() {
        for character in ' '..='~' {
            let width = glyph(character).0;
            for (x, y) in glyph(character)
                .1
                .iter()
                .flat_map(|stroke| stroke_path(stroke))
            {
                assert!(x > -0.7 && x < width + 0.7, "{character} {x}");
                assert!(y > -0.7 && y < 13.7, "{character} {y}");
            }
        }
    }

    #[test]
    fn longer_texts_are_wider() {
        assert!(pen_paths("speed (m/s)").1 > pen_paths("speed").1);
        assert_eq!(pen_paths("").1, 0.0);
    }
}
