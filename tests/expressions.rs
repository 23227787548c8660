//! The proof that key expressions are evaluated as the server evaluates them: each kind of expression over
//! thousands of awkward rows, which the columns' own input functions read.
//!
//! As in a load, the server deparses the key of a table that is partitioned by the expression, the catalogue
//! translates it, and the result is evaluated over rows of COPY text. If it has a value, the server must have
//! the same value; if the server has an error, it must not have a value.

pub(crate) mod list;
pub(crate) mod rows;

use pgsluice::pg::introspect::Catalogue;
use pgsluice_core::catalog::{KeyColumn, ROOT};
use pgsluice_core::expr::Expr;
use pgsluice_core::format::Format;
use pgsluice_core::parse::{Fields, Parser};
use pgsluice_core::types::{KeyType, OwnedDatum};
use tokio::runtime::Builder;
use tokio_postgres::types::{FromSql, ToSql, Type};
use tokio_postgres::{Client, NoTls};

use self::rows::{COLUMNS, Row};
use crate::harness::{Server, explain, on_each_server};

on_each_server!([native_results_equal_those_of_the_server,]);

/// The server's answer for one row.
enum Answer {
    /// COPY would refuse the row before it evaluates an expression.
    Unreadable,
    Error,
    Value(Option<Vec<u8>>),
}

/// A value of any type in its binary form.
struct Raw(Vec<u8>);

impl<'a> FromSql<'a> for Raw {
    fn from_sql(_: &Type, raw: &'a [u8]) -> Result<Self, Box<dyn std::error::Error + Sync + Send>> {
        Ok(Self(raw.to_vec()))
    }

    fn accepts(_: &Type) -> bool {
        true
    }
}

fn native_results_equal_those_of_the_server(server: Server) {
    let scratch = server.scratch();
    let runtime = Builder::new_current_thread().enable_all().build().expect("a runtime");
    runtime.block_on(sweep(scratch.url(), server.major()));
}

async fn sweep(url: &str, major: u32) {
    let (mut client, connection) = tokio_postgres::connect(url, NoTls).await.expect("no server");
    let connection = tokio::spawn(connection);
    let rows = rows::rows();
    let mut known = Vec::new();
    for (number, text) in list::expressions(major).iter().enumerate() {
        let expr = read(&mut client, number, text).await;
        let places = expr.places();
        let answers = ask(&client, number, text, &places, &rows).await;
        compare(text, &expr, &rows, &answers);
        known.push(format!("{expr:?}"));
    }
    // EXTRACT and date_bin exist since 14.
    if major >= 14 {
        list::must_cover_all(&known);
    }
    drop(client);
    connection.await.expect("connection task").expect("connection");
}

/// Returns the catalogue's translation of the key `text`.
async fn read(client: &mut Client, number: usize, text: &str) -> Expr {
    let columns: Vec<String> = COLUMNS.iter().map(|(name, ty, _)| format!("{name} {ty}")).collect();
    let create =
        format!("CREATE TABLE t_{number} ({}) PARTITION BY HASH (({text}))", columns.join(", "));
    if let Err(error) = client.batch_execute(&create).await {
        panic!("{text}: {}", explain(&error));
    }
    let catalogue = Catalogue::read(client, &format!("t_{number}"), None).await;
    let catalogue = catalogue.expect("a catalogue");
    let key = catalogue.tree.nodes[ROOT].key.clone().expect("a key");
    match key.columns.into_iter().next() {
        Some(KeyColumn::Expression { expr, .. }) => expr,
        other => panic!("{text}: {other:?}"),
    }
}

/// Returns the server's answers, from a function that reads only the columns at `places`.
async fn ask(
    client: &Client,
    number: usize,
    text: &str,
    places: &[usize],
    rows: &[Row],
) -> Vec<Answer> {
    let mut places = places.to_vec();
    places.sort_unstable();
    places.dedup();
    let prepared = client.prepare(&format!("SELECT {text} FROM t_{number}")).await.expect(text);
    let ty = prepared.columns()[0].type_().name();
    let each = |write: &dyn Fn(usize) -> String| {
        places.iter().map(|&place| write(place)).collect::<Vec<_>>().join(", ")
    };
    let parameters = each(&|place| format!("f{place} text"));
    let read = each(&|place| format!("f{place}::{}", COLUMNS[place].1));
    let columns = each(&|place| format!("f{place}::{} AS {}", COLUMNS[place].1, COLUMNS[place].0));
    let create = format!(
        "CREATE FUNCTION pg_temp.answer_{number}({parameters}, OUT failed bool, OUT value {ty})
         LANGUAGE plpgsql AS $$ BEGIN
             BEGIN PERFORM {read}; EXCEPTION WHEN data_exception THEN RETURN; END;
             failed := false;
             SELECT {text} INTO value FROM (SELECT {columns}) AS k;
         EXCEPTION WHEN data_exception OR feature_not_supported THEN failed := true; END $$"
    );
    client.batch_execute(&create).await.expect(text);
    let arrays = (1..=places.len()).map(|n| format!("${n}::text[]")).collect::<Vec<_>>().join(", ");
    let fields = each(&|place| format!("f{place}"));
    let query = format!(
        "SELECT a.failed, a.value
         FROM unnest({arrays}) WITH ORDINALITY AS u ({fields}, n),
              pg_temp.answer_{number}({fields}) AS a ORDER BY n"
    );
    let values: Vec<Vec<Option<&str>>> = (places.iter())
        .map(|&place| rows.iter().map(|row| row[place].as_deref()).collect())
        .collect();
    let values: Vec<&(dyn ToSql + Sync)> = values.iter().map(|each| each as _).collect();
    let answers = client.query(&query, &values).await.expect(text);
    let answer = |row: &tokio_postgres::Row| match row.get(0) {
        None => Answer::Unreadable,
        Some(true) => Answer::Error,
        Some(false) => Answer::Value(row.get::<_, Option<Raw>>(1).map(|raw| raw.0)),
    };
    answers.iter().map(answer).collect()
}

fn compare(text: &str, expr: &Expr, rows: &[Row], answers: &[Answer]) {
    assert_eq!(rows.len(), answers.len());
    let ty: &KeyType = expr.ty();
    let parser = Parser::new(&Format::text(), (0..COLUMNS.len()).collect());
    let (mut keys, mut scratch) = (Fields::default(), Vec::new());
    let (mut native, mut all) = (0, 0);
    for (row, answer) in rows.iter().zip(answers) {
        let line = rows::line(row);
        parser.parse(&line, &mut keys);
        let value = expr.evaluate(&line, &keys, &mut scratch);
        let value = value.map(|value| value.map(OwnedDatum::from));
        match (value, answer) {
            (_, Answer::Unreadable) => continue,
            (Ok(value), Answer::Error) => panic!("{text} of {row:?}: {value:?} is an error"),
            (Err(_), Answer::Error) => continue,
            (Ok(value), Answer::Value(binary)) => {
                let server =
                    binary.as_ref().map(|binary| ty.from_binary(binary).expect("its type"));
                assert_eq!(value, server, "{text} of {row:?}");
                native += 1;
            }
            (Err(_), Answer::Value(_)) => {}
        }
        all += 1;
    }
    // With fewer values, this test would prove little.
    assert!(native * 2 > all && native > 100, "{text}: {native} of {all} evaluated natively");
}
