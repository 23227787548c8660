//! The integration tests, as one binary that is linked once. Each module has one subject.
//!
//! `scripts/with_servers.sh` describes the servers in the environment: `PGSLUICE_TEST_MAJORS` lists the major
//! versions to test, `PGSLUICE_TEST_URL_15` and so on are the URLs of disposable clusters, and
//! `PGSLUICE_TEST_BIN_15` and so on the directories of their programs.

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
mod objects;
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
mod reports;
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
