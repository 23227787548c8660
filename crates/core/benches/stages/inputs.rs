//! The rows and trees of `bench/`'s cases in small: TPC-H lineitem as CSV, pgbench_accounts and
//! uuids as COPY text. Made by arithmetic, so that every run measures the same bytes.

use std::fmt::Write;
use std::sync::Arc;

use pgsluice_core::catalog::{Bound, Edge, Key, KeyColumn, Node, NodeId, Relation, Strategy, Tree};
use pgsluice_core::format::Format;
use pgsluice_core::split::{Row, Splitter};
use pgsluice_core::types::{Codec, KeyType, OwnedDatum, Scale};

/// The number of rows that fit into a processor's cache.
const ROWS: u64 = 10_000;

/// The first day of 1992, in days from 2000-01-01, and the months from there on.
const FIRST_DAY: i64 = -2922;
const MONTHS: i64 = 84;
const DAYS_A_MONTH: i64 = 31;

/// Rows in one format, and the table that they go into.
pub(crate) struct Input {
    /// For the report.
    pub(crate) name: &'static str,
    /// The format of the rows.
    pub(crate) format: Format,
    /// The rows.
    pub(crate) bytes: Vec<u8>,
    /// The table's columns, in the order of the rows' fields.
    pub(crate) columns: Vec<KeyType>,
    /// The codec of each column.
    pub(crate) codecs: Vec<Codec>,
    levels: Vec<Level>,
}

/// One level of partitions: the field that is their key, and the bounds below each node.
struct Level {
    strategy: Strategy,
    field: usize,
    bounds: Vec<Bound>,
}

impl Input {
    /// Where each row is.
    pub(crate) fn rows(&self) -> Vec<Row> {
        let mut rows = Vec::new();
        let scan = Splitter::new(&self.format).scan(&self.bytes, true, &mut rows);
        assert!(scan.is_ok() && rows.len() as u64 == ROWS, "{}: malformed rows", self.name);
        rows
    }

    /// The partition tree of the table.
    pub(crate) fn tree(&self) -> Arc<Tree> {
        let mut tree = Tree { nodes: vec![leaf(None, None)] };
        self.grow(&mut tree, 0, &self.levels);
        Arc::new(tree)
    }

    fn grow(&self, tree: &mut Tree, node: NodeId, levels: &[Level]) {
        let Some((level, below)) = levels.split_first() else { return };
        let Level { strategy, field, bounds } = level;
        let (column, ty) = (format!("c{field}"), self.columns[*field].clone());
        let columns = vec![KeyColumn::Native { column, field: Some(*field), ty }];
        tree.nodes[node].key = Some(Key { strategy: *strategy, columns });
        for bound in bounds {
            let child = tree.nodes.len();
            tree.nodes.push(leaf(Some(node), Some(bound.clone())));
            tree.nodes[node].children.push(child);
            self.grow(tree, child, below);
        }
    }
}

/// Writes a row of TPC-H lineitem as CSV.
fn write_lineitem(row: u64, text: &mut String) -> std::fmt::Result {
    const MODES: [&str; 7] = ["REG AIR", "AIR", "RAIL", "SHIP", "TRUCK", "MAIL", "FOB"];
    const INSTRUCTIONS: [&str; 4] =
        ["DELIVER IN PERSON", "COLLECT COD", "NONE", "TAKE BACK RETURN"];
    const COMMENT: &str = "furiously regular requests. carefully final de";
    let n = scattered(row);
    let date = |n: u64| format!("{}-{:02}-{:02}", 1992 + n % 7, 1 + n / 7 % 12, 1 + n / 84 % 28);
    writeln!(
        text,
        "{},{},{},{},{},{}.{:02},0.{:02},0.0{},{},{},{},{},{},{},{},\"{}\"",
        row / 4 + 1,
        n % 200_000,
        n % 10_000,
        row % 4 + 1,
        n % 50 + 1,
        n % 90_000 + 900,
        n % 100,
        n % 11,
        n % 9,
        ['N', 'R'][(n % 2) as usize],
        ['O', 'F'][(n / 2 % 2) as usize],
        date(n),
        date(n >> 8),
        date(n >> 16),
        INSTRUCTIONS[(n % 4) as usize],
        MODES[(n % 7) as usize],
        &COMMENT[..10 + (n % 34) as usize],
    )
}

