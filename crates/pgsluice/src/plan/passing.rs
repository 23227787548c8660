//! Whether the rows of a table go into another one as its server copies them out in binary.
//!
//! That needs a type on both sides whose receive function makes of the bytes what its input function would make of the
//! text. The modifier is applied by the receive function. Everything else goes as text, as `COPY TO` and `COPY FROM` do it.

use pgsluice_core::catalog::label;
use tokio_postgres::types::Type;

use crate::job::Job;
use crate::pg::introspect::Catalogue;
use crate::source::SourceColumn;

/// The first object id that the system does not use itself: `FirstNormalObjectId` in `src/include/access/transam.h`.
const FIRST_OF_USERS: u32 = 16_384;

/// The first version whose intervals can be infinite: older ones take the bytes of one for a very long time.
const FIRST_INFINITE: u32 = 170_000;

/// Types whose bytes are the text.
const TEXTS: [u32; 3] = [25, 1042, 1043];

/// Why the rows of a table are read as text, if the table is what is read and they are.
pub(super) fn obstacle(job: &Job, catalogue: &Catalogue) -> Option<String> {
    let table = job.input.files.table()?;
    if job.changes.is_any() {
        return Some("rows are compared with others by their text".to_owned());
    }
    let led = catalogue.led.as_ref()?;
    let columns = led.names.iter().zip(led.columns.iter());
    columns.into_iter().find_map(|(name, column)| {
        let source = table.columns().iter().find(|source| source.name == *name)?;
        let place = catalogue.columns.iter().position(|known| known == column)?;
        let made = &catalogue.made.get(place)?.ty;
        let reason = differs(source, catalogue.types[place], [table.version(), catalogue.version])?;
        let (name, here, there) = (label(name), &made.name, &source.spelled);
        Some(match reason {
            Differs::Types => format!("column {name} is {there} there, but {here} here"),
            Differs::Bytes => {
                format!("the bytes of a value of column {name}, of type {there}, are not proven")
            }
        })
    })
}

/// How two columns differ.
enum Differs {
    Types,
    /// They are equal, but not in what the bytes of a value mean.
    Bytes,
}

fn differs(source: &SourceColumn, target: u32, versions: [u32; 2]) -> Option<Differs> {
    let are_texts = [source.ty, target].iter().all(|ty| TEXTS.contains(ty));
    if source.ty != target && !are_texts {
        return Some(Differs::Types);
    }
    let is_interval = [Type::INTERVAL, Type::INTERVAL_ARRAY].iter().any(|ty| ty.oid() == target);
    let [from, to] = versions.map(|version| version >= FIRST_INFINITE);
    let depends = [Type::MONEY, Type::MONEY_ARRAY, Type::XML, Type::XML_ARRAY];
    let is_doubtful = target >= FIRST_OF_USERS
        || depends.iter().any(|ty| ty.oid() == target)
        || is_interval && from && !to;
    is_doubtful.then_some(Differs::Bytes)
}
