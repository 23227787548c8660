//! Random rows written as CSV or as COPY text, in one of the dialects that COPY's options allow.

use proptest::prelude::*;
use proptest::sample::select;

use super::values::Field;
use crate::harness::CopyOptions;

/// The format of an input.
#[derive(Clone, Debug)]
pub(crate) struct Dialect {
    text: bool,
    delimiter: char,
    header: bool,
    quote_all: bool,
    null: Option<&'static str>,
    line_end: &'static str,
}

/// Returns dialects. Before PostgreSQL 15 only CSV has a header.
pub(crate) fn dialects(text_header: bool) -> impl Strategy<Value = Dialect> {
    let null = prop_oneof![3 => Just(None), 1 => Just(Some("NIL"))];
    (any::<bool>(), select(&[',', ';', '|', '\t'][..]), any::<bool>(), any::<bool>(), null)
        .prop_flat_map(move |(text, delimiter, header, quote_all, null)| {
            select(&["\n", "\n", "\r\n"][..]).prop_map(move |line_end| Dialect {
                text,
                delimiter,
                header: header && (text_header || !text),
                quote_all,
                null,
                line_end,
            })
        })
}

impl Dialect {
    pub(crate) fn options(&self) -> CopyOptions {
        CopyOptions {
            format: Some(if self.text { "text" } else { "csv" }.into()),
            header: self.header.then(|| "true".into()),
            delimiter: Some(self.delimiter.into()),
            null: self.null.map(Into::into),
            ..CopyOptions::default()
        }
    }

    pub(crate) fn file_name(&self) -> &'static str {
        if self.text { "rows.txt" } else { "rows.csv" }
    }

    /// Returns the header line, or an empty string.
    pub(crate) fn head(&self) -> String {
        if self.header { format!("a header{}", self.line_end) } else { String::new() }
    }

    pub(crate) fn row(&self, fields: &[Field]) -> String {
        let fields: Vec<String> = fields.iter().map(|field| self.field(field)).collect();
        fields.join(&self.delimiter.to_string()) + self.line_end
    }

    fn field(&self, field: &Field) -> String {
        match &field.text {
            None => self.null.unwrap_or(if self.text { "\\N" } else { "" }).into(),
            Some(text) if self.text => self.escaped(text),
            Some(text) if self.must_quote(text) => format!("\"{}\"", text.replace('"', "\"\"")),
            Some(text) => text.clone(),
        }
    }

    fn must_quote(&self, text: &str) -> bool {
        let special = [self.delimiter, '"', '\n', '\r'];
        self.quote_all || text == self.null.unwrap_or("") || text.contains(special)
    }

    fn escaped(&self, text: &str) -> String {
        text.chars().fold(String::new(), |mut escaped, c| {
            match c {
                '\n' => escaped.push_str("\\n"),
                '\r' => escaped.push_str("\\r"),
                '\t' => escaped.push_str("\\t"),
                c if c == '\\' || c == self.delimiter => escaped.extend(['\\', c]),
                c => escaped.push(c),
            }
            escaped
        })
    }
}
