//! JSON arrays as text for `array_in`, like `populate_array_json` in `jsonfuncs.c` (PostgreSQL 13 to 18).

use crate::literal::LiteralBuffer;
use crate::refused::RefusedLine;
use crate::shape::ValueShape;
use crate::visit;

/// `MAXDIM` in `src/include/utils/array.h`.
const MAX_DIMENSIONS: usize = 6;

/// An array that is being written.
struct JsonArray<'a> {
    delimiter: u8,
    element: &'a ValueShape,
    dimensions: usize,
    /// The length of the arrays in each dimension, from the first array that ends.
    sizes: [Option<usize>; MAX_DIMENSIONS],
}

impl LiteralBuffer {
    /// Appends the literal of the array `value`, with this delimiter and elements of this shape.
    pub(crate) fn put_array(
        &mut self,
        line: &str,
        delimiter: u8,
        element: &ValueShape,
        value: &str,
    ) -> Result<(), RefusedLine> {
        let dimensions = dimensions(value);
        if dimensions > MAX_DIMENSIONS {
            let message = format!(
                "number of array dimensions ({dimensions}) exceeds the maximum allowed ({MAX_DIMENSIONS})"
            );
            return Err(RefusedLine::new(line, value, message));
        }
        let start = self.text.len();
        let mut array = JsonArray { delimiter, element, dimensions, sizes: [None; MAX_DIMENSIONS] };
        self.put_dimension(line, &mut array, 0, value)?;
        // An array without elements has no dimensions, and only one spelling in all versions.
        if array.sizes.contains(&Some(0)) {
            self.text.truncate(start);
            self.text.extend(b"{}");
        }
        Ok(())
    }

    /// Appends the array `value` of one dimension, and the arrays within it.
    fn put_dimension(
        &mut self,
        line: &str,
        array: &mut JsonArray<'_>,
        dimension: usize,
        value: &str,
    ) -> Result<(), RefusedLine> {
        if !value.starts_with('[') {
            return Err(RefusedLine::new(line, value, "expected JSON array"));
        }
        let mut size = 0;
        self.text.push(b'{');
        visit::elements(line, value, |element| {
            if size > 0 {
                self.text.push(array.delimiter);
            }
            size += 1;
            if dimension + 1 < array.dimensions {
                self.put_dimension(line, array, dimension + 1, element)
            } else {
                self.put_element(line, array, element)
            }
        })?;
        self.text.push(b'}');
        if *array.sizes[dimension].get_or_insert(size) == size {
            return Ok(());
        }
        let hint = "Multidimensional arrays must have sub-arrays with matching dimensions.";
        Err(RefusedLine::new(line, value, "malformed JSON array").with_hint(hint))
    }

    fn put_element(
        &mut self,
        line: &str,
        array: &JsonArray<'_>,
        element: &str,
    ) -> Result<(), RefusedLine> {
        let start = self.text.len();
        if self.put(line, array.element, element)? {
            self.quote(start, array.delimiter);
        } else {
            self.text.extend(b"NULL");
        }
        Ok(())
    }
}

/// Returns the number of dimensions of an array: the depth of its first element that is not an array, or of the
/// first empty array.
fn dimensions(value: &str) -> usize {
    let signs = value.bytes().filter(|byte| !byte.is_ascii_whitespace());
    signs.take_while(|byte| *byte == b'[').count()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(shape: ValueShape, value: &str) -> Result<String, String> {
        let mut literals = LiteralBuffer::default();
        let shape = ValueShape::Array { delimiter: b',', element: Box::new(shape) };
        literals.put(value, &shape, value).map_err(|refused| refused.message)?;
        Ok(String::from_utf8_lossy(&literals.text).into_owned())
    }

    #[test]
    fn elements_stand_between_braces() {
        for (value, literal) in [
            ("[]", "{}"),
            ("[1, 2.50 ,null,true]", "{1,2.50,NULL,true}"),
            (r#"["a,b", "", "null", "\"\\"]"#, r#"{"a,b","","null","\"\\"}"#),
            ("[ [1,2], [3,4] ]", "{{1,2},{3,4}}"),
            ("[[],[ ]]", "{}"),
            ("[[[1]],[[null]]]", "{{{1}},{{NULL}}}"),
            ("[[[[[[1]]]]]]", "{{{{{{1}}}}}}"),
            // The first element determines that there is one dimension.
            (r#"[1,[2, "x"]]"#, r#"{1,"[2, \"x\"]"}"#),
            ("[null,[2]]", "{NULL,\"[2]\"}"),
            (r#"[{"a" :[1]}]"#, r#"{"{\"a\" :[1]}"}"#),
            (r#""{1,2}""#, "{1,2}"),
        ] {
            assert_eq!(written(ValueShape::Scalar, value).as_deref(), Ok(literal), "{value}");
        }
        assert_eq!(
            written(ValueShape::Json, r#"["a",{"b":"\n"},null]"#).as_deref(),
            Ok(r#"{"\"a\"","{\"b\":\"\\n\"}",NULL}"#)
        );
    }

    #[test]
    fn other_values_are_refused() {
        for (value, message) in [
            ("1", "expected JSON array"),
            ("true", "expected JSON array"),
            ("{}", "expected JSON array"),
            ("[[1],2]", "expected JSON array"),
            ("[[1],null]", "expected JSON array"),
            ("[[],{}]", "expected JSON array"),
            ("[[1],[]]", "malformed JSON array"),
            ("[[],[1]]", "malformed JSON array"),
            ("[[1,2],[3]]", "malformed JSON array"),
            ("[[[[[[[1]]]]]]]", "number of array dimensions (7) exceeds the maximum allowed (6)"),
        ] {
            assert_eq!(written(ValueShape::Scalar, value), Err(message.to_owned()), "{value}");
        }
    }
}
