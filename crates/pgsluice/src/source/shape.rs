//! Shape: how the rows of all inputs of a load are read.

use pgsluice_core::format::Format;
use pgsluice_core::parse::Projection;

use super::Header;

/// How the rows of all inputs of a load are read.
#[derive(Clone, Debug)]
pub struct Shape {
    /// How they are written.
    pub format: Format,
    /// What the first ones are.
    pub header: Header,
    /// What a header that is compared must say, and so the names of all fields.
    pub names: Vec<String>,
    /// Which fields are kept, if not all are.
    pub projection: Option<Projection>,
}

impl Shape {
    /// What is kept of a row.
    pub(crate) fn kept_of(&self, row: Vec<u8>) -> Vec<u8> {
        let Some(projection) = &self.projection else { return row };
        let mut kept = Vec::new();
        projection.project(&row, &mut kept);
        kept
    }
}
