//! Files of other programs, from public reports: the command of each hint must load their rows, or there is no hint.

use super::hints::desk;
use super::{Desk, command_of};
use crate::harness::{Server, on_each_server};

on_each_server!([
    backslashes_are_characters,
    backslashes_escape_in_csv,
    fields_are_quoted_in_another_way,
    lines_are_no_rows,
    rows_lack_fields,
    numbers_are_written_for_people,
    values_are_in_the_notation_of_another_program,
    a_column_is_too_small,
    names_are_no_columns,
    the_file_is_another,
    all_rows_have_the_mistake,
    a_table_that_a_key_refers_to_is_empty,
]);

fn backslashes_are_characters(server: Server) {
    let desk = desk(server, "id int, b text, c text");
    let message = "--format csv --delimiter '\\t' --null '\\N'";
    for value in ["vfa\\", "bag\\20100614/10", "as\\.d"] {
        desk.bench.file("a.tsv", format!("1\t{value}\tx\n2\tplain\t\\N\n"));
        let is_value = format!("b = '{value}' AND c = 'x'");
        desk.follow("load a.tsv -t t", message, &is_value, 1);
    }
    // COPY's own escapes are not changed.
    desk.bench.file("a.tsv", "1\ta\\\\b\\n\tx\nz\tplain\ty\n");
    desk.is_not_told("load a.tsv -t t", &["--format csv"]);
    let plain = Desk::new(server);
    plain.bench.session.run("CREATE TABLE t (data jsonb)");
    plain.bench.file("a.txt", "{\"a\": \"say \\\"hi\\\"\"}\n");
    plain.is_not_told("load a.txt -t t", &["--reject-file"]);
}

fn backslashes_escape_in_csv(server: Server) {
    let desk = desk(server, "id int, b text, c int");
    desk.bench.file("a.csv", "\"1\",\"say \\\"hi, x\",\"3\"\n\"2\",\"\",\"4\"\n");
    desk.follow("load a.csv -t t", "--escape '\\'", "b = 'say \"hi, x'", 1);
    desk.bench.file("a.csv", "\"1\",\"say \\\"hi, x\",\"3\"\n\"2\",\"a \"\"b\"\"\",\"4\"\n");
    desk.is_not_told("load a.csv -t t", &["--escape"]);
    desk.bench.file("a.csv", "1,hello\\, world,\n2,two\\nlines,4\n");
    let message = "--format text --delimiter , --null ''";
    desk.follow("load a.csv -t t", message, "b IN ('hello, world', E'two\\nlines')", 2);
    let json = Desk::new(server);
    json.bench.session.run("CREATE TABLE t (id int, data jsonb)");
    json.bench.file("a.csv", "1,\"{\\\"a\\\": 1}\"\n");
    json.follow("load a.csv -t t", "--escape '\\'", "data = '{\"a\": 1}'", 1);
}

fn fields_are_quoted_in_another_way(server: Server) {
    let desk = desk(server, "id int, b text, c text");
    desk.bench.file("a.csv", "id:b:c\n50:#Mission: Impossible#:x\n51:#Top Gun#:y\n");
    let line = "load a.csv --header --delimiter : -t t";
    desk.follow(line, "--quote '#'", "b = 'Mission: Impossible'", 1);
    desk.bench.file("a.csv", "id,b,c\n\"1,\"\"Rue 5, Paris\"\",x\"\n\"2,Sol,y\"\n");
    desk.follow("load a.csv --header -t t", "Each line is in quotes: sed", "b = 'Rue 5, Paris'", 1);
    desk.bench.file("a.csv", "id,b,c\n\"1,\"\"Rue 5, Paris\"\",x\"\n\"2\",\"Sol\",\"y\"\n");
    desk.is_not_told("load a.csv --header -t t", &["Each line"]);
    // A field in quotes would keep the quotes.
    desk.bench.file("a.csv", "1,\"a\",5\" pipe\n2,b,c\n");
    desk.is_not_told("load a.csv -t t", &["ordinary characters"]);
}

fn lines_are_no_rows(server: Server) {
    let desk = desk(server, "id int, b text NOT NULL");
    for (content, line, message) in [
        ("1,x\n\n2,y\n\n", "load a.csv -t t", "sed '/^$/d' a.csv"),
        ("1,x\n,\n2,y\n,\n", "load a.csv -t t", "sed '/^[,]*$/d' a.csv"),
        ("\nid,b\n1,x\n2,y\n", "load a.csv --header -t t", "--header=2"),
        ("Sales\nof May\n\nb,id\nx,1\ny,2\n", "load a.csv -t t", "--header=4 --columns b,id"),
        ("## one\n1,x\n## two\n2,y\n", "load a.csv -t t", "sed '/^#/d' a.csv"),
    ] {
        desk.bench.file("a.csv", content);
        desk.follow(line, message, "b IN ('x', 'y')", 2);
    }
    // A blank line within quotes is data.
    desk.bench.file("a.csv", "1,\"x\n\ny\"\n\n2,y\n");
    desk.is_not_told("load a.csv -t t", &["sed"]);
    desk.bench.file("a.csv", "1,two\nlines\n3,x\n");
    let failed = desk.is_not_told("load a.csv --columns id,b -t t", &["awk"]);
    assert!(failed.stderr.contains("--reject-file"), "{failed:?}");
}

