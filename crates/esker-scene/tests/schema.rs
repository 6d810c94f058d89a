//! The schema for editors accepts what the reader accepts, and refuses the
//! mistakes that an editor can show.

use std::path::PathBuf;

use esker_scene::schema;
use serde_json::{Value, json};

/// Whether a value meets a schema, for the words that our schema uses.
fn accepts(schema: &Value, value: &Value) -> bool {
    let Some(rules) = schema.as_object() else {
        return schema != &Value::Bool(false);
    };
    rules.iter().all(|(word, rule)| match word.as_str() {
        "type" => match rule.as_str().unwrap() {
            "object" => value.is_object(),
            "array" => value.is_array(),
            "string" => value.is_string(),
            "boolean" => value.is_boolean(),
            "number" => value.is_number(),
            "integer" => value.as_f64().is_some_and(|x| x.fract() == 0.0),
            other => panic!("unknown type {other}"),
        },
        "properties" => rule
            .as_object()
            .unwrap()
            .iter()
            .all(|(key, inner)| value.get(key).is_none_or(|value| accepts(inner, value))),
        "additionalProperties" => value.as_object().is_none_or(|object| {
            object
                .iter()
                .filter(|(key, _)| schema["properties"].get(key.as_str()).is_none())
                .all(|(_, value)| accepts(rule, value))
        }),
        "required" => rule
            .as_array()
            .unwrap()
            .iter()
            .all(|key| value.get(key.as_str().unwrap()).is_some()),
        "items" => value
            .as_array()
            .is_none_or(|items| items.iter().all(|item| accepts(rule, item))),
        "minItems" => value
            .as_array()
            .is_none_or(|items| items.len() as u64 >= rule.as_u64().unwrap()),
        "maxItems" => value
            .as_array()
            .is_none_or(|items| items.len() as u64 <= rule.as_u64().unwrap()),
        "uniqueItems" => value.as_array().is_none_or(|items| {
            items
                .iter()
                .enumerate()
                .all(|(i, item)| !items[..i].contains(item))
        }),
        "enum" => rule.as_array().unwrap().contains(value),
        "minLength" => value
            .as_str()
            .is_none_or(|text| text.len() as u64 >= rule.as_u64().unwrap()),
        "minimum" => value.as_f64().is_none_or(|x| x >= rule.as_f64().unwrap()),
        "maximum" => value.as_f64().is_none_or(|x| x <= rule.as_f64().unwrap()),
        "exclusiveMinimum" => value.as_f64().is_none_or(|x| x > rule.as_f64().unwrap()),
        "exclusiveMaximum" => value.as_f64().is_none_or(|x| x < rule.as_f64().unwrap()),
        "allOf" => rule
            .as_array()
            .unwrap()
            .iter()
            .all(|part| accepts(part, value)),
        "anyOf" => rule
            .as_array()
            .unwrap()
            .iter()
            .any(|part| accepts(part, value)),
        "oneOf" => {
            rule.as_array()
                .unwrap()
                .iter()
                .filter(|part| accepts(part, value))
                .count()
                == 1
        }
        "not" => !accepts(rule, value),
        "if" => !accepts(rule, value) || accepts(&schema["then"], value),
        "then" | "description" | "title" | "$schema" => true,
        other => panic!("the schema uses `{other}`, which this test does not know"),
    })
}

fn to_json(value: toml::Value) -> Value {
    match value {
        toml::Value::String(text) => json!(text),
        toml::Value::Integer(number) => json!(number),
        toml::Value::Float(number) => json!(number),
        toml::Value::Boolean(truth) => json!(truth),
        toml::Value::Datetime(date) => json!(date.to_string()),
        toml::Value::Array(items) => items.into_iter().map(to_json).collect(),
        toml::Value::Table(table) => {
            let entries = table.into_iter().map(|(key, value)| (key, to_json(value)));
            Value::Object(entries.collect())
        }
    }
}

fn shipped(name: &str) -> Value {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join(format!("../../scenes/{name}.toml"));
    let text = std::fs::read_to_string(path).unwrap();
    to_json(toml::Value::Table(text.parse().unwrap()))
}

#[test]
fn shipped_scenes_meet_the_schema() {
    let schema = schema();
    let text = serde_json::to_string_pretty(&schema).unwrap();
    assert_eq!(serde_json::from_str::<Value>(&text).unwrap(), schema);
    for name in [
        "ball-mill",
        "bounce",
        "column",
        "conveyor",
        "dice",
        "drum",
        "excavator",
        "hopper",
        "lifter-drum",
        "pendulum",
        "pile",
        "pills",
        "rubble",
        "seesaw",
        "silo",
        "wheel-on-soil",
    ] {
        assert!(accepts(&schema, &shipped(name)), "{name}");
    }
}

#[test]
fn mistakes_do_not_meet_the_schema() {
    type Mistake = fn(&mut Value);
    let mistakes: &[(&str, Mistake)] = &[
        ("unknown key", |s| s["frction"] = json!(1)),
        ("unknown key inside", |s| s["pair"][0]["frction"] = json!(1)),
        ("wrong type", |s| s["duration"] = json!("5 s")),
        ("out of range", |s| s["pair"][0]["restitution"] = json!(2)),
        ("zero step", |s| s["step"] = json!(0)),
        ("missing duration", |s| {
            drop(s.as_object_mut().unwrap().remove("duration"))
        }),
        ("missing radius", |s| {
            drop(s["wall"][0].as_object_mut().unwrap().remove("radius"))
        }),
        ("key of another shape", |s| {
            s["wall"][0]["size"] = json!([1, 1, 1])
        }),
        ("key of another method", |s| {
            s["solver"]["sweeps"] = json!(10)
        }),
        ("two sizes", |s| s["grains"][0]["diameter"] = json!(0.01)),
        ("no size", |s| {
            drop(s["grains"][0].as_object_mut().unwrap().remove("sizes"))
        }),
        ("two rates", |s| s["wall"][0]["motion"]["rpm"] = json!(1)),
        ("short vector", |s| s["gravity"] = json!([0, 1])),
        ("unknown word", |s| s["wall"][0]["shape"] = json!("blob")),
    ];
    let schema = schema();
    for (mistake, make) in mistakes {
        let mut scene = shipped("drum");
        make(&mut scene);
        assert!(!accepts(&schema, &scene), "{mistake}");
    }
}
