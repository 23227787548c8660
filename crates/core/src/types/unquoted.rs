//! Strings without their quotes and escapes. Short strings, which are nearly all, need no allocation.

/// A byte string, on the stack while it is short.
pub(super) struct Unquoted {
    inline: [u8; 64],
    length: usize,
    /// All bytes, once they exceed the stack buffer.
    heap: Vec<u8>,
}

impl Unquoted {
    pub(super) fn new() -> Self {
        Self { inline: [0; 64], length: 0, heap: Vec::new() }
    }

    pub(super) fn push(&mut self, byte: u8) {
        if let Some(place) = self.inline.get_mut(self.length) {
            *place = byte;
            self.length += 1;
            return;
        }
        if self.heap.is_empty() {
            self.heap.extend(self.inline);
        }
        self.heap.push(byte);
    }

    pub(super) fn bytes(&self) -> &[u8] {
        if self.heap.is_empty() { &self.inline[..self.length] } else { &self.heap }
    }
}

/// Splits a text at the first of the characters `ends` that is outside of quotes; the rest begins with that
/// character.
pub(super) fn split_quoted<'a>(text: &'a [u8], ends: &[u8]) -> Option<(&'a [u8], &'a [u8])> {
    let mut quoted = false;
    let mut place = 0;
    loop {
        match text.get(place)? {
            b'\\' => place += 1,
            // A doubled quote within quotes is a literal quote. It toggles twice, which changes nothing.
            b'"' => quoted = !quoted,
            sign if !quoted && ends.contains(sign) => return Some(text.split_at(place)),
            _ => {}
        }
        place += 1;
    }
}

/// Passes the text without quotes and escapes to `read`.
pub(super) fn with_unquoted(text: &[u8], read: impl FnOnce(&[u8]) -> Option<()>) -> Option<()> {
    match memchr::memchr2(b'"', b'\\', text) {
        None => read(text),
        Some(_) => read(unquote(text).bytes()),
    }
}

/// Removes quotes and escapes like `range_parse_bound` (`src/backend/utils/adt/rangetypes.c`) and the equal code
/// in `record_in` (`src/backend/utils/adt/rowtypes.c`, PostgreSQL 13 to 18).
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
