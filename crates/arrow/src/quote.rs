//! Escapes and quotes, inserted into text that was already written, so that no value needs memory of its own.

/// Escapes the text after `start` for COPY text: `CopyAttributeOutText`, `src/backend/commands/copyto.c`.
pub(crate) fn escape(start: usize, out: &mut Vec<u8>) {
    expand(start, out, |byte| match byte {
        b'\\' => Some(b'\\'),
        b'\t' => Some(b't'),
        b'\n' => Some(b'n'),
        b'\r' => Some(b'r'),
        _ => None,
    });
}

/// Quotes the text after `start` as a value of an array or a composite, if necessary: `array_out`,
/// `src/backend/utils/adt/arrayfuncs.c`, and `record_out`, `src/backend/utils/adt/rowtypes.c`.
pub(crate) fn quote(start: usize, out: &mut Vec<u8>) {
    let value = &out[start..];
    let plain = |&byte: &u8| byte.is_ascii_alphanumeric() || b"+-.:".contains(&byte);
    if !value.is_empty() && !value.eq_ignore_ascii_case(b"null") && value.iter().all(plain) {
        return;
    }
    expand(start, out, |byte| matches!(byte, b'"' | b'\\').then_some(byte));
    out.insert(start, b'"');
    out.push(b'"');
}

/// Replaces each byte for which `escaped` returns another by a backslash and that byte.
fn expand(start: usize, out: &mut Vec<u8>, escaped: impl Fn(u8) -> Option<u8>) {
    let more = out[start..].iter().filter(|&&byte| escaped(byte).is_some()).count();
    if more == 0 {
        return;
    }
    let (mut from, mut to) = (out.len(), out.len() + more);
    out.resize(to, 0);
    // When all bytes are replaced, the two positions meet.
    while from < to {
        from -= 1;
        to -= 1;
        out[to] = out[from];
        if let Some(sign) = escaped(out[from]) {
            out[to] = sign;
            to -= 1;
            out[to] = b'\\';
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn apply(change: fn(usize, &mut Vec<u8>), text: &str) -> String {
        let mut out = b"\"\t".to_vec();
        out.extend(text.bytes());
        change(2, &mut out);
        String::from_utf8(out.split_off(2)).unwrap()
    }

    #[test]
    fn signs_are_escaped_in_place() {
        assert_eq!(apply(escape, "a\tb\\N\n\r"), r"a\tb\\N\n\r");
        assert_eq!(apply(escape, "plain"), "plain");
        assert_eq!(apply(escape, "\\"), r"\\");
    }

    #[test]
    fn values_are_quoted_if_they_need_to_be() {
        assert_eq!(apply(quote, "1.5"), "1.5");
        assert_eq!(apply(quote, "NuLL"), "\"NuLL\"");
        assert_eq!(apply(quote, ""), "\"\"");
        assert_eq!(apply(quote, r#"a "b" \"#), r#""a \"b\" \\""#);
    }
}
