//! The only place that knows the HDF5 library: growing columns written so that
//! a kill loses nothing that was flushed, and rows read back.
//!
//! Columns are chunked datasets whose first extent grows. The library's
//! single-writer mode publishes new extents at [`Writer::flush`] only, in the
//! order in which columns were created, and never moves a chunk that readers
//! know; a file that was not closed is readable to its last flush.

use std::io;
use std::mem::ManuallyDrop;
use std::path::{Path, PathBuf};

use rust_hdf5::swmr::SwmrFileWriter;
use rust_hdf5::{
    DatatypeMessage, FileLocking, FilterPipeline, H5Dataset, H5File, H5Type, Hdf5Error,
};

use crate::bytes::Plain;
use crate::error::RecordError;

/// Type of the numbers of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Number {
    F32,
    F64,
    U64,
    U32,
    U16,
    U8,
}

impl Number {
    /// Bytes of one number.
    pub(crate) fn size(self) -> usize {
        match self {
            Number::F64 | Number::U64 => 8,
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
            Number::U32 => DatatypeMessage::u32_type(),
            Number::U16 => DatatypeMessage::u16_type(),
            Number::U8 => DatatypeMessage::u8_type(),
        }
    }
}

/// A growing dataset: rows of `inner` numbers.
#[derive(Clone, Debug)]
pub(crate) struct Column<'a> {
    pub(crate) path: &'a str,
    pub(crate) number: Number,
    /// Extents of a row; none for a single number.
    pub(crate) inner: &'a [u64],
    pub(crate) chunk_rows: u64,
    /// Deflate level; 0 for none.
    pub(crate) compression: u8,
    pub(crate) unit: &'a str,
    pub(crate) meaning: &'a str,
}

/// Handle of a column of a [`Writer`].
#[derive(Clone, Copy, Debug)]
pub(crate) struct ColumnId(usize);

struct WrittenColumn {
    dataset: usize,
    inner: Vec<u64>,
    row_size: usize,
}

/// Writes one file.
pub(crate) struct Writer {
    path: PathBuf,
    /// Closed by [`Writer::close`] and never otherwise: finalising a file
    /// after a failed write could overwrite what readers can still use.
    file: ManuallyDrop<SwmrFileWriter>,
    columns: Vec<WrittenColumn>,
}

