//! The proof that nothing is reinterpreted: tens of thousands of awkward spellings of each key type go to a
//! live server. A spelling that the client reads itself must have the value that the server's own input
//! function returns, under every DateStyle and several time zones.
//!
//! It is separate from the vectors in crates/core because it needs a server and searches for unforeseen
//! cases. The spellings are the same in each run; `awkward` generates them.

pub(crate) mod addresses;
pub(crate) mod awkward;
pub(crate) mod containers;
pub(crate) mod numbers;
pub(crate) mod times;

use awkward::{Random, Spell};
use pgsluice_core::types::{KeyType, OwnedDatum, Scale};
use tokio::runtime::Builder;
use tokio_postgres::{Client, NoTls};

use crate::harness::{Server, on_each_server};

const SPELLINGS: usize = 50_000;
const DATE_STYLES: [&str; 4] = ["ISO, MDY", "German", "SQL, DMY", "Postgres, YMD"];
const INTERVAL_STYLES: [&str; 4] = ["postgres", "postgres_verbose", "sql_standard", "iso_8601"];
const ABBREVIATIONS: [&str; 3] = ["Default", "Australia", "India"];

/// Time zones. Fixed ones have their offset in seconds east of UTC.
const ZONES: [(&str, Option<i32>); 5] = [
    ("UTC", Some(0)),
    ("<+0530>-05:30", Some(19_800)),
    ("Etc/GMT+12", Some(-43_200)),
    ("Europe/Berlin", None),
    ("America/St_Johns", None),
];

/// A type with its input and send functions, and its key types with the server's type modifiers.
struct Family {
    /// The expression for a value of `spelling`, and of `modifier` if there are several types.
    input: String,
    send: &'static str,
    spell: Spell,
    types: Vec<(KeyType, i32)>,
}

on_each_server!([native_values_equal_those_of_the_server,]);

fn native_values_equal_those_of_the_server(server: Server) {
    let runtime = Builder::new_current_thread().enable_all().build().expect("a runtime");
    runtime.block_on(sweep(server));
}

async fn sweep(server: Server) {
    let (client, connection) =
        tokio_postgres::connect(&server.url(), NoTls).await.expect("no server");
    let connection = tokio::spawn(connection);
    let mut random = Random::new(20);
    for family in families() {
        create_reader(&client, &family).await;
        let native = sweep_family(&client, server, &family, &mut random).await;
        eprintln!("{}: {native} of {SPELLINGS} spellings read natively", family.input);
        // With fewer, this test would prove little.
        assert!(native > SPELLINGS / 20, "{}: only {native} read natively", family.input);
    }
    drop(client);
    connection.await.expect("connection task").expect("connection");
}

/// Returns how many of the spellings, distributed over all settings, were read natively.
async fn sweep_family(
    client: &Client,
    server: Server,
    family: &Family,
    random: &mut Random,
) -> usize {
    let settings = DATE_STYLES.len() * ZONES.len();
    let mut native = 0;
    for n in 0..settings {
        let zone = set_session(client, n).await;
        for (key_type, modifier) in family.types.iter().filter(|(ty, _)| exists(ty, server)) {
            let count = SPELLINGS.div_ceil(settings * family.types.len());
            let spellings: Vec<String> = (0..count).map(|_| (family.spell)(random)).collect();
            let answers = ask(client, &spellings, *modifier).await;
            let key_type = in_zone(key_type.clone(), zone);
            native += compare(&key_type, server, &spellings, &answers);
        }
    }
    native
}

/// Whether the server has this type. Before 15, the scale of a numeric was between 0 and its precision.
fn exists(key_type: &KeyType, server: Server) -> bool {
    match key_type {
        KeyType::Numeric { scale: Some(Scale { precision, scale }) } => {
            server.major() >= 15 || (0..=*precision).contains(scale)
        }
        _ => true,
    }
}

/// Whether the server refuses the spelling. Before 14, a numeric had no infinities, so such a row is refused
/// by every table.
fn is_refused(key_type: &KeyType, server: Server, spelling: &str) -> bool {
    let of = match key_type {
        KeyType::Array(of) | KeyType::Range(of) => of,
        other => other,
    };
    let is_numeric = matches!(of, KeyType::Numeric { .. });
    let letters: String = spelling.chars().filter(|letter| letter.is_alphabetic()).collect();
    server.major() < 14 && is_numeric && letters.to_lowercase().contains("inf")
}

