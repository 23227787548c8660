//! The integration tests, one binary. Servers come from the environment: `PGSLUICE_TEST_URL_15` and
//! `_18` are throw-away clusters, `PGSLUICE_TEST_BIN_15` holds binaries to start a private one
//! with.

// A test is allowed to panic, its set-up too.
#![allow(clippy::unwrap_used)]

mod connect;
