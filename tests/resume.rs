//! Loads that are begun again: however the runs before have ended, and however they differ from this
//! one, every row is there once, where `COPY root` would have put it.

mod ids;
mod killed;
mod layouts;
mod once;
mod sources;
mod terms;
