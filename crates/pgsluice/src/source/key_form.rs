//! The form of keys for the router.

/// The form in which the router reads the keys of rows that are encoded as their input is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum KeyForm {
    /// Text, which is written besides.
    Text,
    /// The encoded row.
    Binary,
}