fn compare(
    key_type: &KeyType,
    server: Server,
    spellings: &[String],
    answers: &[Option<Vec<u8>>],
) -> usize {
    assert_eq!(spellings.len(), answers.len());
    let mut native = 0;
    let mut scratch = Vec::new();
    for (spelling, answer) in spellings.iter().zip(answers) {
        if answer.is_none() && is_refused(key_type, server, spelling) {
            continue;
        }
        if let Some(datum) = key_type.parse(spelling.as_bytes(), &mut scratch) {
            let server = answer.as_ref().and_then(|binary| key_type.from_binary(binary));
            assert_eq!(
                Some(datum),
                server.as_ref().map(OwnedDatum::as_datum),
                "{key_type:?} {spelling:?}"
            );
            native += 1;
        }
    }
    native
}

async fn set_session(client: &Client, n: usize) -> Option<i32> {
    client.batch_execute(&settings(n)).await.expect("settings");
    ZONES[n % ZONES.len()].1
}

/// Returns the session settings that decide how values are read, in all combinations.
pub(crate) fn settings(n: usize) -> String {
    let (zone, _) = ZONES[n % ZONES.len()];
    format!(
        "SET TimeZone = '{zone}'; SET DateStyle = '{}'; SET IntervalStyle = '{}'; \
         SET timezone_abbreviations = '{}'",
        DATE_STYLES[n % DATE_STYLES.len()],
        INTERVAL_STYLES[n / 2 % INTERVAL_STYLES.len()],
        ABBREVIATIONS[n % ABBREVIATIONS.len()],
    )
}

fn in_zone(key_type: KeyType, zone: Option<i32>) -> KeyType {
    match key_type {
        KeyType::Timetz { precision, .. } => KeyType::Timetz { precision, zone },
        KeyType::Timestamptz { precision, .. } => KeyType::Timestamptz { precision, zone },
        KeyType::Range(subtype) => KeyType::Range(in_zone(*subtype, zone).into()),
        other => other,
    }
}

/// Creates a function that returns the binary form of a spelling, or null if the server refuses it.
async fn create_reader(client: &Client, family: &Family) {
    let Family { input, send, .. } = family;
    let create = format!(
        "CREATE OR REPLACE FUNCTION pg_temp.read(spelling text, modifier int) RETURNS bytea
         LANGUAGE plpgsql AS $$ BEGIN RETURN {send}({input});
         EXCEPTION WHEN data_exception THEN RETURN NULL; END $$"
    );
    client.batch_execute(&create).await.expect("reader");
}

async fn ask(client: &Client, spellings: &[String], modifier: i32) -> Vec<Option<Vec<u8>>> {
    let query = "SELECT pg_temp.read(spelling, $2)
                 FROM unnest($1::text[]) WITH ORDINALITY AS u (spelling, n) ORDER BY n";
    let rows = client.query(query, &[&spellings, &modifier]).await.expect("answers");
    rows.iter().map(|row| row.get(0)).collect()
}

/// Whether the spellings of this type are tried.
pub(crate) fn tries(key_type: &KeyType) -> bool {
    let wanted = in_zone(key_type.clone(), None);
    families().iter().flat_map(|family| &family.types).any(|(tried, _)| *tried == wanted)
}

fn families() -> Vec<Family> {
    let mut families = scalars();
    families.extend(containers());
    families
}

