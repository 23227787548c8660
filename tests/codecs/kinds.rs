//! Types that have a codec, each with its spellings.

use crate::server::Server;
use crate::spelling::awkward::{self, Spell};
use crate::spelling::numbers;

/// A type of a column.
pub(super) struct Kind {
    pub(super) sql: &'static str,
    pub(super) spell: Spell,
    /// Under how many of the settings it is tried.
    pub(super) settings: usize,
    /// The first version that has it.
    since: u32,
}

impl Kind {
    pub(super) fn exists(&self, server: Server) -> bool {
        server.major() >= self.since
    }
}

/// The types of our own.
pub(super) const TYPES: &str = "
CREATE TYPE mood AS ENUM ('low', 'high');";

/// A type that no setting matters to.
const fn plain(sql: &'static str, spell: Spell) -> Kind {
    Kind { sql, spell, settings: 1, since: 13 }
}

/// A type that is tried under all settings of dates.
const fn dated(sql: &'static str, spell: Spell) -> Kind {
    Kind { sql, spell, settings: 20, since: 13 }
}

const fn since(since: u32, kind: Kind) -> Kind {
    Kind { since, ..kind }
}

pub(super) const KINDS: &[Kind] = &[
    plain("smallint", awkward::integer),
    plain("integer", awkward::integer),
    plain("bigint", awkward::integer),
    plain("numeric", numbers::decimal),
    plain("numeric(15,2)", numbers::decimal),
    plain("numeric(4)", numbers::decimal),
    plain("numeric(38,20)", numbers::decimal),
    since(15, plain("numeric(3,-2)", numbers::decimal)),
    since(15, plain("numeric(3,5)", numbers::decimal)),
    plain("text", awkward::string),
    plain("varchar", awkward::string),
    plain("varchar(4)", awkward::string),
    plain("bpchar", awkward::string),
    plain("character(1)", awkward::string),
    plain("character(12)", awkward::string),
    plain("uuid", awkward::uuid),
    dated("date", awkward::date),
    dated("timestamp", awkward::timestamp),
    dated("timestamp(0)", awkward::timestamp),
    dated("timestamp(3)", awkward::timestamp),
    dated("timestamptz", awkward::timestamp),
    dated("timestamptz(2)", awkward::timestamp),
];
