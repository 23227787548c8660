//! A table as a source: its rows are loaded as COPY or INSERT would copy them, wherever the table is, whatever its kind
//! and its types, and whatever happens to it meanwhile.

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
