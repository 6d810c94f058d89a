//! Probes of a run: their rows in `probes.csv`, as they come.

use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use esker_probe::{ProbeDef, Row};
use esker_record::{ProbeColumn, ProbeTable};

use crate::{Error, probe_table};

/// Name of the table in the result folder.
const FILE_NAME: &str = "probes.csv";

/// What the recording holds of probes.
pub fn tables(probes: &[ProbeDef]) -> Vec<ProbeTable> {
    let column = |c: esker_probe::Column| ProbeColumn {
        name: c.name.to_owned(),
        unit: c.unit.to_owned(),
        meaning: c.meaning.to_owned(),
        width: c.width,
        spacing: c.spacing,
    };
    let table = |probe: &ProbeDef| ProbeTable {
        name: probe.name.clone(),
        columns: probe.columns().into_iter().map(column).collect(),
    };
    probes.iter().map(table).collect()
}

/// `probes.csv`: one line per time. A line is in the file when
/// [`ProbeFile::write`] returns.
pub struct ProbeFile {
    path: PathBuf,
    file: BufWriter<File>,
    tables: Vec<ProbeTable>,
}

impl ProbeFile {
    /// Starts the table of a new run; `None` where there are no probes.
    pub fn create(folder: &Path, probes: &[ProbeTable]) -> Result<Option<Self>, Error> {
        ProbeFile::with_lines(folder, probes, &[])
    }

    /// Goes on with the table of a run that continues from a time: later lines
    /// are of a past that is being replaced.
    pub fn resume(folder: &Path, probes: &[ProbeTable], time: f64) -> Result<Option<Self>, Error> {
        let path = folder.join(FILE_NAME);
        let text = match fs::read_to_string(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => String::new(),
            text => text.map_err(Error::file("read", &path))?,
        };
        let kept: Vec<&str> = text
            .split_inclusive('\n')
            .skip(1)
            // A kill may have cut the last one short.
            .filter(|line| line.ends_with('\n'))
            .filter(|line| time_of(line).is_some_and(|t| t <= time))
            .collect();
        ProbeFile::with_lines(folder, probes, &kept)
    }

    fn with_lines(
        folder: &Path,
        probes: &[ProbeTable],
        lines: &[&str],
    ) -> Result<Option<Self>, Error> {
        if probes.is_empty() {
            return Ok(None);
        }
        let path = folder.join(FILE_NAME);
        let start = || {
            let mut file = BufWriter::new(File::create(&path)?);
            writeln!(file, "{}", probe_table::header(probes))?;
            lines.iter().try_for_each(|line| write!(file, "{line}"))?;
            file.flush()?;
            Ok::<_, io::Error>(file)
        };
        let file = start().map_err(Error::file("write", &path))?;
        Ok(Some(ProbeFile {
            path,
            file,
            tables: probes.to_vec(),
        }))
    }

    /// Writes the rows that one step completed.
    pub fn write(&mut self, rows: &[Row]) -> Result<(), Error> {
        let Some(first) = rows.first() else {
            return Ok(());
        };
        let values = |probe: usize| {
            let row = rows.iter().find(|row| row.probe == probe);
            row.map(|row| row.values.as_slice())
        };
        let line = probe_table::line(first.time, &self.tables, values);
        writeln!(self.file, "{line}")
            .and_then(|()| self.file.flush())
            .map_err(Error::file("write", &self.path))
    }
}

fn time_of(line: &str) -> Option<f64> {
    line.split(',').next()?.trim().parse().ok()
}