fn rows_lack_fields(server: Server) {
    let desk = desk(server, "id int, b text, c int");
    desk.bench.file("a.tsv", "1\tx\t3\n2\ty\n3\n");
    let line = "load a.tsv -t t --null=";
    desk.follow(line, "awk -F", "b IS NULL OR c IS NULL", 2);
    desk.bench.file("a.csv", "1,x,3\n2,two\nlines,4\n");
    let failed = desk.is_not_told("load a.csv -t t", &["awk"]);
    assert!(failed.stderr.contains("Lines 2 and 3 may be one row"), "{failed:?}");
    let serial = Desk::new(server);
    serial.bench.session.run("CREATE TABLE t (id serial PRIMARY KEY, b text NOT NULL, c int)");
    serial.bench.file("a.csv", "x,1\ny,2\n");
    serial.follow("load a.csv -t t", "--columns b,c", "b IN ('x', 'y')", 2);
}

fn numbers_are_written_for_people(server: Server) {
    let desk = desk(server, "id int, b text, c numeric(12,2)");
    desk.bench.file("a.csv", "1,\"Doe, J\",\"1,234.50\"\n2,Roe,\"-1,234,567.00\"\n");
    desk.follow("load a.csv -t t", "commas separate", "c IN (1234.5, -1234567)", 2);
    desk.bench.file("a.csv", "1,x,$1.00\n2,y,\"$1,234.50\"\n");
    desk.follow("load a.csv -t t", "the sign of the currency", "c IN (1, 1234.5)", 2);
    desk.bench.file("a.csv", "1;x;1.240.294,00\n2;y;10 237,5\n");
    desk.follow("load a.csv --delimiter ; -t t", "y/,/./", "c IN (1240294, 10237.5)", 2);
    // Dots in dates are kept.
    let dates = Desk::new(server);
    dates.bench.session.run("CREATE TABLE t (id int, b date, c numeric)");
    dates.bench.file("a.csv", "1;2025-12-31;1.234,5\n2;2026.01.02;7,25\n");
    dates.follow("load a.csv --delimiter ; -t t", "y/,/./", "c IN (1234.5, 7.25)", 2);
    // The option would change text too.
    desk.bench.file("a.csv", "1,\"1,234\",\"1,234.50\"\n");
    desk.is_not_told("load a.csv -t t", &["sed"]);
    desk.bench.file("a.csv", "1;x, y;12,50\n");
    desk.is_not_told("load a.csv --delimiter ; -t t", &["sed"]);
}

fn values_are_in_the_notation_of_another_program(server: Server) {
    let of = |columns: &str, name: &str, content: &str, message: &str, where_: &str| {
        let desk = Desk::new(server);
        desk.bench.session.run(&format!("CREATE TABLE t ({columns})"));
        desk.bench.file(name, content);
        desk.follow(&format!("load {name} -t t"), message, where_, 1);
    };
    let arrays = "1,\"[\"\"a b\"\",\"\"c\"\"]\"\n";
    of("id int, b text[]", "a.csv", arrays, "tr '[]'", "b = '{a b,c}'");
    of("id int, b bool", "a.csv", "1,\u{1}\n2,\0\n", "tr '\\000\\001'", "NOT b");
    let nul = "1,\"{\"\"a\"\": \"\"b\\u0000\\u0000\"\"}\"\n";
    of("id int, b jsonb", "a.csv", nul, "sed -E", "b = '{\"a\": \"b\"}'");
    of("id int, b inet, c int", "a.csv", "1, 10.0.0.1, 5\n", "A space follows", "b = '10.0.0.1'");
    let db2 = "1,2015-07-01-00.20.09,00.05.02\n";
    of("id int, b timestamp, c time", "a.csv", db2, "DB2", "c = '00:05:02'");
    let javascript = "1,Tue Sep 26 2017 22:09:10 GMT-0600 (MDT)\n";
    let is_time = "b = '2017-09-26 22:09:10-06'";
    of("id int, b timestamptz", "a.csv", javascript, "JavaScript", is_time);
    of("id int, b int", "a.csv", "1,*\n", "--null '*'", "b IS NULL");
    if std::process::Command::new("jq").arg("--version").output().is_ok() {
        let wrapped = "{\"id\":1,\"b\":{\"$date\":\"2017-09-02T08:07:00Z\"}}\n";
        of("id int, b timestamptz", "a.ndjson", wrapped, "jq -c", "b = '2017-09-02 08:07+00'");
    }
}

