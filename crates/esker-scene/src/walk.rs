//! Reads a TOML document along the tables of [`crate::format`]: unknown keys,
//! wrong types, values out of range, missing keys and keys that exclude one
//! another are all found here, in one pass that never stops early.
//!
//! What comes out is a tree of typed values in which everything faulty is
//! absent; whoever reads it can therefore treat "absent" as "already reported".

use std::collections::BTreeMap;
use std::ops::Range;

use glam::DVec3;
use toml::Spanned;
use toml::de::{DeArray, DeTable, DeValue};

use crate::keys::{
    Group, Key, Kind, Limits, Need, POSITIVE, SMALLEST_POSITIVE, Section, When, list_of_words, max,
};
use crate::report::{Finding, ProblemKind, Report};
use crate::suggest::nearest;

/// A typed value of the document.
#[derive(Clone, Debug)]
pub(crate) enum Value {
    Number(f64),
    Integer(u64),
    Bool(bool),
    Text(String),
    Texts(Vec<String>),
    Vector(DVec3),
    Numbers(Vec<f64>),
    Vectors(Vec<DVec3>),
    Table(Node),
    List(Vec<Node>),
    Named(Vec<(String, Node)>),
}

/// A section of the document: its right values, by key.
#[derive(Clone, Debug, Default)]
pub(crate) struct Node {
    /// Where it is: `wall.0.motion`.
    pub path: String,
    entries: BTreeMap<&'static str, Value>,
}

macro_rules! getter {
    ($name:ident, $variant:ident, $type:ty) => {
        pub fn $name(&self, key: &str) -> Option<$type> {
            match self.entries.get(key)? {
                Value::$variant(value) => Some(value.clone()),
                _ => None,
            }
        }
    };
}

impl Node {
    getter!(number, Number, f64);
    getter!(integer, Integer, u64);
    getter!(boolean, Bool, bool);
    getter!(vector, Vector, DVec3);
    getter!(numbers, Numbers, Vec<f64>);
    getter!(vectors, Vectors, Vec<DVec3>);
    getter!(texts, Texts, Vec<String>);

    pub fn text(&self, key: &str) -> Option<&str> {
        match self.entries.get(key)? {
            Value::Text(value) => Some(value),
            _ => None,
        }
    }

    pub fn table(&self, key: &str) -> Option<&Node> {
        match self.entries.get(key)? {
            Value::Table(node) => Some(node),
            _ => None,
        }
    }

    pub fn list(&self, key: &str) -> &[Node] {
        match self.entries.get(key) {
            Some(Value::List(nodes)) => nodes,
            _ => &[],
        }
    }

    pub fn named(&self, key: &str) -> &[(String, Node)] {
        match self.entries.get(key) {
            Some(Value::Named(nodes)) => nodes,
            _ => &[],
        }
    }

    /// The value of a key, whatever it is.
    pub fn get(&self, key: &str) -> Option<&Value> {
        self.entries.get(key)
    }

    /// The path of one of its keys.
    pub fn at(&self, key: &str) -> String {
        join(&self.path, key)
    }
}

fn join(path: &str, key: &str) -> String {
    if path.is_empty() {
        key.to_string()
    } else {
        format!("{path}.{key}")
    }
}

/// Where each path of the document stands in the source.
#[derive(Clone, Debug, Default)]
pub(crate) struct Locations(BTreeMap<String, Range<usize>>);

impl Locations {
    /// The place of a path or, where the source has none, of what encloses it.
    pub fn find(&self, path: &str) -> Range<usize> {
        let mut path = path;
        loop {
            if let Some(span) = self.0.get(path) {
                return span.clone();
            }
            match path.rfind('.') {
                Some(dot) => path = &path[..dot],
                None => return 0..0,
            }
        }
    }

    /// Whether the source has this very path (a default value has none).
    pub fn has(&self, path: &str) -> bool {
        self.0.contains_key(path)
    }
}

