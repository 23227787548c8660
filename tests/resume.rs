//! Loads that are started again: however the previous runs ended and whatever options differ, every row is
//! there once, where `COPY root` would have put it.

mod ids;
mod killed;
mod layouts;
mod once;
mod sources;
mod terms;
