//! Reads all bytes of an object in order, ahead of its reader.

use std::io::{self, Read, Seek, SeekFrom};

use bytes::{Buf, Bytes};

use crate::cache::BLOCK;
use crate::object::Object;
use crate::window::Window;

/// The sizes of the first block and of later ones. Amazon recommends ranges of 8 to 16 MB. Three such blocks on their
/// way, while one is read, hide 50 ms of delay at 500 MB/s.
const BLOCKS: [u64; 2] = [BLOCK, 8 << 20];

/// The number of blocks that are on their way at first and later. Most readers of a header need no more than one.
const AHEAD: [usize; 2] = [1, 4];

/// A reader of an object.
#[derive(Debug)]
pub struct ObjectStream {
    window: Window,
    size: u64,
    at: u64,
    /// The rest of the block that is being read.
    rest: Bytes,
}

impl Object {
    /// Returns a reader of all its bytes.
    pub fn open(&self) -> ObjectStream {
        ObjectStream::new(self.clone())
    }
}

impl ObjectStream {
    fn new(object: Object) -> Self {
        let size = object.size();
        Self {
            window: Window::new(&object, 0..size, BLOCKS, AHEAD),
            size,
            at: 0,
            rest: Bytes::new(),
        }
    }
}

impl Read for ObjectStream {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        if self.rest.is_empty() {
            self.rest = self.window.some_at(self.at)?;
        }
        let count = self.rest.len().min(into.len());
        self.rest.copy_to_slice(&mut into[..count]);
        self.at += count as u64;
        Ok(count)
    }
}

impl Seek for ObjectStream {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        let at = match to {
            SeekFrom::Start(at) => Some(at),
            SeekFrom::End(from) => self.size.checked_add_signed(from),
            SeekFrom::Current(from) => self.at.checked_add_signed(from),
        };
        self.at = at.ok_or(io::ErrorKind::InvalidInput)?;
        self.rest = Bytes::new();
        Ok(self.at)
    }
}
