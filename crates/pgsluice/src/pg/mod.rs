//! Everything that speaks to PostgreSQL: connections, the catalogue, and all SQL.

pub mod conninfo;
