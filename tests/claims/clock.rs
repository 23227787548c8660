//! Values whose meaning depends on the date, and settings that decide how values are read and written.

use super::{ROWS, comes_to, die, load, rows};
use crate::harness::{Bench, Server, on_each_server};

on_each_server!([
    rows_of_now_stay_where_they_are,
    the_clock_is_named,
    how_the_user_likes_to_see_values_leads_no_row_astray,
    a_setting_that_keys_depend_on_is_a_term,
]);

/// Creates `t` with a bound in the near future, and waits until that moment has passed.
fn with_a_bound_ahead(bench: &Bench, ty: &str, key: &str) {
    let bound = bench.value("SELECT clock_timestamp() + interval '3 seconds'");
    bench.session.run(&format!(
        "CREATE TABLE t (id int, at {ty}, v text) PARTITION BY RANGE ({key});
         CREATE TABLE t0 PARTITION OF t FOR VALUES FROM (MINVALUE) TO ('{bound}');
         CREATE TABLE t1 PARTITION OF t FOR VALUES FROM ('{bound}') TO (MAXVALUE)"
    ));
    bench.file("rows.csv", rows(ROWS, |_| "now".to_owned()));
    die(bench, &bench.url, &[]);
    bench.session.run(&format!(
        "SELECT pg_sleep(GREATEST(0, extract(epoch FROM '{bound}'::timestamptz - clock_timestamp())))"
    ));
}

fn rows_of_now_stay_where_they_are(server: Server) {
    let bench = &Bench::new(server);
    for ty in ["timestamptz", "timestamp"] {
        with_a_bound_ahead(bench, ty, "at");
        let ended = comes_to(bench, &bench.url, ROWS as u64);
        assert_eq!(ended.status.code(), Some(0), "{ended:?}");
        bench.session.run("DROP TABLE t; TRUNCATE pgsluice.load CASCADE");
        for table in ["tree", "receipt", "witness"] {
            bench.session.run(&format!("TRUNCATE pgsluice.{table} CASCADE"));
        }
    }
}

fn the_clock_is_named(server: Server) {
    let bench = &Bench::new(server);
    for (ty, key, value, rows_of_clock) in [
        ("timestamptz", "at", "NOW", 100),
        ("date", "at", " yesterday", 100),
        ("timestamp", "(at + interval '1 day')", "tomorrow 12:00", 100),
        ("tsrange", "at", "\"[2024-01-01,today]\"", 100),
        ("timetz", "at", "2024-01-01 12:00 Europe/Berlin", 100),
        ("timestamptz", "at", "1 Jan 2024", 0),
        ("timetz", "at", "12:00:00+02", 0),
    ] {
        bench.session.run(&format!(
            "CREATE TABLE t (id int, at {ty}, v text) PARTITION BY HASH ({key});
             CREATE TABLE t0 PARTITION OF t FOR VALUES WITH (MODULUS 2, REMAINDER 0);
             CREATE TABLE t1 PARTITION OF t FOR VALUES WITH (MODULUS 2, REMAINDER 1)"
        ));
        bench.file("rows.csv", rows(100, |_| value.to_owned()));
        let ended = bench.load(["rows.csv", "-t", "t", "--few-rows=300", "--json"]);
        let summary = ended.summary();
        let message = summary["fallbacks"].to_string().contains("the value depends on the clock");
        let context = format!("{ty} {key} {value}: {summary}");
        assert_eq!(message, rows_of_clock > 0, "{context}");
        assert_eq!(summary["lanes"]["routed_by_server"], rows_of_clock, "{context}");
        assert_eq!(bench.count("t"), 100);
        bench.session.run("DROP TABLE t");
    }
}

fn how_the_user_likes_to_see_values_leads_no_row_astray(server: Server) {
    let bench = &Bench::new(server);
    bench.session.run(
        "CREATE TABLE t (id int, at float8, v bytea) PARTITION BY RANGE (at, v);
         CREATE TABLE t0 PARTITION OF t FOR VALUES FROM (MINVALUE, MINVALUE)
             TO (0.30000000000000004, MINVALUE);
         CREATE TABLE t1 PARTITION OF t FOR VALUES FROM (0.30000000000000004, MINVALUE)
             TO (MAXVALUE, MAXVALUE)",
    );
    bench.file("rows.csv", rows(100, |_| "0x1.3333333333334p-2".to_owned()));
    let options = "options=-c%20extra_float_digits%3D0%20-c%20bytea_output%3Descape";
    let url = format!("{}?{options}", bench.url);
    let ended =
        load(bench, &url, &["--few-rows=300", "--reject-file=bad", "--max-rejects=100%", "--json"]);
    let summary = ended.summary();
    assert_eq!(bench.count("t1"), 100, "{summary}");
}

fn a_setting_that_keys_depend_on_is_a_term(server: Server) {
    let bench = &Bench::new(server);
    bench.session.run(
        "CREATE TABLE t (id int, at float8, v text) PARTITION BY LIST ((at::text));
         CREATE TABLE t0 PARTITION OF t FOR VALUES IN ('0.3');
         CREATE TABLE t1 PARTITION OF t DEFAULT",
    );
    bench.file("rows.csv", rows(ROWS, |_| "0.30000000000000004".to_owned()));
    die(bench, &bench.url, &[]);
    let url = format!("{}?options=-c%20extra_float_digits%3D0", bench.url);
    let ended = comes_to(bench, &url, ROWS as u64);
    ended.fails(1, &["begun with extra_float_digits \"1\", and is resumed with extra_float_digits \"0\" (SQLSTATE 55000)"]);
}
