//! A lookup that finds no objects, for a program that is built without them.

use super::stored::Found;
use crate::error::{Error, Result};

/// Finds no objects.
#[derive(Default)]
pub(super) struct Lookup;

impl Lookup {
    /// Returns `None`: no name is the address of an object.
    pub(super) fn find(&mut self, _: &str) -> Option<Result<Found>> {
        None
    }
}

/// Returns `None`: no error is about an object.
pub(super) fn cannot_read(_: &str, _: &std::io::Error) -> Option<Error> {
    None
}
