//! The format as a JSON schema (draft 2020-12) for editors, made from the same
//! tables as the reader.

use serde_json::{Map, Value, json};

use crate::format;
use crate::keys::{Bound, Key, Kind, Limits, Need, Section, When};

/// The schema of a scene file.
pub fn schema() -> Value {
    let mut schema = section_schema(&format::SCENE);
    schema["$schema"] = json!("https://json-schema.org/draft/2020-12/schema");
    schema["title"] = json!("Esker scene");
    schema
}

fn section_schema(section: &Section) -> Value {
    let properties: Map<String, Value> = section
        .keys
        .iter()
        .map(|key| (key.name.to_string(), key_schema(key)))
        .collect();
    let always: Vec<&str> = section
        .keys
        .iter()
        .filter(|key| matches!(key.need, Need::Required) && key.when.is_empty())
        .map(|key| key.name)
        .collect();
    let mut rules: Vec<Value> = section
        .keys
        .iter()
        .flat_map(|key| conditions(section, key))
        .collect();
    for group in section.groups {
        let each = group.keys.iter().map(|key| json!({ "required": [key] }));
        let mut ways: Vec<Value> = each.clone().collect();
        if !group.required || !group.when.is_empty() {
            ways.push(json!({ "not": { "anyOf": each.collect::<Vec<_>>() } }));
        }
        rules.push(json!({ "oneOf": ways }));
        if group.required && !group.when.is_empty() {
            let needed: Vec<Value> = group
                .keys
                .iter()
                .map(|key| json!({ "required": [key] }))
                .collect();
            rules
                .push(json!({ "if": condition(section, group.when), "then": { "anyOf": needed } }));
        }
    }
    for key in section.keys {
        if !key.when.is_empty() && matches!(key.need, Need::Required) {
            rules.push(json!({
                "if": condition(section, key.when),
                "then": { "required": [key.name] },
            }));
        }
    }
    let mut schema = json!({
        "type": "object",
        "description": section.doc,
        "properties": properties,
        "additionalProperties": false,
    });
    if !always.is_empty() {
        schema["required"] = json!(always);
    }
    if !rules.is_empty() {
        schema["allOf"] = json!(rules);
    }
    schema
}

/// Rules that forbid a key where it has no meaning.
fn conditions(section: &Section, key: &Key) -> Vec<Value> {
    key.when
        .iter()
        .map(|when| {
            let elsewhere = json!({ (when.key): { "not": { "enum": when.is } } });
            let left_out_is_elsewhere =
                default_of(section, when.key).is_some_and(|word| !when.is.contains(&word));
            let required = match left_out_is_elsewhere {
                true => json!([]),
                false => json!([when.key]),
            };
            json!({
                "if": { "properties": elsewhere, "required": required },
                "then": { "not": { "required": [key.name] } },
            })
        })
        .collect()
}

/// A schema that holds where all conditions do; a key left out has its default.
fn condition(section: &Section, when: &[When]) -> Value {
    let mut properties = Map::new();
    let mut required = Vec::new();
    for when in when {
        properties.insert(when.key.to_string(), json!({ "enum": when.is }));
        let default = default_of(section, when.key);
        if !default.is_some_and(|word| when.is.contains(&word)) {
            required.push(when.key);
        }
    }
    json!({ "properties": properties, "required": required })
}

/// The default of a key whose values are words.
fn default_of(section: &Section, name: &str) -> Option<&'static str> {
    let key = section.keys.iter().find(|key| key.name == name)?;
    match key.need {
        Need::Default(text) => Some(text.trim_matches('"')),
        _ => None,
    }
}

fn key_schema(key: &Key) -> Value {
    let mut schema = kind_schema(&key.kind);
    let unit = match key.unit {
        "" => String::new(),
        unit => format!(" [{unit}]"),
    };
    let left_out = match key.need {
        Need::Required => String::new(),
        Need::Default("{}" | "[]") => String::new(),
        Need::Default(text) => format!(" Default: {text}."),
        Need::Optional(text) => format!(" If left out: {text}."),
    };
    schema["description"] = json!(format!("{}{unit}{left_out}", key.doc));
    schema
}

fn kind_schema(kind: &Kind) -> Value {
    match kind {
        Kind::Number(limits) => number_schema(limits),
        Kind::Integer(low, high) => {
            json!({ "type": "integer", "minimum": low, "maximum": high })
        }
        Kind::Bool => json!({ "type": "boolean" }),
        Kind::Text => json!({ "type": "string", "minLength": 1 }),
        Kind::Choice(words) => json!({ "type": "string", "enum": words }),
        Kind::Choices(words) => json!({
            "type": "array", "items": { "type": "string", "enum": words }, "uniqueItems": true,
        }),
        Kind::Vector | Kind::Direction => array_schema(json!({ "type": "number" }), 3),
        Kind::Numbers => json!({ "type": "array", "items": { "type": "number" } }),
        Kind::Vectors => {
            json!({ "type": "array", "items": array_schema(json!({ "type": "number" }), 3) })
        }
        Kind::Interval(limits) => array_schema(number_schema(limits), 2),
        Kind::Corners => array_schema(array_schema(json!({ "type": "number" }), 3), 2),
        Kind::Names => array_schema(json!({ "type": "string" }), 2),
        Kind::Table(section) => section_schema(section),
        Kind::Switch(section) => json!({ "anyOf": [
            { "type": "string", "enum": ["on", "off"] },
            section_schema(section),
        ] }),
        Kind::OneOrMore(section) => json!({ "anyOf": [
            section_schema(section),
            { "type": "array", "items": section_schema(section), "minItems": 1 },
        ] }),
        Kind::List(section) => json!({ "type": "array", "items": section_schema(section) }),
        Kind::Named(section) => {
            json!({ "type": "object", "additionalProperties": section_schema(section) })
        }
    }
}

fn array_schema(items: Value, length: usize) -> Value {
    json!({ "type": "array", "items": items, "minItems": length, "maxItems": length })
}

fn number_schema(limits: &Limits) -> Value {
    let mut schema = json!({ "type": "number" });
    match limits.low {
        Bound::Open => {}
        Bound::Included(low) => schema["minimum"] = json!(low),
        Bound::Excluded(low) => schema["exclusiveMinimum"] = json!(low),
    }
    match limits.high {
        Bound::Open => {}
        Bound::Included(high) => schema["maximum"] = json!(high),
        Bound::Excluded(high) => schema["exclusiveMaximum"] = json!(high),
    }
    schema
}
