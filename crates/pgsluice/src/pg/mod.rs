//! Everything that speaks to PostgreSQL: connections, the catalogue, and all SQL.

pub(crate) mod caution;
pub(crate) mod runtime;

pub(crate) mod audit;
pub(crate) mod bounds;
pub mod connect;
pub mod conninfo;
pub(crate) mod constraint;
pub(crate) mod droppers;
pub(crate) mod exchange;
pub(crate) mod expression;
mod failure;
pub mod introspect;
pub(crate) mod lag;
pub(crate) mod ledger;
pub(crate) mod lock_wait;
mod lost;
pub mod qualified;
pub(crate) mod question;
pub(crate) mod raw;
pub(crate) mod room;
pub(crate) mod sql;
pub(crate) mod steps;
mod tls;
pub(crate) mod two_phase;

pub(crate) use lost::{is_answer, lost};
