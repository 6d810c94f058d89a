//! The only place that knows the HDF5 library: growing tables written so that
//! a kill loses nothing that was flushed, and rows read back.
//!
//! A table is one chunked dataset of a compound type. (One dataset per column
//! was tried: the library syncs the disk once per dataset and flush, which
//! made a frame ten times as expensive.) The library's single-writer mode
//! publishes new extents at [`Writer::flush`] only, in the order in which
//! tables were created, and never moves a chunk that readers know; a file that
//! was not closed is readable to its last flush.

mod salvage;

use std::io;
use std::mem::ManuallyDrop;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

use rust_hdf5::format::messages::datatype::CompoundMember;
use rust_hdf5::swmr::{SwmrFileReader, SwmrFileWriter};
use rust_hdf5::{DatatypeMessage, FileLocking, FilterPipeline, Hdf5Error};

use crate::error::RecordError;
use salvage::Salvage;

/// Rows per chunk of arrays.
const ARRAY_CHUNK_ROWS: u64 = 4096;

/// Type of the numbers of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Number {
    F32,
    F64,
    U64,
    I64,
    U32,
    U16,
    U8,
}

impl Number {
    /// Bytes of one number.
    pub(crate) fn size(self) -> usize {
        match self {
            Number::F64 | Number::U64 | Number::I64 => 8,
            Number::F32 | Number::U32 => 4,
            Number::U16 => 2,
            Number::U8 => 1,
        }
    }

    fn datatype(self) -> DatatypeMessage {
        match self {
            Number::F32 => DatatypeMessage::f32_type(),
            Number::F64 => DatatypeMessage::f64_type(),
            Number::U64 => DatatypeMessage::u64_type(),
            Number::I64 => DatatypeMessage::i64_type(),
            Number::U32 => DatatypeMessage::u32_type(),
            Number::U16 => DatatypeMessage::u16_type(),
            Number::U8 => DatatypeMessage::u8_type(),
        }
    }
}

/// A column of a table.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Member<'a> {
    pub(crate) name: &'a str,
    pub(crate) number: Number,
    /// Numbers per row: 1, or more for a vector.
    pub(crate) width: usize,
    pub(crate) unit: &'a str,
    pub(crate) meaning: &'a str,
}

impl Member<'_> {
    fn size(&self) -> usize {
        self.number.size() * self.width
    }
}

/// Bytes of a row with these members.
pub(crate) fn row_size(members: &[Member<'_>]) -> usize {
    members.iter().map(Member::size).sum()
}

fn compound(members: &[Member<'_>]) -> DatatypeMessage {
    let mut offset = 0;
    let list = members
        .iter()
        .map(|member| {
            let number = member.number.datatype();
            let datatype = if member.width == 1 {
                number
            } else {
                DatatypeMessage::array(vec![member.width as u32], number)
            };
            let at = offset;
            offset += member.size() as u32;
            CompoundMember {
                name: member.name.to_owned(),
                offset: at,
                datatype,
            }
        })
        .collect();
    DatatypeMessage::compound(offset, list)
}

/// A table that grows.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TableSpec<'a> {
    pub(crate) path: &'a str,
    pub(crate) members: &'a [Member<'a>],
    pub(crate) chunk_rows: u64,
    /// Deflate level; 0 for none.
    pub(crate) compression: u8,
    pub(crate) meaning: &'a str,
}

/// Handle of a table of a [`Writer`].
#[derive(Clone, Copy, Debug)]
pub(crate) struct TableId {
    dataset: usize,
    row_size: usize,
    /// Second extent, where there is one.
    columns: Option<u64>,
}

/// Writes one file.
pub(crate) struct Writer {
    path: PathBuf,
    /// Closed by [`Writer::close`] and never otherwise: finalising a file
    /// after a failed write could overwrite what readers can still use.
    file: ManuallyDrop<SwmrFileWriter>,
}

