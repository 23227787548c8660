//! What every feature asks PostgreSQL: the catalogue, and the SQL that several features share. The statements of one
//! feature are in its own module `sql`. [`pgsluice_session`] opens the connections.
//!
//! Own SQL never looks up a name that others may own. Otherwise a user who may create in a schema of
//! the search_path would get the loader's rights.
//!
//! 1. Sessions that run no user's code have a search_path of `pg_catalog` (`connect_for_own`).
//! 2. The others have the user's, so that their functions find what they find under COPY. There every name is
//!    qualified: functions, types, casts, and operators, to which `template` gives short names.
//! 3. Syntax that looks operators up by name is not used there: `IN`, `IS DISTINCT FROM`, `NULLIF`,
//!    `CASE x WHEN`, `USING (x)`, and comparison of rows.
//! 4. SQL that the server has deparsed goes through [`qualified`]. If that does not understand it, it is not
//!    evaluated: the key is left to the server, and the plan says so.

pub(crate) mod bounds;
pub(crate) mod caution;
pub(crate) mod compared;
pub(crate) mod constraint;
pub(crate) mod droppers;
pub(crate) mod exchange;
pub(crate) mod expression;
pub mod introspect;
pub(crate) mod lookup;
pub mod own;
pub mod qualified;
pub(crate) mod question;
pub(crate) mod raw;
pub(crate) mod replica_identity;
pub(crate) mod room;
pub(crate) mod sql;
pub(crate) mod statements;
mod trigger_source;

use tokio_postgres::types::{ToSql, Type};

pub use pgsluice_session::conninfo;
pub(crate) use pgsluice_session::lost::{is_answer, lost};
pub(crate) use pgsluice_session::{connect, runtime, template};

/// The parameters of a question with their types, which then need not be asked of the server: one round trip is saved.
pub(crate) type Parameters<'a> = &'a [(&'a (dyn ToSql + Sync), Type)];
