//! The cost of each stage for one thread, over rows in its cache: split, parse, route, encode.
//!
//! `make bench CASE=stages` runs this and keeps the medians as a record. A stage is measured alone:
//! what the one before it gives is made beforehand, and every buffer is reused as in a load.

mod inputs;

use std::hint::black_box;
use std::time::Duration;

use criterion::measurement::WallTime;
use criterion::{BenchmarkGroup, Criterion, Throughput, criterion_group, criterion_main};
use inputs::Input;
use pgsluice_core::parse::{Fields, Parser, Value};
use pgsluice_core::route::{Route, Router, Scratch};
use pgsluice_core::split::{Row, Splitter};

/// A stage: its name, and what measures it over one input.
type Stage = (&'static str, fn(&mut BenchmarkGroup<'_, WallTime>, &Input));

const STAGES: [Stage; 5] = [
    ("split", split),
    ("parse all fields", parse_all),
    ("parse key fields", parse_keys),
    ("route", route),
    ("encode", encode),
];

fn stages(criterion: &mut Criterion) {
    let inputs = [inputs::lineitem(), inputs::accounts(), inputs::uuids()];
    for (name, measure) in STAGES {
        let mut group = criterion.benchmark_group(name);
        for input in &inputs {
            let (elements, bytes) = (input.rows().len() as u64, input.bytes.len() as u64);
            group.throughput(Throughput::ElementsAndBytes { elements, bytes });
            measure(&mut group, input);
        }
        group.finish();
    }
}

fn split(group: &mut BenchmarkGroup<'_, WallTime>, input: &Input) {
    let mut rows: Vec<Row> = Vec::new();
    group.bench_function(input.name, |bencher| {
        bencher.iter(|| {
            rows.clear();
            Splitter::new(&input.format).scan(black_box(&input.bytes), true, &mut rows)
        });
    });
}

fn parse_all(group: &mut BenchmarkGroup<'_, WallTime>, input: &Input) {
    parse(group, input, (0..input.columns.len()).collect());
}

fn parse_keys(group: &mut BenchmarkGroup<'_, WallTime>, input: &Input) {
    let router = Router::new(input.tree());
    parse(group, input, router.wanted_fields().to_vec());
}

fn parse(group: &mut BenchmarkGroup<'_, WallTime>, input: &Input, wanted: Vec<usize>) {
    let parser = Parser::new(&input.format, wanted);
    let rows = input.rows();
    let mut keys = Fields::default();
    group.bench_function(input.name, |bencher| {
        bencher.iter(|| {
            for row in &rows {
                parser.parse(row.slice(&input.bytes), &mut keys);
                black_box(&keys);
            }
        });
    });
}

fn route(group: &mut BenchmarkGroup<'_, WallTime>, input: &Input) {
    let router = Router::new(input.tree());
    let parser = Parser::new(&input.format, router.wanted_fields().to_vec());
    let rows = parsed(input, &parser);
    let mut scratch = Scratch::default();
    for (row, keys) in &rows {
        let route = router.route(row, keys, &mut scratch);
        assert!(matches!(route, Route::Leaf(_)), "{}: {route:?}", input.name);
    }
    group.bench_function(input.name, |bencher| {
        bencher.iter(|| {
            for (row, keys) in &rows {
                black_box(router.route(row, keys, &mut scratch));
            }
        });
    });
}

fn encode(group: &mut BenchmarkGroup<'_, WallTime>, input: &Input) {
    let parser = Parser::new(&input.format, (0..input.columns.len()).collect());
    let rows = parsed(input, &parser);
    let mut payload = Vec::new();
    let encode = |row, keys: &Fields, payload: &mut Vec<u8>| {
        input.codecs.iter().enumerate().all(|(slot, codec)| match keys.get(slot, row) {
            Value::Text(text) => codec.encode(text, payload).is_some(),
            Value::Null | Value::Missing | Value::Binary(_) => false,
        })
    };
    group.bench_function(input.name, |bencher| {
        bencher.iter(|| {
            payload.clear();
            for (row, keys) in &rows {
                assert!(encode(row, keys, &mut payload), "{}: not encoded", input.name);
            }
            black_box(&payload);
        });
    });
}

/// Each row with the fields that `parser` finds in it.
fn parsed<'a>(input: &'a Input, parser: &Parser) -> Vec<(&'a [u8], Fields)> {
    let rows = input.rows().into_iter().map(|row| row.slice(&input.bytes));
    let parse = |row| {
        let mut keys = Fields::default();
        parser.parse(row, &mut keys);
        (row, keys)
    };
    rows.map(parse).collect()
}

fn settings() -> Criterion {
    Criterion::default()
        .without_plots()
        .sample_size(30)
        .warm_up_time(Duration::from_millis(500))
        .measurement_time(Duration::from_millis(1500))
}

criterion_group! { name = benches; config = settings(); targets = stages }
criterion_main!(benches);
