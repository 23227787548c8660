//! Parsing of the CONTEXT of a server's error: the lines of the data that COPY may have been at.
//!
//! The context ends with the message of `CopyFromErrorCallback` in `src/backend/commands/copyfrom.c`
//! (PostgreSQL 13 to 18), in the server's language: `COPY relation, line N, column name: "value"`. The value
//! is printed verbatim, line ends included. Lines about functions and statements come before it, and print
//! values in the same way. If a trigger runs at the end of COPY, the context does not mention COPY at all. So
//! a line that begins like COPY's message may be text from a row.

/// A possible message of COPY.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct ContextLine {
    /// Line of the COPY's data, from 1.
    pub line: u64,
    pub column: Option<String>,
    /// The printed value of the column, or of the row.
    pub value: Option<String>,
    /// Whether the context can end with this message.
    is_last: bool,
    is_first: bool,
}

/// All possible messages of COPY in a context.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Context(pub Vec<ContextLine>);

impl Context {
    /// Parses a context. `relations` are the tables that the COPY may name, and `columns` are its columns.
    pub(crate) fn parse<'r>(
        context: &str,
        relations: impl Iterator<Item = &'r str> + Clone,
        columns: &[String],
    ) -> Self {
        let ends = context.match_indices('\n').map(|(at, _)| at + 1);
        let places = std::iter::once(0).chain(ends);
        let mut found: Vec<ContextLine> = Vec::new();
        for at in places {
            let lines = relations.clone().filter_map(|name| line_of(&context[at..], name));
            let entries = lines.map(|(line, rest)| ContextLine::new(line, rest, columns, at == 0));
            entries.for_each(|entry| {
                if !found.contains(&entry) {
                    found.push(entry)
                }
            });
        }
        Self(found)
    }

    /// Returns the message if it must be COPY's, because nothing is printed before it.
    pub(crate) fn certain(&self) -> Option<&ContextLine> {
        self.0.first().filter(|entry| self.0.len() == 1 && entry.is_first)
    }

    /// Returns the message if it is probably COPY's. A row could only mislead this if it imitated both COPY's
    /// message and the end of a function's.
    pub(crate) fn likely(&self) -> Option<&ContextLine> {
        self.0.first().filter(|entry| self.0.len() == 1 && entry.is_last)
    }

    /// Returns the column, if all possible messages agree on it.
    pub(crate) fn column(&self) -> Option<&String> {
        let mut columns = self.0.iter().map(|entry| entry.column.as_ref());
        columns.next().flatten().filter(|first| columns.all(|column| column == Some(first)))
    }
}

impl ContextLine {
    fn new(line: u64, rest: &str, columns: &[String], is_first: bool) -> Self {
        let (column, rest) = match column_of(rest, columns) {
            Some((column, rest)) => (Some(column), rest),
            None => (None, rest),
        };
        let value = value_of(rest);
        // If a column has no value, a description follows instead.
        let is_last = rest.is_empty() || value.is_some() || !rest.contains('\n');
        Self { line, column, value: value.map(str::to_owned), is_last, is_first }
    }
}

/// Returns the line number if `text` begins with a message about `relation`, and the rest of the text.
fn line_of<'t>(text: &'t str, relation: &str) -> Option<(u64, &'t str)> {
    // The relation comes first in Korean and Japanese.
    let after =
        text.strip_prefix("COPY ").and_then(|text| text.strip_prefix(relation)).or_else(|| {
            let after = text.strip_prefix(relation)?;
            (after.starts_with("のCOPY") || after.starts_with(" 복사")).then_some(after)
        })?;
    let start = after.find(|c: char| c.is_ascii_digit() || c == '\n')?;
    let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
    if start == 0 || after.starts_with(is_name) {
        return None;
    }
    let number = &after[start..];
    let digits = number.find(|c: char| !c.is_ascii_digit()).unwrap_or(number.len());
    Some((number[..digits].parse().ok()?, &number[digits..]))
}

/// Returns the column that `rest` begins with, after the word for "column", and the rest of the text.
fn column_of<'t>(rest: &'t str, columns: &[String]) -> Option<(String, &'t str)> {
    let separators = [", ", "、", "번째 줄, ", "행, "];
    let rest = separators.iter().find_map(|separator| rest.strip_prefix(separator))?;
    let word = rest.split_once(' ').map(|(_, rest)| rest);
    let korean = |name: &str| Some(rest.strip_prefix(name)?.strip_prefix(" 열"));
    let named = columns.iter().filter_map(|name| {
        let after = match korean(name) {
            Some(Some(after)) => after,
            _ => word?.strip_prefix(name.as_str())?,
        };
        let is_end = after.is_empty() || [",", ":", " :"].iter().any(|end| after.starts_with(end));
        is_end.then_some((name, after))
    });
    named.max_by_key(|(name, _)| name.len()).map(|(name, after)| (name.clone(), after))
}

