//! Nested values: the positions of a row's values in the child arrays.

use arrow_schema::Fields as Schemas;

use super::{ArrowValue, Source};

/// The keys of a dictionary.
pub(super) enum DictionaryKeys<'b> {
    Int8(&'b [i8]),
    Int16(&'b [i16]),
    Int32(&'b [i32]),
    Int64(&'b [i64]),
    UInt8(&'b [u8]),
    UInt16(&'b [u16]),
    UInt32(&'b [u32]),
    UInt64(&'b [u64]),
}

impl DictionaryKeys<'_> {
    #[inline]
    pub(super) fn get(&self, row: usize) -> Option<usize> {
        match self {
            Self::Int8(keys) => place(keys[row]),
            Self::Int16(keys) => place(keys[row]),
            Self::Int32(keys) => place(keys[row]),
            Self::Int64(keys) => place(keys[row]),
            Self::UInt8(keys) => Some(keys[row].into()),
            Self::UInt16(keys) => Some(keys[row].into()),
            Self::UInt32(keys) => place(keys[row]),
            Self::UInt64(keys) => place(keys[row]),
        }
    }
}

fn place(number: impl TryInto<usize>) -> Option<usize> {
    number.try_into().ok()
}

/// The start and end of each row's values.
pub(super) enum Places<'b> {
    Offsets(&'b [i32]),
    LargeOffsets(&'b [i64]),
    /// The start and the number of values.
    Views(&'b [i32], &'b [i32]),
    LargeViews(&'b [i64], &'b [i64]),
    /// The number of values in every row.
    Fixed(usize),
}

impl Places<'_> {
    /// Returns the start and length of a row's values; `None` if they exceed the first `end` values.
    fn range(&self, row: usize, end: usize) -> Option<(usize, usize)> {
        let (start, length) = match self {
            Self::Offsets(offsets) => between(offsets, row)?,
            Self::LargeOffsets(offsets) => between(offsets, row)?,
            Self::Views(starts, lengths) => (place(starts[row])?, place(lengths[row])?),
            Self::LargeViews(starts, lengths) => (place(starts[row])?, place(lengths[row])?),
            Self::Fixed(size) => (row * size, *size),
        };
        (start.checked_add(length)? <= end).then_some((start, length))
    }

    pub(super) fn items<'s, 'b>(&self, child: &'s Source<'b>, row: usize) -> Option<Items<'s, 'b>> {
        let (start, length) = self.range(row, child.length)?;
        Some(Items { child, start, length })
    }

    pub(super) fn pairs<'s, 'b>(
        &self,
        pairs: &'s [Source<'b>; 2],
        row: usize,
    ) -> Option<Pairs<'s, 'b>> {
        let [keys, values] = pairs;
        Some(Pairs { keys: self.items(keys, row)?, values: self.items(values, row)? })
    }
}

fn between<T: Copy + TryInto<usize>>(offsets: &[T], row: usize) -> Option<(usize, usize)> {
    let (start, end) = (place(offsets[row])?, place(offsets[row + 1])?);
    Some((start, end.checked_sub(start)?))
}

/// The values of a list.
#[derive(Clone, Copy)]
pub(crate) struct Items<'s, 'b> {
    child: &'s Source<'b>,
    start: usize,
    length: usize,
}

impl<'s, 'b> Items<'s, 'b> {
    pub(crate) fn len(&self) -> usize {
        self.length
    }

    /// Returns the array that contains the values.
    pub(crate) fn source(&self) -> &'s Source<'b> {
        self.child
    }

    /// Returns the rows of the values in that array.
    pub(crate) fn rows(&self) -> std::ops::Range<usize> {
        self.start..self.start + self.length
    }

    pub(crate) fn values(&self) -> impl Iterator<Item = ArrowValue<'s, 'b>> {
        let child = self.child;
        self.rows().map(move |row| child.value(row))
    }
}

/// The keys and values of a map.
#[derive(Clone, Copy)]
pub(crate) struct Pairs<'s, 'b> {
    pub(crate) keys: Items<'s, 'b>,
    pub(crate) values: Items<'s, 'b>,
}

/// The arrays of a struct, and their names.
pub(super) struct StructFields<'b> {
    pub(super) names: &'b Schemas,
    pub(super) sources: Box<[Source<'b>]>,
}

impl<'b> StructFields<'b> {
    pub(super) fn row<'s>(&'s self, row: usize) -> Row<'s, 'b> {
        Row { fields: self, row }
    }
}

/// A row of a struct.
#[derive(Clone, Copy)]
pub(crate) struct Row<'s, 'b> {
    fields: &'s StructFields<'b>,
    row: usize,
}

impl<'s, 'b> Row<'s, 'b> {
    /// Returns the array of a field, and the row in it.
    pub(crate) fn field(&self, place: usize) -> Option<(&'s Source<'b>, usize)> {
        Some((self.fields.sources.get(place)?, self.row))
    }

    /// Returns the fields with their names.
    pub(crate) fn named_fields(&self) -> impl Iterator<Item = (&'b str, &'s Source<'b>, usize)> {
        let (fields, row) = (self.fields, self.row);
        let names = fields.names.iter().map(|field| field.name().as_str());
        names.zip(&fields.sources).map(move |(name, source)| (name, source, row))
    }
}
