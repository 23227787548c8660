//! Hashes by which keys are compared.

use std::hash::{Hash, Hasher};

use siphasher::sip128::{Hasher128, SipHasher13};

use crate::parse::{Fields, Value};
use crate::types::KeyType;

/// A 128-bit hash that is equal for equal keys, and different for different ones except with negligible
/// probability.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Print {
    high: u64,
    low: u64,
}

impl Print {
    /// Returns the index of the part that contains the print if all prints are divided into `parts` equal parts.
    pub(super) fn among(self, parts: usize) -> usize {
        ((u128::from(self.high) * parts as u128) >> 64) as usize
    }

    pub(super) fn write(self, bytes: &mut Vec<u8>) {
        bytes.extend(self.high.to_le_bytes());
        bytes.extend(self.low.to_le_bytes());
    }

    pub(super) fn take(bytes: &mut &[u8]) -> Option<Self> {
        let (high, rest) = bytes.split_first_chunk()?;
        let (low, rest) = rest.split_first_chunk()?;
        *bytes = rest;
        Some(Self { high: u64::from_le_bytes(*high), low: u64::from_le_bytes(*low) })
    }
}

/// A random key of the hash. Its secrecy prevents inputs with keys that share their prints.
#[derive(Clone, Copy)]
pub struct Secret(pub [u8; 16]);

/// A column of the key.
#[derive(Clone, Debug)]
pub struct KeyPart {
    /// Index of the column among the parsed fields.
    pub slot: usize,
    /// Type of the values.
    pub key_type: KeyType,
}

/// The reason why a row has no print.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoPrint {
    /// A part of the key is NULL, which equals nothing.
    Null,
    /// The row lacks the field of this part.
    Missing(usize),
    /// The value of this part has a spelling that is not proven to mean the same to the server.
    Spelling(usize),
}

impl Secret {
    /// Computes the print of a row's key. `leaf` is the row's leaf if keys of two leaves may be equal.
    ///
    /// If `nulls_are_distinct`, a key with a NULL has no print; otherwise a NULL equals every other NULL.
    pub fn print(
        &self,
        leaf: Option<usize>,
        key: &[KeyPart],
        (row, fields): (&[u8], &Fields),
        nulls_are_distinct: bool,
        scratch: &mut Vec<u8>,
    ) -> Result<Print, NoPrint> {
        let mut hasher = SipHasher13::new_with_key(&self.0);
        leaf.hash(&mut hasher);
        for (place, KeyPart { slot, key_type }) in key.iter().enumerate() {
            match fields.get(*slot, row) {
                Value::Missing => return Err(NoPrint::Missing(place)),
                Value::Null if nulls_are_distinct => return Err(NoPrint::Null),
                Value::Null => hasher.write_u8(0),
                value => {
                    let datum = value.read(key_type, scratch).ok_or(NoPrint::Spelling(place))?;
                    hasher.write_u8(1);
                    datum.hash(&mut hasher);
                }
            }
        }
        let bits = hasher.finish128();
        Ok(Print { high: bits.h1, low: bits.h2 })
    }
}
