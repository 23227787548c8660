//! Awkward rows: mostly plain values, in ranges where functions of them are likely to fail.

use crate::spelling::awkward::{self, Random, Spell};
use crate::spelling::{numbers, times};

/// The texts of a row's fields; `None` is NULL.
pub(super) type Row = Vec<Option<String>>;

const ROWS: usize = 2_500;

/// Name, type and spellings of each column.
pub(crate) const COLUMNS: [(&str, &str, Spell); 19] = [
    ("s", "smallint", small),
    ("i", "integer", integer),
    ("j", "integer", integer),
    ("b", "bigint", big),
    ("c", "bigint", big),
    ("n", "numeric", decimal),
    ("m", "numeric(8,2)", decimal),
    ("f", "real", float),
    ("g", "double precision", float),
    ("ok", "boolean", boolean),
    ("word", "text COLLATE \"C\"", word),
    ("note", "varchar COLLATE \"C\"", word),
    ("pad", "character(9) COLLATE \"C\"", word),
    ("tag", "name", word),
    ("id", "uuid", uuid),
    ("day", "date", date),
    ("ts", "timestamp", timestamp),
    ("tz", "timestamptz", timestamptz),
    ("clock", "time", clock),
];

/// Returns the rows, which are the same in each run.
pub(super) fn rows() -> Vec<Row> {
    let mut random = Random::new(7);
    let mut field = |spell: Spell| match random.below(25) {
        0 => None,
        _ => Some(spell(&mut random)),
    };
    (0..ROWS).map(|_| COLUMNS.iter().map(|(.., spell)| field(*spell)).collect()).collect()
}

/// Returns a row as COPY text.
pub(super) fn line(row: &Row) -> Vec<u8> {
    let field = |field: &Option<String>| match field {
        None => "\\N".to_owned(),
        Some(text) => {
            let text = text.replace('\\', "\\\\").replace('\t', "\\t");
            text.replace('\n', "\\n").replace('\r', "\\r")
        }
    };
    row.iter().map(field).collect::<Vec<_>>().join("\t").into_bytes()
}

fn near(random: &mut Random, min: i64, greatest: i64) -> String {
    match random.below(12) {
        0 => min.saturating_add(random.below(3) as i64).to_string(),
        1 => greatest.saturating_sub(random.below(3) as i64).to_string(),
        2 => (random.next() as i64 % (greatest / 2)).to_string(),
        3 => awkward::integer(random),
        _ => (random.below(41) as i64 - 20).to_string(),
    }
}

fn small(random: &mut Random) -> String {
    near(random, i16::MIN.into(), i16::MAX.into())
}

fn integer(random: &mut Random) -> String {
    near(random, i32::MIN.into(), i32::MAX.into())
}

fn big(random: &mut Random) -> String {
    near(random, i64::MIN, i64::MAX)
}

fn decimal(random: &mut Random) -> String {
    match random.below(8) {
        0 => numbers::decimal(random),
        1 => random.pick(&["32767.49", "32767.5", "-32768.5", "2147483647.5", "0.49999"]).into(),
        2 => random
            .pick(&["9223372036854775807.4", "9223372036854775807.5", "-9223372036854775808.49"])
            .into(),
        _ => {
            let places = random.below(6) as usize;
            format!("{}.{:0>places$}5", random.below(20_003) as i64 - 10_001, random.below(10))
        }
    }
}

fn float(random: &mut Random) -> String {
    match random.below(10) {
        0 => numbers::decimal(random),
        1 => random.pick(&["2147483647.5", "-2147483648.5", "9223372036854775807", "3e38"]).into(),
        2 => random.pick(&["1e-38", "1e39", "1e-46", "3.4028235e38", "3.4028236e38"]).into(),
        3 => random.pick(&["-9223372036854775808", "32767.5", "-32768.5", "-0", "NaN"]).into(),
        _ => format!("{}.{}", random.below(60) as i64 - 30, random.pick(&["5", "0", "49", "51"])),
    }
}

fn boolean(random: &mut Random) -> String {
    match random.below(4) {
        0 => awkward::boolean(random),
        _ => random.pick(&["t", "f"]).into(),
    }
}

/// Returns a word, and occasionally a value of another type.
fn word(random: &mut Random) -> String {
    match random.below(16) {
        0 => awkward::string(random),
        1 => integer(random),
        2 => big(random),
        3 => decimal(random),
        4 => boolean(random),
        5 => uuid(random),
        6 => float(random),
        _ => {
            let parts = ["a", "B", "Zz", "9", " ", "-", "i", "I", "~"];
            let rare = ["ä", "€", "😀", "\\", "\t"];
            (0..random.below(12))
                .map(|_| {
                    let part = random.pick(&parts);
                    random.usually(part, 60, &rare)
                })
                .collect()
        }
    }
}

fn uuid(random: &mut Random) -> String {
    awkward::uuid(random)
}

fn date(random: &mut Random) -> String {
    match random.below(6) {
        0 => awkward::date(random),
        1 => {
            let year = random.pick(&["0001", "0009", "0010", "0100", "0101", "1000", "9999"]);
            format!("{year}-{}", random.pick(&["01-01", "01-05", "12-31", "12-28", "03-01"]))
        }
        2 => random.pick(&["infinity", "-infinity", "2000-01-01", "1999-12-31"]).into(),
        _ => {
            let (year, month) = (1 + random.below(3_000), 1 + random.below(12));
            format!("{year:04}-{month:02}-{:02}", 1 + random.below(28))
        }
    }
}

fn time_of_day(random: &mut Random) -> String {
    let (hour, minute, second) = (random.below(24), random.below(60), random.below(60));
    let fraction = match random.below(3) {
        0 => String::new(),
        1 => format!(".{:06}", random.below(1_000_000)),
        _ => format!(".{}", random.below(1_000)),
    };
    format!("{hour:02}:{minute:02}:{second:02}{fraction}")
}

fn timestamp(random: &mut Random) -> String {
    match random.below(8) {
        0 => awkward::timestamp(random),
        1 => date(random),
        // At and around the origins and strides of the expressions.
        2 => format!("{} 0{}:00:00", random.pick(&["2000-01-01", "1999-12-31"]), random.below(10)),
        _ => format!("{} {}", date(random), time_of_day(random)),
    }
}

fn timestamptz(random: &mut Random) -> String {
    format!("{}{}", timestamp(random), random.pick(&["Z", "+00", "-15:59", "+14", "+05:30"]))
}

fn clock(random: &mut Random) -> String {
    match random.below(8) {
        0 => times::time(random),
        1 => random.pick(&["24:00", "00:00", "23:59:59.999999", "12:00:00.5"]).into(),
        _ => time_of_day(random),
    }
}
