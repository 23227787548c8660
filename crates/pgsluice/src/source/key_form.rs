//! The form in which the router reads keys.

/// The form in which the router reads the keys of rows that are encoded as their input is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum KeyForm {
    /// Text, written in addition to the encoded row.
    Text,
    /// The encoded row.
    Binary,
}
