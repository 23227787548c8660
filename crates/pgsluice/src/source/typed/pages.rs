//! Checks the pages of a row group before they are decoded. Decoders allocate memory for as many values of a
//! dictionary, or lengths of strings, as a page claims to have, so a damaged page could claim anything.

use std::io::{self, Read};
use std::sync::Arc;

use arrow_schema::{DataType, FieldRef, Fields};
use bytes::Bytes;
use parquet::arrow::arrow_reader::{ArrowReaderMetadata, ParquetRecordBatchReader, RowGroups};
use parquet::arrow::{ProjectionMask, parquet_to_arrow_field_levels};
use parquet::basic::Encoding;
use parquet::column::page::{Page, PageIterator, PageMetadata, PageReader};
use parquet::errors::{ParquetError, Result};
use parquet::file::metadata::{ParquetMetaData, RowGroupMetaData};
use parquet::file::reader::{ChunkReader, Length};
use parquet::file::serialized_reader::SerializedPageReader;
use parquet::schema::types::ColumnDescriptor;

use super::footer::varint;

/// The maximum number of numbers per byte of a page. Writers put 128 or more into a block, and a block of
/// equal numbers takes several bytes, so no page comes near this.
const NUMBERS_A_BYTE: usize = 1024;

/// Reads the fields of `mask` from a row group of a file, in batches of `max` rows.
pub(crate) fn read_group<R: ChunkReader + 'static>(
    file: Arc<R>,
    metadata: &ArrowReaderMetadata,
    mask: ProjectionMask,
    group: usize,
    max: usize,
) -> Result<ParquetRecordBatchReader> {
    // Views share a string that a page refers to many times, instead of copying it.
    let hint: Fields = metadata.schema().fields().iter().map(with_views).collect();
    let levels = parquet_to_arrow_field_levels(metadata.parquet_schema(), mask, Some(&hint))?;
    let file = Arc::new(CheckedFile(file));
    let group = CheckedGroup { file, metadata: Arc::clone(metadata.metadata()), group };
    let max = max.min(group.num_rows());
    ParquetRecordBatchReader::try_new_with_row_groups(&levels, &group, max, None)
}

/// Returns the field with views in place of strings.
fn with_views(field: &FieldRef) -> FieldRef {
    let ty = match field.data_type() {
        DataType::Utf8 | DataType::LargeUtf8 => DataType::Utf8View,
        DataType::Binary | DataType::LargeBinary => DataType::BinaryView,
        _ => return Arc::clone(field),
    };
    Arc::new(field.as_ref().clone().with_data_type(ty))
}

/// A file whose end is checked: reading past the end is an error. Without it, the reader of page headers
/// would skip any number of missing values there, one by one.
struct CheckedFile<R>(Arc<R>);

impl<R: ChunkReader> Length for CheckedFile<R> {
    fn len(&self) -> u64 {
        self.0.len()
    }
}

impl<R: ChunkReader> ChunkReader for CheckedFile<R> {
    type T = ExactReader<R::T>;

    fn get_read(&self, start: u64) -> Result<Self::T> {
        self.0.get_read(start).map(ExactReader)
    }

    fn get_bytes(&self, start: u64, length: usize) -> Result<Bytes> {
        self.0.get_bytes(start, length)
    }
}

struct ExactReader<T>(T);

impl<T: Read> Read for ExactReader<T> {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        match self.0.read(bytes)? {
            0 if !bytes.is_empty() => Err(io::ErrorKind::UnexpectedEof.into()),
            count => Ok(count),
        }
    }
}

struct CheckedGroup<R> {
    file: Arc<CheckedFile<R>>,
    metadata: Arc<ParquetMetaData>,
    group: usize,
}

impl<R> CheckedGroup<R> {
    fn group(&self) -> &RowGroupMetaData {
        self.metadata.row_group(self.group)
    }
}

impl<R: ChunkReader + 'static> RowGroups for CheckedGroup<R> {
    fn num_rows(&self) -> usize {
        self.group().num_rows() as usize
    }

    fn column_chunks(&self, column: usize) -> Result<Box<dyn PageIterator>> {
        let chunk = self.group().column(column);
        let pages =
            SerializedPageReader::new(Arc::clone(&self.file), chunk, self.num_rows(), None)?;
        let column = chunk.column_descr_ptr();
        Ok(Box::new(OneChunk(Some(CheckedPages { pages, column }))))
    }

    fn row_groups(&self) -> Box<dyn Iterator<Item = &RowGroupMetaData> + '_> {
        Box::new(std::iter::once(self.group()))
    }

    fn metadata(&self) -> &ParquetMetaData {
        &self.metadata
    }
}

/// The only chunk of a column.
struct OneChunk<R: ChunkReader>(Option<CheckedPages<R>>);

impl<R: ChunkReader + 'static> Iterator for OneChunk<R> {
    type Item = Result<Box<dyn PageReader>>;

    fn next(&mut self) -> Option<Self::Item> {
        Some(Ok(Box::new(self.0.take()?)))
    }
}

impl<R: ChunkReader + 'static> PageIterator for OneChunk<R> {}

struct CheckedPages<R: ChunkReader> {
    pages: SerializedPageReader<CheckedFile<R>>,
    column: Arc<ColumnDescriptor>,
}

impl<R: ChunkReader> PageReader for CheckedPages<R> {
    fn get_next_page(&mut self) -> Result<Option<Page>> {
        let page = self.pages.get_next_page()?;
        match page.as_ref().map_or(Some(()), |page| check(page, &self.column)) {
            Some(()) => Ok(page),
            None => {
                Err(ParquetError::General("a page claims to have more values than it can".into()))
            }
        }
    }

