//! Stream: the text of an input. If it is compressed or in another encoding, a separate thread reads some
//! blocks ahead.

use std::io::{self, BufReader, Cursor, Read, Seek, SeekFrom};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::mpsc::{Receiver, Sender, SyncSender, channel, sync_channel};
use std::thread;

use super::compression::{Compression, MAGIC};
use super::encoding::{Decoder, Encoding};

/// The number of bytes that are read and decompressed together.
const BLOCK: usize = 256 << 10;

/// The number of blocks of text that may wait for their reader.
const BLOCKS: usize = 4;

/// The text of an input, converted to UTF-8.
pub struct Stream(StreamText);

enum StreamText {
    /// Bytes that need no conversion.
    Plain(Box<dyn Read + Send>),
    /// Text that a thread reads ahead, and the number of bytes read from the input.
    Ahead(ReadAhead, Arc<AtomicU64>),
}

/// Blocks of text from another thread.
struct ReadAhead {
    full: Receiver<io::Result<Option<Vec<u8>>>>,
    empty: Sender<Vec<u8>>,
    block: Vec<u8>,
    /// The number of bytes of `block` that were read.
    at: usize,
    is_over: bool,
}

impl Stream {
    /// Returns the text of a file whose compression is known.
    pub(super) fn from_file(
        raw: Box<dyn Read + Send>,
        compression: Option<Compression>,
        encoding: Encoding,
    ) -> io::Result<Self> {
        if compression.is_none() && encoding.is_utf8() {
            return Ok(Self(StreamText::Plain(raw)));
        }
        let (counted, raw_bytes) = CountedReader::new(raw);
        let counted = BufReader::with_capacity(BLOCK, counted);
        let inner: Box<dyn Read + Send> = match compression {
            Some(compression) => compression.reader(counted)?,
            None => Box::new(counted),
        };
        let (full_to, full) = sync_channel(BLOCKS);
        let (empty, empty_from) = channel();
        let reading = DecodeTask { inner, compression, decoder: encoding.decoder() };
        thread::spawn(move || reading.read(&full_to, &empty_from));
        let ahead = ReadAhead { full, empty, block: Vec::new(), at: 0, is_over: false };
        Ok(Self(StreamText::Ahead(ahead, raw_bytes)))
    }

    /// Returns the text of an input that can be read only once. Its first bytes show whether it is
    /// compressed.
    pub(super) fn from_pipe(mut raw: Box<dyn Read + Send>, encoding: Encoding) -> io::Result<Self> {
        let mut start = Vec::with_capacity(MAGIC);
        raw.by_ref().take(MAGIC as u64).read_to_end(&mut start)?;
        let compression = Compression::from_bytes(&start);
        Self::from_file(Box::new(Cursor::new(start).chain(raw)), compression, encoding)
    }

    /// Returns how many bytes of the input were read for the text, if they differ from the text.
    pub(super) fn raw_bytes(&self) -> Option<u64> {
        match &self.0 {
            StreamText::Plain(_) => None,
            StreamText::Ahead(_, raw_bytes) => Some(raw_bytes.load(Relaxed)),
        }
    }
}

impl Read for Stream {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        match &mut self.0 {
            StreamText::Plain(raw) => raw.read(into),
            StreamText::Ahead(ahead, _) => ahead.read(into),
        }
    }
}

impl ReadAhead {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        while self.at == self.block.len() && !self.is_over {
            // This fails when the thread has ended and needs no more blocks.
            let _ = self.empty.send(std::mem::take(&mut self.block));
            self.at = 0;
            match self.full.recv() {
                Ok(Ok(Some(block))) => self.block = block,
                Ok(Ok(None)) => self.is_over = true,
                Ok(Err(error)) => return Err(error),
                // If the thread did not report the end, it failed.
                Err(_) => {
                    return Err(io::Error::other("the thread that reads it ended unexpectedly"));
                }
            }
        }
        let rest = &self.block[self.at..];
        let count = rest.len().min(into.len());
        into[..count].copy_from_slice(&rest[..count]);
        self.at += count;
        Ok(count)
    }
}

/// A reader that counts its bytes.
pub(super) struct CountedReader<R> {
    raw: R,
    count: Arc<AtomicU64>,
}

impl<R> CountedReader<R> {
    /// Returns a reader of `raw` and its counter.
    pub(super) fn new(raw: R) -> (Self, Arc<AtomicU64>) {
        let count = Arc::new(AtomicU64::new(0));
        (Self { raw, count: Arc::clone(&count) }, count)
    }
}

impl<R: Read> Read for CountedReader<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let read = self.raw.read(into)?;
        self.count.fetch_add(read as u64, Relaxed);
        Ok(read)
    }
}

impl<R: Seek> Seek for CountedReader<R> {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        self.raw.seek(to)
    }
}

/// The reading thread's work.
struct DecodeTask {
    inner: Box<dyn Read + Send>,
    compression: Option<Compression>,
    decoder: Option<Decoder>,
}

