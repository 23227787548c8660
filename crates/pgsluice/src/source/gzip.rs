//! gzip: the text of all members of an input, RFC 1952. Zeros after a member are padding, as on tapes. Any
//! other bytes may be rows, so they are an error; gzip itself warns and ignores them.

use std::io::{self, BufRead, ErrorKind, Read};

use flate2::bufread::GzDecoder;

/// The first byte of a member.
const MEMBER: u8 = 0x1f;

/// Reads the members one after another.
pub(super) struct MemberReader<R> {
    /// The current member; `None` after the last one.
    member: Option<GzDecoder<Placed<R>>>,
    /// The place of a member that has not produced any text yet, unless it is the first.
    begun: Option<u64>,
}

impl<R: BufRead> MemberReader<R> {
    pub(super) fn new(compressed: R) -> Self {
        Self { member: Some(GzDecoder::new(Placed { inner: compressed, at: 0 })), begun: None }
    }

    /// Begins the next member, unless the input is at its end.
    fn begin_next(&mut self) -> io::Result<()> {
        let Some(member) = self.member.take() else { return Ok(()) };
        let mut rest = member.into_inner();
        match first_other_than_zero(&mut rest)? {
            None => {}
            Some(MEMBER) => {
                self.begun = Some(rest.at);
                self.member = Some(GzDecoder::new(rest));
            }
            Some(_) => return Err(not_gzip(rest.at)),
        }
        Ok(())
    }
}

impl<R: BufRead> Read for MemberReader<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        while let Some(member) = &mut self.member {
            let count = match (member.read(into), self.begun) {
                (Err(error), Some(at)) if error.kind() == ErrorKind::InvalidInput => {
                    // The header of a member is read together with its first byte.
                    return Err(if member.header().is_none() { not_gzip(at) } else { error });
                }
                (read, _) => read?,
            };
            if count > 0 || into.is_empty() {
                self.begun = None;
                return Ok(count);
            }
            self.begin_next()?;
        }
        Ok(0)
    }
}

fn not_gzip(at: u64) -> io::Error {
    let why = format!(
        "its gzip data ends before byte {at}, followed by other bytes: zcat prints the data before \
         them"
    );
    io::Error::new(ErrorKind::InvalidData, why)
}

/// Skips zeros, and returns the next byte without consuming it.
fn first_other_than_zero(bytes: &mut impl BufRead) -> io::Result<Option<u8>> {
    loop {
        let buffer = bytes.fill_buf()?;
        if buffer.is_empty() {
            return Ok(None);
        }
        let zeros = buffer.iter().take_while(|byte| **byte == 0).count();
        let other = buffer.get(zeros).copied();
        bytes.consume(zeros);
        if other.is_some() {
            return Ok(other);
        }
    }
}

/// Bytes, and how many of them were read.
struct Placed<R> {
    inner: R,
    at: u64,
}

impl<R: BufRead> Read for Placed<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let count = self.inner.read(into)?;
        self.at += count as u64;
        Ok(count)
    }
}

impl<R: BufRead> BufRead for Placed<R> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        self.inner.fill_buf()
    }

    fn consume(&mut self, count: usize) {
        self.inner.consume(count);
        self.at += count as u64;
    }
}

#[cfg(test)]
mod tests {
    use std::io::{BufReader, Write};

    use flate2::write::GzEncoder;

    use super::*;

    fn member(text: &[u8]) -> Vec<u8> {
        let mut encoder = GzEncoder::new(Vec::new(), flate2::Compression::fast());
        encoder.write_all(text).expect("memory");
        encoder.finish().expect("memory")
    }

    /// Returns the text of all members, read through a buffer of this size.
    fn read(bytes: &[u8], buffer: usize) -> io::Result<Vec<u8>> {
        let mut text = Vec::new();
        MemberReader::new(BufReader::with_capacity(buffer, bytes)).read_to_end(&mut text)?;
        Ok(text)
    }

    #[test]
    fn zeros_are_padding() {
        let (one, other, empty) = (member(b"1,2\n"), member(b"3,4\n"), member(b""));
        for zeros in [0, 1, 511, 10_000].map(|count| vec![0; count]) {
            for buffer in [1, 7, 1 << 16] {
                let padded = [&one[..], &zeros, &other, &empty, &zeros].concat();
                assert_eq!(read(&padded, buffer).expect("text"), b"1,2\n3,4\n");
            }
        }
    }

    #[test]
    fn other_bytes_are_an_error_with_their_place() {
        let whole = member(b"1,2\n");
        for garbage in [&b"x"[..], b"3,4\n", b"\x1f\x00 no member, but as long as one", b"\0\0x"] {
            for buffer in [1, 1 << 16] {
                let bytes = [&whole[..], garbage].concat();
                let error = read(&bytes, buffer).expect_err("garbage");
                let zeros = garbage.iter().take_while(|byte| **byte == 0).count();
                let message = format!("its gzip data ends before byte {}, ", whole.len() + zeros);
                assert!(error.to_string().starts_with(&message), "{error}");
            }
        }
        for cut in [1, 2, 9, 12] {
            let bytes = [&whole[..], &whole[..cut]].concat();
            let error = read(&bytes, 1 << 16).expect_err("cut");
            assert_eq!(error.kind(), ErrorKind::UnexpectedEof, "{cut}");
        }
        let mut damaged = [&whole[..], &whole[..]].concat();
        let last = damaged.len() - 6;
        damaged[last] ^= 1;
        let error = read(&damaged, 1 << 16).expect_err("another sum");
        assert!(error.to_string().contains("checksum"), "{error}");
    }
}