impl Writer {
    pub(crate) fn create(path: &Path) -> Result<Self, RecordError> {
        let file = SwmrFileWriter::create_with_locking(path, FileLocking::Disabled)
            .map_err(|e| write_error(path, e))?;
        Ok(Writer {
            path: path.to_owned(),
            file: ManuallyDrop::new(file),
            columns: Vec::new(),
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

    /// Makes a growing column.
    pub(crate) fn column(&mut self, column: &Column<'_>) -> Result<ColumnId, RecordError> {
        let extents = |rows: u64| [&[rows], column.inner].concat();
        let most: Vec<Option<u64>> = std::iter::once(None)
            .chain(column.inner.iter().map(|&n| Some(n)))
            .collect();
        let size = column.number.size();
        let filters = (column.compression > 0)
            .then(|| FilterPipeline::shuffle_deflate(size as u32, u32::from(column.compression)));
        let group = group_of(column.path);
        let dataset = self
            .file
            .create_grid_dataset_with_max(
                column.path,
                column.number.datatype(),
                &extents(0),
                &most,
                &extents(column.chunk_rows),
                filters,
            )
            .and_then(|dataset| {
                self.file.assign_dataset_to_group(&group, dataset)?;
                self.file
                    .set_dataset_attr_string(dataset, "unit", column.unit)?;
                self.file
                    .set_dataset_attr_string(dataset, "meaning", column.meaning)?;
                Ok(dataset)
            })
            .map_err(|e| write_error(&self.path, e))?;
        self.columns.push(WrittenColumn {
            dataset,
            inner: column.inner.to_vec(),
            row_size: size * column.inner.iter().product::<u64>() as usize,
        });
        Ok(ColumnId(self.columns.len() - 1))
    }

    /// Ends the layout; from here on rows are written.
    pub(crate) fn start(&mut self) -> Result<(), RecordError> {
        self.file
            .start_swmr()
            .map_err(|e| write_error(&self.path, e))
    }

    /// Writes rows from `first` on and grows the column to `end` rows.
    pub(crate) fn write(
        &mut self,
        column: ColumnId,
        first: u64,
        bytes: &[u8],
        end: u64,
    ) -> Result<(), RecordError> {
        let column = &self.columns[column.0];
        let rows = (bytes.len() / column.row_size) as u64;
        let extents = |rows: u64| [&[rows], column.inner.as_slice()].concat();
        let mut starts = vec![0; 1 + column.inner.len()];
        starts[0] = first;
        self.file
            .set_extent(column.dataset, &extents(end))
            .and_then(|()| {
                if rows == 0 {
                    return Ok(());
                }
                self.file
                    .write_slice(column.dataset, &starts, &extents(rows), bytes)
            })
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
    file: H5File,
}

impl Reader {
    pub(crate) fn open(path: &Path) -> Result<Self, RecordError> {
        // A file that is missing or locked away is not a damaged one.
        std::fs::File::open(path).map_err(|source| RecordError::Open {
            path: path.to_owned(),
            source,
        })?;
        let file = H5File::options()
            .no_locking()
            .open(path)
            .map_err(|e| RecordError::NotHdf5 {
                path: path.to_owned(),
                why: e.to_string(),
            })?;
        Ok(Reader {
            path: path.to_owned(),
            file,
        })
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    pub(crate) fn has(&self, path: &str) -> bool {
        self.file.dataset(path).is_ok()
    }

    fn damaged(&self, path: &str, why: impl std::fmt::Display) -> RecordError {
        RecordError::Damaged {
            path: self.path.clone(),
            what: format!("`{path}`: {why}"),
        }
    }

    /// A list of texts.
    pub(crate) fn texts(&self, path: &str) -> Result<Vec<String>, RecordError> {
        self.file
            .dataset(path)
            .and_then(|dataset| dataset.read_vlen_strings())
            .map_err(|e| self.damaged(path, e))
    }

    /// Rows of a dataset.
    pub(crate) fn rows(&self, path: &str) -> Result<u64, RecordError> {
        let dataset = self.file.dataset(path).map_err(|e| self.damaged(path, e))?;
        Ok(dataset.shape().first().map_or(1, |&n| n as u64))
    }

    /// All numbers of a dataset, as bytes.
    pub(crate) fn all(&self, path: &str, number: Number) -> Result<Vec<u8>, RecordError> {
        let shape = self.typed(path, number)?.shape();
        match shape.as_slice() {
            [] => self.slice(path, number, &[], &[]),
            shape => self.slice(path, number, &vec![0; shape.len()], shape),
        }
    }

    /// Some rows of a dataset with rows of `inner` numbers, as bytes.
    pub(crate) fn read(
        &self,
        path: &str,
        number: Number,
        inner: &[u64],
        rows: std::ops::Range<u64>,
    ) -> Result<Vec<u8>, RecordError> {
        let shape = self.typed(path, number)?.shape();
        let inner: Vec<usize> = inner.iter().map(|&n| n as usize).collect();
        if shape.get(1..) != Some(inner.as_slice()) {
            return Err(self.damaged(path, format_args!("its shape is {shape:?}")));
        }
        if rows.start > rows.end || rows.end > shape[0] as u64 {
            return Err(self.damaged(path, format_args!("rows {rows:?} of {}", shape[0])));
        }
        let mut starts = vec![0; shape.len()];
        starts[0] = rows.start as usize;
        let mut counts = shape;
        counts[0] = (rows.end - rows.start) as usize;
        if counts[0] == 0 {
            return Ok(Vec::new());
        }
        self.slice(path, number, &starts, &counts)
    }

    fn typed(&self, path: &str, number: Number) -> Result<H5Dataset, RecordError> {
        let dataset = self.file.dataset(path).map_err(|e| self.damaged(path, e))?;
        let datatype = dataset.datatype().map_err(|e| self.damaged(path, e))?;
        if datatype == number.datatype() {
            Ok(dataset)
        } else {
            Err(self.damaged(path, format_args!("its type is {datatype}")))
        }
    }

    fn slice(
        &self,
        path: &str,
        number: Number,
        starts: &[usize],
        counts: &[usize],
    ) -> Result<Vec<u8>, RecordError> {
        let dataset = self.file.dataset(path).map_err(|e| self.damaged(path, e))?;
        if counts.is_empty() {
            return dataset.read_raw_bytes().map_err(|e| self.damaged(path, e));
        }
        // The file holds the numbers as they are written here, so their bytes
        // are read without a detour over their type.
        match number.size() {
            8 => read_bytes::<u64>(&dataset, starts, counts),
            4 => read_bytes::<u32>(&dataset, starts, counts),
            2 => read_bytes::<u16>(&dataset, starts, counts),
            _ => read_bytes::<u8>(&dataset, starts, counts),
        }
        .map_err(|e| self.damaged(path, e))
    }
}

fn read_bytes<T: H5Type + Plain>(
    dataset: &H5Dataset,
    starts: &[usize],
    counts: &[usize],
) -> rust_hdf5::Result<Vec<u8>> {
    let values = dataset.read_slice::<T>(starts, counts)?;
    let mut bytes = Vec::with_capacity(values.len() * T::SIZE);
    for value in values {
        value.put(&mut bytes);
    }
    Ok(bytes)
}
