//! The bytes of a Parquet file, as [`parquet`] asks for them.

use std::fs::File;
use std::io::{self, Read};
use std::sync::Arc;

use bytes::{Buf, Bytes};
use parquet::errors::{ParquetError, Result};
use parquet::file::metadata::ColumnChunkMetaData;
use parquet::file::reader::{ChunkReader, Length};

use super::super::{Object, Pieces, Stored};

/// A file, an object, or the columns of a row group of an object, with the size of the whole.
pub(super) enum Chunks {
    File(File),
    Object(Arc<dyn Object>),
    Pieces(Arc<dyn Pieces>, u64),
}

impl Chunks {
    /// Opens a file.
    pub(super) fn open(stored: Stored<'_>) -> io::Result<Self> {
        Ok(match stored {
            Stored::File(path) => Self::File(File::open(path)?),
            Stored::Object(object) => Self::Object(Arc::clone(object)),
        })
    }

    /// Opens columns of a row group. Those of an object are requested at once.
    pub(super) fn open_group<'g>(
        stored: Stored<'_>,
        columns: impl Iterator<Item = &'g ColumnChunkMetaData>,
    ) -> io::Result<Self> {
        let Stored::Object(object) = stored else { return Self::open(stored) };
        let ranges = columns.map(|column| {
            let (start, length) = column.byte_range();
            start..start.saturating_add(length).min(object.size())
        });
        Ok(Self::Pieces(object.pieces(ranges.collect()), object.size()))
    }
}

impl Length for Chunks {
    fn len(&self) -> u64 {
        match self {
            Self::File(file) => file.len(),
            Self::Object(object) => object.size(),
            Self::Pieces(_, size) => *size,
        }
    }
}

impl ChunkReader for Chunks {
    type T = Box<dyn Read + Send>;

    fn get_read(&self, start: u64) -> Result<Self::T> {
        Ok(match self {
            Self::File(file) => Box::new(file.get_read(start)?),
            Self::Object(object) => {
                let length = object.size().saturating_sub(start);
                Box::new(object.read_at(start, length).map_err(failed)?.reader())
            }
            Self::Pieces(pieces, _) => {
                Box::new(PieceReader { pieces: Arc::clone(pieces), at: start })
            }
        })
    }

    fn get_bytes(&self, start: u64, length: usize) -> Result<Bytes> {
        match self {
            Self::File(file) => file.get_bytes(start, length),
            Self::Object(object) => {
                let bytes = object.read_at(start, length as u64).map_err(failed)?;
                let short = || ParquetError::EOF("the file is too short".to_owned());
                if bytes.len() == length { Ok(bytes) } else { Err(short()) }
            }
            Self::Pieces(pieces, _) => pieces.read_at(start, length).map_err(failed),
        }
    }
}

fn failed(error: io::Error) -> ParquetError {
    ParquetError::External(Box::new(error))
}

/// A reader of a column.
struct PieceReader {
    pieces: Arc<dyn Pieces>,
    at: u64,
}

impl Read for PieceReader {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let bytes = self.pieces.some_at(self.at)?;
        let count = bytes.len().min(into.len());
        into[..count].copy_from_slice(&bytes[..count]);
        self.at += count as u64;
        Ok(count)
    }
}
