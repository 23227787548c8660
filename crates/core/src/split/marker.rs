//! The end-of-data marker `\.`, behind which an input has no rows.

/// What begins with a backslash.
pub(super) enum Marker {
    /// Something else.
    No,
    /// Followed by a line end or the end of the input; the offset is after it.
    Alone(usize),
    /// The marker, followed by something else.
    NotAlone,
    /// More bytes must tell.
    Unknown,
}

/// Whether the backslash at `at` begins the end-of-data marker.
pub(super) fn end_marker_at(bytes: &[u8], at: usize, last: bool) -> Marker {
    match &bytes[at + 1..] {
        [] | [b'.'] | [b'.', b'\r'] if !last => Marker::Unknown,
        [b'.'] | [b'.', b'\r'] => Marker::Alone(bytes.len()),
        [b'.', b'\r', b'\n', ..] => Marker::Alone(at + 4),
        [b'.', b'\n' | b'\r', ..] => Marker::Alone(at + 3),
        [b'.', ..] => Marker::NotAlone,
        _ => Marker::No,
    }
}
