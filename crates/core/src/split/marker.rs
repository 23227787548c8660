//! The end-of-data marker `\.`, behind which an input has no rows.

use super::LineEnd::{self, Newline, Return, ReturnNewline};

/// What begins with a backslash.
pub(super) enum Marker {
    /// Something else.
    No,
    /// Followed by a line end; the offset is after it.
    Alone(usize),
    /// The marker, followed by a line end that is not like the others.
    Mismatched,
    /// The marker, followed by the end of the input.
    Unended,
    /// The marker, followed by something else.
    NotAlone,
    /// More bytes must tell.
    Unknown,
}

/// Whether the backslash at `at` begins the end-of-data marker, where lines end as `line_end` says.
pub(super) fn end_marker_at(
    bytes: &[u8],
    at: usize,
    last: bool,
    line_end: Option<LineEnd>,
) -> Marker {
    match (&bytes[at + 1..], line_end) {
        ([] | [b'.'], _) | ([b'.', b'\r'], None | Some(ReturnNewline)) if !last => Marker::Unknown,
        ([b'.'], _) | ([b'.', b'\r'], Some(ReturnNewline)) => Marker::Unended,
        ([b'.', b'\r', b'\n', ..], None | Some(ReturnNewline)) => Marker::Alone(at + 4),
        ([b'.', b'\n', ..], None | Some(Newline)) | ([b'.', b'\r', ..], None | Some(Return)) => {
            Marker::Alone(at + 3)
        }
        ([b'.', b'\n', ..], _) | ([b'.', b'\r', ..], Some(Newline)) => Marker::Mismatched,
        ([b'.', ..], _) => Marker::NotAlone,
        _ => Marker::No,
    }
}
