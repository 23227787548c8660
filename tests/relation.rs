//! A table as input. A load stores the same rows as COPY and INSERT, from any server, for all kinds of tables and types
//! of columns, and while other sessions change the table.

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