impl Writer {
    pub(crate) fn create(path: &Path) -> Result<Self, RecordError> {
        let file = SwmrFileWriter::create_with_locking(path, FileLocking::Disabled)
            .map_err(|e| write_error(path, e))?;
        Ok(Writer {
            path: path.to_owned(),
            file: ManuallyDrop::new(file),
        })
    }

    /// Makes a group at the root.
    pub(crate) fn group(&mut self, name: &str, meaning: &str) -> Result<(), RecordError> {
        self.file
            .create_group("/", name)
            .and_then(|()| {
                let path = format!("/{name}");
                self.file.set_group_attr_string(&path, "meaning", meaning)
            })
            .map_err(|e| write_error(&self.path, e))
    }

    /// Sets a text attribute of a group.
    pub(crate) fn attribute(
        &mut self,
        group: &str,
        name: &str,
        value: &str,
    ) -> Result<(), RecordError> {
        self.file
            .set_group_attr_string(group, name, value)
            .map_err(|e| write_error(&self.path, e))
    }

    /// Writes a list of texts.
    pub(crate) fn texts(
        &mut self,
        path: &str,
        texts: &[&str],
        meaning: &str,
    ) -> Result<(), RecordError> {
        let group = group_of(path);
        self.file
            .write_string_dataset(path, texts)
            .and_then(|dataset| {
                self.file.assign_dataset_to_group(&group, dataset)?;
                self.file
                    .set_dataset_attr_string(dataset, "meaning", meaning)
            })
            .map_err(|e| write_error(&self.path, e))
    }

    /// Writes numbers that never change; `extents` is empty for a single one.
    pub(crate) fn constant(
        &mut self,
        path: &str,
        number: Number,
        extents: &[u64],
        bytes: &[u8],
        (unit, meaning): (&str, &str),
    ) -> Result<(), RecordError> {
        let group = group_of(path);
        self.file
            .write_dataset_typed(path, number.datatype(), extents, bytes)
            .and_then(|dataset| {
                self.file.assign_dataset_to_group(&group, dataset)?;
                self.file.set_dataset_attr_string(dataset, "unit", unit)?;
                self.file
                    .set_dataset_attr_string(dataset, "meaning", meaning)
            })
            .map_err(|e| write_error(&self.path, e))
    }

    /// Makes a growing table.
    pub(crate) fn table(&mut self, table: &TableSpec<'_>) -> Result<TableId, RecordError> {
        let row_size = row_size(table.members);
        let filters = (table.compression > 0).then(|| {
            FilterPipeline::shuffle_deflate(row_size as u32, u32::from(table.compression))
        });
        let file = &mut self.file;
        let create = || {
            let dataset = file.create_grid_dataset_with_max(
                table.path,
                compound(table.members),
                &[0],
                &[None],
                &[table.chunk_rows],
                filters,
            )?;
            if table.path.contains('/') {
                file.assign_dataset_to_group(&group_of(table.path), dataset)?;
            }
            file.set_dataset_attr_string(dataset, "meaning", table.meaning)?;
            for member in table.members {
                for (what, text) in [("unit", member.unit), ("meaning", member.meaning)] {
                    file.set_dataset_attr_string(
                        dataset,
                        &format!("{}.{what}", member.name),
                        text,
                    )?;
                }
            }
            Ok(TableId {
                dataset,
                row_size,
                columns: None,
            })
        };
        create().map_err(|e| write_error(&self.path, e))
    }

    /// Makes a growing array of numbers, or of rows of `columns` numbers.
    pub(crate) fn array(
        &mut self,
        path: &str,
        number: Number,
        columns: Option<u64>,
    ) -> Result<TableId, RecordError> {
        let extents =
            |rows: u64| -> Vec<u64> { [Some(rows), columns].into_iter().flatten().collect() };
        let most: Vec<Option<u64>> = [Some(None), columns.map(Some)]
            .into_iter()
            .flatten()
            .collect();
        let file = &mut self.file;
        let dataset = file
            .create_grid_dataset_with_max(
                path,
                number.datatype(),
                &extents(0),
                &most,
                &extents(ARRAY_CHUNK_ROWS),
                None,
            )
            .and_then(|dataset| {
                file.assign_dataset_to_group(&group_of(path), dataset)?;
                Ok(dataset)
            })
            .map_err(|e| write_error(&self.path, e))?;
        Ok(TableId {
            dataset,
            row_size: number.size() * columns.unwrap_or(1) as usize,
            columns,
        })
    }

