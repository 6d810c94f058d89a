//! Colours as people write them.

/// Named colours, sRGB.
const NAMES: [(&str, [u8; 3]); 10] = [
    ("red", [204, 51, 41]),
    ("green", [0, 140, 90]),
    ("blue", [0, 114, 178]),
    ("yellow", [240, 208, 50]),
    ("orange", [230, 140, 20]),
    ("pink", [204, 121, 167]),
    ("brown", [140, 90, 50]),
    ("white", [240, 240, 240]),
    ("grey", [150, 150, 150]),
    ("black", [40, 40, 40]),
];

/// The colour that a text such as `#c08040` or `red` means, sRGB; else what is wanted.
pub fn parse_color(text: &str) -> Result<[u8; 3], String> {
    let text = text.trim();
    if let Some((_, color)) = NAMES.iter().find(|(name, _)| *name == text) {
        return Ok(*color);
    }
    let digits = text.strip_prefix('#').filter(|digits| digits.len() == 6);
    let number = digits
        .filter(|digits| digits.bytes().all(|b| b.is_ascii_hexdigit()))
        .and_then(|digits| u32::from_str_radix(digits, 16).ok());
    match number {
        Some(number) => Ok([16, 8, 0].map(|shift| (number >> shift) as u8)),
        None => {
            let names: Vec<&str> = NAMES.iter().map(|(name, _)| *name).collect();
            Err(format!(
                "\"{text}\" is no colour: write #rrggbb or one of {}",
                names.join(", ")
            ))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colours_are_read_as_written() {
        assert_eq!(parse_color("#c08040"), Ok([0xc0, 0x80, 0x40]));
        assert_eq!(parse_color("blue"), Ok([0, 114, 178]));
        for wrong in ["", "#fff", "#gggggg", "#+12345", "rad"] {
            assert!(
                parse_color(wrong).unwrap_err().contains("#rrggbb"),
                "{wrong}"
            );
        }
    }
}
