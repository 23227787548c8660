//! Tests that strike loads at random moments: they kill a load, stop its server, cut its connections, fill
//! the disk, or add bad rows of every kind. In the end each row is there once, where `COPY root` would have
//! put it, or in the reject file.
//!
//! `make test` runs them with few rows, `make violence` often and with many.

mod changed;
mod cut;
mod dirt;
mod dirty;
mod full;
mod killed;
mod room;
mod salvaged;
mod stopped;
