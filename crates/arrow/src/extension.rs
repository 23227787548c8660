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

    /// Refuses an extension type whose values may mean something else than the type that stores them.
    pub(crate) fn check(field: &Field) -> Result<(), String> {
        let Some(name) = field.extension_type_name() else { return Ok(()) };
        if KNOWN.contains(&name) || FAMILIES.iter().any(|family| name.starts_with(family)) {
            return Ok(());
        }
        Err(format!(
            "extension type {name} is not supported, and its values may differ from the values of \
             its storage type: cast it in the code that produces the rows, for example to strings"
        ))
    }
}

/// Extension types that give the type below them no other meaning.
const KNOWN: [&str; 8] = [
    "arrow.fixed_shape_tensor",
    "arrow.json",
    "arrow.uuid",
    "arrow.bool8",
    "geoarrow.wkb",
    "geoarrow.wkt",
    "ogc.wkb",
    "ogc.wkt",
];

/// Beginnings of such names: BigQuery says the type of a column in SQL.
const FAMILIES: [&str; 1] = ["google:sqlType:"];
