//! A share of a load: what one task of a cluster loads, as a whole.

/// The rows of one participant of a load. They are committed in one transaction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ShareOptions {
    /// Names the share within its load.
    pub participant: String,
    /// The number of participants of the load, if it is known before all of them have come.
    pub of: Option<u32>,
}