/// Reads a whole document.
pub(crate) fn walk(
    document: &Spanned<DeTable<'_>>,
    section: &'static Section,
    report: &mut Report<'_>,
) -> (Node, Locations) {
    let mut walker = Walker {
        report,
        locations: Locations::default(),
    };
    let node = walker.section(document.get_ref(), 0..0, section, "");
    (node, walker.locations)
}

/// The value of a key that is left out, where the format gives one.
pub(crate) fn default_value(key: &'static Key, path: &str) -> Option<Value> {
    let Need::Default(text) = key.need else {
        return None;
    };
    // The defaults' own spans mean nothing in the scene's source: their places
    // are not kept, so that a problem is shown at the enclosing section.
    let mut unused = Report::new("", text);
    let mut walker = Walker {
        report: &mut unused,
        locations: Locations::default(),
    };
    let value = DeValue::parse(text).ok()?;
    walker.value(&value, key, path)
}

struct Walker<'r, 't> {
    report: &'r mut Report<'t>,
    locations: Locations,
}

impl Walker<'_, '_> {
    fn section(
        &mut self,
        table: &DeTable<'_>,
        span: Range<usize>,
        section: &'static Section,
        path: &str,
    ) -> Node {
        self.report_unknown_keys(table, section);
        let mut node = Node {
            path: path.to_string(),
            entries: BTreeMap::new(),
        };
        for key in section.keys {
            let given = table.get_key_value(key.name);
            let key_path = join(path, key.name);
            match given {
                Some((name, value)) => {
                    self.locations.0.insert(key_path.clone(), value.span());
                    if let Some(when) = unmet(key.when, &node) {
                        self.report_meaningless(key, name.span(), when, section, &node);
                    } else if let Some(value) = self.value(value, key, &key_path) {
                        node.entries.insert(key.name, value);
                    }
                }
                None => self.left_out(key, &span, section, &key_path, &mut node),
            }
        }
        for group in section.groups {
            self.check_group(group, table, &span, section, &node);
        }
        node
    }

    fn report_unknown_keys(&mut self, table: &DeTable<'_>, section: &'static Section) {
        for (name, _) in table {
            let word = name.get_ref().as_ref();
            if section.keys.iter().any(|key| key.name == word) {
                continue;
            }
            let known = section.keys.iter().map(|key| key.name);
            let place = if section.title.starts_with("top") {
                "at the top level".to_string()
            } else {
                format!("in `{}`", section.title)
            };
            let mut finding = Finding::new(
                ProblemKind::UnknownKey,
                name.span(),
                format!("unknown key `{word}` {place}"),
            )
            .expected(format!(
                "one of: {}",
                known.clone().collect::<Vec<_>>().join(", ")
            ));
            if let Some(near) = nearest(word, known) {
                finding = finding.advice(format!("did you mean `{near}`?"));
            }
            self.report.push(finding);
        }
    }

    fn report_meaningless(
        &mut self,
        key: &Key,
        span: Range<usize>,
        when: &When,
        section: &Section,
        node: &Node,
    ) {
        let actual = node.text(when.key).unwrap_or_default();
        let applicable: Vec<&str> = section
            .keys
            .iter()
            .filter(|key| unmet(key.when, node).is_none())
            .map(|key| key.name)
            .collect();
        self.report.push(
            Finding::new(
                ProblemKind::Conflict,
                span,
                format!(
                    "`{}` has no meaning with {} = \"{actual}\"",
                    key.name, when.key
                ),
            )
            .expected(format!(
                "it only with {} = {}",
                when.key,
                list_of_words(when.is, "or")
            ))
            .advice(format!(
                "keys for {} = \"{actual}\": {}",
                when.key,
                applicable.join(", ")
            )),
        );
    }

