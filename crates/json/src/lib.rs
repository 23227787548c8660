//! A line of NDJSON as a row of COPY text, as the server's `json_populate_record` reads it. Pure, as the
//! core: bytes in, bytes out.
//!
//! [`Keys`] says which keys the objects of an input have. [`Objects`] writes each object as a row, and
//! rows back as objects. [`RefusedLine`] says why a line is refused.
//!
//! What is imitated stands in `src/backend/utils/adt/jsonfuncs.c` (PostgreSQL 13 to 18). One thing is not:
//! of a key that comes twice the server takes the last value, and here the line is refused, because one of
//! the two would be lost in silence.

mod array;
mod composite;
mod copy;
mod finding;
mod goes;
mod keys;
mod literal;
mod missing;
mod object;
mod objects;
mod refused;
mod shape;
mod slots;
mod string;
mod target;
#[cfg(test)]
mod tests;
mod values;
mod walk;

pub use copy::DEFAULT;
pub use keys::Keys;
pub use missing::RowFacts;
pub use objects::Objects;
pub use refused::RefusedLine;
pub use target::{KeyTarget, Lacking, MissingKey, UnknownKeys};

/// Whether a line has nothing but whitespace: no object, and no error either.
#[must_use]
pub fn is_blank(line: &[u8]) -> bool {
    line.iter().all(|byte| matches!(byte, b' ' | b'\t' | b'\n' | b'\r'))
}
