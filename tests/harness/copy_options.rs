//! COPY's options in one form, which is converted to SQL for the server and to arguments for the loader.

use serde::Deserialize;

/// COPY's options under COPY's names; an absent option has COPY's default.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct CopyOptions {
    pub(crate) format: Option<String>,
    pub(crate) header: Option<String>,
    pub(crate) delimiter: Option<String>,
    pub(crate) null: Option<String>,
    pub(crate) quote: Option<String>,
    pub(crate) escape: Option<String>,
    pub(crate) columns: Option<Vec<String>>,
}

impl CopyOptions {
    pub(crate) fn format(&self) -> &str {
        self.format.as_deref().unwrap_or("csv")
    }

    /// Returns `COPY table (columns) FROM STDIN WITH (...)`.
    pub(crate) fn copy_from(&self, table: &str) -> String {
        format!("COPY {table}{} FROM STDIN WITH ({})", self.column_list(), self.options())
    }

    /// Returns `COPY (query) TO STDOUT WITH (...)`, which writes an input of this format.
    pub(crate) fn copy_to(&self, query: &str) -> String {
        format!("COPY ({query}) TO STDOUT WITH ({})", self.options())
    }

    /// Returns the loader's arguments.
    pub(crate) fn arguments(&self) -> Vec<String> {
        let mut arguments = vec!["--format".into(), self.format().into()];
        for (name, value) in self.named() {
            arguments.extend([format!("--{name}"), value.to_owned()]);
        }
        match self.header.as_deref() {
            Some("match") => arguments.push("--header=match".into()),
            Some("true") => arguments.push("--header".into()),
            _ => {}
        }
        if let Some(columns) = &self.columns {
            arguments.extend(["--columns".into(), listed(columns)]);
        }
        arguments
    }

    fn named(&self) -> impl Iterator<Item = (&'static str, &str)> {
        [
            ("delimiter", &self.delimiter),
            ("null", &self.null),
            ("quote", &self.quote),
            ("escape", &self.escape),
        ]
        .into_iter()
        .filter_map(|(name, value)| Some((name, value.as_deref()?)))
    }

    fn options(&self) -> String {
        let mut options = vec![format!("FORMAT {}", self.format())];
        options.extend(self.named().map(|(name, value)| format!("{name} {}", literal(value))));
        options.extend(self.header.iter().map(|header| format!("HEADER {header}")));
        options.join(", ")
    }

    fn column_list(&self) -> String {
        self.columns.as_ref().map(|columns| format!(" ({})", listed(columns))).unwrap_or_default()
    }
}

fn listed(columns: &[String]) -> String {
    columns.iter().map(|column| identifier(column)).collect::<Vec<_>>().join(",")
}

/// Returns a name in double quotes.
pub(crate) fn identifier(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

/// Returns a string in single quotes, for standard-conforming strings.
pub(crate) fn literal(text: &str) -> String {
    format!("'{}'", text.replace('\'', "''"))
}