fn a_column_is_too_small(server: Server) {
    for (kind, value, message) in [
        ("int", "999999999999", "ALTER TABLE public.t ALTER COLUMN b TYPE bigint"),
        ("varchar(3)", "abcd", "ALTER TABLE public.t ALTER COLUMN b TYPE text"),
        ("time", "25:10:00", "ALTER TABLE public.t ALTER COLUMN b TYPE interval"),
    ] {
        let desk = Desk::new(server);
        desk.bench.session.run(&format!("CREATE TABLE t (id int, b {kind})"));
        desk.bench.file("a.csv", format!("1,{value}\n"));
        desk.run("load a.csv -t t").fails(1, &[message]);
        desk.bench.session.run(message);
        desk.shell_loads("pgsluice load a.csv -t t", "true", 1);
    }
    // A count of milliseconds first needs a separate column.
    let desk = desk(server, "id int, b timestamptz");
    desk.bench.file("a.csv", "1,1692352800000\n");
    let message =
        "ALTER TABLE public.t ALTER COLUMN b TYPE timestamptz USING to_timestamp(b / 1e3)";
    desk.run("load a.csv -t t").fails(1, &["column of type bigint", message]);
    desk.bench.session.run("DROP TABLE t; CREATE TABLE t (id int, b bigint)");
    assert_eq!(desk.run("load a.csv -t t").status.code(), Some(0));
    desk.bench.session.run(message);
    assert_eq!(desk.bench.count("t WHERE b = '2023-08-18 10:00+00'"), 1);
}

fn names_are_no_columns(server: Server) {
    let desk = desk(server, "id int, \"B\" text");
    desk.bench.file("a.csv", ",id,B\n0,10,x\n1,11,y\n");
    let message = "--header=map --ignore-extra";
    desk.follow("load a.csv --header -t t", message, "id > 9", 2);
    desk.bench.file("a.csv", "1,x\n");
    desk.follow("load a.csv --columns ID,B -t t", "--columns 'id,\"B\"'", "id = 1", 1);
    let json = Desk::new(server);
    json.bench.session.run("CREATE TABLE t (data jsonb)");
    json.bench.file("a.ndjson", "{\"a\": \"x \\\"y\\\"\"}\n");
    let failed = json.run("load a.ndjson -t t");
    failed.fails(1, &["To load each line as a value of column data: "]);
    let mut bash = std::process::Command::new("bash");
    bash.args(["-c", &command_of(&failed).replace("pgsluice ", "\"$PGSLUICE\" ")]);
    let path = crate::harness::program().get_program().to_owned();
    let ended = crate::harness::Running::start(json.at_home(bash.env("PGSLUICE", path))).ended();
    assert_eq!(ended.status.code(), Some(0), "{ended:?}");
    assert_eq!(json.bench.count("t WHERE data->>'a' = 'x \"y\"'"), 1);
}

fn the_file_is_another(server: Server) {
    let desk = desk(server, "id int, b text");
    for (content, message) in [
        ("version https://git-lfs.github.com/spec/v1\noid sha256:03\nsize 5\n", "git lfs pull"),
        ("\n\n<!DOCTYPE html>\n<html>\n", "a.csv is a web page"),
    ] {
        desk.bench.file("a.csv", content);
        desk.run("load a.csv --header -t t").fails(1, &[message, "say so with --format"]);
    }
    // These lines are rows.
    let page = Desk::new(server);
    page.bench.session.run("CREATE TABLE t (b text)");
    page.bench.file("a.html", "<html>\n</html>\n");
    page.shell_loads("pgsluice load a.html -t t --format text", "b LIKE '<%'", 2);
}

fn all_rows_have_the_mistake(server: Server) {
    let desk = desk(server, "id int, b timestamp, c jsonb");
    for content in ["1,5 of May,\n2,6 of May,\n", "1,,{'a': 1}\n2,,{'a': 2}\n"] {
        desk.bench.file("a.csv", content);
        desk.is_not_told("load a.csv -t t", &["--reject-file"]);
    }
    // One of the two columns can be left out.
    desk.bench.file("a.csv", "1,5 of May,\n2,2026-05-06,\n");
    let failed = desk.is_not_told("load a.csv -t t", &["All rows at"]);
    assert!(failed.stderr.contains("--reject-file bad.csv"), "{failed:?}");
}

fn a_table_that_a_key_refers_to_is_empty(server: Server) {
    let desk = Desk::new(server);
    desk.bench.session.run(
        "CREATE TABLE other (id int PRIMARY KEY);
         CREATE TABLE t (id int, other int REFERENCES other)",
    );
    desk.bench.file("a.csv", "1,1\n");
    desk.run("load a.csv -t t")
        .fails(1, &["foreign key", "Load the table that the foreign key refers to"]);
}
