//! Rows of tables in files that were cut at their end.
//!
//! The library reads the whole index of a table before any of its rows, and
//! the index lies scattered over the file: one block beyond the cut, and
//! nothing could be read. Here every row is looked up by itself (header of the
//! index, index block, perhaps a super block, data block, chunk), so that rows
//! before the cut are found. What comes out is checked by our own checksums as
//! everything else. Tables are found by their datatypes among the object
//! headers, which are written before any row. Chunks beyond the first tens of
//! thousands of a table are left to the library.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::ops::Range;
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use rust_hdf5::format::chunk_index::extensible_array::{
    EA_CLS_FILT_CHUNK, EaDblkPath, EaGeometry, EaLoc, ExtensibleArrayDataBlock,
    ExtensibleArrayHeader, ExtensibleArrayIndexBlock, ExtensibleArraySuperBlock,
    FilteredChunkEntry, FilteredDataBlock, FilteredIndexBlock,
};
use rust_hdf5::format::messages::data_layout::DataLayoutMessage;
use rust_hdf5::format::messages::filter::reverse_filters_masked_bounded;
use rust_hdf5::format::object_header::ObjectHeader;
use rust_hdf5::format::{FormatContext, UNDEF_ADDR};
use rust_hdf5::{DatatypeMessage, FilterPipeline};

/// Bytes at the start of a file in which object headers are looked for.
const HEADERS_WITHIN: usize = 4 << 20;
const HEADER_SIGNATURE: &[u8] = b"OHDR";
const DATATYPE: u8 = 0x03;
const LAYOUT: u8 = 0x08;
const FILTERS: u8 = 0x0b;
/// Most bytes of the header of an index, and of an index block.
const INDEX_HEADER_SIZE: u64 = 256;
const INDEX_BLOCK_SIZE: u64 = 65_536;
/// Most bytes of an entry of an index: address, size and mask of a chunk.
const ENTRY_SIZE: u64 = 20;

/// A file whose tables are read row by row.
pub(super) struct Salvage {
    file: Mutex<File>,
    tables: Vec<Table>,
}

struct Table {
    datatype: DatatypeMessage,
    chunk_rows: u64,
    geometry: EaGeometry,
    /// Bits of the largest number of chunks.
    index_bits: u8,
    /// The first chunks, and where the blocks of others are.
    first: Vec<FilteredChunkEntry>,
    data_blocks: Vec<u64>,
    super_blocks: Vec<u64>,
    compression: Option<Compression>,
}

/// How the chunks of a table are compressed.
struct Compression {
    filters: FilterPipeline,
    /// Bytes of a chunk's size in the index.
    size_length: u8,
}

/// A chunk that is stored as it is.
fn plain(address: u64) -> FilteredChunkEntry {
    FilteredChunkEntry {
        addr: address,
        nbytes: 0,
        filter_mask: 0,
    }
}

impl Salvage {
    /// Finds the tables of a file.
    pub(super) fn open(path: &Path) -> Option<Self> {
        let mut salvage = Salvage {
            file: Mutex::new(File::open(path).ok()?),
            tables: Vec::new(),
        };
        let start = salvage.up_to(0, HEADERS_WITHIN as u64)?;
        let width = HEADER_SIGNATURE.len();
        for at in 0..start.len().saturating_sub(width) {
            if &start[at..at + width] == HEADER_SIGNATURE {
                salvage.tables.extend(salvage.table(&start[at..]));
            }
        }
        Some(salvage)
    }

    /// Rows of the table with this datatype.
    pub(super) fn read(
        &self,
        datatype: &DatatypeMessage,
        row_size: usize,
        rows: Range<u64>,
    ) -> Option<Vec<u8>> {
        let table = self.tables.iter().find(|t| t.datatype == *datatype)?;
        let mut bytes = Vec::new();
        let mut row = rows.start;
        while row < rows.end {
            let chunk = row / table.chunk_rows;
            let end = rows.end.min((chunk + 1) * table.chunk_rows);
            let size = (end - row) * row_size as u64;
            let skipped = (row - chunk * table.chunk_rows) * row_size as u64;
            let entry = self.entry(table, chunk)?;
            let found = match &table.compression {
                None => self.up_to(entry.addr.checked_add(skipped)?, size)?,
                Some(compression) => {
                    let stored = self.up_to(entry.addr, entry.nbytes)?;
                    let whole = usize::try_from(table.chunk_rows)
                        .ok()?
                        .checked_mul(row_size)?;
                    let mask = entry.filter_mask;
                    let filters = &compression.filters;
                    let chunk = reverse_filters_masked_bounded(filters, &stored, mask, whole);
                    let wanted = skipped as usize..(skipped + size) as usize;
                    chunk.ok()?.get(wanted)?.to_vec()
                }
            };
            if found.len() as u64 != size {
                return None;
            }
            bytes.extend(found);
            row = end;
        }
        Some(bytes)
    }

