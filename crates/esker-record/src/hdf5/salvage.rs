//! Rows of tables in files that were cut at their end.
//!
//! The library reads the whole index of a table before any of its rows, and
//! the index lies scattered over the file: one block beyond the cut, and
//! nothing could be read. Here every row is looked up by itself (header of the
//! index, index block, perhaps a super block, data block, chunk), so that rows
//! before the cut are found. What comes out is checked by our own checksums as
//! everything else. Tables are found by their datatypes among the object
//! headers, which are written before any row. Compressed tables, and chunks
//! beyond the first tens of thousands of a table, are left to the library.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::ops::Range;
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use rust_hdf5::DatatypeMessage;
use rust_hdf5::format::chunk_index::extensible_array::{
    EaDblkPath, EaGeometry, EaLoc, ExtensibleArrayDataBlock, ExtensibleArrayHeader,
    ExtensibleArrayIndexBlock, ExtensibleArraySuperBlock,
};
use rust_hdf5::format::messages::data_layout::DataLayoutMessage;
use rust_hdf5::format::object_header::ObjectHeader;
use rust_hdf5::format::{FormatContext, UNDEF_ADDR};

/// Bytes at the start of a file in which object headers are looked for.
const HEADERS_WITHIN: usize = 4 << 20;
const HEADER_SIGNATURE: &[u8] = b"OHDR";
const DATATYPE: u8 = 0x03;
const LAYOUT: u8 = 0x08;
/// Most bytes of the header of an index, and of an index block.
const INDEX_HEADER_SIZE: u64 = 256;
const INDEX_BLOCK_SIZE: u64 = 65_536;
/// Bytes of an address.
const ADDRESS_SIZE: u64 = 8;

/// A file whose tables are read row by row.
pub(super) struct Salvage {
    file: Mutex<File>,
    tables: Vec<Table>,
}

struct Table {
    datatype: DatatypeMessage,
    chunk_rows: u64,
    geometry: EaGeometry,
    /// Bits of the greatest number of chunks.
    index_bits: u8,
    index: ExtensibleArrayIndexBlock,
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
            let skipped = (row - chunk * table.chunk_rows) * row_size as u64;
            let address = self.address(table, chunk)?.checked_add(skipped)?;
            let size = (end - row) * row_size as u64;
            let found = self.up_to(address, size)?;
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
        // A compressed table has blocks of another kind, which do not decode as this one.
        let index = ExtensibleArrayIndexBlock::decode(
            &bytes,
            &context,
            usize::from(parameters.idx_blk_elmts),
            geometry.ndblk_addrs,
            geometry.nsblk_addrs,
        )
        .ok()?;
        Some(Table {
            datatype,
            chunk_rows: *chunk_dims.first().filter(|rows| **rows > 0)?,
            geometry,
            index_bits: parameters.max_nelmts_bits,
            index,
        })
    }

    /// Where a chunk of a table is.
    fn address(&self, table: &Table, chunk: u64) -> Option<u64> {
        let context = FormatContext::default_v3();
        let address = match table.geometry.locate(chunk).ok()? {
            EaLoc::Index { elem } => *table.index.elements.get(elem)?,
            EaLoc::Dblk(place) if place.paged => return None,
            EaLoc::Dblk(place) => {
                let block = match place.path {
                    EaDblkPath::Direct { idx } => *table.index.dblk_addrs.get(idx)?,
                    EaDblkPath::ViaSblk {
                        sblk_off,
                        local_dblk,
                        ndblks_in_sblk,
                        ..
                    } => {
                        let address = *table.index.sblk_addrs.get(sblk_off)?;
                        let size = ADDRESS_SIZE * (ndblks_in_sblk as u64 + 4);
                        let bytes = self.up_to(address, size)?;
                        let bits = table.index_bits;
                        let block = ExtensibleArraySuperBlock::decode(
                            &bytes,
                            &context,
                            bits,
                            ndblks_in_sblk,
                            0,
                        );
                        *block.ok()?.dblk_addrs.get(local_dblk)?
                    }
                };
                let count = place.dblk_nelmts;
                let bytes = self.up_to(block, ADDRESS_SIZE * (count + 4))?;
                let bits = table.index_bits;
                let block =
                    ExtensibleArrayDataBlock::decode(&bytes, &context, bits, count as usize);
                let elements = block.ok()?.elements;
                *elements.get(usize::try_from(place.offset_in_dblk).ok()?)?
            }
        };
        (address != UNDEF_ADDR).then_some(address)
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
