//! Tables of numbers from CSV files: grains one by one, motions of walls, and values of drives.
//!
//! A file has a header row that names its columns, then rows of numbers
//! separated by commas. Empty lines and lines that begin with `#` are skipped.
//! All readers are pure functions of the file's bytes.

use std::collections::BTreeSet;

use esker_world::definition::ListedGrain;
use glam::DVec3;

use crate::files::GrainList;
use crate::suggest::nearest;

/// Largest size of a number: positions and times in SI units stay far below.
const GREATEST: f64 = 1e12;

/// What is wrong with a CSV file.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("line {line}: {message}")]
pub struct CsvError {
    /// Line, from 1.
    pub line: usize,
    /// What is wrong, and what was expected.
    pub message: String,
}

impl CsvError {
    fn new(line: usize, message: impl Into<String>) -> Self {
        CsvError {
            line,
            message: message.into(),
        }
    }
}

/// Rows of a motion table.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct MotionTable {
    /// Times, s, strictly increasing.
    pub times: Vec<f64>,
    /// Displacements, m, one per time.
    pub displacements: Vec<DVec3>,
    /// Angles, rad, one per time.
    pub angles: Vec<f64>,
}

/// Rows of a table of values.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ValueTable {
    /// Times, s, strictly increasing.
    pub times: Vec<f64>,
    /// Values, one per time.
    pub values: Vec<f64>,
    /// Line of the last row.
    pub last_line: usize,
}

/// Reads grains: columns `x,y,z`, optionally `diameter` or `radius`,
/// `vx,vy,vz`, `wx,wy,wz` and `material` (a name), in any order, SI units. A
/// column `id` may be there and means nothing.
///
/// `diameter` is that of all grains where the file has no column of sizes.
pub fn read_grains(bytes: &[u8], diameter: Option<f64>) -> Result<GrainList, CsvError> {
    const COLUMNS: &[&str] = &[
        "x", "y", "z", "diameter", "radius", "vx", "vy", "vz", "wx", "wy", "wz", MATERIAL, "id",
    ];
    let table = Table::read(bytes, COLUMNS)?;
    table.require(&["x", "y", "z"])?;
    table.require_all_or_none(&["vx", "vy", "vz"])?;
    table.require_all_or_none(&["wx", "wy", "wz"])?;
    let sizes = match (table.column("diameter"), table.column("radius")) {
        (Some(_), Some(_)) => {
            return Err(CsvError::new(
                table.header_line,
                "columns `diameter` and `radius` exclude one another",
            ));
        }
        (Some(column), None) => Some((column, 0.5)),
        (None, Some(column)) => Some((column, 1.0)),
        (None, None) => None,
    };
    if sizes.is_none() && diameter.is_none() {
        return Err(CsvError::new(
            table.header_line,
            "no column `diameter` or `radius`; add one, or give `diameter` in the scene",
        ));
    }
    let mut list = GrainList {
        has_velocities: table.column("vx").is_some(),
        ..Default::default()
    };
    for row in &table.rows {
        let radius = match sizes {
            Some((column, factor)) => row.numbers[column] * factor,
            None => diameter.unwrap_or(0.0) * 0.5,
        };
        if radius <= 0.0 {
            return Err(CsvError::new(
                row.line,
                "a grain's size must be greater than 0",
            ));
        }
        list.grains.push(ListedGrain {
            position: table.vector(row, ["x", "y", "z"]),
            radius,
            velocity: table.vector(row, ["vx", "vy", "vz"]),
            angular_velocity: table.vector(row, ["wx", "wy", "wz"]),
        });
        if let Some(name) = &row.material {
            let known = list.materials.iter().position(|known| known == name);
            let index = known.unwrap_or(list.materials.len());
            if known.is_none() {
                list.materials.push(name.clone());
            }
            list.material.push(
                u16::try_from(index)
                    .map_err(|_| CsvError::new(row.line, "more materials than there can be"))?,
            );
        }
    }
    if list.grains.is_empty() {
        return Err(CsvError::new(
            table.header_line,
            "no row below the header; expected one grain per row",
        ));
    }
    Ok(list)
}

/// Reads a motion: column `t`, then `x,y,z` and/or `angle`.
pub fn read_motion(bytes: &[u8]) -> Result<MotionTable, CsvError> {
    let table = Table::read(bytes, &["t", "x", "y", "z", "angle"])?;
    table.require(&["t"])?;
    table.require_all_or_none(&["x", "y", "z"])?;
    if table.columns.len() < 2 {
        return Err(CsvError::new(
            table.header_line,
            "only a column `t`; expected `x,y,z` or `angle` beside it",
        ));
    }
    let mut motion = MotionTable {
        times: table.increasing_times()?,
        ..Default::default()
    };
    for row in &table.rows {
        motion
            .displacements
            .push(table.vector(row, ["x", "y", "z"]));
        motion.angles.push(table.number(row, "angle"));
    }
    if motion.times.len() < 2 {
        return Err(CsvError::new(
            table.header_line,
            "a motion needs at least two rows below the header",
        ));
    }
    Ok(motion)
}