/// TPC-H lineitem as CSV, by month of l_shipdate and hash of l_orderkey.
pub(crate) fn lineitem() -> Input {
    let bytes = written(write_lineitem);
    let numeric = || KeyType::Numeric { scale: Some(Scale { precision: 15, scale: 2 }) };
    let date = || KeyType::Date;
    let character = |max| KeyType::Bpchar { max: Some(max) };
    let columns = vec![
        KeyType::Int8,
        KeyType::Int8,
        KeyType::Int8,
        KeyType::Int4,
        numeric(),
        numeric(),
        numeric(),
        numeric(),
        character(1),
        character(1),
        date(),
        date(),
        date(),
        character(25),
        character(10),
        KeyType::Varchar { max: Some(44) },
    ];
    let codecs = [
        vec![Codec::Int8, Codec::Int8, Codec::Int8, Codec::Int4],
        vec![Codec::Numeric; 4],
        vec![Codec::Padded; 2],
        vec![Codec::Date; 3],
        vec![Codec::Padded; 2],
        vec![Codec::Text],
    ]
    .concat();
    let months = Level { strategy: Strategy::Range, field: 10, bounds: months() };
    let levels = vec![months, hashed(0, 4)];
    Input { name: "lineitem, CSV", format: Format::csv(), bytes, columns, codecs, levels }
}

/// pgbench_accounts as COPY text, in 800 hash partitions.
pub(crate) fn accounts() -> Input {
    let bytes = written(|row, text| writeln!(text, "{}\t1\t0\t{:84}", row + 1, ""));
    let filler = KeyType::Bpchar { max: Some(84) };
    let columns = vec![KeyType::Int4, KeyType::Int4, KeyType::Int4, filler];
    let codecs = vec![Codec::Int4, Codec::Int4, Codec::Int4, Codec::Padded];
    let levels = vec![hashed(0, 800)];
    Input { name: "pgbench_accounts, text", format: Format::text(), bytes, columns, codecs, levels }
}

/// Uuids as COPY text, in 16 hash partitions.
pub(crate) fn uuids() -> Input {
    let bytes = written(|row, text| {
        let (high, low) = (scattered(row), scattered(row + ROWS));
        let blocks = (high >> 32, high >> 16 & 0xffff, high & 0xffff, low >> 48, low << 16 >> 16);
        writeln!(
            text,
            "{:08x}-{:04x}-{:04x}-{:04x}-{:012x}",
            blocks.0, blocks.1, blocks.2, blocks.3, blocks.4
        )
    });
    let levels = vec![hashed(0, 16)];
    Input {
        name: "uuids, text",
        format: Format::text(),
        bytes,
        columns: vec![KeyType::Uuid],
        codecs: vec![Codec::Uuid],
        levels,
    }
}

fn written(row: impl Fn(u64, &mut String) -> std::fmt::Result) -> Vec<u8> {
    let mut text = String::new();
    for number in 0..ROWS {
        row(number, &mut text).expect("a string takes all");
    }
    text.into_bytes()
}

/// The finalizer of SplitMix64, so that neighbours have nothing in common.
fn scattered(number: u64) -> u64 {
    let mixed = (number + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let mixed = (mixed ^ mixed >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ mixed >> 31
}

fn leaf(parent: Option<NodeId>, bound: Option<Bound>) -> Node {
    let relation = Relation { schema: "public".to_owned(), name: "t".to_owned() };
    Node { relation, parent, bound, key: None, children: Vec::new() }
}

fn hashed(field: usize, modulus: u64) -> Level {
    let bounds = (0..modulus).map(|remainder| Bound::Hash { modulus, remainder }).collect();
    Level { strategy: Strategy::Hash, field, bounds }
}

/// Seven years in slices of 31 days: as many as there are months, which is what counts here.
fn months() -> Vec<Bound> {
    let edge = |month: i64| vec![Edge::Datum(OwnedDatum::Int(FIRST_DAY + month * DAYS_A_MONTH))];
    (0..MONTHS).map(|month| Bound::Range { lower: edge(month), upper: edge(month + 1) }).collect()
}