    /// Fills in the default of a key that is not there, or reports that it is needed.
    fn left_out(
        &mut self,
        key: &'static Key,
        span: &Range<usize>,
        section: &Section,
        key_path: &str,
        node: &mut Node,
    ) {
        if unmet(key.when, node).is_some() {
            return;
        }
        match key.need {
            Need::Optional(_) => {}
            Need::Default(_) => {
                if let Some(value) = default_value(key, key_path) {
                    node.entries.insert(key.name, value);
                }
            }
            Need::Required => {
                // A condition that cannot be judged has been reported itself.
                if key.when.iter().any(|when| node.text(when.key).is_none()) {
                    return;
                }
                let place = if section.title.starts_with("top") {
                    "at the top level".to_string()
                } else {
                    format!("in `{}`", section.title)
                };
                self.report.push(
                    Finding::new(
                        ProblemKind::Missing,
                        span.clone(),
                        format!("`{}` is missing {place}", key.name),
                    )
                    .expected(format!("`{}`: {}", key.name, describe(key)))
                    .advice(key.doc),
                );
            }
        }
    }

    fn check_group(
        &mut self,
        group: &Group,
        table: &DeTable<'_>,
        span: &Range<usize>,
        section: &Section,
        node: &Node,
    ) {
        let given: Vec<(&str, Range<usize>)> = group
            .keys
            .iter()
            .filter_map(|&name| {
                let (key, _) = table.get_key_value(name)?;
                Some((name, key.span()))
            })
            .collect();
        let names: Vec<String> = group.keys.iter().map(|k| format!("`{k}`")).collect();
        if let [first, .., last] = given.as_slice() {
            self.report.push(
                Finding::new(
                    ProblemKind::Conflict,
                    last.1.clone(),
                    format!("`{}` and `{}` exclude one another", first.0, last.0),
                )
                .expected(format!("only one of {}", names.join(", ")))
                .advice("remove one of them"),
            );
        }
        let judged = group
            .when
            .iter()
            .all(|when| node.text(when.key).is_some_and(|is| when.is.contains(&is)));
        if group.required && judged && given.is_empty() {
            self.report.push(
                Finding::new(
                    ProblemKind::Missing,
                    span.clone(),
                    format!("`{}` needs one of {}", section.title, names.join(", ")),
                )
                .expected(format!("one of {}", names.join(", "))),
            );
        }
    }

    fn value(
        &mut self,
        value: &Spanned<DeValue<'_>>,
        key: &'static Key,
        path: &str,
    ) -> Option<Value> {
        let span = value.span();
        match (&key.kind, value.get_ref()) {
            (Kind::Number(limits), DeValue::Integer(_) | DeValue::Float(_)) => {
                self.number(value, limits, key).map(Value::Number)
            }
            (Kind::Integer(low, high), DeValue::Integer(_) | DeValue::Float(_)) => {
                self.integer(value, *low, *high, key).map(Value::Integer)
            }
            (Kind::Bool, DeValue::Boolean(b)) => Some(Value::Bool(*b)),
            (Kind::Text, DeValue::String(text)) => {
                if text.is_empty() {
                    self.bad(span, key, "is empty");
                    return None;
                }
                Some(Value::Text(text.to_string()))
            }
            (Kind::Choice(words), DeValue::String(text)) => self
                .choice(text, words, span, key)
                .map(|word| Value::Text(word.to_string())),
            (Kind::Choices(words), DeValue::Array(array)) => self.choices(array, words, key),
            (Kind::Vector, DeValue::Array(array)) => {
                self.vector(array, span, key).map(Value::Vector)
            }
            (Kind::Direction, DeValue::Array(array)) => {
                let vector = self.vector(array, span.clone(), key)?;
                let length = vector.length();
                if length == 0.0 || !length.is_finite() {
                    self.bad(span, key, "is not a direction");
                    return None;
                }
                Some(Value::Vector(vector / length))
            }
            (Kind::Numbers, DeValue::Array(array)) => self.numbers(array, key).map(Value::Numbers),
            (Kind::Vectors, DeValue::Array(array)) => self.vectors(array, key).map(Value::Vectors),
            (Kind::Interval(limits), DeValue::Array(array)) => {
                self.interval(array, span, limits, key)
            }
            (Kind::Corners, DeValue::Array(array)) => self.corners(array, span, key),
            (Kind::Names, DeValue::Array(array)) => self.names(array, span, key),
            (Kind::Table(section), DeValue::Table(table)) => {
                Some(Value::Table(self.section(table, span, section, path)))
            }
            (Kind::Switch(section), DeValue::Table(table)) => {
                Some(Value::Table(self.section(table, span, section, path)))
            }
            (Kind::Switch(section), DeValue::String(text)) => {
                let is_on = self.choice(text, &["on", "off"], span.clone(), key)? == "on";
                let everything_left_out = DeTable::new();
                is_on.then(|| Value::Table(self.section(&everything_left_out, span, section, path)))
            }
            (Kind::List(section) | Kind::OneOrMore(section), DeValue::Array(array)) => {
                Some(self.list(array, section, path))
            }
            (Kind::OneOrMore(section), DeValue::Table(table)) => {
                Some(Value::List(vec![self.section(table, span, section, path)]))
            }
            (Kind::Named(section), DeValue::Table(table)) => Some(self.named(table, section, path)),
            _ => {
                self.wrong_type(value, key);
                None
            }
        }
    }

