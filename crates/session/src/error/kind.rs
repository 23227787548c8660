//! The kinds of failure, apart from [`crate::Error`] because the classification of SQLSTATEs, below it, needs
//! them.

/// The kind of a failure; the command line turns it into an exit status.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// The caller asked for something that makes no sense.
    Usage,
    /// An input cannot be opened or read.
    Input,
    /// A row is malformed, or PostgreSQL refuses it.
    Data,
    /// The server cannot be reached, refuses the login, or went away.
    Connection,
    /// The server refused a statement for a reason other than a row.
    Server,
    /// The load's own figures contradict one another.
    Internal,
    /// The user asked to stop.
    Interrupted,
}
