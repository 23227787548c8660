//! Rows as objects again, for files of rejected rows, which can be loaded later.

use pgsluice_core::parse::{Fields, Value};
use serde_json::value::RawValue;

use crate::objects::Objects;
use crate::shape::ValueShape;
use crate::string;

impl Objects {
    /// Appends the object of a row that [`put_row`](Self::put_row) wrote, without a line end. Loading it yields
    /// the same row.
    ///
    /// Fields are strings; fields of the types json and jsonb are JSON, if they are valid. Fields that are
    /// [`DEFAULT`](crate::DEFAULT) are left out, and so are fields that a row from elsewhere lacks.
    pub fn put_object(&self, row: &[u8], out: &mut Vec<u8>) {
        self.put_object_with(row, |_, _| false, out);
    }

    /// Appends the object like [`Self::put_object`], with other values for columns for which `put_other` writes
    /// one.
    pub fn put_object_with(
        &self,
        row: &[u8],
        put_other: impl Fn(usize, &mut Vec<u8>) -> bool,
        out: &mut Vec<u8>,
    ) {
        let [mut values, mut defaults] = [Fields::default(), Fields::default()];
        self.values.parse(row, &mut values);
        self.defaults.parse(row, &mut defaults);
        out.push(b'{');
        let mut is_first = true;
        for (place, column) in self.columns.iter().enumerate() {
            if defaults.get(place, row) == Value::Null {
                continue;
            }
            let value = match values.get(place, row) {
                Value::Missing => continue,
                Value::Null | Value::Binary(_) => None,
                Value::Text(text) => Some(String::from_utf8_lossy(text)),
            };
            if !is_first {
                out.push(b',');
            }
            is_first = false;
            string::put_json(column.key.as_bytes(), out);
            out.push(b':');
            if put_other(place, out) {
                continue;
            }
            match value {
                None => out.extend(b"null"),
                Some(text) if column.shape == ValueShape::Json && is_json(&text) => {
                    put_line(&text, out)
                }
                Some(text) => string::put_json(text.as_bytes(), out),
            }
        }
        out.push(b'}');
    }
}

fn is_json(text: &str) -> bool {
    serde_json::from_str::<&RawValue>(text).is_ok()
}

/// Appends JSON on one line: a line end becomes a space, which means the same in JSON.
fn put_line(json: &str, out: &mut Vec<u8>) {
    out.extend(json.bytes().map(|byte| if byte == b'\n' { b' ' } else { byte }));
}
