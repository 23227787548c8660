//! What remains of a string without its quotes and escapes. Short ones, nearly all, need no memory of
//! their own.

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
