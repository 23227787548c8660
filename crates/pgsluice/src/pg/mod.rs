//! Queries to PostgreSQL that every feature needs: the catalogue, and SQL that several features share. The
//! statements of one feature are in its own module `sql`. [`pgsluice_session`] opens the connections.
//!
//! pgsluice's own SQL never resolves a name that other roles may own. Otherwise a user who may create objects
//! in a schema of the search_path would get the loader's rights.
//!
//! 1. Sessions that run no user code have a search_path of `pg_catalog` (`connect_internal`).
//! 2. All other sessions have the user's search_path, so that the user's functions behave as they do under
//!    COPY. There every name is qualified: functions, types, casts, and operators, for which `template` has
//!    short names.
//! 3. Syntax that resolves operators by name is not used there: `IN`, `IS DISTINCT FROM`, `NULLIF`, `CASE x
//!    WHEN`, `USING (x)`, and comparison of rows.
//! 4. SQL that the server deparsed is passed through [`qualified`]. SQL that it does not understand is not
//!    evaluated: the key is left to the server, and the plan reports that.

pub(crate) mod bounds;
pub(crate) mod compared;
pub(crate) mod constraint;
pub(crate) mod droppers;
pub(crate) mod exchange;
pub(crate) mod expression;
pub mod identity;
pub mod introspect;
pub(crate) mod lookup;
pub mod qualified;
pub(crate) mod question;
pub(crate) mod raw;
pub(crate) mod replica_identity;
pub(crate) mod room;
pub(crate) mod sql;
pub(crate) mod statements;
mod trigger_source;
pub(crate) mod volatility;

use tokio_postgres::types::{ToSql, Type};

pub use pgsluice_session::conninfo;
pub(crate) use pgsluice_session::lost::{is_answer, lost};
pub(crate) use pgsluice_session::{connect, runtime, template};

/// The parameters of a query with their types. This saves the round trip in which the server would infer the
/// types.
pub(crate) type Parameters<'a> = &'a [(&'a (dyn ToSql + Sync), Type)];
