//! Awkward arrays, ranges and jsonb, with awkward elements.

use super::awkward::{self, BLANKS, Random, Spell};
use super::numbers;

pub(crate) fn integers(random: &mut Random) -> String {
    array(random, small_integer)
}

pub(crate) fn strings(random: &mut Random) -> String {
    array(random, awkward::string)
}

pub(crate) fn decimals(random: &mut Random) -> String {
    array(random, decimal)
}

pub(crate) fn timestamps(random: &mut Random) -> String {
    array(random, timestamp)
}

pub(crate) fn integer_ranges(random: &mut Random) -> String {
    array(random, integer_range)
}

pub(crate) fn jsonbs(random: &mut Random) -> String {
    array(random, jsonb)
}

pub(crate) fn integer_range(random: &mut Random) -> String {
    range(random, small_integer)
}

pub(crate) fn decimal_range(random: &mut Random) -> String {
    range(random, decimal)
}

pub(crate) fn date_range(random: &mut Random) -> String {
    range(random, date)
}

pub(crate) fn timestamp_range(random: &mut Random) -> String {
    range(random, timestamp)
}

/// Returns an element, usually a valid one, because a single bad element spoils the whole value.
pub(crate) fn small_integer(random: &mut Random) -> String {
    match random.below(12) {
        0 => awkward::integer(random),
        1 => {
            random.pick(&["2147483647", "-2147483648", "2147483646", "9223372036854775807"]).into()
        }
        _ => format!("{}", random.below(7) as i64 - 3),
    }
}

pub(crate) fn decimal(random: &mut Random) -> String {
    match random.below(8) {
        0 => numbers::decimal(random),
        1 => random.pick(&["NaN", "1e3", "0.000", "1000.0", "-1.50", "Infinity"]).into(),
        _ => format!("{}.{}", random.below(9) as i64 - 4, random.below(4)),
    }
}

fn date(random: &mut Random) -> String {
    match random.below(8) {
        0 => awkward::date(random),
        1 => random.pick(&["infinity", "-infinity", "9999-12-31", "5874897-12-31"]).into(),
        _ => format!("2024-02-{:02}", 27 + random.below(3)),
    }
}

fn timestamp(random: &mut Random) -> String {
    match random.below(8) {
        0 => awkward::timestamp(random),
        1 => random.pick(&["infinity", "-infinity", "294276-12-31 23:59:59.999999"]).into(),
        2..5 => format!("2024-02-29 12:00:00.{}", random.below(30)),
        _ => format!("2024-02-29T12:00:00.{:02}+0{}", random.below(30), random.below(4)),
    }
}

pub(crate) fn array(random: &mut Random, spell: Spell) -> String {
    let count = [0, 1, 1, 2, 3][random.below(5) as usize];
    let items: Vec<String> = (0..count).map(|_| item(random, spell)).collect();
    let comma = random.usually(",", 50, &[",,", ";", " ", ""]);
    let inner = items.join(comma);
    let (left, right) = (random.usually("", 10, &BLANKS), random.usually("", 10, &BLANKS));
    let (open, close) = match random.below(80) {
        0 => ("[1:1]={", "}"),
        1 => ("[0:0] = {", "}"),
        2 => ("{{", "}}"),
        3 => ("{", "},{}"),
        4 => ("{", ",}"),
        5 => ("{", "}x"),
        6 => ("{", "}}"),
        7 => ("(", ")"),
        8 => ("{", "\\}"),
        9 => ("{{1},", "}"),
        _ => ("{", "}"),
    };
    format!("{left}{open}{inner}{close}{right}")
}

fn item(random: &mut Random, spell: Spell) -> String {
    let text = match random.below(12) {
        0 => random.pick(&["NULL", "null", "nUlL", "\"NULL\"", "\\NULL", "NUL", "N\\ULL"]).into(),
        1 => random
            .pick(&["", "\"\"", "a b", "\"a\"b", "a\"b\"", "{}", "\"", "\\", "\"a\" b"])
            .into(),
        2..6 => spell(random),
        _ => {
            let element = spell(random);
            quoted(random, &element, "\\\"")
        }
    };
    let (left, right) = (random.usually("", 6, &BLANKS), random.usually("", 6, &BLANKS));
    format!("{left}{text}{right}")
}

/// Returns the text in quotes. Quotes within it are escaped in one of several ways, sometimes with an escape
/// too many or too few.
pub(crate) fn quoted(random: &mut Random, text: &str, quote: &str) -> String {
    let mut quoted = String::from("\"");
    for character in text.chars() {
        match (character, random.below(40)) {
            ('"', 1..) => quoted += quote,
            ('\\', 1..) => quoted += "\\\\",
            (other, 2) => quoted.extend(['\\', other]),
            (other, _) => quoted.push(other),
        }
    }
    quoted + random.usually("\"", 60, &["", "\"\"", "\" ", "\"x"])
}

