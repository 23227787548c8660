//! JSON objects as text for `record_in`, like `populate_composite` in `jsonfuncs.c` (PostgreSQL 13 to 18).

use crate::literal::LiteralBuffer;
use crate::refused::RefusedLine;
use crate::shape::ValueShape;
use crate::visit;

impl LiteralBuffer {
    /// Appends the literal of the record `value`. Like the server, writes NULL for missing columns and ignores
    /// keys that match no column.
    pub(crate) fn put_record(
        &mut self,
        line: &str,
        columns: &[(String, ValueShape)],
        value: &str,
    ) -> Result<(), RefusedLine> {
        if !value.starts_with('{') {
            let what = if value.starts_with('[') { "an array" } else { "a scalar" };
            let message = format!("cannot call populate_composite on {what}");
            return Err(RefusedLine::new(line, value, message));
        }
        let first = self.members.len();
        self.members.resize(first + columns.len(), None);
        self.find_members(line, columns, value, first)?;
        self.text.push(b'(');
        for (place, (_, shape)) in columns.iter().enumerate() {
            if place > 0 {
                self.text.push(b',');
            }
            let start = self.text.len();
            let member = self.members[first + place];
            if let Some(member) = member.and_then(|(from, to)| value.get(from..to))
                && self.put(line, shape, member)?
            {
                self.quote(start, b',');
            }
        }
        self.text.push(b')');
        self.members.truncate(first);
        Ok(())
    }

    /// Records the position of each column's value in `value`, in `members` from the index `first` on.
    fn find_members(
        &mut self,
        line: &str,
        columns: &[(String, ValueShape)],
        value: &str,
        first: usize,
    ) -> Result<(), RefusedLine> {
        let mut next = 0;
        visit::members(line, value, |key, member| {
            let is_next = columns.get(next).is_some_and(|(name, _)| *name == key);
            let place = is_next.then_some(next);
            let place = place.or_else(|| columns.iter().position(|(name, _)| *name == key));
            let Some(place) = place else { return Ok(()) };
            next = place + 1;
            let from = member.as_ptr().addr().wrapping_sub(value.as_ptr().addr());
            if self.members[first + place]
                .replace((from, from.wrapping_add(member.len())))
                .is_some()
            {
                return Err(RefusedLine::duplicate(line, &key, member));
            }
            Ok(())
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(value: &str) -> Result<String, String> {
        let inner = ValueShape::Composite(vec![
            ("x".into(), ValueShape::Scalar),
            ("y".into(), ValueShape::Json),
        ]);
        let ints = ValueShape::Array { delimiter: b',', element: Box::new(ValueShape::Scalar) };
        let columns =
            vec![("a".into(), ValueShape::Scalar), ("b".into(), inner), ("c".into(), ints)];
        let mut literals = LiteralBuffer::default();
        let written = literals.put(value, &ValueShape::Composite(columns), value);
        written.map_err(|refused| refused.message)?;
        assert!(literals.members.is_empty());
        Ok(String::from_utf8_lossy(&literals.text).into_owned())
    }

    #[test]
    fn columns_stand_between_parentheses() {
        for (value, literal) in [
            ("{}", "(,,)"),
            (r#"{"a":1,"b":null}"#, "(1,,)"),
            (r#"{"z":[{}],"c":[1,2],"a":""}"#, r#"("",,"{1,2}")"#),
            (r#"{"b":{"y":{"k":"v"},"x":"a b"}}"#, r#"(,"(\"a b\",\"{\\\"k\\\":\\\"v\\\"}\")",)"#),
            (r#"{"b":{"y":"v"},"c":"{}"}"#, r#"(,"(,\"\\\"v\\\"\")","{}")"#),
            (r#""(1,,)""#, "(1,,)"),
        ] {
            assert_eq!(written(value).as_deref(), Ok(literal), "{value}");
        }
    }

    #[test]
    fn other_values_are_refused() {
        for (value, message) in [
            ("[]", "cannot call populate_composite on an array"),
            ("1", "cannot call populate_composite on a scalar"),
            (r#"{"b":false}"#, "cannot call populate_composite on a scalar"),
            (r#"{"c":{}}"#, "expected JSON array"),
            (r#"{"a":1,"b":2,"a":3}"#, "duplicate key \"a\""),
        ] {
            assert_eq!(written(value), Err(message.to_owned()), "{value}");
        }
    }
}
