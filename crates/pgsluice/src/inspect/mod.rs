//! Commands that load nothing: they show what a load would do, describe a tree and its rows, and check
//! whether routing agrees with the server.

pub(crate) mod guess;
pub(crate) mod hints;
pub mod leaves;
pub mod preview;
pub mod selftest;
pub(crate) mod sql;
pub mod statistics;
pub mod tables;
pub mod tree;
pub mod trial;
pub mod verify;
