//! Arrow's canonical extension types that add meaning to their storage type.

use arrow_schema::Field;

/// The extension type of a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Extension {
    /// No extension type that matters here.
    None,
    /// Strings that contain JSON.
    Json,
    /// Identifiers of sixteen bytes.
    Uuid,
    /// Bytes that represent booleans.
    Bool8,
}

impl Extension {
    pub(crate) fn from_field(field: &Field) -> Self {
        match field.extension_type_name() {
            Some("arrow.json") => Self::Json,
            Some("arrow.uuid") => Self::Uuid,
            Some("arrow.bool8") => Self::Bool8,
            _ => Self::None,
        }
    }

    /// Rejects an extension type that may give its values another meaning than their storage type does.
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

/// Extension types that do not change the meaning of the values.
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

/// Prefixes of such names: BigQuery records the SQL type of a column.
const FAMILIES: [&str; 1] = ["google:sqlType:"];
