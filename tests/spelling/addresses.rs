//! Awkward hardware and network addresses, and strings of bytes.

use super::awkward::{self, BLANKS, Random};

/// Returns a string about as long as a name may be.
pub(crate) fn long_string(random: &mut Random) -> String {
    let text: String = (0..random.below(9)).map(|_| awkward::string(random)).collect();
    if random.below(3) == 0 { text } else { text.chars().take(40).collect() }
}

pub(crate) fn bytes(random: &mut Random) -> String {
    let length = random.below(20);
    if random.below(2) == 0 {
        let digits = (0..length).map(|_| {
            let byte = random.below(256);
            let pair =
                if byte.is_multiple_of(2) { format!("{byte:02x}") } else { format!("{byte:02X}") };
            random.usually(&pair, 60, &["0", "g0", " ", "0x", "\n", ""]).to_owned()
        });
        let digits: String = digits.collect();
        return format!("{}{digits}", random.usually("\\x", 12, &["\\X", "0x", "x", "\\\\x"]));
    }
    let parts = ["a", "x", "\\\\", "\\000", "\\377", "\\012", " ", "'", "~", "\n"];
    let odd = ["\\", "\\400", "\\08", "\\n", "é", "\\00", "\\x"];
    let part = |_| {
        let part = random.pick(&parts);
        random.usually(part, 60, &odd).to_owned()
    };
    (0..length).map(part).collect()
}

pub(crate) fn hardware(random: &mut Random) -> String {
    let bytes = [6, 6, 6, 8, 8, 5, 7][random.below(7) as usize];
    let group = [2, 2, 2, 4, 6, 16][random.below(6) as usize];
    let separator = random.pick(&[":", "-", ".", ""]);
    let mut text = String::new();
    for digit in 0..bytes * 2 {
        if digit > 0 && digit % group == 0 {
            text += random.usually(separator, 80, &[":", "-", ".", " ", ""]);
        }
        let value = random.below(16);
        let plain =
            if value.is_multiple_of(2) { format!("{value:x}") } else { format!("{value:X}") };
        text += random.usually(&plain, 200, &["", "g", " ", "00", "0x"]);
    }
    let (left, right) = (random.usually("", 15, &BLANKS), random.usually("", 15, &BLANKS));
    format!("{left}{text}{right}")
}

pub(crate) fn network(random: &mut Random) -> String {
    let (address, widest) = match random.below(2) {
        0 => (version_4(random), 32),
        _ => (version_6(random), 128),
    };
    let bits = match random.below(6) {
        0 => format!("/{}", random.below(widest + 2)),
        1 => format!("/{}", [8, 16, 24, 32, 64][random.below(5) as usize]),
        _ => random
            .usually("", 12, &["/", "/08", "/+8", "/ 8", "/-1", "/255.0.0.0", "/0"])
            .to_owned(),
    };
    let (left, right) = (random.usually("", 20, &BLANKS), random.usually("", 20, &BLANKS));
    format!("{left}{address}{bits}{right}")
}

fn version_4(random: &mut Random) -> String {
    let count = if random.below(8) == 0 { 1 + random.below(5) } else { 4 };
    let octet = |_| match random.below(40) {
        0 => random.pick(&["", "256", "01", "010", "0x1", "-1", "+1", " 1", "1e1"]).to_owned(),
        1..14 => "0".to_owned(),
        _ => random.below(256).to_string(),
    };
    (0..count).map(octet).collect::<Vec<_>>().join(".")
}

fn version_6(random: &mut Random) -> String {
    let count = if random.below(3) == 0 { 8 } else { 1 + random.below(8) };
    let mut groups: Vec<String> = (0..count).map(|_| group(random)).collect();
    for _ in 0..random.below(3) {
        groups[random.below(count) as usize].clear();
    }
    let ends = [("", ""), ("", ""), ("::", ""), ("", "::"), (":", ""), ("", ":")];
    let (left, right) = ends[random.below(6) as usize];
    let last = random.usually("", 20, &[":1.2.3.4", "%eth0", "::", ":", "1.2.3.4"]);
    format!("{left}{}{right}{last}", groups.join(":"))
}

fn group(random: &mut Random) -> String {
    let bits = random.below(17);
    let value = random.next() & ((1 << bits) - 1);
    match random.below(60) {
        0 => random.pick(&["", "12345", "00001", "g", "+1", " 1", "0x1"]).to_owned(),
        1..10 => format!("{value:04x}"),
        10..30 => format!("{value:X}"),
        _ => format!("{value:x}"),
    }
}