    fn list(&mut self, array: &DeArray<'_>, section: &'static Section, path: &str) -> Value {
        let mut nodes = Vec::new();
        for (index, item) in array.iter().enumerate() {
            let path = join(path, &index.to_string());
            self.locations.0.insert(path.clone(), item.span());
            match item.get_ref() {
                DeValue::Table(table) => {
                    nodes.push(self.section(table, item.span(), section, &path));
                }
                other => {
                    self.report.push(
                        Finding::new(
                            ProblemKind::WrongType,
                            item.span(),
                            format!(
                                "`{}` holds a {} where a table belongs",
                                section.title,
                                other.type_str()
                            ),
                        )
                        .expected("a table"),
                    );
                    // Keeps the numbers of the others as they are in the source.
                    nodes.push(Node {
                        path,
                        ..Node::default()
                    });
                }
            }
        }
        Value::List(nodes)
    }

    fn named(&mut self, table: &DeTable<'_>, section: &'static Section, path: &str) -> Value {
        let mut nodes: Vec<(usize, String, Node)> = Vec::new();
        for (name, item) in table {
            let path = join(path, name.get_ref());
            self.locations.0.insert(path.clone(), item.span());
            match item.get_ref() {
                DeValue::Table(inner) => {
                    let node = self.section(inner, item.span(), section, &path);
                    nodes.push((name.span().start, name.get_ref().to_string(), node));
                }
                other => self.report.push(
                    Finding::new(
                        ProblemKind::WrongType,
                        item.span(),
                        format!("`{path}` is a {} where a table belongs", other.type_str()),
                    )
                    .expected(format!("a section `{}`", section.title)),
                ),
            }
        }
        // The parser sorts by name; people expect the order of the file.
        nodes.sort_by_key(|(start, _, _)| *start);
        Value::Named(
            nodes
                .into_iter()
                .map(|(_, name, node)| (name, node))
                .collect(),
        )
    }

    fn number(&mut self, value: &Spanned<DeValue<'_>>, limits: &Limits, key: &Key) -> Option<f64> {
        let Some(number) = to_number(value.get_ref()) else {
            self.wrong_type(value, key);
            return None;
        };
        if !number.is_finite() {
            self.bad(value.span(), key, "is not a finite number");
            return None;
        }
        if !limits.contains(number) {
            self.bad(value.span(), key, "is out of range");
            return None;
        }
        if let Some(problem) = beyond_reason(number, limits, key.unit) {
            self.bad(value.span(), key, &problem);
            return None;
        }
        Some(number)
    }

