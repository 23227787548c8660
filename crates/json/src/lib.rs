//! Lines of NDJSON as rows of COPY text, as the server's `json_populate_record` reads them. Pure, like the core:
//! bytes in, bytes out.
//!
//! [`Keys`] collects the keys of an input's objects. [`Objects`] writes each object as a row, and rows as
//! objects. [`RefusedLine`] is the reason why a line is rejected.
//!
//! The code follows `src/backend/utils/adt/jsonfuncs.c` (PostgreSQL 13 to 18), with one exception: if a key
//! appears twice, the server takes the last value. Here the line is rejected, because a value would be lost
//! silently.

mod array;
mod composite;
mod copy;
mod finding;
mod key_match;
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
mod visit;

pub use copy::DEFAULT;
pub use keys::Keys;
pub use missing::RowFacts;
pub use objects::Objects;
pub use refused::RefusedLine;
pub use target::{KeyTarget, MissingKey, MissingKeyReason, UnknownKeys};

/// Whether a line has only whitespace: no object, but no error either.
#[must_use]
pub fn is_blank(line: &[u8]) -> bool {
    line.iter().all(|byte| matches!(byte, b' ' | b'\t' | b'\n' | b'\r'))
}
