//! Checks the first row of each input against the columns and the header of the first input.

use std::collections::{HashMap, HashSet};

use pgsluice_core::catalog::label;
use pgsluice_core::column_lookup::ColumnLookup;
use pgsluice_core::origin::Origin;
use pgsluice_core::parse::Parser;

use super::shorten::{shorten_list, shorten_name};
use super::{Header, Input, Shape};
use crate::error::kind::Kind;
use crate::error::{Error, Remedy, Result, option};

/// The fields of a header; `None` is NULL.
type HeaderFields = Vec<Option<Vec<u8>>>;

/// The header of the first input that has one.
#[derive(Debug)]
pub(crate) struct FirstHeader {
    source: String,
    fields: HeaderFields,
}

impl Shape {
    /// Rejects the first row of an input if it is not the required header.
    pub(super) fn check_header(&self, row: &[u8], input: &Input, number: u32) -> Result<()> {
        let fields = Parser::new(&self.format, Vec::new()).all(row);
        let checked = match self.header {
            Header::Absent | Header::Skip(_) => Ok(()),
            Header::Present => self.check_present(fields, &input.name),
            Header::Match | Header::Map => self.check_names(&fields),
        };
        let origin = Origin { input: number, at: 0 };
        checked.map_err(|error| error.at(input.locate(origin, 1)))
    }

    /// Rejects an input that ends before its header with [`Header::Match`], for which the server compares even a
    /// missing line.
    pub(super) fn check_no_header(&self, input: &Input, number: u32) -> Result<()> {
        if self.header == Header::Match { self.check_header(b"", input, number) } else { Ok(()) }
    }

    /// Rejects a header that lists the columns in another order, or that differs from that of the first
    /// input.
    fn check_present(&self, fields: HeaderFields, source: &str) -> Result<()> {
        let first = self
            .first
            .get_or_init(|| FirstHeader { source: source.to_owned(), fields: fields.clone() });
        if first.fields != fields {
            return Err(not_the_first(first, &fields, source));
        }
        let Some((field, column)) = self.find_misplaced(&fields) else { return Ok(()) };
        let name = names(&fields[field..=field]).pop().unwrap_or_default();
        let message = format!(
            "column name mismatch in header line field {}: got \"{name}\", expected \"{column}\"",
            field + 1
        );
        let error = Error::new(Kind::Data, message).with_sqlstate("22P04").with_detail(
            "The header lists the columns of the table in another order than the fields are read in. "
                + option("header").with("1")
                + " would skip it whatever it contains.",
        );
        let by_name = "To match fields to columns by name";
        let extra = has_extra(&fields, &self.known).then(|| option("ignore-extra"));
        let options = std::iter::once(option("header").with("map")).chain(extra);
        Err(error.with_remedy(Remedy::options(by_name, options)))
    }

    /// Returns the index of the first field whose name belongs to the column of another field, and the column
    /// that this field is read into.
    fn find_misplaced(&self, fields: &HeaderFields) -> Option<(usize, &String)> {
        let texts: Vec<Option<&str>> =
            fields.iter().map(|field| str::from_utf8(field.as_ref()?).ok()).collect();
        let own: HashSet<&str> = texts.iter().flatten().copied().collect();
        let lookup = ColumnLookup::new(&self.known, HashMap::new());
        let column = |text: &Option<&str>| {
            let matched =
                lookup.find((*text)?, |column| own.contains(lookup.columns()[column].as_str()));
            matched.column().map(|column| &lookup.columns()[column])
        };
        let named: Vec<Option<&String>> = texts.iter().map(column).collect();
        let is_elsewhere = |column: &String| {
            let place = self.names.iter().position(|name| name == column);
            place.is_none_or(|place| named.get(place).copied().flatten() != Some(column))
        };
        let mut fields = named.iter().zip(&self.names).enumerate();
        fields.find_map(|(place, (named, column))| {
            let is_misplaced = (*named)? != column && is_elsewhere((*named)?);
            is_misplaced.then_some((place, column))
        })
    }

