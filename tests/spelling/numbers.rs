//! Awkward decimal numbers and log positions, separate from integers because of their many parts.

use super::awkward::{BLANKS, Random};

pub(crate) fn decimal(random: &mut Random) -> String {
    let left = random.usually("", 6, &BLANKS);
    let right = random.usually("", 6, &BLANKS);
    if random.below(8) == 0 {
        let sign = random.pick(&["", "", "+", "-", "--", "+ "]);
        let word =
            random.pick(&["NaN", "nan", "Infinity", "inf", "INF", "infinit", "iNf", "nan(1)"]);
        return format!("{left}{sign}{word}{right}");
    }
    let sign = random.usually("", 2, &["-", "-", "-", "+", "--", "- "]);
    let whole = digits(random);
    let fraction = match random.below(3) {
        0 => format!("{}{}", random.usually(".", 12, &[",", "..", ". "]), digits(random)),
        _ => random.usually("", 12, &["."]).to_owned(),
    };
    let exponent = match random.below(4) {
        0 => exponent(random),
        _ => random.usually("", 30, &["e", "e+", "E-", "e1.5", "p3", "_", "f"]).to_owned(),
    };
    format!("{left}{sign}{whole}{fraction}{exponent}{right}")
}

fn digits(random: &mut Random) -> String {
    let zeros = "0".repeat([0, 0, 0, 1, 3, 30][random.below(6) as usize]);
    let digits = match random.below(10) {
        0 => random.pick(&["", "9999", "10000", "99999999", "0x1F", "1_000", "٣"]).to_owned(),
        1 => format!("{}{}{}", random.next(), random.next(), random.next()),
        _ => {
            let bits = 1 + random.below(64);
            (random.next() >> (64 - bits)).to_string()
        }
    };
    let end = "0".repeat([0, 0, 0, 1, 5, 40][random.below(6) as usize]);
    format!("{zeros}{digits}{end}")
}

fn exponent(random: &mut Random) -> String {
    let e = random.pick(&["e", "E"]);
    let sign = random.usually("", 2, &["-", "-", "-", "+", "+-", " "]);
    let digits = match random.below(8) {
        0 => {
            random.pick(&["", "1000", "400", "308", "0000000007", "99999999999", "7_0"]).to_owned()
        }
        1 => random.below(400).to_string(),
        _ => random.below(45).to_string(),
    };
    format!("{e}{sign}{digits}")
}

pub(crate) fn lsn(random: &mut Random) -> String {
    let left = random.usually("", 30, &BLANKS);
    let slash = random.usually("/", 20, &["", "//", "\\", " /", "/ "]);
    let end = random.usually("", 20, &[" ", "/", "x", "\n", "g"]);
    format!("{left}{}{slash}{}{end}", half(random), half(random))
}

fn half(random: &mut Random) -> String {
    let bits = random.below(33);
    let value = random.next() & ((1 << bits) - 1);
    match random.below(12) {
        0 => random.pick(&["", "0x1", "+1", "-1", "g", "123456789", "000000001"]).to_owned(),
        1..4 => format!("{value:08x}"),
        4..8 => format!("{value:X}"),
        _ => format!("{value:x}"),
    }
}
