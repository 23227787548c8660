//! Keys whose column differs from the source's by type or type modifier: each row goes to the leaf for the value that
//! the target stores.

use super::case::Case;
use super::types::fill;
use crate::harness::{Server, literal, on_each_server};

on_each_server!([leaves_follow_the_stored_value,]);

/// A source type, its values, a target type, and a bound that some values reach only after the conversion.
const KEYS: [(&str, &[&str], &str, &str); 16] = [
    ("int", &["1", "-5", "2147483647"], "bigint", "0"),
    ("bigint", &["1", "-5"], "smallint", "0"),
    ("int", &["9", "10"], "text COLLATE \"C\"", "2"),
    ("text", &["9", "10", " 9"], "int", "10"),
    ("numeric", &["1.004", "1.005", "0.995"], "numeric(10,2)", "1.01"),
    ("numeric(10,3)", &["9.995", "10"], "numeric(4,1)", "10"),
    ("timestamp", &["2024-01-31 23:59:59.5", "2024-01-31"], "timestamp(0)", "2024-02-01"),
    ("timestamp", &["2024-01-31 23:59:59.5", "2024-02-01"], "date", "2024-02-01"),
    ("timestamptz", &["2024-01-31 23:59:59.9996Z"], "timestamptz(3)", "2024-02-01 00:00Z"),
    ("time", &["11:59:59.96", "12:00"], "time(1)", "12:00"),
    ("char(3)", &["a", "ab"], "char(8)", "ab"),
    ("char(8)", &["a", "a b"], "text COLLATE \"C\"", "a "),
    ("text", &["a", "a  "], "char(3)", "a"),
    ("varchar(9)", &["ab", "ab   "], "varchar(2)", "ab"),
    ("double precision", &["0.1", "1e-50"], "numeric", "0.1"),
    ("real", &["0.1", "0.3"], "double precision", "0.2"),
];

/// Creates `t`, partitioned by range of `c` and then by its hash.
fn make(case: &Case, target: &str, bound: &str) {
    let bound = literal(bound);
    case.make(&format!(
        "DROP TABLE IF EXISTS t;
         CREATE TABLE t (id int, c {target}) PARTITION BY RANGE (c);
         CREATE TABLE t_low PARTITION OF t FOR VALUES FROM (MINVALUE) TO ({bound});
         CREATE TABLE t_high PARTITION OF t FOR VALUES FROM ({bound}) TO (MAXVALUE) PARTITION BY HASH (c);
         CREATE TABLE t_high_0 PARTITION OF t_high FOR VALUES WITH (MODULUS 2, REMAINDER 0);
         CREATE TABLE t_high_1 PARTITION OF t_high FOR VALUES WITH (MODULUS 2, REMAINDER 1);
         CREATE TABLE t_none PARTITION OF t DEFAULT"
    ));
}

fn leaves_follow_the_stored_value(server: Server) {
    for case in Case::both(server) {
        for (source, values, target, bound) in KEYS {
            for times in [1, 200] {
                fill(&case, source, values, times);
                make(&case, target, bound);
                case.copy("public.old", "id, c");
                case.load("public.old", &[]).summary();
                case.agree(&format!("{source} to {target}, {times} times"));
            }
        }
    }
}
