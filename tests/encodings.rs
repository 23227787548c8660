//! Encodings: pgsluice decodes each byte to the same character as the server, or refuses it if the server does.

use crate::harness::{Bench, Server, on_each_server};
use pgsluice::source::Encoding;

on_each_server!([
    every_byte_is_what_the_server_takes_it_for,
    text_in_utf_16_is_read,
    bytes_that_are_no_characters_are_refused,
    the_encoding_is_a_term_of_the_load,
]);

/// Returns the character of a byte, or NULL.
const CHARACTER: &str = "
CREATE FUNCTION character_of(byte int, encoding text) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
    RETURN convert_from(set_byte('\\x00', 0, byte), encoding);
EXCEPTION WHEN OTHERS THEN
    RETURN NULL;
END $$";

fn every_byte_is_what_the_server_takes_it_for(server: Server) {
    let bench = Bench::new(server);
    bench.session.run(CHARACTER);
    bench.session.run(
        "CREATE TABLE t (byte int, letter text) PARTITION BY HASH (letter);
         CREATE TABLE t0 PARTITION OF t FOR VALUES WITH (MODULUS 2, REMAINDER 0);
         CREATE TABLE t1 PARTITION OF t FOR VALUES WITH (MODULUS 2, REMAINDER 1)",
    );
    let mut differing = Vec::new();
    for encoding in Encoding::names().filter(|name| !["UTF8", "UTF16"].contains(name)) {
        let mut text = Vec::new();
        for byte in (0x20..=0xff).filter(|byte| !b",\"\\".contains(byte)) {
            text.extend(format!("{byte},a").into_bytes());
            text.extend([byte, b'\n']);
        }
        bench.file("bytes.csv", text);
        let ended = bench.load([
            "bytes.csv",
            "-t",
            "t",
            "--encoding",
            encoding,
            "-q",
            "--reject-file=bad.csv",
            "--max-rejects=200",
        ]);
        assert!([Some(0), Some(3)].contains(&ended.status.code()), "{encoding}: {ended:?}");
        let differences = bench.session.rows(&format!(
            "SELECT n, letter, 'a' || character_of(n, '{encoding}')
             FROM generate_series(32, 255) AS n LEFT JOIN t ON byte = n
             WHERE n NOT IN (34, 44, 92) AND letter IS DISTINCT FROM 'a' || character_of(n, '{encoding}')"
        ));
        differing.extend(differences.into_iter().map(|row| (encoding, row)));
        bench.session.run("TRUNCATE t");
        for file in ["bad.csv", "bad.csv.log"] {
            let _ = std::fs::remove_file(bench.path(file));
        }
    }
    assert!(differing.is_empty(), "{differing:#?}");
}

fn text_in_utf_16_is_read(server: Server) {
    let bench = Bench::new(server);
    bench.make_table();
    let text: String = (0..30_000).map(|row| format!("{},ä€😀{row}\r\n", row % 100)).collect();
    let little: Vec<u8> =
        format!("\u{feff}{text}").encode_utf16().flat_map(u16::to_le_bytes).collect();
    let big: Vec<u8> =
        format!("\u{feff}{text}").encode_utf16().flat_map(u16::to_be_bytes).collect();
    for bytes in [little, big] {
        bench.file("rows.csv", &bytes);
        let failed = bench.load(["rows.csv", "-t", "t"]);
        failed.fails_empty(&["The input is in UTF-16: ", "--encoding utf-16"]);
        let ended = bench.load(["rows.csv", "-t", "t", "--encoding", "utf-16", "--json"]);
        assert_eq!(ended.summary()["bytes_read"], bytes.len(), "{ended:?}");
        let good = bench.count("t WHERE v LIKE 'ä€😀%' AND substr(v, 4)::int % 100 = id");
        assert_eq!(good, 30_000);
        bench.session.run("TRUNCATE t");
    }
}

fn bytes_that_are_no_characters_are_refused(server: Server) {
    let bench = Bench::new(server);
    bench.make_table();
    for count in [10, 5000] {
        // In UTF-8, these two bytes would be a letter.
        let mut text = b"7,\xc3\x81\n".to_vec();
        (0..count).for_each(|row| text.extend(format!("{},a\n", row % 100).into_bytes()));
        bench.file("rows.csv", &text);
        let failed = bench.load(["rows.csv", "-t", "t", "--encoding", "windows-1252"]);
        failed.fails_empty(&["(SQLSTATE 22021)", "is invalid in WIN1252"]);
        let ended = bench.load(["rows.csv", "-t", "t", "--encoding", "latin1", "-q"]);
        assert_eq!(ended.status.code(), Some(0), "{ended:?}");
        assert_eq!(bench.count("t WHERE v = 'Ã' || chr(129)"), 1);
        bench.session.run("TRUNCATE t");
    }
    bench
        .load(["rows.csv", "-t", "t", "--encoding", "sjis"])
        .fails(2, &["must be one of UTF8, LATIN1"]);
}

fn the_encoding_is_a_term_of_the_load(server: Server) {
    let bench = Bench::new(server);
    bench.make_table();
    bench.file("rows.csv", b"7,\xe9\n".repeat(1000));
    let load = |encoding: &str| {
        bench.load(["rows.csv", "-t", "t", "--load-id=l", "--encoding", encoding, "--json"])
    };
    assert_eq!(load("latin1").summary()["rows_loaded"], 1000);
    assert_eq!(load("iso-8859-1").summary()["rows_already_loaded"], 1000);
    load("latin2")
        .fails(1, &["begun with --encoding \"LATIN1\", and is resumed with --encoding \"LATIN2\""]);
    assert_eq!(bench.count("t WHERE v = 'é'"), 1000);
}
