//! The proof that the codecs encode values as the server's input functions do. Thousands of awkward spellings
//! of each type go to a live server twice, as COPY text and as COPY BINARY with the bytes of the codecs, and
//! the stored values must be identical bit for bit. COPY BINARY must also refuse every value that COPY text
//! refuses.
//!
//! As in a load, the catalogue of the table decides which codec a column has.

mod invalid;
mod kinds;
mod reasons;
mod sides;
mod spell;

use std::iter::repeat_with;

use self::kinds::{KINDS, Kind, TYPES};
use self::sides::{Row, Sides};
use crate::harness::{Scratch, Server, explain, on_each_server};
use crate::spelling::awkward::Random;
use crate::spelling::settings;

const SPELLINGS: usize = 4_000;
const ROWS: usize = 200;

on_each_server!([encoded_values_equal_those_that_copy_reads_from_text,]);

fn encoded_values_equal_those_that_copy_reads_from_text(server: Server) {
    let scratch = server.scratch();
    let session = scratch.session();
    session.run(TYPES);
    let mut random = Random::new(20);
    let mut kinds: Vec<&Kind> = KINDS.iter().filter(|kind| kind.exists(server)).collect();
    if let Err(error) = session.try_run("SELECT '<a/>'::xml") {
        server.skip(&format!("xml: {}", explain(&error)));
        kinds.retain(|kind| kind.sql != "xml");
    }
    let taken: Vec<Vec<Row>> =
        kinds.iter().map(|kind| try_kind(&scratch, kind, &mut random)).collect();
    let types: Vec<&str> = kinds.iter().map(|kind| kind.sql).collect();
    let sides = Sides::create(&scratch, settings(0), &types);
    let row = |place| taken.iter().map(|rows: &Vec<Row>| &rows[place % rows.len()]).collect();
    sides.must_agree(&(0..ROWS).map(row).collect::<Vec<Row>>());
}

/// Tries spellings under several settings. Returns the rows that COPY accepted under the first one.
fn try_kind(scratch: &Scratch, kind: &Kind, random: &mut Random) -> Vec<Row> {
    let mut first = Vec::new();
    let mut encoded = 0;
    let mut refused = 0;
    for n in 0..kind.settings {
        let sides = Sides::create(scratch, settings(n), &[kind.sql]);
        let codec = sides.codec();
        let spellings = repeat_with(|| (kind.spell)(random)).take(SPELLINGS / kind.settings);
        let rows: Vec<Row> =
            spellings.filter_map(|text| Row::encode(&codec, text.as_bytes())).collect();
        let (taken, others) = sides.divide_by_text(&rows);
        others.iter().for_each(|row| sides.must_refuse(row));
        sides.must_agree(&taken);
        encoded += taken.len();
        refused += others.len();
        if n == 0 {
            first = taken;
        }
    }
    eprintln!("{}: {encoded} of {SPELLINGS} spellings encoded, {refused} refused", kind.sql);
    // With fewer rows, this test would prove little.
    assert!(encoded > SPELLINGS / 50 && !first.is_empty(), "{}: {encoded} encoded", kind.sql);
    first
}