    /// Checks `HEADER MATCH`, with the messages of `NextCopyFromRawFields` in `copyfromparse.c` (PostgreSQL
    /// 18).
    fn check_names(&self, fields: &HeaderFields) -> Result<()> {
        let columns = &self.names;
        let refuse = |message: String| {
            let error = Error::new(Kind::Data, message).with_sqlstate("22P04");
            Err(match self.header {
                Header::Map => error
                    .with_detail("All inputs of a load must have the same header as the first.")
                    .with_hint("Load the files with another header separately."),
                _ => error,
            })
        };
        if fields.len() != columns.len() {
            let (got, expected) = (fields.len(), columns.len());
            return refuse(format!(
                "wrong number of fields in header line: got {got}, expected {expected}"
            ));
        }
        for (index, (name, column)) in fields.iter().zip(columns).enumerate() {
            let got = match name {
                Some(name) if name == column.as_bytes() => continue,
                Some(name) => format!("\"{}\"", shorten_name(&String::from_utf8_lossy(name))),
                None if column.is_empty() => continue,
                None => "null value".to_owned(),
            };
            let (field, column) = (index + 1, shorten_name(column));
            return refuse(format!(
                "column name mismatch in header line field {field}: got {got}, expected \"{column}\""
            ));
        }
        Ok(())
    }
}

/// Whether a field has an empty name or one that matches no column.
fn has_extra(fields: &HeaderFields, known: &[String]) -> bool {
    let lookup = ColumnLookup::new(known, HashMap::new());
    let is_led = |field: &Option<Vec<u8>>| {
        let name = str::from_utf8(field.as_deref().unwrap_or_default()).ok();
        name.is_some_and(|name| lookup.find(name, |_| false).column().is_some())
    };
    !fields.iter().all(is_led)
}

/// Returns the error for a first row that differs from the header of the first input.
fn not_the_first(first: &FirstHeader, fields: &HeaderFields, source: &str) -> Error {
    let message = format!("the first row of {source} is not the header of {}", first.source);
    let [expected, got] = [&first.fields, fields].map(|fields| {
        let labels: Vec<String> = names(fields).iter().map(|name| label(name)).collect();
        shorten_list(&labels)
    });
    Error::new(Kind::Data, message)
        .with_sqlstate("22P04")
        .with_detail(format!("The header is {expected}; the first row is {got}."))
        .with_hint(
            "Load files without a header separately, without "
                + option("header")
                + ". "
                + option("header").with("1")
                + " skips the first row of each file whatever it contains.",
        )
}

fn names(fields: &[Option<Vec<u8>>]) -> Vec<String> {
    let name = |field: &Option<Vec<u8>>| {
        shorten_name(&String::from_utf8_lossy(field.as_deref().unwrap_or_default()))
    };
    fields.iter().map(name).collect()
}

#[cfg(test)]
mod tests {
    use pgsluice_core::format::Format;

    use super::*;

    fn list(names: &str) -> Vec<String> {
        names.split(',').map(str::to_owned).collect()
    }

    /// Whether a header is accepted for `columns` of a table whose columns are `known`.
    fn is_accepted(header: &str, columns: &str, known: &str) -> bool {
        let shape = Shape::new(Format::csv(), Header::Present, list(columns));
        let shape = Shape { known: list(known), ..shape };
        let input = Input::from_bytes("a.csv", Default::default());
        shape.check_header(header.as_bytes(), &input, 0).is_ok()
    }

    #[test]
    fn a_header_names_the_columns_in_order_or_none() {
        for header in ["id,a,b", "ID,A,B", "No.,Text,Total", "id,a", "id,a,b,x", "id,Text,b", ""] {
            assert!(is_accepted(header, "id,a,b", "id,a,b"), "{header}");
        }
        for header in ["id,b,a", "b,id", "id,b", "id,x,a", "\"id\",\"B\",a", "a,b,id,x"] {
            assert!(!is_accepted(header, "id,a,b", "id,a,b"), "{header}");
        }
        assert!(!is_accepted("id,c", "id,b", "id,b,c"), "c is another column");
        assert!(is_accepted("id,b,b", "id,b,c", "id,b,c"), "the second b is named by its place");
    }

    #[test]
    fn all_inputs_have_one_header() {
        let shape = Shape::new(Format::csv(), Header::Present, list("id,a"));
        let check = |name: &str, row: &str| {
            let input = Input::from_bytes(name, Default::default());
            shape.clone().check_header(row.as_bytes(), &input, 0)
        };
        assert!(check("1.csv", "No.,Text").is_ok() && check("2.csv", "\"No.\",Text").is_ok());
        let message = check("3.csv", "7,x").expect_err("a row").to_string();
        assert!(message.contains("the first row of 3.csv is not the header of 1.csv"), "{message}");
        assert!(message.contains("the first row is \"7\", x"), "{message}");
    }
}
