//! The messages of Arrow IPC as batches. Memory is allocated only for bytes that are present. The readers of
//! [`arrow_ipc`] allocate as much as a message claims to have, so a damaged message could claim anything.

use std::collections::HashMap;
use std::io::{Read, Seek, SeekFrom};
use std::sync::Arc;
use std::vec::IntoIter;

use arrow_array::{ArrayRef, RecordBatch};
use arrow_buffer::{Buffer, MutableBuffer};
use arrow_ipc::convert::fb_to_schema;
use arrow_ipc::reader::{read_dictionary, read_footer_length, read_record_batch};
use arrow_ipc::{Block, CompressionType, Message, MessageHeader, root_as_footer, root_as_message};
use arrow_schema::{ArrowError, SchemaRef};

type Result<T> = std::result::Result<T, ArrowError>;

/// The length of the trailer of a file: the length of the footer, and the magic bytes.
const END: usize = 10;

/// The marker before the length of a message since version 0.15 of the format.
const CONTINUATION: [u8; 4] = [0xFF; 4];

/// The maximum ratio of the decompressed to the compressed size: a byte of LZ4 stands for at most 255 bytes,
/// and four bytes of zstd for a block of 128 KiB.
const MOST_OF_LZ4: usize = 255;
const MOST_OF_ZSTD: usize = 32 << 10;

/// The batches of an input.
pub(crate) struct Frames<R> {
    input: R,
    /// The length of the input, and the position in it.
    length: u64,
    at: u64,
    schema: SchemaRef,
    /// The indexes of the columns that are decoded; `None` for all.
    wanted: Option<Vec<usize>>,
    /// The messages of a file that are not read yet; `None` for a stream, whose messages are consecutive.
    blocks: Option<IntoIter<Block>>,
    dictionaries: HashMap<i64, ArrayRef>,
}

impl<R: Read + Seek> Frames<R> {
    /// Reads a file.
    pub(crate) fn from_file(input: R) -> Result<Self> {
        let mut this = Self::new(input)?;
        let end = this.length.checked_sub(END as u64).ok_or_else(|| damaged("it is truncated"))?;
        this.seek(end)?;
        let mut bytes = [0; END];
        bytes.copy_from_slice(&this.bytes(END as u64)?);
        let length = read_footer_length(bytes)? as u64;
        this.seek(end.checked_sub(length).ok_or_else(|| damaged("it is truncated"))?)?;
        let footer = this.bytes(length)?;
        let footer = root_as_footer(&footer).map_err(|_| damaged("its footer is damaged"))?;
        let schema = footer.schema().ok_or_else(|| damaged("it has no schema"))?;
        if !schema.endianness().equals_to_target_endianness() {
            return Err(damaged("it has the byte order of another architecture"));
        }
        let batches = footer.recordBatches().ok_or_else(|| damaged("it has no batches"))?;
        let dictionaries = footer.dictionaries().into_iter().flatten();
        let blocks: Vec<Block> = dictionaries.chain(batches).copied().collect();
        this.schema = Arc::new(fb_to_schema(schema));
        this.blocks = Some(blocks.into_iter());
        Ok(this)
    }

    /// Reads a stream from its beginning.
    pub(crate) fn from_stream(input: R) -> Result<Self> {
        let mut this = Self::new(input)?;
        let (head, _) = this.head()?.ok_or_else(|| damaged("it is empty"))?;
        let message = message(&head)?;
        let schema = message.header_as_schema();
        let schema = schema.ok_or_else(|| damaged("it does not begin with a schema"))?;
        if !schema.endianness().equals_to_target_endianness() {
            return Err(damaged("it has the byte order of another architecture"));
        }
        this.bytes(length(message.bodyLength())?)?;
        this.schema = Arc::new(fb_to_schema(schema));
        Ok(this)
    }

    fn new(mut input: R) -> Result<Self> {
        let length = input.seek(SeekFrom::End(0))?;
        input.rewind()?;
        let (schema, dictionaries) =
            (SchemaRef::new(arrow_schema::Schema::empty()), HashMap::new());
        Ok(Self { input, length, at: 0, schema, wanted: None, blocks: None, dictionaries })
    }

    /// Reduces batches to the columns at the indexes `wanted`. Other columns are not decoded.
    pub(crate) fn narrow(self, wanted: Vec<usize>) -> Self {
        Self { wanted: Some(wanted), ..self }
    }

