//! Sources of bytes: files, directories, glob patterns and standard input, possibly compressed or in another
//! encoding.

pub(crate) mod interruptible;
pub(crate) mod key_form;
pub(crate) mod reading;
pub(crate) mod splits;
pub(crate) mod starts;

mod ahead;
mod batches;
mod by_name;
mod compression;
mod encoding;
mod excel;
mod extra;
mod file_format;
mod fingerprint;
mod foreign;
mod guard;
mod gzip;
mod header;
mod headers;
mod inputs;
mod names;
mod open;
mod original;
mod parallel;
mod reader;
mod relation;
pub(crate) mod rewrite;
pub(crate) mod rewritten;
pub(crate) mod row_form;
mod shape;
mod shorten;
mod split;
mod spool;
mod sql;
mod stamp;
mod stream;
#[cfg(feature = "arrow")]
pub(crate) mod typed;
#[cfg(not(feature = "arrow"))]
#[path = "typed/absent.rs"]
pub(crate) mod typed;

pub(crate) use batches::KeyText;
pub use by_name::ByName;
pub(crate) use by_name::MatchedFields;
pub use compression::strip_compression;
pub use encoding::Encoding;
pub(crate) use excel::excel_delimiter;
pub(crate) use extra::Extra;
pub use extra::ExtraNames;
pub use file_format::FileFormat;
pub(crate) use fingerprint::{Fingerprint, StreamFacts, changed, differs};
pub use header::Header;
pub(crate) use inputs::OPENING;
#[cfg(feature = "parquet")]
use inputs::Pieces;
#[cfg(feature = "arrow")]
use inputs::ReadSeek;
pub use inputs::{Input, Inputs};
use inputs::{Object, Stored};
pub(crate) use names::InputNames;
#[cfg(feature = "objects")]
pub use pgsluice_objects::{Credential, Provide};
pub use reader::Reader;
pub use relation::Relation;
pub(crate) use relation::{Copied, OpenRelation, Snapshots, SourceColumn};
pub use shape::Shape;
pub(crate) use shorten::shorten_list;
pub use split::Split;
pub use stream::Stream;
