//! Everything that speaks to PostgreSQL: connections, the catalogue, and all SQL.

mod bounds;
pub mod connect;
pub mod conninfo;
mod failure;
pub mod introspect;
pub(crate) mod sql;
pub(crate) mod sqlstate;
mod tls;
