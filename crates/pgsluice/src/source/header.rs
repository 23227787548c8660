//! What the first row of an input is.

/// COPY's `HEADER` option.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Header {
    /// The first row is data.
    #[default]
    Absent,
    /// The first row is dropped.
    Skip,
    /// The first row must name the columns in order.
    Match,
}