    fn integer(
        &mut self,
        value: &Spanned<DeValue<'_>>,
        low: u64,
        high: u64,
        key: &Key,
    ) -> Option<u64> {
        let whole = match value.get_ref() {
            DeValue::Integer(digits) => i128::from_str_radix(digits.as_str(), digits.radix()).ok(),
            // 1e6 is a float in TOML, but clearly a whole number.
            other => to_number(other)
                .filter(|x| x.fract() == 0.0 && x.abs() < 9e15)
                .map(|x| x as i128),
        };
        let Some(whole) = whole else {
            self.bad(value.span(), key, "is not a whole number");
            return None;
        };
        match u64::try_from(whole) {
            Ok(whole) if (low..=high).contains(&whole) => Some(whole),
            _ => {
                self.bad(value.span(), key, "is out of range");
                None
            }
        }
    }

    fn choice(
        &mut self,
        text: &str,
        words: &'static [&'static str],
        span: Range<usize>,
        key: &Key,
    ) -> Option<&'static str> {
        if let Some(word) = words.iter().find(|word| **word == text) {
            return Some(word);
        }
        let mut finding = Finding::new(
            ProblemKind::BadValue,
            span,
            format!("\"{text}\" is not a known value of `{}`", key.name),
        )
        .expected(list_of_words(words, "or"));
        if let Some(near) = nearest(text, words.iter().copied()) {
            finding = finding.advice(format!("did you mean \"{near}\"?"));
        }
        self.report.push(finding);
        None
    }

    fn choices(
        &mut self,
        array: &DeArray<'_>,
        words: &'static [&'static str],
        key: &Key,
    ) -> Option<Value> {
        let mut chosen: Vec<String> = Vec::new();
        let mut good = true;
        for item in array.iter() {
            let DeValue::String(text) = item.get_ref() else {
                self.wrong_type(item, key);
                good = false;
                continue;
            };
            match self.choice(text, words, item.span(), key) {
                Some(word) if chosen.iter().any(|other| other == word) => {
                    self.bad(item.span(), key, "is listed twice");
                    good = false;
                }
                Some(word) => chosen.push(word.to_string()),
                None => good = false,
            }
        }
        good.then_some(Value::Texts(chosen))
    }

    fn numbers(&mut self, array: &DeArray<'_>, key: &Key) -> Option<Vec<f64>> {
        let all: Vec<Option<f64>> = array
            .iter()
            .map(|item| self.number(item, &crate::keys::ANY, key))
            .collect();
        all.into_iter().collect()
    }

    fn vector(&mut self, array: &DeArray<'_>, span: Range<usize>, key: &Key) -> Option<DVec3> {
        let numbers = self.numbers(array, key)?;
        match numbers.as_slice() {
            &[x, y, z] => Some(DVec3::new(x, y, z)),
            others => {
                let problem = format!("has {} numbers, not three", others.len());
                self.bad(span, key, &problem);
                None
            }
        }
    }

    fn vectors(&mut self, array: &DeArray<'_>, key: &Key) -> Option<Vec<DVec3>> {
        let all: Vec<Option<DVec3>> = array
            .iter()
            .map(|item| match item.get_ref() {
                DeValue::Array(inner) => self.vector(inner, item.span(), key),
                _ => {
                    self.wrong_type(item, key);
                    None
                }
            })
            .collect();
        all.into_iter().collect()
    }

    fn interval(
        &mut self,
        array: &DeArray<'_>,
        span: Range<usize>,
        limits: &Limits,
        key: &Key,
    ) -> Option<Value> {
        let ends: Option<Vec<f64>> = array
            .iter()
            .map(|item| self.number(item, limits, key))
            .collect();
        match ends?.as_slice() {
            &[low, high] if low <= high => Some(Value::Numbers(vec![low, high])),
            [_, _] => {
                self.bad(span, key, "has its greater number first");
                None
            }
            others => {
                let problem = format!("has {} numbers, not two", others.len());
                self.bad(span, key, &problem);
                None
            }
        }
    }

    fn corners(&mut self, array: &DeArray<'_>, span: Range<usize>, key: &Key) -> Option<Value> {
        let corners = self.vectors(array, key)?;
        match corners.as_slice() {
            [low, high] if high.cmpge(*low).all() => Some(Value::Vectors(corners)),
            [_, _] => {
                self.bad(span, key, "does not have its lower corner first");
                None
            }
            others => {
                let problem = format!("has {} corners, not two", others.len());
                self.bad(span, key, &problem);
                None
            }
        }
    }

    fn names(&mut self, array: &DeArray<'_>, span: Range<usize>, key: &Key) -> Option<Value> {
        let mut names = Vec::new();
        for item in array.iter() {
            match item.get_ref() {
                DeValue::String(name) => names.push(name.to_string()),
                _ => {
                    self.wrong_type(item, key);
                    return None;
                }
            }
        }
        if names.len() != 2 {
            let problem = format!("has {} names, not two", names.len());
            self.bad(span, key, &problem);
            return None;
        }
        Some(Value::Texts(names))
    }

    fn bad(&mut self, span: Range<usize>, key: &Key, problem: &str) {
        let value = self.report.snippet(&span);
        self.report.push(
            Finding::new(
                ProblemKind::BadValue,
                span,
                format!("`{}`: {value} {problem}", key.name),
            )
            .expected(describe(key)),
        );
    }

    fn wrong_type(&mut self, value: &Spanned<DeValue<'_>>, key: &Key) {
        let article = match value.get_ref().type_str() {
            word @ ("integer" | "array") => format!("an {word}"),
            word => format!("a {word}"),
        };
        let mut finding = Finding::new(
            ProblemKind::WrongType,
            value.span(),
            format!("`{}` is {article}", key.name),
        )
        .expected(describe(key));
        match (&key.kind, value.get_ref()) {
            (Kind::Number(_) | Kind::Integer(..), DeValue::String(_)) => {
                finding = finding.advice("numbers stand without quotes and without a unit");
            }
            (Kind::List(section), DeValue::Table(_)) => {
                finding = finding.advice(format!(
                    "write `{}` with two pairs of brackets: there can be several",
                    section.title
                ));
            }
            _ => {}
        }
        self.report.push(finding);
    }
}

