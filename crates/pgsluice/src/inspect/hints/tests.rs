//! Tests of each rule on small inputs, both where it gives advice and where its advice would lose data.

use pgsluice_core::format::Format;

use super::case::{CaseColumn, HintCase, Sample};
use super::{
    Advice, dates, defaults, encodings, excel, extra, headers, json, line_ends, nulls, numbers,
    quotes,
};
use crate::error::kind::Kind;
use crate::error::{Error, Location, Remedy, Unit};
use crate::inspect::guess;
use crate::job::{Columns, InputOptions};
use crate::pg::introspect::Nullness;
use crate::source::{FileFormat, Header};

const NULLABLE: Nullness = Nullness { is_not_null: false, has_default: false };
const DEFAULTED: Nullness = Nullness { is_not_null: true, has_default: true };

/// An input whose last row was refused.
struct Trial {
    how: InputOptions,
    error: Error,
    columns: Vec<(&'static str, Nullness)>,
    sample: Sample,
    version: u32,
}

impl Trial {
    fn new(text: impl AsRef<[u8]>, header: Header, format: Format) -> Self {
        let format_of = format.clone();
        let how = InputOptions { header, format: format_of, ..InputOptions::default() };
        let text = text.as_ref().to_vec();
        let rows: Vec<_> = guess::rows(&text, &format).into_iter().map(|(_, row)| row).collect();
        let row = rows.last().cloned();
        let rows = rows.into_iter().skip(header.rows()).collect();
        let (raw, reader, name) = (row.clone(), "cat {}", "FILE".to_owned());
        Self {
            how,
            error: Error::new(Kind::Data, "none"),
            columns: vec![("id", NULLABLE), ("b", NULLABLE)],
            sample: Sample {
                name,
                reader: reader.to_owned(),
                text,
                is_whole: true,
                rows,
                raw,
                row,
            },
            version: 180_000,
        }
    }

    fn csv(text: &str) -> Self {
        Self::new(text, Header::Absent, Format::csv())
    }

    /// Replaces the error.
    fn with_error(mut self, code: &str, message: &str, column: &str) -> Self {
        let line = self.sample.text.split(|byte| *byte == b'\n').count() as u64 - 1;
        let (source, unit) = (self.sample.name.clone(), Unit::Bytes);
        let place = Location { source, line, offset: 0, input: 0, unit };
        let error = Error::new(Kind::Data, message).with_sqlstate(code).with_column(column);
        self.error = error.at(place);
        self
    }

