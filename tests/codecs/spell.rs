//! Awkward spellings of types that are not key types.

use crate::spelling::awkward::{self, BLANKS, Random, Spell};
use crate::spelling::{addresses, containers, numbers};

pub(super) fn enumerated(random: &mut Random) -> String {
    let label = random.pick(&["low", "high", "very high", "é", "\"", "a,b"]);
    random.usually(label, 20, &["", "Low", " low", "none", "low "]).to_owned()
}

pub(super) fn xml(random: &mut Random) -> String {
    let parts = ["a", "<a/>", "<b c=\"d\">é</b>", "<!-- x -->", "&lt;", " ", "\n", "<?p?>", "<e>"];
    let start = random.usually("", 6, &["<?xml version=\"1.0\"?>", "<?xml?>", "\u{feff}", " "]);
    let content: String = (0..random.below(5)).map(|_| random.pick(&parts)).collect();
    let end = random.usually("", 20, &["&", "<", "</a>", "&nbsp;", "\u{1}"]);
    format!("{start}{content}{end}")
}

pub(super) fn bits(random: &mut Random) -> String {
    let prefix = random.usually("", 4, &["b", "B", "x", "X", "0b", " "]);
    let sixteen = prefix.eq_ignore_ascii_case("x");
    let digits = if sixteen { &["0", "1", "9", "a", "F"][..] } else { &["0", "1"] };
    let length = [0, 1, 4, 8, 8, 11][random.below(6) as usize] + random.below(10) / 9 * 20;
    let digits: String = (0..length).map(|_| random.pick(digits)).collect();
    let end = random.usually("", 20, &["2", "g", " ", "b", "é"]);
    format!("{prefix}{digits}{end}")
}

pub(super) fn money(random: &mut Random) -> String {
    let sign = random.usually("", 2, &["-", "-", "-", "+", "(", " ", "--"]);
    let dollar = random.usually("$", 2, &["", "", "", "€", "$ ", "$-"]);
    let whole = match random.below(4) {
        0 => format!("{},{:03}", random.below(1000), random.below(1000)),
        1 => format!("{},{:03},{:03}", random.below(99), random.below(1000), random.below(1000)),
        2 => (random.next() >> random.below(64)).to_string(),
        _ => random
            .usually("0", 2, &["", "1,23", "007", "1234,567", ",1", "92233720368547758"])
            .into(),
    };
    let fraction = match random.below(3) {
        0 => format!(".{:02}", random.below(100)),
        _ => random.usually("", 3, &[".5", ".", ".123", ".999", ",50"]).to_owned(),
    };
    let end = random.usually("", 12, &[" ", ")", "-", "$", "x"]);
    format!("{sign}{dollar}{whole}{fraction}{end}")
}

/// Returns a coordinate, usually a valid one, because a single bad coordinate spoils the whole value.
fn coordinate(random: &mut Random) -> String {
    match random.below(20) {
        0 => numbers::decimal(random),
        1 => random
            .pick(&["NaN", "inf", "-Infinity", "-0", " 1", "1 ", "1e300", "1e-400", "5."])
            .into(),
        _ => containers::decimal(random),
    }
}

pub(super) fn point(random: &mut Random) -> String {
    let (open, close) = [("(", ")"), ("(", ")"), ("(", ")"), ("", ""), ("((", "))"), ("[", "]")]
        [random.below(40).saturating_sub(34) as usize];
    let comma = random.usually(",", 40, &[";", " , ", ""]);
    awkwardly(random, |random| {
        format!("{open}{}{comma}{}{close}", coordinate(random), coordinate(random))
    })
}

pub(super) fn line(random: &mut Random) -> String {
    let numbers: Vec<String> = (0..3).map(|_| coordinate(random)).collect();
    awkwardly(random, |_| format!("{{{}}}", numbers.join(",")))
}

pub(super) fn lseg(random: &mut Random) -> String {
    points(random, 2, &[("[", "]"), ("(", ")"), ("", "")])
}

pub(super) fn corners(random: &mut Random) -> String {
    points(random, 2, &[("", ""), ("(", ")")])
}

pub(super) fn path(random: &mut Random) -> String {
    let count = 1 + random.below(4);
    points(random, count, &[("(", ")"), ("[", "]"), ("", "")])
}