/// Reads values over time: columns `t` and `value`.
pub fn read_values(bytes: &[u8]) -> Result<ValueTable, CsvError> {
    let table = Table::read(bytes, &["t", "value"])?;
    table.require(&["t", "value"])?;
    let Some(last) = table.rows.last() else {
        return Err(CsvError::new(
            table.header_line,
            "no row below the header; expected a time and a value per row",
        ));
    };
    let values = table.rows.iter().map(|row| table.number(row, "value"));
    Ok(ValueTable {
        times: table.increasing_times()?,
        values: values.collect(),
        last_line: last.line,
    })
}

struct Table {
    header_line: usize,
    columns: Vec<&'static str>,
    rows: Vec<Row>,
}

struct Row {
    line: usize,
    /// By column; zero in that of names.
    numbers: Vec<f64>,
    /// The name in the column of materials, where there is one.
    material: Option<String>,
}

/// The column that holds names.
const MATERIAL: &str = "material";

impl Table {
    fn read(bytes: &[u8], known: &[&'static str]) -> Result<Table, CsvError> {
        let text = std::str::from_utf8(bytes).map_err(|error| {
            let line = bytes[..error.valid_up_to()]
                .iter()
                .filter(|byte| **byte == b'\n')
                .count();
            CsvError::new(line + 1, "not text in UTF-8")
        })?;
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let mut lines = text
            .lines()
            .enumerate()
            .map(|(index, line)| (index + 1, line.trim()))
            .filter(|(_, line)| !line.is_empty() && !line.starts_with('#'));

        let (header_line, header) = lines
            .next()
            .ok_or_else(|| CsvError::new(1, "the file is empty; expected a header row"))?;
        let columns = read_header(header_line, header, known)?;
        let mut rows = Vec::new();
        for (line, text) in lines {
            rows.push(read_row(line, text, &columns)?);
        }
        Ok(Table {
            header_line,
            columns,
            rows,
        })
    }

    fn column(&self, name: &str) -> Option<usize> {
        self.columns.iter().position(|column| *column == name)
    }

    fn require(&self, names: &[&str]) -> Result<(), CsvError> {
        match names.iter().find(|name| self.column(name).is_none()) {
            None => Ok(()),
            Some(name) => Err(CsvError::new(
                self.header_line,
                format!(
                    "the header has no column `{name}`; it has: {}",
                    self.columns.join(", ")
                ),
            )),
        }
    }

    fn require_all_or_none(&self, names: &[&str]) -> Result<(), CsvError> {
        if names.iter().any(|name| self.column(name).is_some()) {
            self.require(names)?;
        }
        Ok(())
    }

    /// The column `t`.
    fn increasing_times(&self) -> Result<Vec<f64>, CsvError> {
        let mut times = Vec::with_capacity(self.rows.len());
        for row in &self.rows {
            let time = self.number(row, "t");
            if times.last().is_some_and(|last| time <= *last) {
                return Err(CsvError::new(
                    row.line,
                    format!("time {time} s does not come after the one before"),
                ));
            }
            times.push(time);
        }
        Ok(times)
    }

    /// A number of a row; zero where the file has no such column.
    fn number(&self, row: &Row, name: &str) -> f64 {
        self.column(name).map_or(0.0, |column| row.numbers[column])
    }

    fn vector(&self, row: &Row, names: [&str; 3]) -> DVec3 {
        DVec3::from(names.map(|name| self.number(row, name)))
    }
}

fn read_header(
    line: usize,
    header: &str,
    known: &[&'static str],
) -> Result<Vec<&'static str>, CsvError> {
    let mut columns = Vec::new();
    let mut seen = BTreeSet::new();
    for word in header.split(',').map(str::trim) {
        let Some(column) = known.iter().find(|column| **column == word) else {
            let advice = nearest(word, known.iter().copied())
                .map(|near| format!("; did you mean `{near}`?"))
                .unwrap_or_default();
            return Err(CsvError::new(
                line,
                format!(
                    "unknown column `{}`; expected a header row of {}{advice}",
                    word.chars().take(40).collect::<String>(),
                    known.join(", ")
                ),
            ));
        };
        if !seen.insert(*column) {
            return Err(CsvError::new(line, format!("column `{column}` twice")));
        }
        columns.push(*column);
    }
    Ok(columns)
}

fn read_row(line: usize, text: &str, columns: &[&str]) -> Result<Row, CsvError> {
    let mut row = Row {
        line,
        numbers: Vec::with_capacity(columns.len()),
        material: None,
    };
    for (index, word) in cells(text).into_iter().enumerate() {
        if columns.get(index) == Some(&MATERIAL) {
            row.numbers.push(0.0);
            row.material = Some(word);
            continue;
        }
        let number = word.parse::<f64>().ok().filter(|x| x.is_finite());
        let number = number.ok_or_else(|| {
            let shown: String = word.chars().take(40).collect();
            CsvError::new(line, format!("`{shown}` is not a finite number"))
        })?;
        if number.abs() > GREATEST && columns.get(index) != Some(&"id") {
            let message = format!("{number:e} is too large: at most {GREATEST:e}");
            return Err(CsvError::new(line, message));
        }
        row.numbers.push(number);
    }
    if row.numbers.len() != columns.len() {
        return Err(CsvError::new(
            line,
            format!(
                "{} numbers, but the header has {} columns",
                row.numbers.len(),
                columns.len()
            ),
        ));
    }
    Ok(row)
}

/// The cells of a row. Commas in quotes do not separate, and two quotes in a
/// quoted cell stand for one.
fn cells(row: &str) -> Vec<String> {
    let mut cells = vec![String::new()];
    let (mut quoted, mut characters) = (false, row.chars().peekable());
    while let (Some(character), Some(cell)) = (characters.next(), cells.last_mut()) {
        match character {
            '"' if quoted && characters.next_if_eq(&'"').is_some() => cell.push('"'),
            '"' => quoted = !quoted,
            ',' if !quoted => cells.push(String::new()),
            other => cell.push(other),
        }
    }
    cells.iter().map(|cell| cell.trim().to_owned()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn grains_are_read_with_sizes_velocities_and_angular_velocities() {
        let text =
            "# made by hand\nx, y ,z,diameter,vx,vy,vz,wx,wy,wz\n\n1,2,3,0.02,4,5,6,7,8,9\r\n";
        let grains = read_grains(text.as_bytes(), None).unwrap().grains;
        assert_eq!(grains.len(), 1);
        assert_eq!(grains[0].position, DVec3::new(1.0, 2.0, 3.0));
        assert_eq!(grains[0].radius, 0.01);
        assert_eq!(grains[0].velocity, DVec3::new(4.0, 5.0, 6.0));
        assert_eq!(grains[0].angular_velocity, DVec3::new(7.0, 8.0, 9.0));
    }

    #[test]
    fn a_size_comes_from_the_scene_where_the_file_has_none() {
        let grains = read_grains(b"z,y,x\n3,2,1\n", Some(0.1)).unwrap().grains;
        assert_eq!(grains[0].position, DVec3::new(1.0, 2.0, 3.0));
        assert_eq!(grains[0].radius, 0.05);
        assert!(read_grains(b"z,y,x\n3,2,1\n", None).is_err());
    }

    #[test]
    fn materials_are_names_with_any_signs_in_them() {
        let text = "id,x,y,z,radius,material\n1e15,0,0,0,1,glass\n2,3,0,0,1,\"a, \"\"b\"\"\"\n3,6,0,0,1,glass\n";
        let list = read_grains(text.as_bytes(), None).unwrap();
        assert_eq!(list.materials, ["glass", "a, \"b\""]);
        assert_eq!(list.material, [0, 1, 0]);
        assert!(!list.has_velocities);
    }

    #[test]
    fn every_mistake_names_its_line() {
        let cases: &[(&[u8], usize, &str)] = &[
            (b"", 1, "empty"),
            (b"x,y\n1,2\n", 1, "no column `z`"),
            (b"x,y,z,radus\n1,2,3,4\n", 1, "did you mean `radius`"),
            (b"x,y,z,x\n", 1, "twice"),
            (
                b"x,y,z,radius\n1,2,3,4\n1,2,nan,4\n",
                3,
                "not a finite number",
            ),
            (b"x,y,z,radius\n1,2,3,inf\n", 2, "not a finite number"),
            (b"x,y,z,radius\n1e300,2,3,1\n", 2, "too large"),
            (b"x,y,z,radius\n1,2,3\n", 2, "3 numbers"),
            (b"x,y,z,radius\n1,2,3,-1\n", 2, "greater than 0"),
            (b"x,y,z,radius\n", 1, "no row"),
            (b"x,y,z,radius,diameter\n1,2,3,4,5\n", 1, "exclude"),
            (b"x,y,z,radius,vx\n1,2,3,4,5\n", 1, "no column `vy`"),
            (b"x,y,z,radius\n1,2,3,\xff\n", 2, "UTF-8"),
        ];
        for (bytes, line, phrase) in cases {
            let error = read_grains(bytes, None).unwrap_err();
            assert_eq!(error.line, *line, "{error}");
            assert!(error.message.contains(phrase), "{error}");
        }
    }

    #[test]
    fn motions_need_increasing_times() {
        let motion = read_motion(b"t,angle\n0,0\n1,0.5\n").unwrap();
        assert_eq!(motion.times, [0.0, 1.0]);
        assert_eq!(motion.angles, [0.0, 0.5]);
        assert_eq!(motion.displacements, [DVec3::ZERO; 2]);
        let error = read_motion(b"t,angle\n0,0\n1,1\n1,2\n").unwrap_err();
        assert_eq!(error.line, 4);
        assert!(read_motion(b"t\n0\n1\n").is_err());
        assert!(read_motion(b"t,angle\n0,0\n").is_err());
    }
}
