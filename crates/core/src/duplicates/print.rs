//! The bits that keys are compared by.

use std::hash::{Hash, Hasher};

use siphasher::sip128::{Hasher128, SipHasher13};

use crate::parse::{Fields, Value};
use crate::types::KeyType;

/// 128 bits that are the same for equal keys, and for no others.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Print {
    high: u64,
    low: u64,
}

impl Print {
    /// One of `parts` equal parts of all prints.
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

/// What nobody can know who makes an input, so that no input has keys that share their bits.
#[derive(Clone, Copy)]
pub struct Secret(pub [u8; 16]);

/// A column of the key.
#[derive(Clone, Debug)]
pub struct KeyPart {
    /// Its place among the fields that are parsed.
    pub slot: usize,
    /// How its values are read.
    pub key_type: KeyType,
}

/// Why a row has no print.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoPrint {
    /// A part of its key is NULL, which equals nothing.
    Null,
    /// The row has no field for this part.
    Missing(usize),
    /// The spelling of this part is not proven to mean what it seems to.
    Spelling(usize),
}

impl Secret {
    /// The print of a row's key. `leaf` is the row's leaf where keys of two leaves may be equal.
    ///
    /// Where `nulls` are distinct a key with one has no print; otherwise it equals every other NULL.
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
