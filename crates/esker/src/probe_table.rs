//! Rows of all probes as one table: a line per time.

use esker_record::{ProbeRow, ProbeTable, RecordError, Recording};

/// Names of all columns with their units.
pub fn header(probes: &[ProbeTable]) -> String {
    let mut names = vec!["time (s)".to_owned()];
    for probe in probes {
        for column in &probe.columns {
            let unit = match column.unit.as_str() {
                "1" => String::new(),
                unit => format!(" ({unit})"),
            };
            for i in 0..column.width {
                let at = match column.width {
                    1 => String::new(),
                    _ => format!(" at {} m", esker_plot::number(column.place(i), 4)),
                };
                let name = format!("{} {}{at}{unit}", probe.name, column.name);
                names.push(format!("\"{}\"", name.replace('"', "\"\"")));
            }
        }
    }
    names.join(",")
}

/// The line of a time: numbers of the probes that have a row then, empty cells
/// for the others and where there is nothing to measure.
pub fn line<'a>(
    time: f64,
    probes: &[ProbeTable],
    values: impl Fn(usize) -> Option<&'a [f64]>,
) -> String {
    let mut line = time.to_string();
    for (index, probe) in probes.iter().enumerate() {
        let width = probe.columns.iter().map(|c| c.width).sum();
        let values = values(index);
        for i in 0..width {
            line.push(',');
            // The shortest text that reads back as the same number.
            if let Some(value) = values.and_then(|v| v.get(i)).filter(|x| x.is_finite()) {
                line.push_str(&value.to_string());
            }
        }
    }
    line
}

/// Rows of all probes of a recording, by probe.
pub fn read(recording: &Recording) -> Result<Vec<Vec<ProbeRow>>, RecordError> {
    let count = recording.header().probes.len();
    let rows = (0..count).map(|probe| recording.probe_rows(probe));
    rows.collect()
}

/// All lines of the table.
pub fn lines(probes: &[ProbeTable], rows: &[Vec<ProbeRow>]) -> Vec<String> {
    let mut moments: Vec<(u64, f64)> = rows
        .iter()
        .flatten()
        .map(|row| (row.step, row.time))
        .collect();
    moments.sort_by_key(|(step, _)| *step);
    moments.dedup();
    let line_of = |(step, time): (u64, f64)| {
        line(time, probes, |probe| {
            let found = rows[probe].binary_search_by_key(&step, |row| row.step);
            found.ok().map(|i| rows[probe][i].values.as_slice())
        })
    };
    moments.into_iter().map(line_of).collect()
}
