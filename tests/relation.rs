//! A table as a source: a load copies its rows as COPY and INSERT do, from any server, kind of table and type of column,
//! and while others change the table.

mod case;
mod filter;
mod keys;
mod kinds;
mod lost;
mod meanwhile;
mod options;
mod pooled;
mod random;
mod refused;
mod rejected;
mod resumed;
mod settings;
mod types;
