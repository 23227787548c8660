//! Proof by violence: loads that are killed, whose server is stopped, whose connection is cut, that
//! find no room or rows of every bad kind, at moments that chance picks. However they fare, in the end
//! each row is there once, where `COPY root` would have put it, or in the reject file.
//!
//! `make test` does it with few rows, `make violence` as often and as large as it takes to believe it.

mod changed;
mod cut;
mod dirt;
mod dirty;
mod full;
mod killed;
mod room;
mod salvaged;
mod stopped;