impl DecodeTask {
    /// Reads to the end, or until the receiver is gone. Bytes that were read before an error are sent before
    /// it.
    fn read(mut self, full: &SyncSender<io::Result<Option<Vec<u8>>>>, empty: &Receiver<Vec<u8>>) {
        let mut raw = Vec::new();
        loop {
            let mut block = empty.try_recv().unwrap_or_default();
            block.clear();
            let read = self.inner.by_ref().take(BLOCK as u64).read_to_end(&mut block);
            let is_last = read.as_ref().is_ok_and(|count| *count < BLOCK);
            if let Some(decoder) = &mut self.decoder {
                std::mem::swap(&mut raw, &mut block);
                block.clear();
                decoder.decode(&raw, is_last, &mut block);
            }
            if !block.is_empty() && full.send(Ok(Some(block))).is_err() {
                return;
            }
            let end = match read {
                Ok(_) if !is_last => continue,
                Ok(_) => Ok(None),
                Err(error) => Err(match self.compression {
                    Some(compression) => compression.explain(error),
                    None => error,
                }),
            };
            // The receiver may be gone.
            let _ = full.send(end);
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use flate2::write::GzEncoder;

    use super::*;

    fn gzip(text: &[u8]) -> Vec<u8> {
        let mut encoder = GzEncoder::new(Vec::new(), flate2::Compression::fast());
        encoder.write_all(text).expect("memory");
        encoder.finish().expect("memory")
    }

    fn zstd(text: &[u8]) -> Vec<u8> {
        let mut encoder = zstd::Encoder::new(Vec::new(), 1).expect("memory");
        // The zstd program does so too.
        encoder.include_checksum(true).expect("an option");
        encoder.write_all(text).expect("memory");
        encoder.finish().expect("memory")
    }

    fn read(bytes: Vec<u8>) -> io::Result<Vec<u8>> {
        let mut text = Vec::new();
        Stream::from_pipe(Box::new(Cursor::new(bytes)), Encoding::default())?
            .read_to_end(&mut text)?;
        Ok(text)
    }

    #[test]
    fn compressed_input_is_read_decompressed() {
        let text: Vec<u8> = (0..300_000).flat_map(|n: u32| format!("{n}\n").into_bytes()).collect();
        let halves = text.split_at(text.len() / 3);
        for compress in [gzip, zstd] {
            assert!(read(compress(&text)).expect("text") == text);
            let several = [compress(halves.0), compress(b""), compress(halves.1)].concat();
            assert!(read(several).expect("text") == text);
            assert!(read(compress(b"")).expect("nothing").is_empty());
        }
        assert!(read(text.clone()).expect("text") == text);
        assert_eq!(read(b"a".to_vec()).expect("text"), b"a");
    }

    #[test]
    fn frames_that_zstd_skips_hold_no_text() {
        let skipped = [&b"\x5f\x2a\x4d\x18\x03\0\0\0"[..], b"abc"].concat();
        let (one, other) = (zstd(b"1,2\n"), zstd(b"3,4\n"));
        let frames = [&skipped, &one, &skipped, &other, &skipped].map(|frame| &frame[..]);
        assert_eq!(read(frames.concat()).expect("text"), b"1,2\n3,4\n");
        assert!(read(skipped).expect("nothing").is_empty());
        let garbage = read([&one[..], b"x"].concat()).expect_err("garbage").to_string();
        assert!(garbage.starts_with("its zstd data"), "{garbage}");
    }

    #[test]
    fn truncated_or_damaged_input_is_an_error() {
        let text: Vec<u8> = (0..300_000).flat_map(|n: u32| format!("{n}\n").into_bytes()).collect();
        for (compress, name) in [(gzip as fn(&[u8]) -> Vec<u8>, "gzip"), (zstd, "zstd")] {
            let whole = compress(&text);
            for length in [5, whole.len() / 2, whole.len() - 1] {
                let cut = read(whole[..length].to_vec()).map(|text| text.len());
                let error = cut.expect_err("cut short").to_string();
                assert_eq!(error, format!("its {name} data is truncated"));
            }
            let mut damaged = whole.clone();
            let middle = whole.len() / 2;
            damaged[middle..middle + 8].fill(0x55);
            let error = read(damaged).map(|text| text.len()).expect_err("damaged").to_string();
            assert!(error.starts_with(&format!("its {name} data is damaged: ")), "{error}");
        }
        // The checksum belongs to another text.
        let mut wrong = gzip(&text);
        let place = wrong.len() - 8;
        wrong[place] ^= 1;
        assert!(read(wrong).expect_err("another sum").to_string().contains("checksum"));
    }

    #[test]
    fn a_window_that_is_too_large_is_no_damage() {
        let mut encoder = zstd::Encoder::new(Vec::new(), 1).expect("memory");
        encoder.window_log(28).expect("an option");
        encoder.write_all(b"1,2\n").expect("memory");
        let long = encoder.finish().expect("memory");
        let error = read(long).expect_err("too large").to_string();
        assert_eq!(
            error,
            "its zstd data needs more than 128 MiB to be decompressed: use zstdcat --long=31"
        );
    }

    #[test]
    fn compressed_bytes_are_counted() {
        let compressed = gzip(&b"1,2\n".repeat(1000));
        let length = compressed.len() as u64;
        let mut stream = Stream::from_pipe(Box::new(Cursor::new(compressed)), Encoding::default())
            .expect("a stream");
        io::copy(&mut stream, &mut io::sink()).expect("text");
        assert_eq!(stream.raw_bytes(), Some(length));
    }
}
