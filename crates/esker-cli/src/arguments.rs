//! Values of options that more than one command takes.

/// A time, s.
pub fn time(text: &str) -> Result<f64, String> {
    let number = text.parse::<f64>().ok().filter(|time| time.is_finite());
    number.ok_or_else(|| "expected a time in seconds, such as 1.5".to_owned())
}