/// Returns the quoted value in `rest`.
fn value_of(rest: &str) -> Option<&str> {
    let rest = rest.strip_prefix("번째 줄").unwrap_or(rest);
    let quoted = rest.trim_start_matches(' ').strip_prefix(':')?.trim_start_matches(' ');
    let quotes = [("\"", "\""), ("»", "«"), ("« ", " »"), ("«", "»")];
    quotes.iter().find_map(|(open, close)| quoted.strip_prefix(open)?.strip_suffix(close))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(context: &str) -> Context {
        let columns = ["a", "line 7", "b", "a: x", "Zeile"].map(str::to_owned);
        Context::parse(
            context,
            ["t", "leaf_1", "leaf_12", "two\nlines", "t, line 5"].into_iter(),
            &columns,
        )
    }

    /// Returns line, column and value of the certain message.
    fn certain(context: &str) -> Option<(u64, Option<String>, Option<String>)> {
        let context = parse(context);
        context
            .certain()
            .map(|ContextLine { line, column, value, .. }| (*line, column.clone(), value.clone()))
    }

    #[test]
    fn reads_what_copy_says_in_every_language() {
        let some = |text: &str| Some(text.to_owned());
        for (context, expected) in [
            ("COPY leaf_12, line 345, column b: \"x\"", (345, some("b"), some("x"))),
            ("COPY leaf_1, line 2", (2, None, None)),
            ("COPY t, line 3: \"a: b\"", (3, None, some("a: b"))),
            ("COPY leaf_1, line 9, column b", (9, some("b"), None)),
            ("COPY t, line 3, column line 7: null input", (3, some("line 7"), None)),
            ("COPY t, line 3, column b: \"x a: y\"", (3, some("b"), some("x a: y"))),
            ("COPY t, line 3, column b: \"leaf_1 9\"", (3, some("b"), some("leaf_1 9"))),
            ("COPY t, line 3, column a: x: \"a\"", (3, some("a: x"), some("a"))),
            ("COPY two\nlines, line 3: \"x\ny\"", (3, None, some("x\ny"))),
            ("COPY t, line 3: \"Dear all,\nCOPY of 7\"", (3, None, some("Dear all,\nCOPY of 7"))),
            ("COPY t, Zeile 3, Spalte Zeile: »x«", (3, some("Zeile"), some("x"))),
            ("COPY t, línea 3, columna a: «x»", (3, some("a"), some("x"))),
            ("COPY t, ligne 3, colonne a : « x »", (3, some("a"), some("x"))),
            ("COPY t, ligne 3 : « a »", (3, None, some("a"))),
            ("COPY t, ხაზი 3, სვეტი a: ნულოვანი შეყვანა", (3, some("a"), None)),
            ("tのCOPY、行 3、列 a: \"x\"", (3, some("a"), some("x"))),
            ("t 복사, 3번째 줄, a 열: \"x\"", (3, some("a"), some("x"))),
            ("t 복사, 3번째 줄: \"x\"", (3, None, some("x"))),
            ("COPY t, 3행, a 열: null 입력", (3, some("a"), None)),
        ] {
            assert_eq!(certain(context), Some(expected), "{context}");
        }
    }

    #[test]
    fn lines_that_a_row_may_have_quoted_are_uncertain() {
        let lines = |context| parse(context).0.iter().map(|entry| entry.line).collect::<Vec<_>>();
        for (context, expected, is_likely) in [
            ("SQL statement \"SELECT 1\"", &[][..], false),
            ("COPY t", &[], false),
            ("COPY ten, line 3: \"x\"", &[], false),
            ("COPY t, line 3: \"x\nCOPY t, line 7, column a: \"y\"", &[3, 7], false),
            ("COPY t, line 5, line 7: \"x\"", &[5, 7], false),
            ("PL/pgSQL function f() line 1 at RAISE\nCOPY t, line 3: \"x\ny\"", &[3], true),
            ("PL/pgSQL function f() line 1 at RAISE\nCOPY t, line 3", &[3], true),
            (
                "SQL statement \"SELECT 'x\nCOPY t, line 7: 'y'\"\nPL/pgSQL function f()",
                &[7],
                false,
            ),
            ("SQL statement \"SELECT 'x\nCOPY t, line 7: 'y'\"\nCOPY t, line 3", &[7, 3], false),
        ] {
            assert_eq!(lines(context), expected, "{context}");
            assert_eq!(certain(context), None, "{context}");
            assert_eq!(parse(context).likely().is_some(), is_likely, "{context}");
        }
    }
}
