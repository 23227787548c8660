//! The end-of-data marker `\.`, after which an input has no rows.

use super::LineEnd::{self, Newline, Return, ReturnNewline};

/// The meaning of a backslash that may begin a marker.
pub(super) enum Marker {
    /// Not a marker.
    No,
    /// A marker followed by a line end; the offset is after the line end.
    Ended(usize),
    /// A marker followed by a line end of another kind than the others.
    Mismatched,
    /// A marker followed by the end of the input.
    Unended,
    /// A marker followed by something else.
    Followed,
    /// Undecided until more bytes arrive.
    Unknown,
}

/// Checks whether the backslash at `at` begins the end-of-data marker, given how lines end.
pub(super) fn end_marker_at(
    bytes: &[u8],
    at: usize,
    last: bool,
    line_end: Option<LineEnd>,
) -> Marker {
    match (&bytes[at + 1..], line_end) {
        ([] | [b'.'], _) | ([b'.', b'\r'], None | Some(ReturnNewline)) if !last => Marker::Unknown,
        ([b'.'], _) | ([b'.', b'\r'], Some(ReturnNewline)) => Marker::Unended,
        ([b'.', b'\r', b'\n', ..], None | Some(ReturnNewline)) => Marker::Ended(at + 4),
        ([b'.', b'\n', ..], None | Some(Newline)) | ([b'.', b'\r', ..], None | Some(Return)) => {
            Marker::Ended(at + 3)
        }
        ([b'.', b'\n', ..], _) | ([b'.', b'\r', ..], Some(Newline)) => Marker::Mismatched,
        ([b'.', ..], _) => Marker::Followed,
        _ => Marker::No,
    }
}
