//! How a key of the format is described: the one place that the reader, the
//! reference page and the editors' schema are made from.

/// A table of the format and all keys it may hold.
#[derive(Debug)]
pub struct Section {
    /// How the section is written, for people: `[[wall]]`, `region`.
    pub title: &'static str,
    /// What it is for.
    pub doc: &'static str,
    /// Its keys; a key that others depend on stands before them.
    pub keys: &'static [Key],
    /// Groups of keys that exclude one another.
    pub groups: &'static [Group],
}

/// One key.
#[derive(Debug)]
pub struct Key {
    /// Its name.
    pub name: &'static str,
    /// What values it takes.
    pub kind: Kind,
    /// Unit of its numbers; empty: none.
    pub unit: &'static str,
    /// Whether it must be given.
    pub need: Need,
    /// One line for people.
    pub doc: &'static str,
    /// Conditions under which it has a meaning; empty: always.
    pub when: &'static [When],
}

/// Whether a key must be given.
#[derive(Clone, Copy, Debug)]
pub enum Need {
    /// It must, wherever it has a meaning.
    Required,
    /// It takes this value, written in TOML, when left out.
    Default(&'static str),
    /// It may be left out; the text says what that means.
    Optional(&'static str),
}

/// A condition: another key of the same section has one of these values.
#[derive(Clone, Copy, Debug)]
pub struct When {
    /// The other key.
    pub key: &'static str,
    /// Its values.
    pub is: &'static [&'static str],
}

/// Keys of which at most one may be given.
#[derive(Debug)]
pub struct Group {
    /// The keys.
    pub keys: &'static [&'static str],
    /// Whether exactly one must be given rather than at most one.
    pub required: bool,
    /// Conditions under which it is required; empty: always.
    pub when: &'static [When],
}

