//! temporary
use pgsluice_core::format::Format;
use pgsluice_core::parse::Parser;
use pgsluice_core::types::{Column, ColumnType, Made};
use pgsluice_json::{Missing, Objects, Target, Unknown};
use std::io::Write;

struct Rng(u64);
impl Rng {
    fn below(&mut self, n: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        ((self.0 >> 20) as usize) % n
    }
    fn pick<'a>(&mut self, of: &[&'a str]) -> &'a str {
        let n = self.below(of.len());
        of[n]
    }
}
fn ws(r: &mut Rng) -> &'static str {
    if r.below(6) == 0 { r.pick(&[" ", "  ", "\t", "\r"]) } else { "" }
}
fn string(r: &mut Rng) -> String {
    let mut s = String::from("\"");
    for _ in 0..r.below(5) {
        s += r.pick(&[
            "a",
            "1",
            " ",
            ",",
            "{",
            "}",
            "(",
            ")",
            "\\\"",
            "\\\\",
            "\\/",
            "\\n",
            "\\t",
            "\\r",
            "\\b",
            "\\f",
            "\\u0041",
            "\\u00e9",
            "é",
            "\\ud83d\\ude00",
            "\\u0001",
            "null",
            "NULL",
            ";",
            "\u{7f}",
            "'",
            "\u{a0}",
            "\\\\N",
            "\\u001f",
        ]);
        if r.below(300) == 0 {
            s += r.pick(&["\\u0000", "\\ud83d", "\\ude00", "\\ud83d\\ud83d"]);
        }
    }
    s + "\""
}
fn scalar(r: &mut Rng) -> String {
    match r.below(12) {
        0 => "null".into(),
        1 => "true".into(),
        2 => "false".into(),
        3 | 4 | 5 => r
            .pick(&[
                "0",
                "1",
                "42",
                "-7",
                "1.50",
                "1e3",
                "-0",
                "123456789012345678901234567890",
                "0.10E-2",
            ])
            .into(),
        6 => r
            .pick(&[
                "\"{1,2}\"",
                "\"(1,a,)\"",
                "\"{}\"",
                "\"2024-01-01\"",
                "\"7\"",
                "\"t\"",
                "\"sad\"",
                "\"{\\\"a\\\": 1}\"",
                "\"(1,2),(3,4)\"",
                "\"\"",
            ])
            .into(),
        _ => string(r),
    }
}
fn any(r: &mut Rng, depth: usize) -> String {
    match r.below(if depth == 0 { 6 } else { 9 }) {
        0..=5 => scalar(r),
        6 | 7 => array(r, depth),
        _ => object(r, depth, &["x", "y", "z", "p", "q", "r", "k", ""]),
    }
}
fn array(r: &mut Rng, depth: usize) -> String {
    let n = r.below(4);
    let same = r.below(2) == 0;
    let one = any(r, depth - 1);
    let v: Vec<String> = (0..n)
        .map(|_| {
            let v = if same { one.clone() } else { any(r, depth - 1) };
            format!("{}{}{}", ws(r), v, ws(r))
        })
        .collect();
    format!("[{}{}]", ws(r), v.join(","))
}
fn object(r: &mut Rng, depth: usize, keys: &[&str]) -> String {
    let mut keys: Vec<&str> = keys.to_vec();
    let mut v = Vec::new();
    for _ in 0..r.below(keys.len().min(4)) {
        let k = keys.swap_remove(r.below(keys.len()));
        v.push(format!(
            "{}\"{k}\"{}:{}{}{}",
            ws(r),
            ws(r),
            ws(r),
            shaped(r, depth.saturating_sub(1), k),
            ws(r)
        ));
    }
    format!("{{{}{}}}", ws(r), v.join(","))
}
/// mostly what the key wants
fn shaped(r: &mut Rng, depth: usize, key: &str) -> String {
    if r.below(8) == 0 {
        return any(r, depth);
    }
    let ints = |r: &mut Rng| {
        let f = r.pick(&[
            "[]",
            "[1,2]",
            "[[1,2],[3,null]]",
            "[[]]",
            "[[],[]]",
            "[[[1]],[[2]]]",
            "[null]",
            "[1,[2]]",
            "[[1],2]",
            "[[1],[2,3]]",
            "[[[[[[1]]]]]]",
            "[[[[[[[1]]]]]]]",
            "[[[[[[[]]]]]]]",
            "[[1],null]",
            "[\"1\", 2 ]",
            "[{}]",
            "[[],1]",
            "{}",
        ]);
        f.to_owned()
    };
    match key {
        "a" | "x" => r.pick(&["1", "\"2\"", "null", "-3", "1.0"]).into(),
        "b" | "y" | "f" | "g" | "k" | "z" => any(r, 3),
        "c" => r.pick(&["\"2024-02-29\"", "\"2024-02-30\"", "20240229", "null"]).into(),
        "d" => ints(r),
        "e" | "r" | "j" => {
            if r.below(3) == 0 {
                ints(r)
            } else {
                array(r, 2)
            }
        }
        "h" | "o" | "p" => object(r, 2, &["x", "y", "z", "w"]),
        "i" | "q" => {
            let n = r.below(3);
            let v: Vec<String> =
                (0..n)
                    .map(|_| {
                        if r.below(6) == 0 {
                            any(r, 1)
                        } else {
                            object(r, 2, &["x", "y", "z", "w"])
                        }
                    })
                    .collect();
            if r.below(4) == 0 {
                format!("[[{}]]", v.join(", "))
            } else {
                format!("[{}]", v.join(", "))
            }
        }
        "l" => r
            .pick(&[
                "[\"(1,2),(3,4)\"]",
                "[\"(1,2),(3,4)\",\"((0,0),(1,1))\",null]",
                "[]",
                "[1]",
                "[[\"(1,2),(3,4)\"],[null]]",
            ])
            .into(),
        "m" => r
            .pick(&[
                "1",
                "1.50",
                "1e5",
                "\"NaN\"",
                "123456789012345678901234567890.123456789",
                "true",
            ])
            .into(),
        "n" => r.pick(&["true", "false", "\"yes\"", "1", "null", "0"]).into(),
        "s" => ints(r).replace("1", "[1,2]"),
        "t" => object(r, 2, &["p", "q", "r"]),
        "u" => r.pick(&["\"sad\"", "\"ok\"", "1", "null"]).into(),
        _ => any(r, 2),
    }
}
fn ty(oid: u32, made: Made) -> ColumnType {
    ColumnType { oid, modifier: -1, name: String::new(), made }
}
fn col(name: &str, ty: ColumnType) -> Column {
    Column { name: name.into(), ty }
}
fn arr(e: ColumnType, delimiter: u8) -> ColumnType {
    ty(1, Made::Array { delimiter, element: e.into() })
}
fn dom(e: ColumnType) -> ColumnType {
    ty(2, Made::Domain(e.into()))
}
fn main() {
    let s = || ty(25, Made::Alone);
    let json = || ty(114, Made::Alone);
    let comp = || ty(9, Made::Composite(vec![col("x", s()), col("y", s()), col("z", json())]));
    let comp2 = ty(
        10,
        Made::Composite(vec![
            col("p", comp()),
            col("q", arr(comp(), b',')),
            col("r", arr(s(), b',')),
        ]),
    );
    let columns = vec![
        col("a", s()),
        col("b", s()),
        col("c", s()),
        col("d", arr(s(), b',')),
        col("e", arr(s(), b',')),
        col("f", json()),
        col("g", ty(3802, Made::Alone)),
        col("h", comp()),
        col("i", arr(comp(), b',')),
        col("j", arr(json(), b',')),
        col("k", dom(json())),
        col("l", arr(s(), b';')),
        col("m", s()),
        col("n", s()),
        col("o", dom(comp())),
        col("s", arr(dom(arr(s(), b',')), b',')),
        col("t", comp2),
        col("u", ty(11, Made::Enum)),
    ];
    let keys: Vec<String> = columns.iter().map(|c| c.name.clone()).collect();
    let keys: Vec<&str> = keys.iter().map(String::as_str).collect();
    let targets = columns.iter().map(|c| Target {
        key: c.name.clone(),
        column: c.clone(),
        missing: Missing::Null,
    });
    let mut objects = Objects::new(targets.collect(), Unknown::Ignore);
    let parser = Parser::new(&Format::text(), vec![]);
    let mut r =
        Rng(std::env::args().nth(1).and_then(|a| a.parse().ok()).unwrap_or(88172645463325252));
    let out = std::io::stdout();
    let mut out = std::io::BufWriter::new(out.lock());
    for _ in 0..40000 {
        let k = if r.below(4) > 0 {
            vec![keys[r.below(keys.len())]]
        } else if r.below(2) == 0 {
            keys.clone()
        } else {
            vec!["zz", "b", "f"]
        };
        let mut line = object(&mut r, 3, &k);
        if k.len() == 1 {
            let v = shaped(&mut r, 3, k[0]);
            line = format!("{{\"{}\":{}{v}{}}}", k[0], ws(&mut r), ws(&mut r));
        }
        if r.below(10) == 0 && !line.is_empty() {
            let at = r.below(line.len());
            if line.is_char_boundary(at) && line.is_char_boundary(at + 1) {
                line.replace_range(
                    at..at + 1,
                    r.pick(&["", "x", "\"", "}", "[", "]", ",", "\\", "0", "."]),
                );
            }
        }
        let mut row = Vec::new();
        let done = objects.put_row(line.as_bytes(), &mut row);
        let enc = |t: &str| {
            t.replace('\\', "\\\\").replace('\t', "\\t").replace('\n', "\\n").replace('\r', "\\r")
        };
        let said = match &done {
            Ok(()) => String::new(),
            Err(e) => e.message.clone(),
        };
        let fields = match &done {
            Err(_) => "\\N".to_owned(),
            Ok(()) => {
                let f: Vec<String> = parser
                    .all(&row)
                    .into_iter()
                    .map(|f| match f {
                        None => "NULL".into(),
                        Some(f) => format!(
                            "\"{}\"",
                            String::from_utf8(f)
                                .unwrap()
                                .replace('\\', "\\\\")
                                .replace('"', "\\\"")
                        ),
                    })
                    .collect();
                enc(&format!("{{{}}}", f.join(",")))
            }
        };
        writeln!(out, "{}\t{fields}\t{}", enc(&line), enc(&said)).unwrap();
    }
}