    /// Sets an attribute of whole numbers of a group.
    pub(crate) fn integers(
        &mut self,
        group: &str,
        name: &str,
        values: &[i64],
    ) -> Result<(), RecordError> {
        match values {
            [value] => self.file.set_group_attr_numeric(group, name, value),
            values => self
                .file
                .set_group_attr_array(group, name, &[values.len() as u64], values),
        }
        .map_err(|e| write_error(&self.path, e))
    }

    /// Sets an attribute that is an ASCII text of fixed length.
    pub(crate) fn word(&mut self, group: &str, name: &str, word: &str) -> Result<(), RecordError> {
        let datatype = DatatypeMessage::fixed_string(word.len() as u32);
        self.file
            .set_group_attr_typed(group, name, datatype, word.as_bytes().to_vec())
            .map_err(|e| write_error(&self.path, e))
    }

    /// Makes a group inside another one.
    pub(crate) fn subgroup(&mut self, parent: &str, name: &str) -> Result<(), RecordError> {
        self.file
            .create_group(parent, name)
            .map_err(|e| write_error(&self.path, e))
    }

    /// Ends the layout; from here on rows are written.
    pub(crate) fn start(&mut self) -> Result<(), RecordError> {
        self.file
            .start_swmr()
            .map_err(|e| write_error(&self.path, e))
    }

    /// Writes rows from `first` on, where the table then ends; returns how many.
    pub(crate) fn write(
        &mut self,
        table: TableId,
        first: u64,
        bytes: &[u8],
    ) -> Result<u64, RecordError> {
        let rows = (bytes.len() / table.row_size) as u64;
        if rows == 0 {
            return Ok(0);
        }
        let extents = |rows: u64| [Some(rows), table.columns].into_iter().flatten();
        let end: Vec<u64> = extents(first + rows).collect();
        let count: Vec<u64> = extents(rows).collect();
        let start = &[first, 0][..count.len()];
        self.file
            .set_extent(table.dataset, &end)
            .and_then(|()| self.file.write_slice(table.dataset, start, &count, bytes))
            .map(|()| rows)
            .map_err(|e| write_error(&self.path, e))
    }

    /// Publishes all rows written; returns when they are on the disk.
    pub(crate) fn flush(&mut self) -> Result<(), RecordError> {
        self.file.flush().map_err(|e| write_error(&self.path, e))
    }

    pub(crate) fn close(self) -> Result<(), RecordError> {
        ManuallyDrop::into_inner(self.file)
            .close()
            .map_err(|e| write_error(&self.path, e))
    }
}

/// The group that holds a dataset.
fn group_of(path: &str) -> String {
    format!("/{}", path.rsplit_once('/').map_or("", |(group, _)| group))
}

/// Names a full disk as what it is.
fn write_error(path: &Path, error: Hdf5Error) -> RecordError {
    let path = path.to_owned();
    let why = error.to_string();
    match system_error(&why).map(|e| e.kind()) {
        Some(io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded) => {
            RecordError::DiskFull { path }
        }
        Some(io::ErrorKind::FileTooLarge) => RecordError::FileTooLarge { path },
        _ => RecordError::Write { path, why },
    }
}

/// The system's error behind an error of the library, which shows it only in
/// its text.
fn system_error(text: &str) -> Option<io::Error> {
    let (_, rest) = text.rsplit_once("(os error ")?;
    let (code, _) = rest.split_once(')')?;
    code.parse().ok().map(io::Error::from_raw_os_error)
}

/// Reads one file.
pub(crate) struct Reader {
    path: PathBuf,
    /// Locked, because the library caches what it reads.
    file: Mutex<SwmrFileReader>,
    /// Made when the library cannot read something.
    salvage: OnceLock<Option<Salvage>>,
}

