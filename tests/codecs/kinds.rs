//! Types that have a codec, each with its spellings.

use super::spell;
use crate::harness::Server;
use crate::spelling::awkward::{self, Spell};
use crate::spelling::{addresses, containers, numbers, times};

/// A column type.
pub(super) struct Kind {
    pub(super) sql: &'static str,
    pub(super) spell: Spell,
    /// The number of settings under which the type is tried.
    pub(super) settings: usize,
    /// The first server version that has the type.
    since: u32,
}

impl Kind {
    pub(super) fn exists(&self, server: Server) -> bool {
        server.major() >= self.since
    }
}

/// Statements that create the test's own types.
pub(super) const TYPES: &str = "
CREATE TYPE mood AS ENUM ('low', 'high', 'very high', 'é', '\"', 'a,b');
CREATE TYPE pair AS (number integer, note text);
CREATE TYPE gone AS (amount numeric(6, 2), dropped text, pair pair, day date, notes varchar(4)[]);
ALTER TYPE gone DROP ATTRIBUTE dropped;
CREATE TYPE textrange AS RANGE (subtype = text, collation = \"C\");
CREATE DOMAIN small AS integer CHECK (VALUE <> 13) NOT NULL;
CREATE DOMAIN smaller AS small CHECK (VALUE < 1000000);
CREATE DOMAIN smalls AS smaller[] CHECK (cardinality(VALUE) < 3);
CREATE DOMAIN brief AS varchar(4) CHECK (VALUE <> 'a');
CREATE DOMAIN paired AS pair CHECK ((VALUE).number > 0);";

/// Returns a type that no setting affects.
const fn plain(sql: &'static str, spell: Spell) -> Kind {
    Kind { sql, spell, settings: 1, since: 13 }
}

/// Returns a type that is tried in all time zones, and with all styles of dates and intervals.
const fn dated(sql: &'static str, spell: Spell) -> Kind {
    Kind { sql, spell, settings: 8, since: 13 }
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
    plain("boolean", awkward::boolean),
    plain("real", numbers::decimal),
    plain("double precision", numbers::decimal),
    plain("oid", awkward::integer),
    plain("pg_lsn", numbers::lsn),
    plain("money", spell::money),
    plain("\"char\"", awkward::string),
    plain("name", addresses::long_string),
    plain("mood", spell::enumerated),
    plain("json", containers::jsonb),
    plain("jsonb", containers::jsonb),
    plain("xml", spell::xml),
    plain("bytea", addresses::bytes),
    plain("bit", spell::bits),
    plain("bit(8)", spell::bits),
    plain("bit varying", spell::bits),
    plain("bit varying(8)", spell::bits),
    plain("uuid", awkward::uuid),
    plain("macaddr", addresses::hardware),
    plain("macaddr8", addresses::hardware),
    plain("inet", addresses::network),
    plain("cidr", addresses::network),
    dated("date", awkward::date),
    dated("time", times::time),
    dated("time(0)", times::time),
    dated("timetz", times::timetz),
    dated("timetz(3)", times::timetz),
    dated("interval", times::interval),
    dated("interval(0)", times::interval),
    dated("interval(4)", times::interval),
    dated("timestamp", awkward::timestamp),
    dated("timestamp(0)", awkward::timestamp),
    dated("timestamp(3)", awkward::timestamp),
    dated("timestamptz", awkward::timestamp),
    dated("timestamptz(2)", awkward::timestamp),
    plain("point", spell::point),
    plain("line", spell::line),
    plain("lseg", spell::lseg),
    plain("box", spell::corners),
    plain("path", spell::path),
    plain("polygon", spell::polygon),
    plain("circle", spell::circle),
    plain("int4range", containers::integer_range),
    plain("int8range", containers::integer_range),
    plain("numrange", containers::decimal_range),
    dated("daterange", containers::date_range),
    dated("tsrange", containers::timestamp_range),
    dated("tstzrange", containers::timestamp_range),
    plain("textrange", spell::string_range),
    since(14, plain("int4multirange", spell::integer_multirange)),
    since(14, dated("tstzmultirange", spell::timestamp_multirange)),
    plain("integer[]", containers::integers),
    plain("text[]", containers::strings),
    plain("varchar(4)[]", containers::strings),
    plain("character(4)[]", containers::strings),
    plain("numeric[]", containers::decimals),
    plain("numeric(6,2)[]", containers::decimals),
    dated("timestamp(3)[]", containers::timestamps),
    dated("date[]", spell::dates),
    plain("uuid[]", spell::uuids),
    plain("inet[]", spell::networks),
    plain("bytea[]", spell::byteas),
    plain("jsonb[]", containers::jsonbs),
    plain("int4range[]", containers::integer_ranges),
    plain("mood[]", spell::enumerateds),
    plain("bit(8)[]", spell::bitses),
    plain("point[]", spell::points_apart),
    plain("box[]", spell::boxes),
    plain("pair", spell::pair),
    dated("gone", spell::composite),
    dated("gone[]", spell::composites),
    plain("small", awkward::integer),
    plain("smaller", awkward::integer),
    plain("brief", awkward::string),
    plain("smalls", containers::integers),
    plain("smaller[]", containers::integers),
    plain("paired", spell::pair),
];