    /// The table that an object header describes, if it is one.
    fn table(&self, header: &[u8]) -> Option<Table> {
        let context = FormatContext::default_v3();
        let (header, _) = ObjectHeader::decode(header).ok()?;
        let message = |kind: u8| {
            let found = header.messages.iter().find(|m| m.msg_type == kind)?;
            Some(found.data.as_slice())
        };
        let (datatype, _) = DatatypeMessage::decode(message(DATATYPE)?, &context).ok()?;
        let (layout, _) = DataLayoutMessage::decode(message(LAYOUT)?, &context).ok()?;
        let DataLayoutMessage::ChunkedV4 {
            chunk_dims,
            earray_params: Some(parameters),
            index_address,
            ..
        } = layout
        else {
            return None;
        };
        let bytes = self.up_to(index_address, INDEX_HEADER_SIZE)?;
        let index_header = ExtensibleArrayHeader::decode(&bytes, &context).ok()?;
        let geometry = EaGeometry::new(
            parameters.idx_blk_elmts,
            parameters.data_blk_min_elmts,
            parameters.sup_blk_min_data_ptrs,
            parameters.max_nelmts_bits,
            parameters.max_dblk_page_nelmts_bits,
        )
        .ok()?;
        let bytes = self.up_to(index_header.idx_blk_addr, INDEX_BLOCK_SIZE)?;
        let count = usize::from(parameters.idx_blk_elmts);
        let blocks = (geometry.ndblk_addrs, geometry.nsblk_addrs);
        let mut table = Table {
            datatype,
            chunk_rows: *chunk_dims.first().filter(|rows| **rows > 0)?,
            geometry,
            index_bits: parameters.max_nelmts_bits,
            first: Vec::new(),
            data_blocks: Vec::new(),
            super_blocks: Vec::new(),
            compression: None,
        };
        if index_header.class_id == EA_CLS_FILT_CHUNK {
            let size_length = index_header
                .raw_elmt_size
                .checked_sub(context.sizeof_addr + 4)?;
            let index = FilteredIndexBlock::decode(
                &bytes,
                &context,
                count,
                blocks.0,
                blocks.1,
                size_length,
            );
            let index = index.ok()?;
            table.first = index.elements;
            (table.data_blocks, table.super_blocks) = (index.dblk_addrs, index.sblk_addrs);
            let (filters, _) = FilterPipeline::decode(message(FILTERS)?).ok()?;
            table.compression = Some(Compression {
                filters,
                size_length,
            });
        } else {
            let index =
                ExtensibleArrayIndexBlock::decode(&bytes, &context, count, blocks.0, blocks.1);
            let index = index.ok()?;
            table.first = index.elements.into_iter().map(plain).collect();
            (table.data_blocks, table.super_blocks) = (index.dblk_addrs, index.sblk_addrs);
        }
        Some(table)
    }

    /// Where a chunk of a table is.
    fn entry(&self, table: &Table, chunk: u64) -> Option<FilteredChunkEntry> {
        let context = FormatContext::default_v3();
        let bits = table.index_bits;
        let entry = match table.geometry.locate(chunk).ok()? {
            EaLoc::Index { elem } => *table.first.get(elem)?,
            EaLoc::Dblk(place) if place.paged => return None,
            EaLoc::Dblk(place) => {
                let block = match place.path {
                    EaDblkPath::Direct { idx } => *table.data_blocks.get(idx)?,
                    EaDblkPath::ViaSblk {
                        sblk_off,
                        local_dblk,
                        ndblks_in_sblk: count,
                        ..
                    } => {
                        let address = *table.super_blocks.get(sblk_off)?;
                        let bytes = self.up_to(address, ENTRY_SIZE * (count as u64 + 4))?;
                        let block =
                            ExtensibleArraySuperBlock::decode(&bytes, &context, bits, count, 0);
                        *block.ok()?.dblk_addrs.get(local_dblk)?
                    }
                };
                let count = usize::try_from(place.dblk_nelmts).ok()?;
                let bytes = self.up_to(block, ENTRY_SIZE * (place.dblk_nelmts + 4))?;
                let offset = usize::try_from(place.offset_in_dblk).ok()?;
                match &table.compression {
                    Some(Compression { size_length, .. }) => {
                        let length = *size_length;
                        let block =
                            FilteredDataBlock::decode(&bytes, &context, bits, count, length);
                        *block.ok()?.elements.get(offset)?
                    }
                    None => {
                        let block = ExtensibleArrayDataBlock::decode(&bytes, &context, bits, count);
                        plain(*block.ok()?.elements.get(offset)?)
                    }
                }
            }
        };
        (entry.addr != UNDEF_ADDR).then_some(entry)
    }

    /// Bytes from an address on, fewer where the file ends.
    fn up_to(&self, address: u64, count: u64) -> Option<Vec<u8>> {
        let mut file = self.file.lock().unwrap_or_else(PoisonError::into_inner);
        let mut bytes = Vec::new();
        file.seek(SeekFrom::Start(address)).ok()?;
        (&mut *file).take(count).read_to_end(&mut bytes).ok()?;
        Some(bytes)
    }
}