/// Why a number cannot be meant, if so: beyond every machine and every grain,
/// where sums and products would overflow.
fn beyond_reason(number: f64, limits: &Limits, unit: &str) -> Option<String> {
    let most = max(unit);
    let min = SMALLEST_POSITIVE;
    if number.abs() > most {
        Some(
            format!("is too large: at most {most:e} {unit}")
                .trim_end()
                .to_owned(),
        )
    } else if *limits == POSITIVE && number < min {
        Some(
            format!("is too small: at least {min:e} {unit}")
                .trim_end()
                .to_owned(),
        )
    } else {
        None
    }
}

/// The first condition that is known not to hold.
fn unmet<'w>(when: &'w [When], node: &Node) -> Option<&'w When> {
    when.iter()
        .find(|when| node.text(when.key).is_some_and(|is| !when.is.contains(&is)))
}

/// What a key takes, with its unit.
fn describe(key: &Key) -> String {
    if key.unit.is_empty() {
        key.kind.describe()
    } else {
        format!("{}, in {}", key.kind.describe(), key.unit)
    }
}

fn to_number(value: &DeValue<'_>) -> Option<f64> {
    match value {
        DeValue::Integer(digits) => i128::from_str_radix(digits.as_str(), digits.radix())
            .ok()
            .map(|x| x as f64),
        DeValue::Float(digits) => digits.as_str().parse().ok(),
        _ => None,
    }
}
