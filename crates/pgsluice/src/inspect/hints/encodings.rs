//! Inputs in another encoding than the one in which they are read.

use chardetng::{EncodingDetector, Iso2022JpDetection, Utf8Detection};
use encoding_rs::{UTF_16BE, UTF_16LE};

use super::Advice;
use super::case::{HintCase, Sample};
use crate::error::{Remedy, option};
use crate::source::{Encoding, FileFormat};

/// Number of bytes by which UTF-16 is detected.
const START: usize = 1024;

/// Suggests `--encoding utf-16` for an input that begins with the byte order mark of UTF-16, or is valid text
/// in it.
pub(super) fn utf_16(case: &HintCase<'_>) -> Option<Advice> {
    let is_text = matches!(case.how.file_format, FileFormat::Delimited | FileFormat::Ndjson);
    if !case.code().starts_with("22") || !is_text || !case.how.encoding.is_utf8() {
        return None;
    }
    let sample = case.sample.as_ref()?;
    let start = &sample.text[..sample.text.len().min(START)];
    let name = match start {
        [0xff, 0xfe, 0, 0, ..] => {
            let remedy = sample.filter("The input is in UTF-32", "iconv -f utf-32 -t utf-8");
            return Some(Advice::from(remedy).instead());
        }
        [0xff, 0xfe, ..] | [0xfe, 0xff, ..] => "utf-16",
        _ if is_in(start, UTF_16LE) => "utf-16le",
        _ if is_in(start, UTF_16BE) => "utf-16be",
        _ => return None,
    };
    let remedy = Remedy::options("The input is in UTF-16", [option("encoding").with(name)]);
    Some(Advice::from(remedy).instead())
}

/// Whether the bytes are text in this encoding, with much ASCII, which the syntax of rows consists of.
fn is_in(start: &[u8], encoding: &'static encoding_rs::Encoding) -> bool {
    let even = &start[..start.len() & !1];
    if !even.contains(&0) {
        return false;
    }
    let Some(text) = encoding.decode_without_bom_handling_and_without_replacement(even) else {
        return false;
    };
    let is_control = |c: char| c.is_control() && !matches!(c, '\t' | '\r' | '\n');
    let ascii = text.chars().filter(char::is_ascii).count();
    !text.contains(is_control) && ascii * 4 >= text.chars().count() && ascii > 0
}

/// Suggests the likely encoding of bytes that are not UTF-8. If the input also has characters in UTF-8,
/// another encoding would damage them.
pub(super) fn other(case: &HintCase<'_>) -> Option<Advice> {
    let is_json = case.error.message().starts_with("invalid byte sequence for encoding");
    if case.code() != "22021" && !(is_json && case.how.file_format == FileFormat::Ndjson) {
        return None;
    }
    let encoding = case.how.encoding;
    if !encoding.is_utf8() {
        let name = encoding.name();
        return Some(Advice::detail(format!(
            "The row contains a byte that is invalid in {name}; it is shown as 0xff."
        )));
    }
    let sample = case.sample.as_ref()?;
    let raw = sample.raw.as_ref()?;
    if raw.contains(&0) {
        let what = "To remove NUL characters, which PostgreSQL cannot store";
        return Some(sample.filter(what, "tr -d '\\000' <").into());
    }
    if raw.is_ascii() {
        return None;
    }
    if sample.text.utf8_chunks().chain(raw.utf8_chunks()).any(|chunk| !chunk.valid().is_ascii()) {
        return Some(Advice::detail(
            "Other characters in the input are valid UTF-8: this row is in another encoding, or is \
             damaged.",
        ));
    }
    Some(likely_encoding(sample, raw).into())
}

/// Returns the remedy for the most likely encoding of the bytes.
fn likely_encoding(sample: &Sample, raw: &[u8]) -> Remedy {
    let mut detector = EncodingDetector::new(Iso2022JpDetection::Deny);
    detector.feed(&sample.text, false);
    detector.feed(raw, true);
    let name = detector.guess(None, Utf8Detection::Deny).name().to_ascii_lowercase();
    let is_windows = |bytes: &[u8]| bytes.iter().any(|byte| (0x80..0xa0).contains(byte));
    let name = match &*name {
        // All other characters are the same in both.
        "windows-1252" if !is_windows(&sample.text) && !is_windows(raw) => "latin1",
        name => name,
    };
    let what = format!("These bytes are not UTF-8; they may be {name}");
    match Encoding::from_name(name) {
        Some(_) => Remedy::options(what, [option("encoding").with(name)]),
        None => sample.filter(what, &format!("iconv -f {name} -t utf-8")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn encoded(text: &str, order: fn(u16) -> [u8; 2]) -> Vec<u8> {
        text.encode_utf16().flat_map(order).collect()
    }

    #[test]
    fn utf_16_is_known_without_its_mark() {
        for text in ["id,b\r\n1,x\r\n", "1\t\u{43c}\u{43e}\u{441}\n2\tx\n", "{\"id\":1}\n"] {
            let (little, big) = (encoded(text, u16::to_le_bytes), encoded(text, u16::to_be_bytes));
            assert!(is_in(&little, UTF_16LE) && !is_in(&little, UTF_16BE), "{text}");
            assert!(is_in(&big, UTF_16BE) && !is_in(&big, UTF_16LE), "{text}");
            assert!(!is_in(text.as_bytes(), UTF_16LE) && !is_in(text.as_bytes(), UTF_16BE));
        }
        assert!(!is_in(b"1,a\0b\n2,c\n", UTF_16LE));
    }

    #[test]
    fn encodings_are_told_by_their_bytes() {
        let recognize = |label: &str, text: &str| {
            let encoding = encoding_rs::Encoding::for_label(label.as_bytes()).expect("one");
            let text = encoding.encode(text).0.into_owned();
            let sample =
                Sample { text: text.clone(), reader: "cat {}".to_owned(), ..Sample::default() };
            let remedy = likely_encoding(&sample, &text);
            remedy.what.as_str().rsplit(' ').next().unwrap_or_default().to_owned()
        };
        assert_eq!(recognize("latin1", "1,café\n"), "latin1");
        assert_eq!(recognize("windows-1252", "1,café – 5 €\n"), "windows-1252");
        assert_eq!(recognize("windows-1251", "1,Москва\n2,Привет\n"), "windows-1251");
        assert_eq!(recognize("shift_jis", "1,東京\n2,カタカナ\n"), "shift_jis");
    }
}
