//! One table loaded with COPY text, another with COPY BINARY.

use std::fmt;

use pgsluice::pg::introspect::Catalogue;
use pgsluice_core::types::Codec;
use tokio::runtime::Builder;
use tokio_postgres::{Error, NoTls};

use crate::harness::{Scratch, Session, explain};

/// The texts of a row, and its fields in COPY BINARY.
#[derive(Clone, Default)]
pub(super) struct Row {
    texts: Vec<Vec<u8>>,
    fields: Vec<u8>,
}

impl fmt::Debug for Row {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.texts.iter().map(|text| text.escape_ascii())).finish()
    }
}

impl Row {
    /// Encodes a row of one column. Returns `None` if the codec leaves the text to the server.
    pub(super) fn encode(codec: &Codec, text: &[u8]) -> Option<Self> {
        let before = b"bytes before it";
        let mut fields = before.to_vec();
        codec.encode(text, &mut fields)?;
        assert!(fields.starts_with(before), "{codec:?} {text:?}");
        Some(Self { texts: vec![text.to_vec()], fields: fields.split_off(before.len()) })
    }
}

impl<'a> FromIterator<&'a Row> for Row {
    /// Joins the columns of all rows into one row.
    fn from_iter<T: IntoIterator<Item = &'a Row>>(rows: T) -> Self {
        let mut all = Self::default();
        for row in rows {
            all.texts.extend_from_slice(&row.texts);
            all.fields.extend_from_slice(&row.fields);
        }
        all
    }
}

/// Returns the codecs that the loader's catalogue has for the columns of `table`.
pub(super) fn codecs(scratch: &Scratch, settings: &str, table: &str) -> Vec<Result<Codec, String>> {
    let runtime = Builder::new_current_thread().enable_all().build().expect("a runtime");
    let catalogue = runtime.block_on(async {
        let (mut client, connection) =
            tokio_postgres::connect(scratch.url(), NoTls).await.expect("no server");
        tokio::spawn(connection);
        client.batch_execute(settings).await.expect("settings");
        Catalogue::read(&mut client, table, None).await
    });
    catalogue.expect("a catalogue").codecs
}

/// The two tables. Each has the number of the row, and a column of each type.
pub(super) struct Sides<'a> {
    session: Session,
    scratch: &'a Scratch,
    settings: String,
    width: usize,
}

impl<'a> Sides<'a> {
    pub(super) fn create(scratch: &'a Scratch, settings: String, types: &[&str]) -> Self {
        let session = scratch.session();
        let columns = types.iter().enumerate().map(|(n, ty)| format!(", c{n} {ty}"));
        let columns: String = columns.collect();
        for side in ["text_side", "binary_side"] {
            session
                .run(&format!("DROP TABLE IF EXISTS {side}; CREATE TABLE {side} (n int{columns})"));
        }
        session.run(&settings);
        Self { session, scratch, settings, width: types.len() }
    }

    /// Returns the codec that the loader's catalogue has for the first column.
    pub(super) fn codec(&self) -> Codec {
        let codecs = codecs(self.scratch, &self.settings, "text_side");
        codecs[1].clone().expect("a codec")
    }

    /// Divides rows into those that COPY text accepts and those that it refuses. It sends a few at a time,
    /// because COPY has to start again after each refused row.
    pub(super) fn divide_by_text(&self, rows: &[Row]) -> (Vec<Row>, Vec<Row>) {
        let (mut taken, mut refused) = (Vec::new(), Vec::new());
        for mut rest in rows.chunks(20) {
            while let Err(error) = self.copy_text(rest) {
                let line = line(&error);
                taken.extend_from_slice(&rest[..line - 1]);
                refused.push(rest[line - 1].clone());
                rest = &rest[line..];
            }
            taken.extend_from_slice(rest);
        }
        (taken, refused)
    }

    pub(super) fn must_refuse(&self, row: &Row) {
        let copied = self.copy_binary(std::slice::from_ref(row));
        assert!(copied.is_err(), "refused as text only: {row:?}");
    }

    /// Loads both sides with these rows and compares the stored values.
    pub(super) fn must_agree(&self, rows: &[Row]) {
        self.session.run("TRUNCATE text_side, binary_side");
        for (side, copied) in [("text", self.copy_text(rows)), ("binary", self.copy_binary(rows))] {
            match copied {
                Ok(count) => assert_eq!(count, rows.len() as u64, "{side}"),
                Err(error) => {
                    let row = rows.get(line(&error) - 1);
                    panic!("{side}: {}\n{row:?}", explain(&error));
                }
            }
        }
        // The datums in their binary form.
        let other = self.session.rows(
            "SELECT t, b FROM text_side t FULL JOIN binary_side b USING (n)
             WHERE NOT COALESCE(t *= b, false) LIMIT 3",
        );
        assert!(other.is_empty(), "{other:?}");
        for format in ["text", "binary"] {
            let [text, binary] = ["text_side", "binary_side"].map(|side| {
                let rows = format!("(SELECT * FROM {side} ORDER BY n)");
                self.session.copy_out(&format!("COPY {rows} TO STDOUT (FORMAT {format})"))
            });
            assert!(text == binary, "another {format}");
        }
    }

    fn copy_text(&self, rows: &[Row]) -> Result<u64, Error> {
        let mut input = Vec::new();
        for (n, row) in rows.iter().enumerate() {
            assert_eq!(row.texts.len(), self.width);
            input.extend(n.to_string().bytes());
            row.texts.iter().for_each(|text| write_text(text, &mut input));
            input.push(b'\n');
        }
        self.session.copy_in("COPY text_side FROM STDIN (ENCODING 'UTF8')", input)
    }

    fn copy_binary(&self, rows: &[Row]) -> Result<u64, Error> {
        let mut input = b"PGCOPY\n\xFF\r\n\0\0\0\0\0\0\0\0\0".to_vec();
        for (n, row) in rows.iter().enumerate() {
            input.extend((self.width as i16 + 1).to_be_bytes());
            input.extend(4_i32.to_be_bytes());
            input.extend((n as i32).to_be_bytes());
            input.extend(&row.fields);
        }
        input.extend((-1_i16).to_be_bytes());
        self.session.copy_in("COPY binary_side FROM STDIN (FORMAT binary)", input)
    }
}

fn write_text(text: &[u8], input: &mut Vec<u8>) {
    input.push(b'\t');
    for byte in text {
        match byte {
            b'\\' => input.extend(b"\\\\"),
            b'\t' => input.extend(b"\\t"),
            b'\n' => input.extend(b"\\n"),
            b'\r' => input.extend(b"\\r"),
            other => input.push(*other),
        }
    }
}

/// Returns the number of the line, from 1 on, at which COPY stopped.
fn line(error: &Error) -> usize {
    let place = error.as_db_error().and_then(|error| error.where_()).unwrap_or_default();
    let number = place.split_once("_side, line ").map(|(_, rest)| rest);
    let number = number.and_then(|rest| rest.split([',', '\n']).next()?.parse().ok());
    number.unwrap_or_else(|| panic!("no line in {place:?}: {}", explain(error)))
}
