//! Shared infrastructure of the tests: servers, databases and roles, the program as a process, proxies and
//! poolers between the two, and the comparison of results with COPY.
//!
//! It contains no tests, so that the tests themselves stay readable.

mod address;
mod bench;
mod chance;
mod clean;
mod command;
mod copy_options;
mod each;
mod ended;
mod files;
mod hold;
mod loader;
mod ordeal;
mod place;
mod placement;
mod pool;
mod program;
mod proxy;
mod role;
mod server;
mod session;
mod size;
pub(crate) mod trees;
mod twins;
mod wait;

pub(crate) use self::address::{Address, free_port, with_database};
pub(crate) use self::bench::{Bench, rows};
pub(crate) use self::chance::Chance;
pub(crate) use self::clean::Clean;
pub(crate) use self::command::run;
pub(crate) use self::copy_options::{CopyOptions, identifier, literal};
pub(crate) use self::each::{on_each_server, say, skip};
pub(crate) use self::ended::Ended;
pub(crate) use self::files::{FORMATS, write};
pub(crate) use self::hold::Hold;
pub(crate) use self::loader::{Lanes, Load, Outcome, Summary};
pub(crate) use self::ordeal::{Blow, Ordeal, Subject, grouped, kill};
pub(crate) use self::place::{Place, stderr, url_of};
pub(crate) use self::placement::Placement;
pub(crate) use self::pool::Pool;
pub(crate) use self::program::{Running, program};
pub(crate) use self::proxy::{Mode, Proxy};
pub(crate) use self::role::Role;
pub(crate) use self::server::{Scratch, Server};
pub(crate) use self::session::{Cell, Session, explain};
pub(crate) use self::size::size;
pub(crate) use self::twins::{MONTHS, Twins, hashed, inputs, plain};
pub(crate) use self::wait::{PATIENCE, WAITS, wait_until, wait_within};
