//! Text for people and pages: numbers with sensible digits, escaping, files as addresses.

/// Escapes text for XML and HTML.
pub fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            _ => out.push(c),
        }
    }
    out
}

/// A PNG file as a `data:` address that a page can hold.
pub fn png_address(bytes: &[u8]) -> String {
    format!("{PNG_ADDRESS}{}", base64(bytes))
}

/// The PNG file in a `data:` address; `None` where there is none.
pub fn png_bytes(address: &str) -> Option<Vec<u8>> {
    let text = address.strip_prefix(PNG_ADDRESS)?;
    let mut bytes = Vec::with_capacity(text.len() / 4 * 3);
    let (mut bits, mut held) = (0u32, 0);
    for c in text.trim_end_matches('=').bytes() {
        let digit = DIGITS.iter().position(|&d| d == c)?;
        bits = bits << 6 | digit as u32;
        held += 6;
        if held >= 8 {
            held -= 8;
            bytes.push((bits >> held) as u8);
            bits &= (1 << held) - 1;
        }
    }
    Some(bytes)
}

const PNG_ADDRESS: &str = "data:image/png;base64,";
const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/// Base64 with padding, as data URIs take it (RFC 4648).
fn base64(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for group in bytes.chunks(3) {
        let byte = |i: usize| u32::from(group.get(i).copied().unwrap_or(0));
        let bits = byte(0) << 16 | byte(1) << 8 | byte(2);
        for i in 0..4 {
            let digit = (bits >> (18 - 6 * i)) as usize & 63;
            text.push(if i <= group.len() {
                DIGITS[digit] as char
            } else {
                '='
            });
        }
    }
    text
}

/// A number with `digits` significant digits, without trailing zeros; very
/// large and very small ones as `1.2e-5`.
pub fn number(value: f64, digits: usize) -> String {
    if value == 0.0 {
        return "0".into();
    }
    if !value.is_finite() {
        return if value.is_nan() {
            "–".into()
        } else if value > 0.0 {
            "∞".into()
        } else {
            "−∞".into()
        };
    }
    let digits = digits.max(1);
    let scientific = format!("{value:.*e}", digits - 1);
    let (mantissa, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    if (-4..6).contains(&exponent) {
        let decimals = (digits as i32 - 1 - exponent).max(0) as usize;
        trim_zeros(&format!("{value:.decimals$}")).into()
    } else {
        format!("{}e{exponent}", trim_zeros(mantissa))
    }
}

fn trim_zeros(text: &str) -> &str {
    if text.contains('.') {
        text.trim_end_matches('0').trim_end_matches('.')
    } else {
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_keep_their_significant_digits() {
        let shown: Vec<String> = [0.0, 1.0, 0.012_345, 1234.56, -2.5e-7, 3.0e9, f64::INFINITY]
            .iter()
            .map(|&v| number(v, 3))
            .collect();
        assert_eq!(shown, ["0", "1", "0.0123", "1235", "-2.5e-7", "3e9", "∞"]);
    }

    #[test]
    fn markup_in_text_stays_text() {
        assert_eq!(escape("a < b & \"c\""), "a &lt; b &amp; &quot;c&quot;");
    }

    #[test]
    fn base64_follows_the_examples_of_its_standard() {
        let cases = [
            ("", ""),
            ("f", "Zg=="),
            ("fo", "Zm8="),
            ("foo", "Zm9v"),
            ("foobar", "Zm9vYmFy"),
        ];
        for (text, expected) in cases {
            assert_eq!(base64(text.as_bytes()), expected);
        }
    }

    #[test]
    fn a_file_comes_back_from_its_address() {
        let all: Vec<u8> = (0..=255).collect();
        for length in [0, 1, 2, 3, 4, 255, 256] {
            let bytes = &all[..length];
            assert_eq!(png_bytes(&png_address(bytes)).as_deref(), Some(bytes));
        }
        assert_eq!(png_bytes("data:image/png;base64,Zg!="), None);
        assert_eq!(png_bytes("picture.png"), None);
    }
}
