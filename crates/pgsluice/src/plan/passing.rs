//! Checks whether rows of a table can be passed on in the binary form in which the source copies them out.
//!
//! Each column must have the same type on both sides, and the type's receive function must return the value that its
//! input function would return for the text. The receive function also applies the type modifier. All other rows are
//! read as text, as `COPY TO` and `COPY FROM` would move them.

use pgsluice_core::catalog::label;
use tokio_postgres::types::Type;

use crate::job::Job;
use crate::pg::introspect::Catalogue;
use crate::source::SourceColumn;

/// The first OID that is not reserved for the system: `FirstNormalObjectId` in `src/include/access/transam.h`.
const FIRST_OF_USERS: u32 = 16_384;

/// The first version with infinite intervals. Older versions read the bytes of one as a very long interval.
const FIRST_INFINITE: u32 = 170_000;

/// Types whose binary form is the text.
const TEXTS: [u32; 3] = [25, 1042, 1043];

/// Returns the reason why the rows of a table are read as text, if the input is a table and they must be.
pub(super) fn obstacle(job: &Job, catalogue: &Catalogue) -> Option<String> {
    let table = job.input.files.table()?;
    if job.changes.is_any() {
        return Some("rows are compared by their text".to_owned());
    }
    let fields = catalogue.input_fields.as_ref()?;
    fields.names.iter().zip(&fields.columns).find_map(|(name, column)| {
        let source = table.columns().iter().find(|source| source.name == *name)?;
        let place = catalogue.columns.iter().position(|known| known == column)?;
        let column_type = &catalogue.typed_columns.get(place)?.ty;
        let reason = differs(source, catalogue.types[place], [table.version(), catalogue.version])?;
        let (name, here, there) = (label(name), &column_type.name, &source.spelled);
        Some(match reason {
            ColumnDifference::Types => {
                format!("column {name} is {there} in the source, but {here} in the target")
            }
            ColumnDifference::Bytes => {
                format!(
                    "the binary form of column {name}, of type {there}, may differ in the target"
                )
            }
        })
    })
}

/// The difference between two columns.
enum ColumnDifference {
    /// The types differ.
    Types,
    /// The types are equal, but the bytes of a value may have different meanings.
    Bytes,
}

fn differs(source: &SourceColumn, target: u32, versions: [u32; 2]) -> Option<ColumnDifference> {
    let are_texts = [source.ty, target].iter().all(|ty| TEXTS.contains(ty));
    if source.ty != target && !are_texts {
        return Some(ColumnDifference::Types);
    }
    let is_interval = [Type::INTERVAL, Type::INTERVAL_ARRAY].iter().any(|ty| ty.oid() == target);
    let [from, to] = versions.map(|version| version >= FIRST_INFINITE);
    let depends = [Type::MONEY, Type::MONEY_ARRAY, Type::XML, Type::XML_ARRAY];
    let is_doubtful = target >= FIRST_OF_USERS
        || depends.iter().any(|ty| ty.oid() == target)
        || is_interval && from && !to;
    is_doubtful.then_some(ColumnDifference::Bytes)
}
