//! Awkward spellings: usually nearly correct, composed of parts that a parser may get wrong.

/// A function that returns a spelling.
pub(crate) type Spell = fn(&mut Random) -> String;

/// A small generator (splitmix64), which returns the same spellings for a seed on every machine.
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed)
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    pub(crate) fn below(&mut self, end: u64) -> u64 {
        self.next() % end
    }

    pub(crate) fn pick<'a>(&mut self, parts: &[&'a str]) -> &'a str {
        parts[self.below(parts.len() as u64) as usize]
    }

    /// Returns the usual part, or once in `odds` another one.
    pub(crate) fn usually<'a>(&mut self, usual: &'a str, odds: u64, others: &[&'a str]) -> &'a str {
        if self.below(odds) == 0 { self.pick(others) } else { usual }
    }

    /// Returns a number with two digits, or occasionally with another width or outside of its range.
    pub(crate) fn two_digits(&mut self, first: u64, last: u64) -> String {
        match self.below(40) {
            0 => self.below(100).to_string(),
            1 => format!("{:03}", self.below(130)),
            2 => format!("{:02}", last + self.below(3)),
            _ => format!("{:02}", first + self.below(last - first + 1)),
        }
    }
}

pub(crate) const BLANKS: [&str; 9] =
    [" ", "  ", "\t", "\n", "\r", "\u{b}", "\u{c}", "\u{a0}", "\u{2003}"];

pub(crate) fn integer(random: &mut Random) -> String {
    let left = random.usually("", 4, &BLANKS);
    let sign = random.usually("", 2, &["-", "-", "-", "+", "--", "+-", "- ", "−"]);
    let zeros =
        random.usually("", 5, &["0", "00", "0000000000000000000000", "0x", "0o", "0b", "_"]);
    let digits = match random.below(8) {
        0 => random.pick(&["32767", "32768", "32769", "2147483647", "2147483648"]).to_owned(),
        1 => random.pick(&["9223372036854775807", "9223372036854775808"]).to_owned(),
        2 => random.pick(&["", "18446744073709551616", "1_000", "1__0", "10_", "1F"]).to_owned(),
        3 => random.pick(&["99999999999999999999", "1e3", "1.0", "1.", "٣", "１"]).to_owned(),
        _ => {
            let bits = 1 + random.below(64);
            (random.next() >> (64 - bits)).to_string()
        }
    };
    let right = random.usually("", 4, &BLANKS);
    let end = random.usually("", 20, &["x", "-", "0", " 1", "_", "L"]);
    format!("{left}{sign}{zeros}{digits}{right}{end}")
}

pub(crate) fn boolean(random: &mut Random) -> String {
    let word =
        random.pick(&["true", "false", "yes", "no", "on", "off", "1", "0", "", "null", "ja"]);
    let end = word.len() - random.below(word.len() as u64 + 1) as usize;
    let cased = word[..end].chars().map(|c| match random.below(2) {
        0 => c.to_ascii_uppercase(),
        _ => c,
    });
    let cased: String = cased.collect();
    let left = random.usually("", 3, &BLANKS);
    let right = random.usually("", 3, &BLANKS);
    let end = random.usually("", 12, &["x", "e", "s", "0", "f", "ı", "."]);
    format!("{left}{cased}{end}{right}")
}

pub(crate) fn string(random: &mut Random) -> String {
    let parts = [
        "a", "Z", "0", " ", " ", "  ", "\t", "\n", "\\", "ä", "€", "漢", "😀", "e\u{301}", "\u{a0}",
    ];
    (0..random.below(16)).map(|_| random.pick(&parts)).collect()
}

pub(crate) fn uuid(random: &mut Random) -> String {
    let value = u128::from(random.next()) << 64 | u128::from(random.next());
    let digits = format!("{value:032x}");
    let style = random.below(4);
    let mut text = String::new();
    for (n, digit) in digits.chars().enumerate() {
        let hyphen = match style {
            0 => [8, 12, 16, 20].contains(&n),
            1 => false,
            2 => n > 0 && n % 4 == 0 && random.below(2) == 0,
            _ => random.below(60) == 0,
        };
        if hyphen {
            text.push('-');
        }
        text.push(if random.below(2) == 0 { digit.to_ascii_uppercase() } else { digit });
    }
    if random.below(8) == 0 {
        let at = random.below(text.len() as u64) as usize;
        let odd = random.pick(&["", "-", "--", "g", " ", "0", "{", "}"]);
        text.replace_range(at..at + 1, odd);
    }
    match random.below(8) {
        0 => format!("{{{text}}}"),
        1 => format!("{}{text}{}", random.pick(&["", "{", " "]), random.pick(&["", "}", " ", "-"])),
        _ => text,
    }
}