pub(super) fn polygon(random: &mut Random) -> String {
    let count = 1 + random.below(4);
    points(random, count, &[("(", ")"), ("", "")])
}

pub(super) fn circle(random: &mut Random) -> String {
    let (center, radius) = (point(random), coordinate(random));
    awkwardly(random, |_| format!("<{center},{radius}>"))
}

fn points(random: &mut Random, count: u64, brackets: &[(&str, &str)]) -> String {
    let points: Vec<String> = (0..count).map(|_| point(random)).collect();
    let other = random.below(4) / 3 * random.below(brackets.len() as u64);
    let (open, close) = brackets[other as usize];
    let comma = random.usually(",", 40, &[";", ""]);
    awkwardly(random, |_| format!("{open}{}{close}", points.join(comma)))
}

/// Returns a spelling, occasionally with something around it.
fn awkwardly(random: &mut Random, spell: impl FnOnce(&mut Random) -> String) -> String {
    let text = spell(random);
    let (left, right) = (random.usually("", 30, &BLANKS), random.usually("", 30, &BLANKS));
    format!("{left}{text}{}{right}", random.usually("", 60, &["x", ")", ","]))
}

pub(super) fn integer_multirange(random: &mut Random) -> String {
    multirange(random, containers::integer_range)
}

pub(super) fn timestamp_multirange(random: &mut Random) -> String {
    multirange(random, containers::timestamp_range)
}

fn multirange(random: &mut Random, spell: Spell) -> String {
    let ranges: Vec<String> = (0..random.below(4)).map(|_| spell(random)).collect();
    let comma = random.usually(",", 8, &[" , ", ",,", ";", ""]);
    let (open, close) =
        (random.usually("{", 30, &["{{", "", "["]), random.usually("}", 30, &["", "}}", ",}"]));
    awkwardly(random, |_| format!("{open}{}{close}", ranges.join(comma)))
}

pub(super) fn string_range(random: &mut Random) -> String {
    containers::range(random, awkward::string)
}

pub(super) fn pair(random: &mut Random) -> String {
    let columns = [containers::small_integer(random), awkward::string(random)];
    composite_of(random, &columns)
}

/// Returns a composite value, usually with valid columns and the right number of them.
pub(super) fn composite(random: &mut Random) -> String {
    let day = random.usually("2024-02-29", 6, &["1999-12-31", "infinity", "Feb 29 2024", "x"]);
    let notes = random.usually("{a,NULL}", 4, &["{}", "{\"\"}", "{ab,c d}", "{abcde}", "a"]);
    let columns = [containers::decimal(random), pair(random), day.to_owned(), notes.to_owned()];
    composite_of(random, &columns)
}

fn composite_of(random: &mut Random, columns: &[String]) -> String {
    let columns: Vec<String> = columns.iter().map(|text| column(random, text)).collect();
    let comma = random.usually(",", 40, &[" , ", ",,", ";"]);
    let open = random.usually("(", 40, &["((", "", "{"]);
    let close = random.usually(")", 40, &["", "))", ",)"]);
    awkwardly(random, |_| format!("{open}{}{close}", columns.join(comma)))
}

/// Returns a column of a composite value.
fn column(random: &mut Random, text: &str) -> String {
    match random.below(12) {
        0 => String::new(),
        1 => "\"\"".to_owned(),
        2 => text.to_owned(),
        _ => containers::quoted(random, text, "\"\""),
    }
}

macro_rules! arrays {
    ($($name:ident: $element:path,)*) => {
        $(pub(super) fn $name(random: &mut Random) -> String {
            containers::array(random, $element)
        })*
    };
}

arrays! {
    enumerateds: enumerated,
    uuids: awkward::uuid,
    networks: addresses::network,
    byteas: addresses::bytes,
    points_apart: point,
    dates: awkward::date,
    composites: composite,
    bitses: bits,
}

/// Returns an array of boxes, whose delimiter differs from that of other arrays.
pub(super) fn boxes(random: &mut Random) -> String {
    let boxes: Vec<String> = (0..random.below(4)).map(|_| corners(random)).collect();
    let sign = random.usually(";", 8, &[",", " ; ", ";;"]);
    format!("{{{}}}", boxes.join(sign))
}