/// What values a key takes.
#[derive(Clone, Copy, Debug)]
pub enum Kind {
    /// A finite number.
    Number(Limits),
    /// A whole number in a range, both ends included.
    Integer(u64, u64),
    /// `true` or `false`.
    Bool,
    /// Any text.
    Text,
    /// One of these words.
    Choice(&'static [&'static str]),
    /// A list of distinct words.
    Choices(&'static [&'static str]),
    /// Three numbers.
    Vector,
    /// Three numbers, not all zero; the length does not matter.
    Direction,
    /// A list of numbers.
    Numbers,
    /// A list of vectors.
    Vectors,
    /// A smallest and a largest number.
    Interval(Limits),
    /// Two opposite corners of a box, the lower one first.
    Corners,
    /// Two texts.
    Names,
    /// A table.
    Table(&'static Section),
    /// A table, `"on"` for one in which everything is left out, or `"off"` for none.
    Switch(&'static Section),
    /// A list of tables.
    List(&'static Section),
    /// A table, or a list of them; read as a list.
    OneOrMore(&'static Section),
    /// A table of named tables.
    Named(&'static Section),
}

/// The range of a number.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Limits {
    /// Lower end.
    pub low: Bound,
    /// Upper end.
    pub high: Bound,
}

/// One end of a range.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Bound {
    /// No limit.
    Open,
    /// The value itself is allowed.
    Included(f64),
    /// The value itself is not allowed.
    Excluded(f64),
}

/// Any finite number.
pub const ANY: Limits = Limits {
    low: Bound::Open,
    high: Bound::Open,
};
/// Greater than zero.
pub const POSITIVE: Limits = Limits {
    low: Bound::Excluded(0.0),
    high: Bound::Open,
};
/// Zero or greater.
pub const NOT_NEGATIVE: Limits = Limits {
    low: Bound::Included(0.0),
    high: Bound::Open,
};
/// One or greater.
pub const AT_LEAST_ONE: Limits = Limits {
    low: Bound::Included(1.0),
    high: Bound::Open,
};
/// From zero to one.
pub const UNIT: Limits = Limits {
    low: Bound::Included(0.0),
    high: Bound::Included(1.0),
};
/// Greater than zero, up to one.
pub const SHARE: Limits = Limits {
    low: Bound::Excluded(0.0),
    high: Bound::Included(1.0),
};
/// Between zero and one.
pub const PROPER_SHARE: Limits = Limits {
    low: Bound::Excluded(0.0),
    high: Bound::Excluded(1.0),
};
/// What a Poisson's ratio can be.
pub const POISSON: Limits = Limits {
    low: Bound::Excluded(-1.0),
    high: Bound::Included(0.5),
};

/// From zero to a right angle, in degrees.
pub const RIGHT_ANGLE: Limits = Limits {
    low: Bound::Included(0.0),
    high: Bound::Included(90.0),
};

/// Smallest of the numbers that must be greater than zero, in any unit.
pub const SMALLEST_POSITIVE: f64 = 1e-15;

/// Largest size of a number in a unit: far beyond what is meant by anyone, and
/// so far from what a number can hold that powers and products of a few stay finite.
pub fn max(unit: &str) -> f64 {
    match unit {
        // Positions, with a resolution that still tells grains apart.
        "m" => 1e8,
        "s" => 1e12,
        // Below the speed of light, which is not known here.
        "m/s" => 1e6,
        "m/s²" | "rad/s" | "1/min" => 1e7,
        "rad" | "°" => 1e9,
        "Hz" => 1e9,
        // White dwarfs and perfect rigidity.
        "kg/m³" => 1e9,
        "Pa" | "N/m" => 1e18,
        _ => 1e15,
    }
}

impl Limits {
    /// Whether a number is in the range; never true for NaN.
    pub fn contains(&self, x: f64) -> bool {
        let above = match self.low {
            Bound::Open => x.is_finite(),
            Bound::Included(low) => x >= low,
            Bound::Excluded(low) => x > low,
        };
        let below = match self.high {
            Bound::Open => x.is_finite(),
            Bound::Included(high) => x <= high,
            Bound::Excluded(high) => x < high,
        };
        above && below
    }

    /// The range in words.
    pub fn describe(&self) -> String {
        let low = match self.low {
            Bound::Open => None,
            Bound::Included(low) => Some(format!("at least {low}")),
            Bound::Excluded(low) => Some(format!("greater than {low}")),
        };
        let high = match self.high {
            Bound::Open => None,
            Bound::Included(high) => Some(format!("at most {high}")),
            Bound::Excluded(high) => Some(format!("less than {high}")),
        };
        match (low, high) {
            (None, None) => "a number".to_string(),
            (Some(one), None) | (None, Some(one)) => format!("a number {one}"),
            (Some(low), Some(high)) => format!("a number {low} and {high}"),
        }
    }
}

impl Kind {
    /// What values are allowed, in words.
    pub fn describe(&self) -> String {
        match self {
            Kind::Number(limits) => limits.describe(),
            Kind::Integer(low, u64::MAX) => format!("a whole number, at least {low}"),
            Kind::Integer(low, high) => format!("a whole number from {low} to {high}"),
            Kind::Bool => "true or false".to_string(),
            Kind::Text => "text in quotes".to_string(),
            Kind::Choice(words) => list_of_words(words, "or"),
            Kind::Choices(words) => format!("a list of some of {}", list_of_words(words, "and")),
            Kind::Vector => "three numbers [x, y, z]".to_string(),
            Kind::Direction => "three numbers [x, y, z], not all zero".to_string(),
            Kind::Numbers => "a list of numbers".to_string(),
            Kind::Vectors => "a list of vectors [x, y, z]".to_string(),
            Kind::Interval(limits) => {
                format!("two numbers [min, max], each {}", limits.describe())
            }
            Kind::Corners => "two corners [[x, y, z], [x, y, z]], the lower one first".to_string(),
            Kind::Names => "two names in quotes".to_string(),
            Kind::Table(section) => format!("a table `{}`", section.title),
            Kind::Switch(section) => {
                format!("\"on\", \"off\" or a table `{}`", section.title)
            }
            Kind::List(section) => format!("a list of tables `{}`", section.title),
            Kind::OneOrMore(section) => {
                format!("a table `{}`, or a list of them", section.title)
            }
            Kind::Named(section) => format!("tables `{}`", section.title),
        }
    }
}

/// `"a", "b" or "c"`.
pub(crate) fn list_of_words(words: &[&str], last: &str) -> String {
    let quoted: Vec<String> = words.iter().map(|word| format!("\"{word}\"")).collect();
    match quoted.split_last() {
        None => String::new(),
        Some((one, [])) => one.clone(),
        Some((end, rest)) => format!("{} {last} {end}", rest.join(", ")),
    }
}
