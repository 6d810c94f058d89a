//! Printing that may fail: a full disk behind `>` is an error, not a panic.
//!
//! The macros `println!` and `print!` of this program go here. The first error
//! is kept and told at the end, so that what a command writes elsewhere is
//! complete.

use std::fmt::Arguments;
use std::io::{self, Write};
use std::sync::Mutex;

static FIRST_ERROR: Mutex<Option<io::Error>> = Mutex::new(None);

macro_rules! print {
    ($($text:tt)*) => {
        $crate::standard_output::print(format_args!($($text)*))
    };
}

macro_rules! println {
    () => {
        $crate::standard_output::print(format_args!("\n"))
    };
    ($($text:tt)*) => {
        $crate::standard_output::print(format_args!("{}\n", format_args!($($text)*)))
    };
}

/// Prints, unless an earlier attempt has failed.
pub fn print(text: Arguments<'_>) {
    let mut error = FIRST_ERROR.lock().unwrap_or_else(|e| e.into_inner());
    if error.is_none() {
        *error = io::stdout().lock().write_fmt(text).err();
    }
}

/// Shows what was printed so far, for commands that go on for long.
pub fn flush() {
    let mut error = FIRST_ERROR.lock().unwrap_or_else(|e| e.into_inner());
    if error.is_none() {
        *error = io::stdout().lock().flush().err();
    }
}

/// Writes out what still waits; the first error of all printing so far.
pub fn finish() -> io::Result<()> {
    let mut error = FIRST_ERROR.lock().unwrap_or_else(|e| e.into_inner());
    match error.take() {
        Some(error) => Err(error),
        None => io::stdout().lock().flush(),
    }
}