    /// Returns the hint of a rule.
    fn advice(&self, rule: super::Rule) -> String {
        let columns = self.columns.iter().map(|(name, nullness)| CaseColumn {
            name,
            nullness: *nullness,
            is_bound: false,
            codec: None,
        });
        let columns: Vec<_> = columns.collect();
        let column = columns.iter().position(|it| Some(it.name) == self.error.column());
        let Sample { name, reader, text, is_whole, rows, raw, row } = &self.sample;
        let sample = Sample {
            name: name.clone(),
            reader: reader.clone(),
            text: text.clone(),
            is_whole: *is_whole,
            rows: rows.clone(),
            raw: raw.clone(),
            row: row.clone(),
        };
        let case = HintCase {
            error: &self.error,
            how: &self.how,
            format: &self.how.format,
            version: self.version,
            changes: false,
            columns,
            has_all_columns: true,
            plan: None,
            column,
            sample: Some(sample),
        };
        let Some(Advice { remedies, hint, .. }) = rule(&case) else { return String::new() };
        let line = |remedy: &Remedy| {
            let error = Error::new(Kind::Data, "").with_remedy(remedy.clone());
            error.hint().unwrap_or_default()
        };
        remedies
            .iter()
            .map(line)
            .chain(hint.map(|hint| hint.as_str().to_owned()))
            .collect::<Vec<_>>()
            .join("\n")
    }
}

fn ends(advice: &str, end: &str) {
    assert!(advice.ends_with(end) && advice.is_empty() == end.is_empty(), "{advice:?}: {end:?}");
}

#[test]
fn null_is_spelled_as_the_row_has_it() {
    let text = |text: &str| Trial::new(text, Header::Absent, Format::text());
    let invalid = |trial: Trial| trial.with_error("22P02", "invalid", "b").advice(nulls::spelling);
    ends(&invalid(Trial::csv("2,3\n1,NULL\n")), "--null NULL");
    ends(&invalid(Trial::csv("2,3\n1,\\N\n")), "--null '\\N'");
    ends(&invalid(Trial::csv("2,3\n1,\"\"\n")), "--force-null b");
    ends(&invalid(Trial::csv("2,3\n1,\"NULL\"\n")), "--null NULL --force-null b");
    ends(&invalid(text("2\t3\n1\t\n")), "--null ''");
    // Not a spelling of NULL, a second one beside another, and a value in another column.
    ends(&invalid(Trial::csv("2,3\n1,x\n")), "");
    ends(&invalid(Trial::csv("2,\n1,NULL\n")), "");
    ends(&invalid(text("2\t\\N\n1\t\n")), "");
    ends(&invalid(Trial::csv("NA,3\n1,NA\n")), "");
    let mut refused = Trial::csv("2,3\n1,NULL\n");
    refused.columns[1].1 = DEFAULTED;
    ends(&invalid(refused), "");
    let mut forced = Trial::csv("2,3\n1,\"\"\n");
    forced.how.fields.force_null = Columns::Named(vec!["A".to_owned()]);
    ends(&invalid(forced), "--force-null '\"A\",b'");
}

#[test]
fn empty_fields_are_defaults_if_all_may_be() {
    let with = |text: &str, version: u32| {
        let mut trial = Trial::csv(text).with_error("23502", "null value", "b");
        trial.columns[1].1 = DEFAULTED;
        trial.version = version;
        trial.advice(defaults::empty)
    };
    ends(&with("2,3\n1,\n", 180_000), "--default '' --null '\\N'");
    ends(&with("2,3\n1,\n", 150_000), "if the input does not contain the column.");
    ends(&with(",3\n1,\n", 180_000), "if the input does not contain the column.");
    let plain = Trial::csv("2,3\n1,\n").with_error("23502", "null value", "b");
    ends(&plain.advice(defaults::empty), "");
}

#[test]
fn dates_are_read_in_an_order_that_fits_all() {
    let out =
        |text: &str| Trial::csv(text).with_error("22008", "out of range", "b").advice(dates::order);
    assert!(out("2,03/08/2026\n1,25/12/2026\n").contains("datestyle=iso,dmy"));
    assert!(out("2,03.08.2026\n1,12.25.2026\n").contains("datestyle=iso,mdy"));
    ends(&out("2,12/25/2026\n1,25/12/2026\n"), "");
    ends(&out("1,1735689600\n"), "");
    ends(&out("1,45/45/2026\n"), "");
}

#[test]
fn line_ends_change_only_where_nothing_else_does() {
    let message = "unquoted carriage return found in data";
    let mixed =
        |text: &str| Trial::csv(text).with_error("22P04", message, "").advice(line_ends::mixed);
    ends(&mixed("id,b\n1,x\r\n2,y\n"), "tr -d '\\r' < FILE | pgsluice load - ...");
    ends(&mixed("id,b\r1,x\r2,y\n"), "tr '\\r' '\\n' < FILE | pgsluice load - ...");
    ends(&mixed("id,b\n1,x\r\n2,y\rz\n"), "");
    ends(&mixed("id,b\n1,\"x\r\ny\"\r\n"), "");
}

#[test]
fn encodings_do_not_spoil_other_rows() {
    let of = |text: &[u8]| {
        let trial = Trial::new(text, Header::Absent, Format::csv());
        trial.with_error("22021", "invalid byte sequence", "").advice(encodings::other)
    };
    ends(&of(b"1,a\n2,Zo\xeb\n"), "--encoding latin1");
    ends(&of(b"1,Zo\xc3\xab\n2,Zo\xeb\n"), "");
    ends(&of(b"1,a\n2,b\0\n"), "tr -d '\\000' < FILE | pgsluice load - ...");
    let sjis = of(b"1,\x93\x8c\x8b\x9e\n2,\x83J\x83^\x83J\x83i\n");
    ends(&sjis, "iconv -f shift_jis -t utf-8 FILE | pgsluice load - ...");
}

#[test]
fn excels_line_is_skipped() {
    let of = |text: &str, header| {
        let trial = Trial::new(text, header, Format::csv()).with_error("22P02", "invalid", "id");
        trial.advice(excel::first_line)
    };
    ends(&of("sep=;\nid;b\n1;x\n", Header::Skip(1)), "--header=2 --delimiter ';'");
    ends(&of("sep=;\n1;x\n2;y\n", Header::Absent), "--header=1 --delimiter ';'");
    ends(&of("sep=,\nb,id\nx,1\n", Header::Skip(1)), "--header=2 --columns b,id");
    ends(&of("id,b\n1,x\n", Header::Skip(1)), "");
}

#[test]
fn a_header_that_comes_again_is_removed() {
    let of = |text: &str, header| {
        let trial = Trial::new(text, header, Format::csv()).with_error("22P02", "invalid", "id");
        trial.advice(headers::again)
    };
    ends(&of("id,b\n1,x\nid,b\n", Header::Map), "FILE | pgsluice load - ...");
    ends(&of("id,b\r\n1,x\r\nid,b\r\n", Header::Present), "FILE | pgsluice load - ...");
    ends(&of("id,b\n1,x\nid,b\n", Header::Absent), "");
    ends(&of("id,b\n1,x\nid\n", Header::Map), "");
    ends(&of("id,b\n1,x\nx,b\n", Header::Map), "");
}

#[test]
fn quotes_are_characters_where_all_lines_have_their_fields_then() {
    let of = |text: &str, delimiter| {
        let format = Format { delimiter, ..Format::csv() };
        let trial = Trial::new(text, Header::Absent, format);
        trial.with_error("22P04", "unterminated CSV quoted field", "").advice(quotes::plain)
    };
    ends(&of("1\t5\" pipe\n2\tb\n", b'\t'), "--format text --delimiter '\\t' --null ''");
    ends(&of("1,5\" pipe\n2,b\n", b','), "--format text --delimiter , --null ''");
    ends(&of("1\t5\" pipe\n2\n", b'\t'), "");
    ends(&of("1\t5\" \\pipe\n2\tb\n", b'\t'), "");
}

#[test]
fn numbers_of_other_programs_are_explained() {
    let of =
        |text: &str| Trial::csv(text).with_error("22P02", "invalid", "b").advice(numbers::spelling);
    assert!(of("1,\"1,50\"\n").contains("decimal comma"));
    assert!(of("1,3.0\n").contains("Int64"));
    ends(&of("1,x\n"), "");
    ends(&of("1,3.5\n"), "");
}

#[test]
fn fields_that_are_too_many_are_left_out() {
    let message = "extra data after last expected column";
    let of = |text: &str, header| {
        Trial::new(text, header, Format::csv())
            .with_error("22P04", message, "")
            .advice(extra::fields)
    };
    ends(&of("id,b,c\n1,x,z\n", Header::Skip(1)), "--header=map --ignore-extra");
    ends(&of("1,x,\n2,y,\n", Header::Absent), "sed 's/[,]$//' FILE | pgsluice load - ...");
    ends(&of("1,x,\r\n2,y,\r\n", Header::Absent), "s/[,]\\015$//' FILE | pgsluice load - ...");
    ends(&of("1,x,y\n2,y,\n", Header::Absent), "");
    ends(&of("id,b,c\n1,x,z,w\n", Header::Skip(1)), "");
    ends(&of("1,\"x,\ny\",\n", Header::Absent), "");
}

#[test]
fn json_is_mended_by_a_program_that_reads_it() {
    let of = |text: &str| {
        let mut trial = Trial::new(text, Header::Absent, Format::text());
        trial.how.file_format = FileFormat::Ndjson;
        let first = text.lines().next().unwrap_or_default();
        trial.sample.raw = Some(first.into());
        trial.with_error("22P04", "invalid JSON", "").advice(json::lines)
    };
    ends(&of("{\n \"id\": 1\n}\n"), "jq -c . FILE | pgsluice load - ...");
    ends(&of("{\"id\":1},\n{\"id\":2}\n"), "s/,[[:space:]]*$//' FILE | pgsluice load - ...");
    ends(&of("{'id':1}\n"), "");
    ends(&of("{\"id\":1}\n"), "");
}