pub(crate) fn date(random: &mut Random) -> String {
    let text = day(random);
    let end = random.usually("", 10, &[" ", " BC", " AD", " 00:00", "T12:34:56", "Z", " Mon", "x"]);
    let left = random.usually("", 20, &BLANKS);
    format!("{left}{text}{end}")
}

fn day(random: &mut Random) -> String {
    let year = match random.below(16) {
        0 => format!("{}", random.below(120)),
        1 => format!("{:05}", random.below(20000)),
        2 => random.pick(&["0000", "0001", "0004", "9999", "294276", "-2000", ""]).to_owned(),
        3 => format!("{:03}", random.below(1000)),
        4..8 => format!("{}", 1900 + random.below(200)),
        _ => format!("{:04}", 1 + random.below(9999)),
    };
    // The ends of February and of the other months, which are common sources of calendar bugs.
    let (month, day) = match random.below(4) {
        0 => (
            random.pick(&["02", "03"]).to_owned(),
            random.pick(&["01", "28", "29", "30"]).to_owned(),
        ),
        1 => (random.two_digits(1, 12), random.pick(&["30", "31", "01", "00"]).to_owned()),
        _ => (random.two_digits(1, 12), random.two_digits(1, 28)),
    };
    let month = random.usually(&month, 25, &["Feb", "January", "00", "13", "1", "b2"]).to_owned();
    let dash = random.usually("-", 25, &["/", ".", " ", "", "--", "−"]);
    let second = random.usually(dash, 25, &["-", "/", "."]);
    match random.below(25) {
        0 => format!("{month}{dash}{day}{second}{year}"),
        1 => random
            .pick(&[
                "infinity",
                "-infinity",
                "Infinity",
                "infinit",
                "epoch",
                "J2451545",
                "20240229",
            ])
            .to_owned(),
        _ => format!("{year}{dash}{month}{second}{day}"),
    }
}

pub(crate) fn timestamp(random: &mut Random) -> String {
    let day = day(random);
    if random.below(10) == 0 {
        return day
            + random.usually("", 3, &[" ", "T", "Z", " Z", "+01", " +01", "-01", "x", " UTC"]);
    }
    let joint = random.usually(" ", 2, &["T", "T", "T", "t", "  ", "_", "", " T", "\t", "\n"]);
    let offset = offset(random);
    let end = random.usually("", 30, &[" ", " BC", " AM", "PM", " Mon", "x", "Z", "+01"]);
    format!("{day}{joint}{}{offset}{end}", time(random))
}

pub(crate) fn time(random: &mut Random) -> String {
    let hour = random.two_digits(0, 23);
    let minute = random.two_digits(0, 59);
    let colon = random.usually(":", 50, &["", ".", "::", " "]);
    let seconds = match random.below(4) {
        0 => String::new(),
        _ => format!(":{}", random.two_digits(0, 59)),
    };
    let fraction = match random.below(3) {
        0 => format!(".{}", &format!("{:020}", random.next())[..random.below(9) as usize]),
        _ => random.usually("", 40, &[".", ",5", ".5e1", ".-5", ". 5"]).to_owned(),
    };
    format!("{hour}{colon}{minute}{seconds}{fraction}")
}

pub(crate) fn offset(random: &mut Random) -> String {
    if random.below(2) == 0 {
        return String::new();
    }
    let blank = random.usually("", 4, &[" ", " ", "  ", "\t"]);
    let sign = random.usually("+", 2, &["-", "-", "-", "-", "−", "", "+-"]);
    let (h, m, s) = (random.two_digits(0, 16), random.two_digits(0, 60), random.two_digits(0, 60));
    let form = match random.below(10) {
        0..2 => format!("{h}:{m}"),
        2 => format!("{h}{m}"),
        3 => format!("{h}:{m}:{s}"),
        4 => format!("{h}{m}{s}"),
        5 => random.pick(&["1", "5:30", "05:3", "05.5", "123", "5h", "00:00:00.5", ""]).to_owned(),
        _ => h,
    };
    match random.below(4) {
        0 => format!(
            "{blank}{}",
            random.pick(&["Z", "z", "Z", "ZULU", "UTC", "EST", "z5", "Europe/Berlin"])
        ),
        _ => format!("{blank}{sign}{form}"),
    }
}
