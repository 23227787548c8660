//! Checks the footer of a Parquet file before it is read. [`parquet`] allocates memory for as many row groups
//! and columns as the footer claims, and recurses as deeply as it is nested, so a damaged footer could claim
//! anything.
//!
//! The footer is in Thrift's compact protocol. Each value takes at least one byte, so no list can be longer
//! than the rest of the footer.

/// A result whose error is the reason in words.
type Result<T> = std::result::Result<T, &'static str>;

/// The maximum nesting of column groups, and of values in the footer.
const DEEPEST: usize = 100;

/// The field of the footer that contains the schema, and the field of a schema element that contains the
/// number of its children.
const SCHEMA: i64 = 2;
const CHILDREN: i64 = 5;

const DAMAGED: &str = "its footer is damaged";

/// Rejects a damaged footer.
pub(crate) fn check(footer: &[u8]) -> Result<()> {
    let mut walk = FooterReader { rest: footer, children: Vec::new() };
    walk.fields(0, false, true)?;
    check_depth(&walk.children)
}

/// Rejects a schema that is nested too deeply or incomplete.
fn check_depth(children: &[i64]) -> Result<()> {
    // The number of elements that are still to come in each open group.
    let mut open = Vec::new();
    for &count in children {
        let count = usize::try_from(count).map_err(|_| DAMAGED)?;
        if count > children.len() {
            return Err(DAMAGED);
        }
        if count > 0 {
            open.push(count);
            if open.len() > DEEPEST {
                return Err("its columns are nested too deeply");
            }
            continue;
        }
        while let Some(left) = open.last_mut() {
            *left -= 1;
            if *left > 0 {
                break;
            }
            open.pop();
        }
    }
    Ok(())
}

/// Reads a number of several bytes with seven bits each from the front of `bytes`; returns `None` if it has
/// no end.
pub(crate) fn varint(bytes: &mut &[u8]) -> Option<u64> {
    let mut value = 0;
    for shift in (0..64).step_by(7) {
        let (&byte, rest) = bytes.split_first()?;
        *bytes = rest;
        value |= u64::from(byte & 0x7F) << shift;
        if byte < 0x80 {
            return Some(value);
        }
    }
    None
}

struct FooterReader<'f> {
    rest: &'f [u8],
    /// The number of children of each schema element.
    children: Vec<i64>,
}

impl FooterReader<'_> {
    /// Reads the fields of a struct: of a schema element, of the footer itself, or of another value.
    fn fields(&mut self, depth: usize, of_schema: bool, of_footer: bool) -> Result<()> {
        let (mut field, mut children) = (0_i64, 0);
        loop {
            let head = self.byte()?;
            if head == 0 {
                break;
            }
            field = match head >> 4 {
                0 => self.number()?,
                more => field.wrapping_add(more.into()),
            };
            match head & 15 {
                // The type of a boolean is also its value.
                1 | 2 => {}
                5 if of_schema && field == CHILDREN => children = self.number()?,
                9 if of_footer && field == SCHEMA => self.list(depth, true)?,
                ty => self.value(ty, depth)?,
            }
        }
        if of_schema {
            self.children.push(children);
        }
        Ok(())
    }

    fn value(&mut self, ty: u8, depth: usize) -> Result<()> {
        if depth > DEEPEST {
            return Err(DAMAGED);
        }
        match ty {
            1..=3 => self.skip(1),
            4..=6 => self.number().map(drop),
            7 => self.skip(8),
            8 => {
                let length = self.varint()?;
                self.skip(length)
            }
            9 | 10 => self.list(depth, false),
            11 => self.map(depth),
            12 => self.fields(depth + 1, false, false),
            13 => self.skip(16),
            _ => Err(DAMAGED),
        }
    }

    fn list(&mut self, depth: usize, of_schema: bool) -> Result<()> {
        let head = self.byte()?;
        let count = match head >> 4 {
            15 => self.varint()?,
            few => few.into(),
        };
        self.has(count)?;
        for _ in 0..count {
            match head & 15 {
                12 if of_schema => self.fields(depth + 1, true, false)?,
                ty => self.value(ty, depth + 1)?,
            }
        }
        Ok(())
    }

    fn map(&mut self, depth: usize) -> Result<()> {
        let count = self.varint()?;
        self.has(count)?;
        let types = if count > 0 { self.byte()? } else { 0 };
        for _ in 0..count {
            self.value(types >> 4, depth + 1)?;
            self.value(types & 15, depth + 1)?;
        }
        Ok(())
    }

    fn has(&self, count: u64) -> Result<()> {
        if count > self.rest.len() as u64 { Err(DAMAGED) } else { Ok(()) }
    }

    fn skip(&mut self, count: u64) -> Result<()> {
        self.has(count)?;
        self.rest = &self.rest[count as usize..];
        Ok(())
    }

    fn byte(&mut self) -> Result<u8> {
        let (&byte, rest) = self.rest.split_first().ok_or(DAMAGED)?;
        self.rest = rest;
        Ok(byte)
    }

    fn varint(&mut self) -> Result<u64> {
        varint(&mut self.rest).ok_or(DAMAGED)
    }

    /// Reads a signed number.
    fn number(&mut self) -> Result<i64> {
        let value = self.varint()?;
        Ok((value >> 1) as i64 ^ -((value & 1) as i64))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns a schema with many elements, each with its number of children.
    fn schema(children: &[u8]) -> Vec<u8> {
        let parts = children.iter().flat_map(|count| [0x55, count << 1 | 0x80, count >> 6, 0]);
        let head = [0x29, 0xFC, children.len() as u8 | 0x80, (children.len() >> 7) as u8];
        head.into_iter().chain(parts).chain([0]).collect()
    }

    #[test]
    fn lists_are_no_longer_than_the_footer() {
        assert_eq!(check(&[0]), Ok(()));
        // Two row groups without fields, and far too many.
        assert_eq!(check(&[0x49, 0x2C, 0, 0, 0]), Ok(()));
        assert_eq!(check(&[0x49, 0xFC, 0xFF, 0xFF, 0xFF, 0xFF, 7, 0, 0, 0]), Err(DAMAGED));
        // A string longer than the footer, and a value without an end.
        assert_eq!(check(&[0x68, 0x7F, b'x', 0]), Err(DAMAGED));
        assert_eq!(check(&[0x66, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF]), Err(DAMAGED));
        assert_eq!(check(&[0x6C; 300]), Err(DAMAGED));
        assert_eq!(check(&[0x69].repeat(300)), Err(DAMAGED));
    }

    #[test]
    fn a_schema_is_no_deeper_than_is_sane() {
        assert_eq!(check(&schema(&[2, 1, 0, 0])), Ok(()));
        assert_eq!(check(&schema(&[127, 0])), Err(DAMAGED));
        let deep = |groups| [[1].repeat(groups), vec![0]].concat();
        assert_eq!(check(&schema(&deep(DEEPEST))), Ok(()));
        assert!(check(&schema(&deep(DEEPEST + 1))).is_err());
        // Groups side by side are not deep.
        assert_eq!(check(&schema(&[&[126][..], &[1, 0].repeat(126)].concat())), Ok(()));
    }
}