pub(crate) fn range(random: &mut Random, spell: Spell) -> String {
    if random.below(12) == 0 {
        let word = random.pick(&["empty", "EMPTY", "Empty", "emptyx", "empt", "empty,", "em pty"]);
        let (left, right) = (random.usually("", 4, &BLANKS), random.usually("", 4, &BLANKS));
        return format!("{left}{word}{right}");
    }
    let (mut lower, mut upper) = (bound(random, spell), bound(random, spell));
    match random.below(10) {
        0 => lower.clear(),
        1 => upper.clear(),
        2 => upper = lower.clone(),
        _ => {}
    }
    let open = random.usually("[", 2, &["(", "(", "(", "(", "(", "{", "", "[["]);
    let close = random.usually(")", 2, &["]", "]", "]", "]", "]", "}", "", "))"]);
    let comma = random.usually(",", 50, &[";", ",,", "", " , "]);
    let (left, right) = (random.usually("", 10, &BLANKS), random.usually("", 10, &BLANKS));
    format!("{left}{open}{lower}{comma}{upper}{close}{right}")
}

fn bound(random: &mut Random, spell: Spell) -> String {
    let text = spell(random);
    let text = match random.below(8) {
        0 => quoted(random, &text, "\"\""),
        1 => text
            .chars()
            .map(|c| format!("{}{c}", random.usually("", 6, &["\\", "\"\"", "\""])))
            .collect(),
        _ => text,
    };
    let (left, right) = (random.usually("", 12, &BLANKS), random.usually("", 12, &BLANKS));
    format!("{left}{text}{right}")
}

pub(crate) fn jsonb(random: &mut Random) -> String {
    let depth = random.below(4);
    let value = value(random, depth);
    let end = random.usually("", 30, &[",", "}", "]", "x", " 1", "//"]);
    format!("{value}{end}")
}

fn value(random: &mut Random, depth: u64) -> String {
    let kind = if depth == 0 { random.below(5) } else { random.below(12) };
    let count = random.below(4);
    let text = match kind {
        0..2 => json_number(random),
        2..4 => json_string(random),
        4 => random.usually("null", 2, &["true", "false", "True", "nul", "nulll", "NaN"]).into(),
        5..8 => {
            let values: Vec<String> = (0..count).map(|_| value(random, depth - 1)).collect();
            let comma = random.usually(",", 80, &[",,", " ", ";"]);
            format!("[{}{}", values.join(comma), random.usually("]", 80, &["", "}", ",]"]))
        }
        _ => {
            let pair = |_| {
                let key =
                    random.usually("\"a\"", 2, &["\"b\"", "\"\"", "\"aa\"", "a", "1"]).to_owned();
                let key = if random.below(3) == 0 { json_string(random) } else { key };
                let colon = random.usually(":", 80, &[" : ", "=", "", "::"]).to_owned();
                format!("{key}{colon}{}", value(random, depth - 1))
            };
            let pairs: Vec<String> = (0..count).map(pair).collect();
            let comma = random.usually(",", 80, &[",,", " ", ";"]);
            format!("{{{}{}", pairs.join(comma), random.usually("}", 80, &["", "]", ",}"]))
        }
    };
    let (left, right) = (random.usually("", 20, &BLANKS), random.usually("", 20, &BLANKS));
    format!("{left}{text}{right}")
}

fn json_number(random: &mut Random) -> String {
    let sign = random.usually("", 3, &["-", "-", "-", "-", "+", "--", "−"]);
    let whole =
        random.usually("0", 2, &["1", "10", "123456789012345678901", "01", "00", "", "1_0"]);
    let fraction = random.usually("", 2, &[".0", ".5", ".50", ".000", ".", ".1.", ".e1"]);
    let exponent =
        random.usually("", 4, &["e0", "E1", "e+2", "e-2", "e", "e+", "e400", "e-17000", "f"]);
    format!("{sign}{whole}{fraction}{exponent}")
}

fn json_string(random: &mut Random) -> String {
    let parts = [
        "a",
        "b",
        " ",
        "é",
        "😀",
        "\\n",
        "\\t",
        "\\\"",
        "\\\\",
        "\\/",
        "\\b",
        "\\f",
        "\\r",
        "/",
        "\u{7f}",
        "\\u0041",
        "\\u00e9",
        "\\u20AC",
        "\\ud83d\\ude00",
        "\\uFFFF",
    ];
    let odd = [
        "\\u0000",
        "\\ud83d",
        "\\ude00",
        "\\u12",
        "\\x41",
        "\n",
        "\t",
        "\\",
        "'",
        "\\U0041",
        "\\ud83d\\u0041",
        "\\ude00\\ud83d",
        "\\u00g0",
        "\u{1}",
    ];
    let count = random.below(5);
    let part = |_| {
        let part = random.pick(&parts);
        random.usually(part, 60, &odd).to_owned()
    };
    let text: String = (0..count).map(part).collect();
    format!("\"{text}{}", random.usually("\"", 80, &["", "'", "\"\""]))
}