    fn peek_next_page(&mut self) -> Result<Option<PageMetadata>> {
        self.pages.peek_next_page()
    }

    fn skip_next_page(&mut self) -> Result<()> {
        self.pages.skip_next_page()
    }

    fn at_record_boundary(&mut self) -> Result<bool> {
        self.pages.at_record_boundary()
    }
}

impl<R: ChunkReader> Iterator for CheckedPages<R> {
    type Item = Result<Page>;

    fn next(&mut self) -> Option<Self::Item> {
        self.get_next_page().transpose()
    }
}

/// Returns `None` if a page claims to have more values than it can contain.
fn check(page: &Page, column: &ColumnDescriptor) -> Option<()> {
    let count = page.num_values() as usize;
    if !page.is_data_page() {
        // Each value of a dictionary takes at least one byte.
        return (count <= page.buffer().len()).then_some(());
    }
    let sequences = match page.encoding() {
        Encoding::DELTA_LENGTH_BYTE_ARRAY => 1,
        // The length of the prefix shared with the previous value, and the length of the rest.
        Encoding::DELTA_BYTE_ARRAY => 2,
        _ => return Some(()),
    };
    let mut bytes = page.buffer().get(values_of(page, column)?..)?;
    if bytes.is_empty() {
        return Some(());
    }
    for _ in 0..sequences {
        bytes = skip_numbers(bytes, count)?;
    }
    Some(())
}

/// Returns the offset of the values in a data page.
fn values_of(page: &Page, column: &ColumnDescriptor) -> Option<usize> {
    match page {
        Page::DataPageV2 { def_levels_byte_len, rep_levels_byte_len, .. } => {
            Some(rep_levels_byte_len.checked_add(*def_levels_byte_len)? as usize)
        }
        Page::DataPage { buf, num_values, def_level_encoding, rep_level_encoding, .. } => {
            let levels = [
                (column.max_rep_level(), rep_level_encoding),
                (column.max_def_level(), def_level_encoding),
            ];
            let mut start = 0;
            for (max, encoding) in levels.into_iter().filter(|(max, _)| *max > 0) {
                start += match encoding {
                    Encoding::RLE => {
                        let length = buf.get(start..)?.first_chunk()?;
                        size_of_val(length) + u32::from_le_bytes(*length) as usize
                    }
                    _ => (u64::from(*num_values) * bits_of(max)).div_ceil(8) as usize,
                };
            }
            Some(start)
        }
        Page::DictionaryPage { .. } => Some(0),
    }
}

/// Returns the number of bits of a level.
fn bits_of(max: i16) -> u64 {
    (i16::BITS - max.leading_zeros()).into()
}

/// Returns the bytes after a sequence of numbers in the encoding `DELTA_BINARY_PACKED`; `None` if there are
/// more than `max` numbers, or the sequence is truncated.
fn skip_numbers(bytes: &[u8], max: usize) -> Option<&[u8]> {
    let mut rest = bytes;
    let block = usize::try_from(varint(&mut rest)?).ok()?;
    let parts = usize::try_from(varint(&mut rest)?).ok()?;
    let numbers = usize::try_from(varint(&mut rest)?).ok()?;
    varint(&mut rest)?;
    if numbers > max || numbers / NUMBERS_A_BYTE > bytes.len() {
        return None;
    }
    let of_part = block.checked_div(parts).filter(|&of_part| of_part > 0)?;
    // The first number precedes the blocks.
    let mut left = numbers.saturating_sub(1);
    while left > 0 {
        varint(&mut rest)?;
        let (widths, parts) = rest.split_at_checked(parts)?;
        rest = parts;
        for &width in widths {
            if left == 0 {
                break;
            }
            rest = rest.get(usize::from(width).checked_mul(of_part)? / 8..)?;
            left = left.saturating_sub(of_part);
        }
    }
    Some(rest)
}

#[cfg(test)]
mod tests {
    use super::skip_numbers;

    /// The header of blocks of 128 numbers in four parts.
    const BLOCKS: [u8; 3] = [0x80, 1, 4];

    fn left(numbers: &[u8], max: usize) -> Option<usize> {
        skip_numbers(&[&BLOCKS[..], numbers].concat(), max).map(<[u8]>::len)
    }

    #[test]
    fn numbers_are_passed_over() {
        // No number, one, and three numbers with differences of zero bits and of two bits: 32 of them in 8
        // bytes.
        assert_eq!(left(&[0, 0, b'x'], 0), Some(1));
        assert_eq!(left(&[1, 8, b'x'], 1), Some(1));
        assert_eq!(left(&[3, 8, 2, 0, 9, 9, 9, b'x'], 3), Some(1));
        assert_eq!(left(&[3, 8, 2, 2, 0, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8, b'x'], 3), Some(1));
    }

    #[test]
    fn there_are_no_more_than_there_can_be() {
        assert_eq!(left(&[2, 8, 2, 0, 0, 0, 0], 1), None);
        // As many numbers as the page has values but without any bytes, with empty parts, and with too few
        // bytes of differences.
        let many = [0x80, 0x80, 0x80, 0x80, 8, 0];
        assert_eq!(left(&many, usize::MAX), None);
        assert_eq!(skip_numbers(&[0x80, 1, 0, 2, 0, 0, 0, 0, 0], 9), None);
        assert_eq!(skip_numbers(&[0, 1, 2, 0, 0, 0, 0, 0], 9), None);
        assert_eq!(left(&[3, 8, 2, 2, 0, 0, 0, 1, 2], 3), None);
    }
}
