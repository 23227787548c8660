//! The line that Excel puts at the beginning of a CSV file to name the delimiter: `sep=;`.

/// Returns the delimiter that the first line names, if it is such a line.
pub(crate) fn excel_delimiter(text: &[u8]) -> Option<u8> {
    let line = text.split(|byte| *byte == b'\n').next()?;
    let line = line.strip_suffix(b"\r").unwrap_or(line);
    let line = match line {
        [b'"', inner @ .., b'"'] => inner,
        line => line,
    };
    let (name, delimiter) = line.split_at_checked(4)?;
    match delimiter {
        [byte] if name.eq_ignore_ascii_case(b"sep=") && byte.is_ascii() => Some(*byte),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_is_known() {
        for (text, delimiter) in [
            (&b"sep=;\nid;b\n"[..], Some(b';')),
            (b"\"SEP=,\"\r\nid", Some(b',')),
            (b"sep=\t\n", Some(b'\t')),
            (b"sep=\n", None),
            (b"sep=a b\n", None),
            (b"id;b\n", None),
            (b"", None),
        ] {
            assert_eq!(excel_delimiter(text), delimiter);
        }
    }
}
