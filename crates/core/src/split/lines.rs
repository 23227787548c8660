//! Rows that are lines, as in NDJSON.

use memchr::memchr;

use super::{Row, Scan};

/// Appends the lines of `bytes` that are not blank; `last` says that no bytes follow.
pub(super) fn scan(bytes: &[u8], last: bool, rows: &mut Vec<Row>) -> Scan {
    let mut scan = Scan::default();
    while let Some(rest) = bytes.get(scan.consumed..).filter(|rest| !rest.is_empty()) {
        let (length, next) = match memchr(b'\n', rest) {
            Some(end) => (end, end + 1),
            None if last => (rest.len(), rest.len()),
            None => break,
        };
        let line = rest[..length].strip_suffix(b"\r").unwrap_or(&rest[..length]);
        if !line.trim_ascii().is_empty() {
            let start = scan.consumed as u32;
            rows.push(Row { start, end: start + line.len() as u32, line: scan.lines });
        }
        scan.consumed += next;
        scan.lines += 1;
    }
    scan
}

#[cfg(test)]
mod tests {
    use super::super::Splitter;

    #[test]
    fn a_line_is_a_row_unless_it_is_blank() {
        let text = b"{\"a\": 1}\r\n\n \t\r\n{\"b\"\n\\.\nlast";
        let mut rows = Vec::new();
        let scan = Splitter::by_line().scan(text, false, &mut rows).expect("lines");
        let found: Vec<_> = rows.iter().map(|row| (row.slice(text), row.line)).collect();
        assert_eq!(found, [(&b"{\"a\": 1}"[..], 0), (b"{\"b\"", 3), (b"\\.", 4)]);
        assert_eq!(&text[scan.consumed..], b"last");
        let scan = Splitter::by_line().scan(text, true, &mut rows).expect("lines");
        assert_eq!((scan.consumed, scan.lines, rows.len()), (text.len(), 6, 7));
        assert_eq!(rows[6].slice(text), b"last");
    }
}