/// Returns the types with their input and send functions. An input function with a modifier takes two
/// additional arguments.
fn scalars() -> Vec<Family> {
    let lengths = [None, Some(1), Some(4), Some(12)];
    let family = |input, send, spell: Spell, types: Vec<_>| {
        let modifier = if types.len() > 1 { ", 0, modifier" } else { "" };
        Family { input: format!("{input}(textout(spelling){modifier})"), send, spell, types }
    };
    let plain = |input, send, spell, key_type| family(input, send, spell, vec![(key_type, -1)]);
    let varchars = lengths.map(|max| (KeyType::Varchar { max }, length_modifier(max))).into();
    let bpchars = lengths.map(|max| (KeyType::Bpchar { max }, length_modifier(max))).into();
    let timestamps = precisions(|precision| KeyType::Timestamp { precision });
    let timestamptzs = precisions(|precision| KeyType::Timestamptz { precision, zone: None });
    let times = precisions(|precision| KeyType::Time { precision });
    let timetzs = precisions(|precision| KeyType::Timetz { precision, zone: None });
    vec![
        plain("boolin", "boolsend", awkward::boolean, KeyType::Bool),
        plain("int2in", "int2send", awkward::integer, KeyType::Int2),
        plain("int4in", "int4send", awkward::integer, KeyType::Int4),
        plain("int8in", "int8send", awkward::integer, KeyType::Int8),
        family("numeric_in", "numeric_send", numbers::decimal, numerics()),
        plain("float4in", "float4send", numbers::decimal, KeyType::Float4),
        plain("float8in", "float8send", numbers::decimal, KeyType::Float8),
        plain("oidin", "oidsend", awkward::integer, KeyType::Oid),
        plain("pg_lsn_in", "pg_lsn_send", numbers::lsn, KeyType::PgLsn),
        plain("charin", "charsend", awkward::string, KeyType::Char),
        plain("namein", "namesend", addresses::long_string, KeyType::Name),
        plain("byteain", "byteasend", addresses::bytes, KeyType::Bytea),
        plain("textin", "textsend", awkward::string, KeyType::Text),
        family("varcharin", "varcharsend", awkward::string, varchars),
        family("bpcharin", "bpcharsend", awkward::string, bpchars),
        plain("uuid_in", "uuid_send", awkward::uuid, KeyType::Uuid),
        plain("macaddr_in", "macaddr_send", addresses::hardware, KeyType::Macaddr),
        plain("macaddr8_in", "macaddr8_send", addresses::hardware, KeyType::Macaddr8),
        plain("inet_in", "inet_send", addresses::network, KeyType::Inet),
        plain("cidr_in", "cidr_send", addresses::network, KeyType::Cidr),
        plain("date_in", "date_send", awkward::date, KeyType::Date),
        family("time_in", "time_send", times::time, times),
        family("timetz_in", "timetz_send", times::timetz, timetzs),
        family("interval_in", "interval_send", times::interval, intervals()),
        family("timestamp_in", "timestamp_send", awkward::timestamp, timestamps),
        family("timestamptz_in", "timestamptz_send", awkward::timestamp, timestamptzs),
    ]
}

/// Returns the types with a cast, because a function of polymorphic types cannot be called directly.
fn containers() -> Vec<Family> {
    let family = |name, send, spell: Spell, key_type| Family {
        input: format!("spelling::{name}"),
        send,
        spell,
        types: vec![(key_type, -1)],
    };
    let array = |name, spell, element: &KeyType| {
        family(name, "array_send", spell, KeyType::Array(element.clone().into()))
    };
    let range = |name, spell, subtype: KeyType| {
        family(name, "range_send", spell, KeyType::Range(subtype.into()))
    };
    let numeric = KeyType::Numeric { scale: None };
    let timestamp = KeyType::Timestamp { precision: 6 };
    let timestamptz = KeyType::Timestamptz { precision: 6, zone: None };
    vec![
        range("int4range", containers::integer_range, KeyType::Int4),
        range("int8range", containers::integer_range, KeyType::Int8),
        range("numrange", containers::decimal_range, numeric.clone()),
        range("daterange", containers::date_range, KeyType::Date),
        range("tsrange", containers::timestamp_range, timestamp.clone()),
        range("tstzrange", containers::timestamp_range, timestamptz),
        family("jsonb", "jsonb_send", containers::jsonb, KeyType::Jsonb),
        array("int4[]", containers::integers, &KeyType::Int4),
        array("text[]", containers::strings, &KeyType::Text),
        array("numeric[]", containers::decimals, &numeric),
        array("timestamp[]", containers::timestamps, &timestamp),
        array("int4range[]", containers::integer_ranges, &KeyType::Range(KeyType::Int4.into())),
        array("jsonb[]", containers::jsonbs, &KeyType::Jsonb),
    ]
}

fn numerics() -> Vec<(KeyType, i32)> {
    let scaled = |precision: i32, scale: i32| {
        let key_type = KeyType::Numeric { scale: Some(Scale { precision, scale }) };
        (key_type, (precision << 16 | scale & 0x7FF) + 4)
    };
    let plain = (KeyType::Numeric { scale: None }, -1);
    vec![plain, scaled(10, 2), scaled(4, 0), scaled(3, -2), scaled(3, 5), scaled(38, 20)]
}

/// Returns interval types. The upper half of an interval's modifier means that it has all fields.
fn intervals() -> Vec<(KeyType, i32)> {
    let all_fields = |(key_type, modifier)| match modifier {
        -1 => (key_type, -1),
        precision => (key_type, 0x7FFF << 16 | precision),
    };
    let types = precisions(|precision| KeyType::Interval { precision });
    types.into_iter().map(all_fields).collect()
}

/// Returns the modifier for a length, which includes the four bytes of a header.
fn length_modifier(max: Option<u32>) -> i32 {
    max.map_or(-1, |max| max as i32 + 4)
}

fn precisions(key_type: fn(u8) -> KeyType) -> Vec<(KeyType, i32)> {
    vec![(key_type(6), -1), (key_type(0), 0), (key_type(3), 3), (key_type(6), 6)]
}
