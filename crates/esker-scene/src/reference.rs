//! The reference page of the format, made from the same tables as the reader.

use std::fmt::Write;

use crate::format;
use crate::keys::{Key, Kind, Need, Section};

const INTRODUCTION: &str = "\
# The scene format

A scene is a TOML file that describes one simulation. All quantities are in SI
units; sizes of grains are diameters, sizes of walls are as named. Whole
numbers are welcome wherever numbers are expected; `nan` and `inf` are not.
Files that a scene names are looked up relative to the scene file.

`esker check SCENE` reads a scene without running it, shows everything that is
wrong with it at once, and estimates what it will cost. `esker check --schema`
prints a JSON schema of this format for editors.

*This page is generated from the tables that the reader itself works by; a
test keeps it up to date.*
";

/// The whole reference page in Markdown.
pub fn reference() -> String {
    let mut page = String::from(INTRODUCTION);
    let mut written: Vec<&str> = Vec::new();
    write_section(&format::SCENE, &mut page, &mut written);
    page
}

fn write_section(section: &Section, page: &mut String, written: &mut Vec<&'static str>) {
    // `region` and `sizes` are shared by several sections and stand once.
    if written.contains(&section.title) {
        return;
    }
    written.push(section.title);
    let title = match section.title.starts_with("top") {
        true => "Top level".to_string(),
        false => format!("`{}`", section.title),
    };
    let _ = write!(page, "\n## {title}\n\n{}\n\n", section.doc);
    page.push_str("| key | value | unit | if left out | meaning |\n|---|---|---|---|---|\n");
    for key in section.keys {
        write_key(key, page);
    }
    for group in section.groups {
        let names: Vec<String> = group.keys.iter().map(|key| format!("`{key}`")).collect();
        let how = match group.required {
            true => "Exactly",
            false => "At most",
        };
        let _ = write!(page, "\n{how} one of {}", names.join(", "));
        for when in group.when {
            let _ = write!(
                page,
                ", where `{}` is `{}`",
                when.key,
                when.is.join("` or `")
            );
        }
        page.push_str(".\n");
    }
    for key in section.keys {
        if let Kind::Table(inner)
        | Kind::Switch(inner)
        | Kind::List(inner)
        | Kind::OneOrMore(inner)
        | Kind::Named(inner) = &key.kind
        {
            write_section(inner, page, written);
        }
    }
}

fn write_key(key: &Key, page: &mut String) {
    let value = match &key.kind {
        Kind::Table(inner) | Kind::List(inner) | Kind::OneOrMore(inner) | Kind::Named(inner) => {
            format!("see `{}`", inner.title)
        }
        Kind::Switch(inner) => format!("`\"on\"`, `\"off\"`, or see `{}`", inner.title),
        kind => kind.describe(),
    };
    let need = match key.need {
        Need::Required => "**required**".to_string(),
        Need::Default("{}" | "[]") => "none".to_string(),
        Need::Default(text) => format!("`{text}`"),
        Need::Optional(text) => text.to_string(),
    };
    let only: Vec<String> = key
        .when
        .iter()
        .map(|when| format!("`{}` = `{}`", when.key, when.is.join("`, `")))
        .collect();
    let only = match only.is_empty() {
        true => String::new(),
        false => format!(" (only with {})", only.join(" and ")),
    };
    let _ = writeln!(
        page,
        "| `{}` | {value} | {} | {need} | {}{only} |",
        key.name, key.unit, key.doc
    );
}
