//! Text that is not valid UTF-8: the codecs do not check it, so COPY BINARY must refuse it as COPY text does.

use super::kinds::TYPES;
use super::sides::{Row, Sides};
use crate::harness::{Server, on_each_server};
use crate::spelling::settings;

on_each_server!([text_that_is_no_utf8_is_refused,]);

/// Each type of text, with the text before and after the invalid bytes.
const TEXTS: &[(&str, &str, &str)] = &[
    ("text", "a", "b"),
    ("varchar(4)", "", ""),
    ("character(4)", "", ""),
    ("bpchar", "", " "),
    ("name", "a", "b"),
    ("mood", "", ""),
    ("json", "\"", "\""),
    ("jsonb", "\"", "\""),
    ("xml", "<a>", "</a>"),
    ("xml", "<!-- ", " -->"),
    ("\"char\"", "", ""),
    ("bytea", "", ""),
    ("text[]", "{a,", "}"),
    ("textrange", "[", ",)"),
    ("pair", "(1,", ")"),
];

/// A lone continuation byte, a truncated sequence, an overlong one, half of a surrogate pair, and a code
/// point beyond the last one.
const NO_TEXTS: &[&[u8]] =
    &[b"\xFF", b"\x80", b"\xC3", b"\xE2\x82", b"\xC0\x80", b"\xED\xA0\x80", b"\xF4\x90\x80\x80"];

fn text_that_is_no_utf8_is_refused(server: Server) {
    let scratch = server.scratch();
    scratch.session().run(TYPES);
    for (ty, before, after) in TEXTS {
        let sides = Sides::create(&scratch, settings(0), &[ty]);
        let codec = sides.codec();
        for bytes in NO_TEXTS {
            let text = [before.as_bytes(), bytes, after.as_bytes()].concat();
            if let Some(row) = Row::encode(&codec, &text) {
                let (taken, _) = sides.divide_by_text(std::slice::from_ref(&row));
                assert!(taken.is_empty(), "{ty}: COPY text takes {row:?}");
                sides.must_refuse(&row);
            }
        }
    }
}
