//! The canonical extension types of Arrow that say more than the type below them.

use arrow_schema::Field;

/// What a field says that its values are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Extension {
    /// Nothing that matters here.
    None,
    /// Strings that are JSON texts.
    Json,
    /// Sixteen bytes each that are an identifier.
    Uuid,
    /// Bytes that are booleans.
    Bool8,
}

impl Extension {
    pub(crate) fn of(field: &Field) -> Self {
        match field.extension_type_name() {
            Some("arrow.json") => Self::Json,
            Some("arrow.uuid") => Self::Uuid,
            Some("arrow.bool8") => Self::Bool8,
            _ => Self::None,
        }
    }
}
