//! A share of a load: the rows that one task of a cluster loads, all or none.

/// The rows of one participant of a load. They are committed in one transaction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ShareOptions {
    /// The name of the share within its load.
    pub participant: String,
    /// The number of participants of the load, if it is known in advance.
    pub of: Option<u32>,
}
