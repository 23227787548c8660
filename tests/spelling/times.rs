//! Awkward times of day and intervals.

use super::awkward::{self, BLANKS, Random};

pub(crate) fn time(random: &mut Random) -> String {
    let time = match random.below(12) {
        0 => random.pick(&["24:00", "24:00:00", "24:00:00.000", "24:00:01", "24:01"]).to_owned(),
        1 => {
            random.pick(&["allballs", "now", "04:05 PM", "040506", "T04:05", "4:5", ""]).to_owned()
        }
        _ => awkward::time(random),
    };
    let left = random.usually("", 30, &BLANKS);
    let end = random.usually("", 20, &[" ", "Z", "+01", " AM", " pm", " BC", "x", "-08", " UTC"]);
    format!("{left}{time}{end}")
}

pub(crate) fn timetz(random: &mut Random) -> String {
    format!("{}{}", time(random), awkward::offset(random))
}

pub(crate) fn interval(random: &mut Random) -> String {
    if random.below(20) == 0 {
        let others =
            ["P1Y2M", "P0001-02-03T04:05:06", "1-2", "1-2 3 4:05:06", "infinity", "", "@ 0"];
        return random.pick(&others).to_owned();
    }
    let mut parts = Vec::new();
    for units in [
        ["year", "years", "years", "y"],
        ["mon", "mons", "months", "m"],
        ["day", "days", "days", "d"],
        ["week", "hours", "h", "decade"],
    ] {
        let skipped = if units[0] == "week" { 0..19 } else { 0..10 };
        if !skipped.contains(&random.below(20)) {
            parts.push(format!("{}{} {}", sign(random), number(random), random.pick(&units)));
        }
    }
    if random.below(2) == 0 {
        parts.push(format!("{}{}", sign(random), clock(random)));
    }
    if parts.len() > 1 && random.below(15) == 0 {
        parts.reverse();
    }
    let blank = random.usually(" ", 30, &["  ", "", "\t"]);
    let end = random.usually("", 25, &[" ", " ago", " days", "x", " 1 day", " 00:00"]);
    let left = random.usually("", 25, &[" ", "@ ", "-", "+"]);
    format!("{left}{}{end}", parts.join(blank))
}

fn sign(random: &mut Random) -> &'static str {
    random.usually("", 5, &["-", "-", "-", "+", "- "])
}

fn number(random: &mut Random) -> String {
    match random.below(30) {
        0 => random.pick(&["1.5", "", "1e3", "2147483647", "2147483648", "99999999"]).to_owned(),
        _ => {
            let bits = 1 + random.below(24);
            (random.next() >> (64 - bits)).to_string()
        }
    }
}

fn clock(random: &mut Random) -> String {
    let time = awkward::time(random);
    match random.below(4) {
        0 => format!("{}{}", number(random), time.get(2..).unwrap_or_default()),
        _ => time,
    }
}
