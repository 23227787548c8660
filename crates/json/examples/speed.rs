//! How long a line takes: TPC-H lineitem with its 16 keys, and some that are harder.
//!
//!     cargo run --release -p pgsluice-json --example speed

use std::hint::black_box;
use std::time::{Duration, Instant};

use pgsluice_core::types::{Column, ColumnType, Made};
use pgsluice_json::{Missing, Objects, Refused, Target, Unknown};

const LINEITEM: &str = r#"{"l_orderkey":1,"l_partkey":155190,"l_suppkey":7706,"l_linenumber":1,"l_quantity":17.00,"l_extendedprice":21168.23,"l_discount":0.04,"l_tax":0.02,"l_returnflag":"N","l_linestatus":"O","l_shipdate":"1996-03-13","l_commitdate":"1996-02-12","l_receiptdate":"1996-03-22","l_shipinstruct":"DELIVER IN PERSON","l_shipmode":"TRUCK","l_comment":"egular courts above the"}"#;

fn main() -> Result<(), Refused> {
    let keys: Vec<&str> = LINEITEM.split('"').filter(|key| key.starts_with("l_")).collect();
    let backwards: Vec<&str> = keys.iter().rev().copied().collect();
    let half = &keys[..8];
    let escaped = LINEITEM.replace("courts above", r#"c\u00f6urts\nabove \"the\""#);
    let nested = LINEITEM.replace("\"egular courts above the\"", r#"{"a":[1,2,3],"b":{"c":"d"}}"#);
    measure("16 keys", LINEITEM, &keys)?;
    measure("16 keys, columns in another order", LINEITEM, &backwards)?;
    measure("8 keys of 16", LINEITEM, half)?;
    measure("16 keys, one with escapes", &escaped, &keys)?;
    measure("16 keys, one with an object", &nested, &keys)
}

fn measure(what: &str, line: &str, keys: &[&str]) -> Result<(), Refused> {
    let ty = ColumnType { oid: 25, modifier: -1, name: "text".into(), made: Made::Alone };
    let targets = keys.iter().map(|key| Target {
        key: (*key).to_owned(),
        column: Column { name: (*key).to_owned(), ty: ty.clone() },
        missing: Missing::Null,
    });
    let mut objects = Objects::new(targets.collect(), Unknown::Ignore);
    let mut out = Vec::new();
    let mut best = Duration::MAX;
    let rows = 10_000;
    for _ in 0..100 {
        let start = Instant::now();
        for _ in 0..rows {
            out.clear();
            objects.put_row(black_box(line).as_bytes(), &mut out)?;
            black_box(&out);
        }
        best = best.min(start.elapsed());
    }
    eprintln!("{what}: {} ns", best.as_nanos() / rows);
    Ok(())
}
