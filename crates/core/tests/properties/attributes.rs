//! The parser's naive twins, which read the fields of one line byte by byte, after `CopyReadAttributesCSV`
//! and `CopyReadAttributesText` in `src/backend/commands/copyfromparse.c` (PostgreSQL 18).

/// The decoded fields of a line; `None` is NULL.
pub type Fields = Vec<Option<Vec<u8>>>;

/// Returns the fields of a CSV line; `None` if a quote is not closed.
pub fn csv(line: &[u8], delimiter: u8, null: &[u8], quote: u8, escape: u8) -> Option<Fields> {
    let mut fields = Fields::new();
    let mut at = 0;
    loop {
        let (start, mut value, mut saw_quote, mut in_quote) = (at, Vec::new(), false, false);
        while let Some(&byte) = line.get(at) {
            at += 1;
            if !in_quote {
                if byte == delimiter {
                    at -= 1;
                    break;
                }
                if byte == quote {
                    (saw_quote, in_quote) = (true, true);
                } else {
                    value.push(byte);
                }
                continue;
            }
            if byte == escape
                && let Some(&next) = line.get(at)
                && (next == escape || next == quote)
            {
                value.push(next);
                at += 1;
                continue;
            }
            if byte == quote {
                in_quote = false;
            } else {
                value.push(byte);
            }
        }
        if in_quote {
            return None;
        }
        fields.push((saw_quote || &line[start..at] != null).then_some(value));
        if at == line.len() {
            return Some(fields);
        }
        at += 1;
    }
}

/// Returns the fields of a line of COPY text.
pub fn text(line: &[u8], delimiter: u8, null: &[u8]) -> Fields {
    let mut fields = Fields::new();
    let mut at = 0;
    loop {
        let (start, mut value) = (at, Vec::new());
        let mut delimited = false;
        let mut end;
        loop {
            end = at;
            let Some(&byte) = line.get(at) else { break };
            at += 1;
            if byte == delimiter {
                delimited = true;
                break;
            }
            if byte != b'\\' {
                value.push(byte);
                continue;
            }
            let Some(&escaped) = line.get(at) else { break };
            at += 1;
            value.push(unescape(escaped, line, &mut at));
        }
        // The null string is compared with the raw text of the line.
        fields.push((&line[start..end] != null).then_some(value));
        if !delimited {
            return fields;
        }
    }
}

/// Returns the byte for a backslash and `escaped`; `at` is the position after them.
fn unescape(escaped: u8, line: &[u8], at: &mut usize) -> u8 {
    let mut digit = |radix: u32| {
        let digit = line.get(*at).and_then(|&byte| char::from(byte).to_digit(radix));
        *at += usize::from(digit.is_some());
        digit
    };
    match escaped {
        b'0'..=b'7' => {
            let mut value = u32::from(escaped - b'0');
            if let Some(second) = digit(8) {
                value = value << 3 | second;
                if let Some(third) = digit(8) {
                    value = value << 3 | third;
                }
            }
            value as u8
        }
        b'x' => match digit(16) {
            None => b'x',
            Some(first) => match digit(16) {
                None => first as u8,
                Some(second) => (first << 4 | second) as u8,
            },
        },
        b'b' => 0x08,
        b'f' => 0x0C,
        b'n' => b'\n',
        b'r' => b'\r',
        b't' => b'\t',
        b'v' => 0x0B,
        other => other,
    }
}
