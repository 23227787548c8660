//! Columns that are not encoded, and the reported reasons.

use pgsluice_core::types::Codec;

use super::sides::codecs;
use crate::harness::{Server, on_each_server};

on_each_server!([a_column_without_a_codec_says_why,]);

fn a_column_without_a_codec_says_why(server: Server) {
    let unknown = |ty: &str| Some(format!("type {ty} is not encoded natively"));
    let some_fields = Some("an interval with restricted fields is not encoded natively".to_owned());
    let array_nulls = Some("the session's array_nulls is off, so NULL is a string".to_owned());
    let scratch = server.scratch();
    let session = scratch.session();
    session.run(
        "CREATE TYPE mixed AS (a integer, b tsvector);
         CREATE DOMAIN hours AS interval hour;
         CREATE TABLE t (a tid, b tsvector[], c mixed, d interval day, e interval year[], f hours,
                         g integer[], h integer, i int2vector)",
    );
    let why = |settings| -> Vec<Option<String>> {
        codecs(&scratch, settings, "t").into_iter().map(Result::err).collect()
    };
    let expected = [
        unknown("tid"),
        unknown("tsvector"),
        unknown("tsvector"),
        some_fields.clone(),
        some_fields.clone(),
        some_fields,
        None,
        None,
        unknown("int2vector"),
    ];
    assert_eq!(why(""), expected);
    assert_eq!(why("SET array_nulls = off")[6], array_nulls);

    let latin = server.scratch_in("LATIN1");
    latin.session().run("CREATE TABLE t (a text, b varchar(3)[], c jsonb, d integer, e timestamp)");
    let codecs = codecs(&latin, "", "t");
    let text = Err("text in a LATIN1 database is not encoded natively".to_owned());
    assert_eq!(codecs[..3], [text.clone(), text.clone(), text]);
    assert_eq!(codecs[3..], [Ok(Codec::Int4), Ok(Codec::Timestamp)]);
}
