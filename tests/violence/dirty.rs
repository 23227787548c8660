//! An input in which one row in a hundred is bad, of every kind: the loaded rows, the rejected rows and the
//! reasons are exact, and the repaired reject file completes the table.

use std::process::Stdio;

use super::dirt::{Dirt, REJECTING};
use crate::harness::{Bench, Chance, Server, Subject, grouped, on_each_server, size};

on_each_server!([every_kind_of_refusal,]);

/// Options that do not change the outcome.
const OPTIONS: [&[&str]; 2] = [&["--jobs=2"], &["--jobs=3", "--wire=text", "--memory=4MiB"]];

fn every_kind_of_refusal(server: Server) {
    let dirt = Dirt::new(Bench::new(server), size().dirty_rows, &mut Chance::new());
    for (number, options) in OPTIONS.into_iter().enumerate() {
        dirt.begin_anew();
        let load = dirt.twins.start(&number.to_string(), &[&REJECTING, options].concat());
        dirt.check(&load.ended_within(size().patience));
    }
    let Dirt { twins, .. } = &dirt;
    let path = twins.bench.file("repaired.csv", dirt.repaired());
    let path = path.to_str().unwrap();
    let load = [path, "-t", "public.t", "--header", "--json"];
    let repaired = twins.bench.start(load, Stdio::null()).ended_within(size().patience);
    assert_eq!(repaired.summary()["rows_loaded"], dirt.bad_rows());
    twins.are_equal();
    eprintln!(
        "{} of {} rows refused, one in a hundred of each kind: table, reject file and log are exact, and \
         the repaired file completes the table.",
        grouped(dirt.bad_rows()),
        grouped(size().dirty_rows)
    );
}
