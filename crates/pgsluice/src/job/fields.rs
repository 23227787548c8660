//! COPY's options about single fields, checked like in PostgreSQL.

use pgsluice_core::catalog::label;
use pgsluice_core::format::{Format, Syntax};

/// COPY's options about single fields. The server interprets them, so the rows are sent as text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FieldOptions {
    /// `FORCE_NULL`: the columns in which a quoted field may be NULL.
    pub force_null: Columns,
    /// `FORCE_NOT_NULL`: the columns in which no field is NULL.
    pub force_not_null: Columns,
    /// `DEFAULT`: the spelling of a field that stands for its column's default.
    pub default: Option<Vec<u8>>,
}

/// A selection of the input's columns.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Columns {
    /// No column.
    #[default]
    None,
    /// All columns.
    All,
    /// The named columns.
    Named(Vec<String>),
}

impl Columns {
    /// Returns the selected names, for an input with the columns `all`.
    pub(crate) fn among<'c>(&'c self, all: &'c [String]) -> &'c [String] {
        match self {
            Self::None => &[],
            Self::All => all,
            Self::Named(names) => names,
        }
    }
}

impl FieldOptions {
    /// Whether no option is given.
    pub(crate) fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Returns the terms of a load that these options set, as names and values.
    pub(crate) fn terms(&self) -> Vec<(&'static str, String)> {
        let Self { force_null, force_not_null, default } = self;
        let names = |columns: &Columns| match columns {
            Columns::None => None,
            Columns::All => Some("*".to_owned()),
            Columns::Named(names) => {
                let names: Vec<_> = names.iter().map(|name| label(name)).collect();
                Some(names.join(","))
            }
        };
        let text = |default: &Vec<u8>| String::from_utf8_lossy(default).into_owned();
        let given = [
            ("force_null", names(force_null)),
            ("force_not_null", names(force_not_null)),
            ("default", default.as_ref().map(text)),
        ];
        given.into_iter().filter_map(|(name, value)| Some((name, value?))).collect()
    }

    /// Rejects invalid options like `ProcessCopyOptions`, with its messages (PostgreSQL 18).
    pub(super) fn check(&self, format: &Format) -> Result<(), String> {
        let quote = match format.syntax {
            Syntax::Csv { quote, .. } => Some(quote),
            Syntax::Text => None,
        };
        for (name, columns) in
            [("FORCE_NOT_NULL", &self.force_not_null), ("FORCE_NULL", &self.force_null)]
        {
            if quote.is_none() && *columns != Columns::None {
                return Err(format!("COPY {name} requires CSV mode"));
            }
        }
        let Some(default) = &self.default else { return Ok(()) };
        let refuse = |message: &str| Err(message.to_owned());
        if default.iter().any(|byte| matches!(byte, b'\n' | b'\r')) {
            return refuse("COPY default representation cannot use newline or carriage return");
        }
        if default.contains(&format.delimiter) {
            return refuse("COPY delimiter character must not appear in the DEFAULT specification");
        }
        if quote.is_some_and(|quote| default.contains(&quote)) {
            return refuse("CSV quote character must not appear in the DEFAULT specification");
        }
        if *default == format.null {
            return refuse("NULL specification and DEFAULT specification cannot be the same");
        }
        Ok(())
    }
}
