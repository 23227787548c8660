//! The rest of a string without its quotes and escapes. Short ones, nearly all, need no memory of their
//! own.

/// A string of bytes, on the stack while it is short.
pub(super) struct Unquoted {
    few: [u8; 64],
    length: usize,
    /// All bytes, once they are too many.
    many: Vec<u8>,
}

impl Unquoted {
    pub(super) fn new() -> Self {
        Self { few: [0; 64], length: 0, many: Vec::new() }
    }

    pub(super) fn push(&mut self, byte: u8) {
        if let Some(place) = self.few.get_mut(self.length) {
            *place = byte;
            self.length += 1;
            return;
        }
        if self.many.is_empty() {
            self.many.extend(self.few);
        }
        self.many.push(byte);
    }

    pub(super) fn bytes(&self) -> &[u8] {
        if self.many.is_empty() { &self.few[..self.length] } else { &self.many }
    }
}

/// Splits a text at the first of the signs `ends` that stands outside of quotes; the rest begins with it.
pub(super) fn split_quoted<'a>(text: &'a [u8], ends: &[u8]) -> Option<(&'a [u8], &'a [u8])> {
    let mut quoted = false;
    let mut place = 0;
    loop {
        match text.get(place)? {
            b'\\' => place += 1,
            // Two quotes within quotes are one that is meant, and change nothing here.
            b'"' => quoted = !quoted,
            sign if !quoted && ends.contains(sign) => return Some(text.split_at(place)),
            _ => {}
        }
        place += 1;
    }
}

/// Gives `read` the text without quotes and escapes.
pub(super) fn with_unquoted(text: &[u8], read: impl FnOnce(&[u8]) -> Option<()>) -> Option<()> {
    match memchr::memchr2(b'"', b'\\', text) {
        None => read(text),
        Some(_) => read(unquote(text).bytes()),
    }
}

/// `range_parse_bound`, `src/backend/utils/adt/rangetypes.c`, and what is the same in `record_in`,
/// `src/backend/utils/adt/rowtypes.c`, PostgreSQL 13 to 18.
fn unquote(text: &[u8]) -> Unquoted {
    let mut plain = Unquoted::new();
    let mut quoted = false;
    let mut rest = text;
    loop {
        rest = match rest {
            [b'"', b'"', rest @ ..] if quoted => {
                plain.push(b'"');
                rest
            }
            [b'"', rest @ ..] => {
                quoted = !quoted;
                rest
            }
            [b'\\', byte, rest @ ..] | [byte, rest @ ..] => {
                plain.push(*byte);
                rest
            }
            [] => return plain,
        };
    }
}

#[cfg(test)]
mod tests {
    use super::Unquoted;

    #[test]
    fn bytes_stay_whatever_their_number() {
        let mut unquoted = Unquoted::new();
        let mut bytes = Vec::new();
        for byte in 0..=200 {
            assert_eq!(unquoted.bytes(), bytes);
            unquoted.push(byte);
            bytes.push(byte);
        }
    }
}
