//! The members of an object and the elements of an array, each value as its text. Only keys with escapes are
//! copied, and nothing recurses: values may be nested to any depth.

use std::borrow::Cow;
use std::fmt;

use serde::de::{DeserializeSeed, Deserializer as _, Error, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;
use serde_json::{Deserializer, Result as Read};

use crate::refused::RefusedLine;

/// Calls `each` with the key and the value of each member of the object `text`, a part of `line`.
pub(crate) fn members<'l>(
    line: &'l str,
    text: &'l str,
    each: impl FnMut(Cow<'l, str>, &'l str) -> Result<(), RefusedLine>,
) -> Result<(), RefusedLine> {
    read(line, text, |input, refused| input.deserialize_map(MemberVisitor { each, refused }))
}

/// Calls `each` with each element of the array `text`, a part of `line`.
pub(crate) fn elements<'l>(
    line: &'l str,
    text: &'l str,
    each: impl FnMut(&'l str) -> Result<(), RefusedLine>,
) -> Result<(), RefusedLine> {
    read(line, text, |input, refused| input.deserialize_seq(ElementVisitor { each, refused }))
}

type JsonInput<'l> = Deserializer<serde_json::de::StrRead<'l>>;

/// Reads all of `text`. Errors of `each` bypass serde's errors, which cannot carry them.
#[inline]
fn read<'l>(
    line: &str,
    text: &'l str,
    visit: impl FnOnce(&mut JsonInput<'l>, &mut Option<RefusedLine>) -> Read<()>,
) -> Result<(), RefusedLine> {
    let mut refused = None;
    let mut input = Deserializer::from_str(text);
    visit(&mut input, &mut refused)
        .and_then(|()| input.end())
        .map_err(|error| refused.unwrap_or_else(|| RefusedLine::syntax(line, text, &error)))
}

struct MemberVisitor<'r, F> {
    each: F,
    refused: &'r mut Option<RefusedLine>,
}

impl<'l, F> Visitor<'l> for MemberVisitor<'_, F>
where
    F: FnMut(Cow<'l, str>, &'l str) -> Result<(), RefusedLine>,
{
    type Value = ();

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("an object")
    }

    #[inline]
    fn visit_map<A: MapAccess<'l>>(mut self, mut map: A) -> Result<(), A::Error> {
        while let Some(key) = map.next_key_seed(KeySeed)? {
            let value: &'l RawValue = map.next_value()?;
            (self.each)(key, value.get()).map_err(|refusal| stop(self.refused, refusal))?;
        }
        Ok(())
    }
}

struct ElementVisitor<'r, F> {
    each: F,
    refused: &'r mut Option<RefusedLine>,
}

impl<'l, F> Visitor<'l> for ElementVisitor<'_, F>
where
    F: FnMut(&'l str) -> Result<(), RefusedLine>,
{
    type Value = ();

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("an array")
    }

    fn visit_seq<A: SeqAccess<'l>>(mut self, mut values: A) -> Result<(), A::Error> {
        while let Some(value) = values.next_element::<&'l RawValue>()? {
            (self.each)(value.get()).map_err(|refusal| stop(self.refused, refusal))?;
        }
        Ok(())
    }
}

fn stop<E: Error>(refused: &mut Option<RefusedLine>, refusal: RefusedLine) -> E {
    *refused = Some(refusal);
    E::custom("")
}

/// The seed for a key, which is borrowed if it has no escapes.
struct KeySeed;

impl<'l> DeserializeSeed<'l> for KeySeed {
    type Value = Cow<'l, str>;

    #[inline]
    fn deserialize<D: serde::Deserializer<'l>>(self, key: D) -> Result<Self::Value, D::Error> {
        key.deserialize_str(self)
    }
}

impl<'l> Visitor<'l> for KeySeed {
    type Value = Cow<'l, str>;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a key")
    }

    #[inline]
    fn visit_borrowed_str<E>(self, key: &'l str) -> Result<Self::Value, E> {
        Ok(Cow::Borrowed(key))
    }

    fn visit_str<E>(self, key: &str) -> Result<Self::Value, E> {
        Ok(Cow::Owned(key.to_owned()))
    }
}
