//! Rows converted to COPY's formats, and the input rows that could not be converted.
//!
//! An input row that cannot be converted is replaced by a row with too many fields, which the server rejects
//! as well. Its fields are the reason, the original row and a hint. It is therefore found, counted and
//! rejected like any other bad row.

use pgsluice_core::encode::NotEncodable;
use pgsluice_core::format::Format;
use pgsluice_core::parse::{Parser, Value, text_row};
use pgsluice_core::route::Cause;
use pgsluice_json::Objects;
use twox_hash::XxHash3_64;

use crate::error::kind::Kind;
use crate::error::{Error, Remedy, Words};

/// Converted rows.
#[derive(Debug, Default)]
pub(super) struct Rewritten {
    pub(super) text: Vec<u8>,
    /// The end of each row in `text`.
    pub(super) ends: Vec<usize>,
    /// The rows that could not be converted: their indexes and the reasons.
    pub(super) refused: Vec<(usize, RowRefusal)>,
    /// The indexes of rows with a field that stands for a default.
    pub(super) with_default: Vec<usize>,
    /// The rows in COPY BINARY, concatenated. In this case `text` contains at most their keys.
    pub(super) encoded: Vec<u8>,
    /// Whether the keys are read from `encoded`, and `text` contains no keys.
    pub(super) has_binary_keys: bool,
    /// The end of each row in `encoded`, or the reason that it is missing.
    pub(super) encoded_ends: Vec<Result<usize, NotEncodable>>,
    /// The converter, which remembers the keys of the previous row.
    pub(super) objects: Option<Objects>,
}

/// The reason that an input row could not be converted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct RowRefusal {
    /// The reason.
    pub(crate) message: String,
    /// A hint for the user.
    pub(crate) hint: Option<Words>,
    /// Whether the row would be accepted if its values were rounded.
    pub(crate) can_round: bool,
    /// The row in its original form, or as JSON.
    pub(crate) row: Vec<u8>,
}

/// The minimum number of fields in a row that replaces a rejected one; it is always more than the table has
/// columns.
const FIELDS: usize = 4;

impl Rewritten {
    /// Returns the row at `index`.
    #[inline]
    pub(super) fn row(&self, index: usize) -> &[u8] {
        let start = index.checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.text[start..self.ends[index]]
    }

    /// Returns the reason why the row at `index` could not be converted, if it could not.
    pub(super) fn refusal(&self, index: usize) -> Option<&RowRefusal> {
        let at = self.refused.binary_search_by_key(&index, |(at, _)| *at).ok()?;
        Some(&self.refused[at].1)
    }

    /// Returns the reason why the row at `index` has no keys, if it has none: a field stands for a default,
    /// whose value only the server knows, or the row could not be converted.
    #[inline]
    pub(super) fn no_keys_cause(&self, index: usize) -> Option<Cause> {
        if self.with_default.is_empty() && self.refused.is_empty() {
            return None;
        }
        match self.with_default.binary_search(&index) {
            Ok(_) => Some(Cause::Default),
            Err(_) => self.refusal(index).map(|_| Cause::Malformed),
        }
    }

    /// Returns the row at `index` in COPY BINARY, or the reason why it is not encoded; `None` if rows are
    /// text.
    #[inline]
    pub(super) fn encoded(&self, index: usize) -> Option<Result<&[u8], NotEncodable>> {
        let end = match self.encoded_ends.get(index)? {
            Ok(end) => *end,
            Err(why) => return Some(Err(*why)),
        };
        let start = self.encoded_ends[..index].iter().rev().find_map(|end| end.ok()).unwrap_or(0);
        Some(Ok(&self.encoded[start..end]))
    }

    /// Returns the row at `index` in COPY BINARY, if its keys are read from there.
    #[inline]
    pub(super) fn binary(&self, index: usize) -> Option<&[u8]> {
        if self.has_binary_keys { self.encoded(index)?.ok() } else { None }
    }

    /// Returns the size of all rows in bytes.
    pub(super) fn size(&self) -> usize {
        self.text.len() + self.encoded.len()
    }

    /// Returns a hash of all rows. The text of encoded rows is not hashed, because the partition tree
    /// determines which keys it contains.
    ///
    /// Every row of a table is hashed, so the hash function must be very fast. The ledger stores the hash.
    pub(super) fn hash(&self) -> u64 {
        if self.encoded_ends.is_empty() {
            return XxHash3_64::oneshot(&self.text);
        }
        let others = self.encoded_ends.iter().enumerate().filter(|(_, end)| end.is_err());
        let encoded = XxHash3_64::oneshot(&self.encoded);
        let and = |hash, (index, _)| XxHash3_64::oneshot_with_seed(hash, self.row(index));
        others.fold(encoded, and)
    }

