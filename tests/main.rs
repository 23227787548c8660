//! The one integration binary: one program to link, each module one subject.
//!
//! Servers come from the environment, as `scripts/with_servers.sh` sets it: `PGSLUICE_TEST_MAJORS`
//! names the major versions to try, `PGSLUICE_TEST_URL_15` and so on are throw-away clusters,
//! `PGSLUICE_TEST_BIN_15` and so on their programs.

#![allow(clippy::unwrap_used)] // a test that fails panics

mod atomic;
mod by_name;
mod changes;
mod chaos;
mod claims;
mod codecs;
mod command_line;
mod compressed;
mod conflicts;
mod connect;
mod ddl;
mod docs;
mod edges;
mod embedded;
mod encodings;
mod exchange;
mod expressions;
mod failover;
mod failures;
mod fields;
mod first;
mod formats;
mod harness;
mod headers;
mod json;
mod lanes;
mod late_names;
mod ledger;
mod library;
mod liveness;
mod locks;
mod markdown;
mod memory;
mod mistakes;
mod moving;
mod names;
mod ndjson;
mod oracle;
mod partitions;
mod passwords;
mod policy;
mod pooler;
mod psql_options;
mod qualified;
mod random;
mod reconcile;
mod rejects;
mod relation;
mod resume;
mod retry;
mod rooms;
mod round_trips;
mod rules;
mod selftest;
mod shadows;
mod shared;
mod shares;
mod signals;
mod sorting;
mod spelling;
mod verify;
mod violence;
mod waiting;
