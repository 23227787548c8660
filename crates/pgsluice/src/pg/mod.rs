//! Everything that speaks to PostgreSQL: connections, the catalogue, and all SQL.

pub mod connect;
pub mod conninfo;
mod tls;