    /// Clears the memory, and keeps at most `max` bytes of each buffer for reuse.
    pub(super) fn clear(&mut self, max: usize) {
        self.text.clear();
        self.text.shrink_to(max);
        self.ends.clear();
        self.refused.clear();
        self.with_default.clear();
        self.encoded.clear();
        self.encoded.shrink_to(max);
        self.encoded_ends.clear();
    }
}

impl From<RowRefusal> for Error {
    fn from(RowRefusal { message, hint, can_round, .. }: RowRefusal) -> Self {
        let error = Self::new(Kind::Data, message).with_sqlstate("22P04");
        match hint {
            _ if can_round => error.with_remedy(Remedy::round()),
            Some(hint) => error.with_hint(hint),
            None => error,
        }
    }
}

impl RowRefusal {
    #[cfg(feature = "arrow")]
    pub(super) fn new(message: String, row: Vec<u8>) -> Self {
        Self { message, hint: None, can_round: false, row }
    }

    pub(super) fn from_line(refused: pgsluice_json::RefusedLine, row: Vec<u8>) -> Self {
        let pgsluice_json::RefusedLine { message, hint, can_round, .. } = refused;
        Self { message, hint, can_round, row }
    }

    /// Appends the row that replaces this one. A table with `columns` columns rejects it.
    pub(super) fn put(&self, columns: usize, out: &mut Vec<u8>) {
        let hint = self.hint.as_ref().map(Words::to_line).unwrap_or_default();
        // The server does not accept bytes that are not text.
        let shown = String::from_utf8_lossy(&self.row).replace('\0', "\u{fffd}");
        let round = if self.can_round { "round" } else { "" };
        let fields = [&*self.message, &shown, &hint, round].map(str::as_bytes);
        let empty = std::iter::repeat_n(&b""[..], (columns + 1).saturating_sub(FIELDS));
        let values = fields.into_iter().chain(empty).map(Value::Text).enumerate();
        let mut row = Vec::new();
        text_row(values, &mut row);
        out.append(&mut row);
    }

    /// Reads a row that replaces a rejected one; returns `None` for any other row.
    pub(crate) fn read(row: &[u8], columns: usize) -> Option<Self> {
        let mut fields = Parser::new(&Format::text(), Vec::new()).all(row).into_iter();
        if fields.len() != (columns + 1).max(FIELDS) {
            return None;
        }
        let text = |field: Option<Vec<u8>>| {
            String::from_utf8_lossy(&field.unwrap_or_default()).into_owned()
        };
        let message = text(fields.next()?);
        let row = fields.next()?.unwrap_or_default();
        let hint = Some(text(fields.next()?)).filter(|hint| !hint.is_empty());
        let hint = hint.map(|hint| Words::from_line(&hint));
        let can_round = fields.next()?.is_some_and(|round| !round.is_empty());
        Some(Self { message, hint, can_round, row })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rewritten(encoded: &[u8], text: &[u8], ends: Vec<Result<usize, NotEncodable>>) -> Rewritten {
        Rewritten {
            text: text.to_vec(),
            ends: vec![1, text.len()],
            encoded: encoded.to_vec(),
            encoded_ends: ends,
            ..Rewritten::default()
        }
    }

    #[test]
    fn a_hash_is_of_what_is_sent_and_stays_what_it_was() {
        let unsent = || Err(NotEncodable::Value(0));
        let all = |text: &[u8]| rewritten(b"12", text, vec![Ok(1), Ok(2)]).hash();
        let some = |text: &[u8]| rewritten(b"1", text, vec![Ok(1), unsent()]).hash();
        assert_eq!(all(b"ab"), all(b"cd"), "the text is of keys only");
        assert_eq!(some(b"ab"), some(b"cb"), "the text of the second row is sent");
        assert_ne!(some(b"ab"), some(b"ac"));
        // These hashes may be in a ledger.
        assert_eq!(all(b"ab"), 0x7ecd_2e57_2c94_9f74);
        assert_eq!(some(b"ab"), 0x5dc9_eaf1_3fd0_b3c0);
        assert_eq!(rewritten(b"", b"ab", Vec::new()).hash(), 0xa873_719c_24d5_735c);
    }
}
