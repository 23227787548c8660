//! Names: the header of the first input, read before the others are, because it says what the columns are.

use std::io::{Cursor, Read};
use std::sync::Arc;
use std::sync::mpsc::{RecvTimeoutError, sync_channel};
use std::thread;

use pgsluice_core::format::Format;
use pgsluice_core::parse::Parser;
use pgsluice_core::split::Splitter;

use super::reading::STOP_POLL;
use super::starts::{BYTE_ORDER_MARK, check_magic};
use super::{Input, Inputs};
use crate::control::Control;
use crate::error::kind::Kind;
use crate::error::{Error, Result};

/// Bytes that are read first.
const FIRST_BYTES: usize = 64 << 10;

/// A header is not longer.
const LONGEST: usize = 16 << 20;

impl Inputs {
    /// The names in the header of the first input, and the same inputs: of one that can be read only once, what was
    /// read is put back.
    pub(crate) fn names(
        &self,
        format: &Format,
        control: &Arc<Control>,
    ) -> Result<(Self, Vec<String>)> {
        let Some(first) = self.first() else { return Ok((self.clone(), Vec::new())) };
        let (reading, format) = (first.clone(), format.clone());
        let (ended, end) = sync_channel(1);
        // It may wait for its input when the load was stopped.
        thread::spawn(move || {
            // Whoever waited may be gone.
            let _ = ended.send(read(&reading, &format));
        });
        loop {
            match end.recv_timeout(STOP_POLL) {
                Ok(read) => {
                    let (input, names) = read?;
                    let inputs = std::iter::once(input).chain(self.iter().skip(1).cloned());
                    return Ok((Self::of(inputs.collect()), names));
                }
                Err(RecvTimeoutError::Timeout) if !control.stop.is_stopped() => {}
                Err(_) => return Err(control.stop.failure().unwrap_or_else(Error::interrupted)),
            }
        }
    }
}

fn read(input: &Input, format: &Format) -> Result<(Input, Vec<String>)> {
    let mut stream = input.open()?;
    let (mut bytes, mut want) = (Vec::new(), FIRST_BYTES);
    let header = loop {
        let more = (want - bytes.len()) as u64;
        let got = (&mut stream).take(more).read_to_end(&mut bytes);
        let is_last = (got.map_err(|error| input.cannot_read(&error))? as u64) < more;
        check_magic(&bytes, input)?;
        let text = bytes.strip_prefix(BYTE_ORDER_MARK).unwrap_or(&bytes);
        let mut rows = Vec::new();
        // What is malformed further on is said when it is read.
        let _ = Splitter::new(format).scan(text, is_last, &mut rows);
        match rows.first() {
            Some(row) => break row.of(text).to_vec(),
            None if is_last || want >= LONGEST => return Err(no_header(input)),
            None => want *= 4,
        }
    };
    let names = Parser::new(format, Vec::new()).all(&header);
    let names = names.into_iter().map(|name| name.and_then(|name| String::from_utf8(name).ok()));
    let names = names.collect::<Option<Vec<_>>>().ok_or_else(|| no_header(input))?;
    let input = match input.is_rereadable() {
        true => input.clone(),
        false => input.begun(Box::new(Cursor::new(bytes).chain(stream))),
    };
    Ok((input, names))
}

fn no_header(input: &Input) -> Error {
    let message = format!("{} does not begin with the names of columns", input.name);
    Error::new(Kind::Data, message).with_sqlstate("22P04").with_hint(
        "--header=map takes each field to the column of its name: a header must say the names, in UTF-8 unless \
         --encoding is given.",
    )
}
