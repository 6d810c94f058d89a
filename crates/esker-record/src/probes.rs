//! Rows of probes: one table per probe in the group `probes`.
//!
//! A row is step, time, the probe's numbers and a checksum of these and of what
//! the columns mean. `probes/columns` says what they mean: one text per column
//! with the probe's name, the column's, its unit, how many numbers it has,
//! their distance in m and the meaning, separated by tabs. Readers that know no
//! probes do not look there.

use xxhash_rust::xxh3::Xxh3;

use crate::bytes::{Malformed, Plain, Source};
use crate::hdf5::{Member, Number, row_size};
use crate::layout::member;

pub(crate) const GROUP: &str = "probes";
pub(crate) const COLUMNS: &str = "probes/columns";

/// What one probe records.
#[derive(Clone, Debug, PartialEq)]
pub struct ProbeTable {
    /// Name of the probe; without `/`.
    pub name: String,
    /// Its columns.
    pub columns: Vec<ProbeColumn>,
}

/// One column of a probe.
#[derive(Clone, Debug, PartialEq)]
pub struct ProbeColumn {
    /// Its name.
    pub name: String,
    /// Its unit; `1` for none.
    pub unit: String,
    /// What it is.
    pub meaning: String,
    /// Numbers per row.
    pub width: usize,
    /// Distance of neighbouring numbers in space, m; zero for a single one.
    pub spacing: f64,
}

impl ProbeColumn {
    /// Where number `i` of a row is, m.
    pub fn place(&self, i: usize) -> f64 {
        (i as f64 + 0.5) * self.spacing
    }
}

/// A row of a probe.
#[derive(Clone, Debug, PartialEq)]
pub struct ProbeRow {
    /// Index of the probe.
    pub probe: usize,
    /// Steps done.
    pub step: u64,
    /// Time, s.
    pub time: f64,
    /// The numbers of all columns.
    pub values: Vec<f64>,
}

impl ProbeTable {
    /// Where its rows are.
    pub(crate) fn path(&self) -> String {
        format!("{GROUP}/{}", self.name)
    }

    /// What `probes/columns` says about it.
    pub(crate) fn lines(&self) -> Vec<String> {
        let line = |c: &ProbeColumn| {
            let (width, spacing) = (c.width.to_string(), c.spacing.to_string());
            [&self.name, &c.name, &c.unit, &width, &spacing, &c.meaning]
                .map(String::as_str)
                .join("\t")
        };
        self.columns.iter().map(line).collect()
    }

    /// The tables that lines of `probes/columns` describe.
    pub(crate) fn from_lines(lines: &[String]) -> Result<Vec<Self>, Malformed> {
        let mut tables: Vec<ProbeTable> = Vec::new();
        for line in lines {
            let cells: Vec<&str> = line.split('\t').collect();
            let &[probe, name, unit, width, spacing, meaning] = cells.as_slice() else {
                return Err(Malformed);
            };
            let column = ProbeColumn {
                name: name.to_owned(),
                unit: unit.to_owned(),
                meaning: meaning.to_owned(),
                width: width.parse().map_err(|_| Malformed)?,
                spacing: spacing.parse().map_err(|_| Malformed)?,
            };
            match tables.last_mut() {
                Some(table) if table.name == probe => table.columns.push(column),
                _ => tables.push(ProbeTable {
                    name: probe.to_owned(),
                    columns: vec![column],
                }),
            }
        }
        Ok(tables)
    }

    /// Numbers of a row.
    fn width(&self) -> usize {
        self.columns.iter().map(|c| c.width).sum()
    }

    /// Members of its table.
    pub(crate) fn members(&self) -> Vec<Member<'_>> {
        let head = [
            member("step", Number::U64, 1, "1", "steps done"),
            member(
                "time",
                Number::F64,
                1,
                "s",
                "time at the end of the interval",
            ),
        ];
        let columns = self.columns.iter().map(|c| Member {
            name: &c.name,
            number: Number::F64,
            width: c.width,
            unit: &c.unit,
            meaning: &c.meaning,
        });
        let meaning = "XXH3 of the row and of its lines in probes/columns";
        let checksum = member("checksum", Number::U64, 1, "1", meaning);
        head.into_iter().chain(columns).chain([checksum]).collect()
    }

    /// Bytes of a row.
    pub(crate) fn row_size(&self) -> usize {
        row_size(&self.members())
    }

    /// A row as it is stored.
    pub(crate) fn bytes(&self, row: &ProbeRow) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(self.row_size());
        row.step.put(&mut bytes);
        row.time.put(&mut bytes);
        row.values.iter().for_each(|x| x.put(&mut bytes));
        self.checksum(&bytes).put(&mut bytes);
        bytes
    }

    /// Reads a row of probe `probe`.
    pub(crate) fn row(&self, probe: usize, bytes: &[u8]) -> Result<ProbeRow, Malformed> {
        let mut source = Source::new(bytes);
        let row = ProbeRow {
            probe,
            step: source.get()?,
            time: source.get()?,
            values: (0..self.width())
                .map(|_| source.get())
                .collect::<Result<_, _>>()?,
        };
        let checksum: u64 = source.get()?;
        let content = &bytes[..bytes.len() - u64::SIZE];
        (self.checksum(content) == checksum)
            .then_some(row)
            .ok_or(Malformed)
    }

    fn checksum(&self, content: &[u8]) -> u64 {
        let mut hash = Xxh3::new();
        for line in self.lines() {
            hash.update(line.as_bytes());
            hash.update(b"\n");
        }
        hash.update(content);
        hash.digest()
    }
}
