//! Commands that look and load nothing: what a load would do, what a tree and its rows are, whether routing agrees with the server.

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