    /// Returns the columns of the input.
    pub(crate) fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }

    fn next_batch(&mut self) -> Result<Option<RecordBatch>> {
        while let Some((head, of_body)) = self.head()? {
            let message = message(&head)?;
            let of_body = of_body.map_or_else(|| length(message.bodyLength()), Ok)?;
            let body = Buffer::from(self.bytes(of_body)?);
            let version = message.version();
            if let Some(batch) = message.header_as_record_batch() {
                check(&batch, &body)?;
                let (schema, dictionaries) = (self.schema(), &self.dictionaries);
                let wanted = self.wanted.as_deref();
                let batch =
                    read_record_batch(&body, batch, schema, dictionaries, wanted, &version)?;
                return Ok(Some(batch));
            }
            if let Some(dictionary) = message.header_as_dictionary_batch() {
                dictionary.data().map_or(Ok(()), |batch| check(&batch, &body))?;
                let schema = Arc::clone(&self.schema);
                read_dictionary(&body, dictionary, &schema, &mut self.dictionaries, &version)?;
            } else if message.header_type() != MessageHeader::NONE {
                return Err(damaged("it contains a message that is not a batch"));
            }
        }
        Ok(None)
    }

    /// Returns the header of the next message, and the length of its body if that is known without the
    /// header; `None` at the end.
    fn head(&mut self) -> Result<Option<(MutableBuffer, Option<u64>)>> {
        if let Some(blocks) = &mut self.blocks {
            let Some(block) = blocks.next() else { return Ok(None) };
            self.seek(length(block.offset())?)?;
            let of_head = length(block.metaDataLength().into())?;
            let before = self.at;
            let length = self.head_length()?;
            let prefix = self.at - before;
            let padded = of_head.checked_sub(prefix).filter(|padded| *padded >= length);
            let head = self.bytes(padded.ok_or_else(|| damaged("a message is damaged"))?)?;
            return Ok(Some((head, Some(self::length(block.bodyLength())?))));
        }
        // Some streams have no end marker.
        if self.at == self.length {
            return Ok(None);
        }
        match self.head_length()? {
            0 => {
                self.blocks = Some(IntoIter::default());
                Ok(None)
            }
            length => Ok(Some((self.bytes(length)?, None))),
        }
    }

    /// Reads the length that precedes the header of a message.
    fn head_length(&mut self) -> Result<u64> {
        let mut word = [0; 4];
        word.copy_from_slice(&self.bytes(4)?);
        if word == CONTINUATION {
            word.copy_from_slice(&self.bytes(4)?);
        }
        length(i32::from_le_bytes(word).into())
    }

    fn seek(&mut self, to: u64) -> Result<()> {
        if self.at != to {
            self.at = self.input.seek(SeekFrom::Start(to))?;
        }
        Ok(())
    }

    /// Reads the next bytes. Fails if fewer are left.
    fn bytes(&mut self, count: u64) -> Result<MutableBuffer> {
        if count > self.length.saturating_sub(self.at) {
            return Err(damaged("it is truncated or damaged"));
        }
        let mut bytes = MutableBuffer::from_len_zeroed(count as usize);
        self.input.read_exact(&mut bytes)?;
        self.at += count;
        Ok(bytes)
    }
}

impl<R: Read + Seek> Iterator for Frames<R> {
    type Item = Result<RecordBatch>;

    fn next(&mut self) -> Option<Self::Item> {
        self.next_batch().transpose()
    }
}

fn message(head: &[u8]) -> Result<Message<'_>> {
    root_as_message(head).map_err(|_| damaged("the header of a message is damaged"))
}

/// Rejects buffers that are missing, or that claim a decompressed size that their compressed size cannot
/// have.
fn check(batch: &arrow_ipc::RecordBatch<'_>, body: &[u8]) -> Result<()> {
    let max = batch.compression().map(|compression| match compression.codec() {
        CompressionType::LZ4_FRAME => MOST_OF_LZ4,
        _ => MOST_OF_ZSTD,
    });
    for buffer in batch.buffers().into_iter().flatten() {
        let (start, count) = (length(buffer.offset())?, length(buffer.length())?);
        let bytes = body.get(start as usize..).and_then(|rest| rest.get(..count as usize));
        let bytes = bytes.ok_or_else(|| damaged("a batch is truncated or damaged"))?;
        if let (Some(max), Some((size, rest))) = (max, bytes.split_first_chunk()) {
            // The size is -1 for a buffer that is not compressed.
            let size = usize::try_from(i64::from_le_bytes(*size)).unwrap_or(0);
            if size > rest.len().saturating_mul(max) {
                return Err(damaged("compressed data is damaged"));
            }
        }
    }
    Ok(())
}

fn length(value: i64) -> Result<u64> {
    u64::try_from(value).map_err(|_| damaged("it contains a negative length"))
}

fn damaged(why: &str) -> ArrowError {
    ArrowError::IpcError(why.to_owned())
}