impl Reader {
    pub(crate) fn open(path: &Path) -> Result<Self, RecordError> {
        // A file that is missing or locked away is not a damaged one.
        std::fs::File::open(path).map_err(|source| RecordError::Open {
            path: path.to_owned(),
            source,
        })?;
        let file = SwmrFileReader::open_with_locking(path, FileLocking::Disabled).map_err(|e| {
            RecordError::NotHdf5 {
                path: path.to_owned(),
                why: e.to_string(),
            }
        })?;
        Ok(Reader {
            path: path.to_owned(),
            file: Mutex::new(file),
            salvage: OnceLock::new(),
        })
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    fn file(&self) -> MutexGuard<'_, SwmrFileReader> {
        self.file.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn damaged(&self, path: &str, why: impl std::fmt::Display) -> RecordError {
        RecordError::Damaged {
            path: self.path.clone(),
            what: format!("`{path}`: {why}"),
        }
    }

    pub(crate) fn has(&self, path: &str) -> bool {
        self.file().dataset_shape(path).is_ok()
    }

    /// A list of texts.
    pub(crate) fn texts(&self, path: &str) -> Result<Vec<String>, RecordError> {
        self.file()
            .read_vlen_strings(path)
            .map_err(|e| self.damaged(path, e))
    }

    /// All numbers of a constant, as bytes.
    pub(crate) fn constant(&self, path: &str, number: Number) -> Result<Vec<u8>, RecordError> {
        self.check_size(path, number.size())?;
        self.file()
            .read_dataset_raw(path)
            .map_err(|e| self.damaged(path, e))
    }

    /// Rows of a table.
    pub(crate) fn rows(&self, path: &str) -> Result<u64, RecordError> {
        let shape = self.file().dataset_shape(path);
        match shape.map_err(|e| self.damaged(path, e))?[..] {
            [rows] => Ok(rows),
            _ => Err(self.damaged(path, "it is no table")),
        }
    }

    /// Some rows of a table, as bytes; in a file that was cut, those before the cut.
    pub(crate) fn read(
        &self,
        path: &str,
        members: &[Member],
        rows: Range<u64>,
    ) -> Result<Vec<u8>, RecordError> {
        let row_size = row_size(members);
        self.check_size(path, row_size)?;
        let available = self.rows(path)?;
        if rows.start > rows.end || rows.end > available {
            return Err(self.damaged(path, format_args!("it has no rows {rows:?}")));
        }
        let count = rows.end - rows.start;
        if count == 0 {
            return Ok(Vec::new());
        }
        let read = self.file().read_slice_raw(path, &[rows.start], &[count]);
        read.or_else(|error| {
            let salvage = self.salvage.get_or_init(|| Salvage::open(&self.path));
            let found = salvage
                .as_ref()
                .and_then(|salvage| salvage.read(&compound(members), row_size, rows));
            found.ok_or_else(|| self.damaged(path, error))
        })
    }

    /// Bytes of a row of a table.
    pub(crate) fn row_size(&self, path: &str) -> Result<usize, RecordError> {
        let found = self.file().dataset_element_size(path);
        found.map_err(|e| self.damaged(path, e))
    }

    fn check_size(&self, path: &str, size: usize) -> Result<(), RecordError> {
        match self.row_size(path)? {
            found if found == size => Ok(()),
            found => Err(self.damaged(
                path,
                format_args!("{found} bytes per row instead of {size}"),
            )),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_disk_is_named_as_such() {
        let error = |code| Hdf5Error::Io(io::Error::from_raw_os_error(code));
        let told = |code| write_error(Path::new("x.h5"), error(code)).to_string();
        // ENOSPC, EFBIG and EIO of Linux.
        assert!(told(28).contains("the disk is full"), "{}", told(28));
        assert!(told(27).contains("largest size"), "{}", told(27));
        assert!(told(5).contains("cannot write"), "{}", told(5));
    }
}
