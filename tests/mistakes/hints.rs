//! Hints about rows: the command of each hint must load its rows. A hint that would change other rows must be absent.

use std::fs::File;
use std::process::{Command, Stdio};

use super::{Desk, command_of};
use crate::harness::{Ended, Running, Server, on_each_server, program};

on_each_server!([
    null_is_spelled_in_another_way,
    an_empty_field_means_a_default,
    a_key_is_there_already,
    dates_have_the_day_first,
    lines_end_in_different_ways,
    objects_are_not_one_a_line,
    the_encoding_is_another,
    one_row_is_damaged,
    excel_has_written_a_line_of_its_own,
    a_header_comes_again,
    a_quote_is_a_character,
    a_date_of_mysql_is_none,
    an_empty_field_means_an_empty_string,
    a_pipe_is_read_in_another_way,
    rows_have_a_field_more,
    a_trigger_names_a_table_that_is_not_there,
    the_input_is_an_address,
    the_client_encoding_is_another,
]);

/// Opens a desk with a table `t` of these columns, in two partitions.
pub(super) fn desk(server: Server, columns: &str) -> Desk {
    let desk = Desk::new(server);
    desk.bench.session.run(&format!(
        "CREATE TABLE t ({columns}) PARTITION BY HASH (id);
         CREATE TABLE t0 PARTITION OF t FOR VALUES WITH (MODULUS 2, REMAINDER 0);
         CREATE TABLE t1 PARTITION OF t FOR VALUES WITH (MODULUS 2, REMAINDER 1)"
    ));
    desk
}

impl Desk {
    /// Runs a load that fails, then the command in its hint. Then `rows` rows must match `where_`.
    pub(super) fn follow(&self, line: &str, message: &str, where_: &str, rows: u64) {
        let failed = self.run(line);
        failed.fails(1, &["HINT:  ", message]);
        self.shell_loads(&command_of(&failed), where_, rows);
    }

    pub(super) fn shell_loads(&self, command: &str, where_: &str, rows: u64) {
        let ended = self.shell(command);
        assert_eq!(ended.status.code(), Some(0), "{command}: {ended:?}");
        assert_eq!(self.bench.count(&format!("t WHERE {where_}")), rows, "{command}");
        self.bench.session.run("TRUNCATE t");
    }

    /// Runs a load that fails with a message that has none of these words.
    pub(super) fn is_not_told(&self, line: &str, unsaid: &[&str]) -> Ended {
        let failed = self.run(line);
        failed.fails(1, &[]);
        assert!(!unsaid.iter().any(|word| failed.stderr.contains(word)), "{failed:?}");
        failed
    }
}

fn compress(desk: &Desk, name: &str) {
    let file = File::create(desk.bench.path(&format!("{name}.gz"))).unwrap();
    let path = desk.bench.path(name);
    let status = Command::new("gzip").arg("-c").arg(path).stdout(file).status();
    assert!(status.unwrap().success());
}

fn null_is_spelled_in_another_way(server: Server) {
    let desk = desk(server, "id int, b int, c text");
    for (name, content, message) in [
        ("a.csv", "1,NULL,x\n2,3,y\n", "--null NULL"),
        ("a.csv", "1,\\N,x\n2,3,y\n", "--null '\\N'"),
        ("a.csv", "1,\"\",x\n2,\"3\",\n", "--force-null b"),
        ("a.txt", "1\t\tx\n2\t3\ty\n", "--null ''"),
    ] {
        desk.bench.file(name, content);
        desk.follow(&format!("load {name} -t t"), message, "b IS NULL AND c = 'x'", 1);
    }
    // Present NULLs would become values, or NA is the name of a country.
    for content in ["1,NULL,x\n2,,y\n", "1,NA,x\n2,3,NA\n"] {
        desk.bench.file("a.csv", content);
        desk.is_not_told("load a.csv -t t", &["--null"]);
    }
}

fn an_empty_field_means_a_default(server: Server) {
    let desk = desk(server, "id int, b int, d date NOT NULL DEFAULT '2026-01-01'");
    desk.bench.file("a.csv", "1,5,\n2,6,\n");
    let failed = desk.run("load a.csv -t t");
    failed.fails(1, &["null value in column \"d\""]);
    if server.major() < 16 {
        assert!(failed.stderr.contains("Column d has a default, which is used if"), "{failed:?}");
        return;
    }
    desk.shell_loads(&command_of(&failed), "d = '2026-01-01' AND b IS NOT NULL", 2);
    let collides = desk.run("load a.csv -t t --default=");
    collides.fails(2, &["NULL specification and DEFAULT specification cannot be the same"]);
    desk.shell_loads(&command_of(&collides), "d = '2026-01-01'", 2);
    // An empty field of another column is NULL, and would be refused.
    desk.bench.file("a.csv", "1,,\n2,6,\n");
    desk.is_not_told("load a.csv -t t", &["--default"]);
}

fn a_key_is_there_already(server: Server) {
    let desk = desk(server, "id int PRIMARY KEY, b text");
    desk.bench.file("a.csv", "1,new\n2,new\n2,newer\n");
    for (action, stored) in
        [("skip", "(1, 'old'), (2, 'new')"), ("update", "(1, 'new'), (2, 'newer')")]
    {
        desk.bench.session.run("INSERT INTO t VALUES (1, 'old')");
        let failed = desk.run("load a.csv -t t");
        failed.fails(1, &["duplicate key value", &format!("--on-conflict {action}")]);
        let hint = failed.stderr.lines().find(|line| line.ends_with(action)).unwrap();
        let (_, command) = hint.trim_start_matches("HINT:  ").split_once(": ").unwrap();
        let rows = format!("(id, b) IN (VALUES {stored})");
        desk.shell_loads(command, &rows, 2);
    }
    // Without a key there is nothing to compare by, and a constraint of one leaf does not apply to the table.
    let plain = Desk::new(server);
    plain.bench.session.run("CREATE TABLE t (id int, b text); CREATE UNIQUE INDEX ON t ((id + 1))");
    plain.bench.file("a.csv", "1,new\n1,newer\n");
    plain.is_not_told("load a.csv -t t", &["--on-conflict update"]);
}

fn dates_have_the_day_first(server: Server) {
    let desk = Desk::with(server, "a.csv", "1,25/01/2026,x\n2,03/01/2026,y\n");
    let failed = desk.run("load a.csv -t orders");
    failed.fails(1, &["PGOPTIONS='-c datestyle=iso,dmy' pgsluice load a.csv -t orders"]);
    assert!(!failed.stderr.contains("Perhaps you need"), "{failed:?}");
    let ended = desk.shell(&command_of(&failed));
    assert_eq!(ended.status.code(), Some(0), "{ended:?}");
    assert_eq!(
        desk.bench.count("orders WHERE (id, day) IN ((1, '2026-01-25'), (2, '2026-01-03'))"),
        2
    );
    desk.bench.file("a.csv", "1,25/01/2026,x\n2,01/25/2026,y\n");
    desk.is_not_told("load a.csv -t orders", &["datestyle", "DateStyle"]);
}

fn lines_end_in_different_ways(server: Server) {
    let desk = desk(server, "id int, b text");
    desk.bench.file("a.csv", "1,w\n1,x\r\n2,y\n");
    desk.follow("load a.csv -t t", "tr -d '\\r' < a.csv | pgsluice load -", "length(b) = 1", 3);
    compress(&desk, "a.csv");
    desk.follow("load a.csv.gz -t t", "gzip -dc a.csv.gz | tr -d '\\r' |", "length(b) = 1", 3);
    desk.bench.file("a.csv", "1,w\r1,x\n2,y\r");
    desk.follow("load a.csv -t t", "tr '\\r' '\\n' < a.csv |", "length(b) = 1", 3);
    desk.bench.file("a.csv", "1,w\n1,\"x\r\ny\"\r\n");
    desk.is_not_told("load a.csv -t t", &["tr -d"]);
}

fn objects_are_not_one_a_line(server: Server) {
    let desk = desk(server, "id int, b text");
    desk.bench.file("a.ndjson", "{\"id\":1},\n{\"id\":2},\n");
    desk.follow("load a.ndjson -t t", "sed 's/,[[:space:]]*$//' a.ndjson |", "true", 2);
    desk.bench.file("a.ndjson", "{'id':1}\n");
    desk.is_not_told("load a.ndjson -t t", &["jq", "sed"]);
    if Command::new("jq").arg("--version").stdout(Stdio::null()).status().is_err() {
        return;
    }
    desk.bench.file("a.json", "{\n \"id\": 1\n}\n{\"id\": 2}\n");
    desk.follow("load a.json -t t", "jq -c . a.json | pgsluice load - -t t", "true", 2);
    desk.bench.file("a.json", "[{\"id\": 1},\n {\"id\": 2}]\n");
    compress(&desk, "a.json");
    desk.follow("load a.json.gz -t t", "gzip -dc a.json.gz | jq -c '.[]' |", "true", 2);
}

fn the_encoding_is_another(server: Server) {
    let desk = desk(server, "id int, b text");
    let wide = |text: &str, bytes: fn(u16) -> [u8; 2]| -> Vec<u8> {
        text.encode_utf16().flat_map(bytes).collect()
    };
    let rows = "1,\u{41c}\u{43e}\u{441}\u{43a}\u{432}\u{430}\r\n2,x\r\n";
    for (name, content, message) in [
        ("a.csv", wide(rows, u16::to_le_bytes), "--encoding utf-16le"),
        ("a.csv", wide(rows, u16::to_be_bytes), "--encoding utf-16be"),
        ("a.csv", wide(&format!("\u{feff}{rows}"), u16::to_be_bytes), "--encoding utf-16"),
        ("a.txt", wide(&rows.replace(',', "\t"), u16::to_le_bytes), "--encoding utf-16le"),
        (
            "a.ndjson",
            wide(
                "\u{feff}{\"id\":1,\"b\":\"\u{41c}\u{43e}\u{441}\u{43a}\u{432}\u{430}\"}\n",
                u16::to_le_bytes,
            ),
            "--encoding utf-16",
        ),
        ("a.csv", b"1,\xcc\xee\xf1\xea\xe2\xe0\n2,x\n".to_vec(), "--encoding windows-1251"),
        (
            "a.ndjson",
            b"{\"id\":1,\"b\":\"\xcc\xee\xf1\xea\xe2\xe0\"}\n".to_vec(),
            "--encoding windows-1251",
        ),
    ] {
        desk.bench.file(name, content);
        desk.follow(
            &format!("load {name} -t t"),
            message,
            "b = U&'\\041c\\043e\\0441\\043a\\0432\\0430'",
            1,
        );
    }
}

fn one_row_is_damaged(server: Server) {
    let desk = desk(server, "id int, b text");
    desk.bench.file("a.csv", b"1,Zo\xc3\xab\n2,Zo\xeb\n");
    let failed = desk.is_not_told("load a.csv -t t", &["--encoding"]);
    let ended = desk.shell(&command_of(&failed));
    assert_eq!(ended.status.code(), Some(3), "{ended:?}");
    assert_eq!(desk.bench.count("t WHERE b = E'Zo\\u00eb'"), 1);
}

fn excel_has_written_a_line_of_its_own(server: Server) {
    let desk = desk(server, "id int, b text");
    desk.bench.file("a.csv", "sep=;\r\nid;b\r\n1;x\r\n");
    desk.follow("load a.csv -t t", "--header=2 --delimiter ';'", "b = 'x'", 1);
    desk.follow("load a.csv -t t --header", "--header=2 --delimiter ';'", "b = 'x'", 1);
    desk.bench.file("a.csv", "sep=;\nb;id\nx;1\n");
    desk.follow("load a.csv -t t --header", "--columns b,id", "b = 'x'", 1);
    desk.follow("load a.csv -t t --header=map", "tail -n +2 a.csv | pgsluice", "b = 'x'", 1);
}

fn a_header_comes_again(server: Server) {
    let desk = desk(server, "id int, b int, c text");
    desk.bench.file("a.csv", "id,b,c\n1,2,x\nid,b,c\n2,3,y\nid,b,c\n");
    let message = "Line 3 repeats the header";
    for option in ["--header", "--header=map", "--header=match"] {
        desk.follow(&format!("load a.csv -t t {option}"), message, "true", 2);
    }
    compress(&desk, "a.csv");
    desk.follow("load a.csv.gz -t t --header", message, "true", 2);
    desk.is_not_told("load a.csv -t t --header=2", &[message]);
}

fn a_quote_is_a_character(server: Server) {
    let desk = desk(server, "id int, b int, c text");
    desk.bench.file("a.csv", "1;;a 5\" pipe\n2;3;b\n");
    let message = "--format text --delimiter ';' --null ''";
    desk.follow("load a.csv -t t --delimiter ;", message, "b IS NULL AND c = 'a 5\" pipe'", 1);
    desk.bench.file("a.csv", "1;;a 5\" pipe\n2;3;b;\n");
    desk.is_not_told("load a.csv -t t --delimiter ;", &["--format text"]);
}

fn a_date_of_mysql_is_none(server: Server) {
    let desk = desk(server, "id int, b date, c text");
    desk.bench.file("a.csv", "1,0000-00-00,x\n2,2026-01-02,y\n");
    desk.follow("load a.csv -t t", "--null 0000-00-00", "b IS NULL AND c = 'x'", 1);
    desk.bench.file("a.csv", "1,0000-00-00,x\n2,2026-01-02,0000-00-00\n");
    desk.is_not_told("load a.csv -t t", &["--null"]);
}

fn an_empty_field_means_an_empty_string(server: Server) {
    let desk = desk(server, "id int, b int, c text NOT NULL");
    desk.bench.file("a.csv", "1,,\n2,3,y\n");
    desk.follow("load a.csv -t t", "--force-not-null c", "b IS NULL AND c = ''", 1);
}

fn a_pipe_is_read_in_another_way(server: Server) {
    let desk = desk(server, "id int, b int, c text");
    desk.bench.file("a.csv", "id;b;c\n1;2;x\n2;3;NULL\n");
    let load = "load - -t t --format csv";
    for (line, message) in [
        (load, "--delimiter ';' --header"),
        ("load - -t t --format csv --delimiter ';'", "--header"),
    ] {
        let command = format!("pgsluice {line} -d {} < a.csv", desk.bench.url);
        let failed = desk.shell(&command);
        failed.fails(1, &["HINT:  ", message]);
        let follow = format!("{} < a.csv", command_of(&failed));
        desk.shell_loads(&follow, "true", 2);
    }
}

fn rows_have_a_field_more(server: Server) {
    let desk = desk(server, "id int, b text");
    desk.bench.file("a.csv", "id,b,thumb\n1,x,z\n2,y,z\n");
    for header in ["", " --header"] {
        let line = format!("load a.csv -t t{header}");
        desk.follow(&line, "--header=map --ignore-extra", "b IN ('x', 'y')", 2);
    }
    desk.bench.file("a.tbl", "1|x|\n2|y|\n");
    let line = "load a.tbl --format csv --delimiter | -t t";
    desk.follow(line, "sed 's/[|]$//' a.tbl | pgsluice load -", "b IN ('x', 'y')", 2);
    desk.bench.file("a.csv", "1,x\n2,y,z\n");
    desk.is_not_told("load a.csv -t t", &["--ignore-extra", "sed"]);
}

fn a_trigger_names_a_table_that_is_not_there(server: Server) {
    let desk = desk(server, "id int");
    desk.bench.session.run(
        "CREATE FUNCTION f() RETURNS trigger LANGUAGE plpgsql AS
             $$BEGIN INSERT INTO missing VALUES (new.id); RETURN new; END$$;
         CREATE TRIGGER g AFTER INSERT ON t FOR EACH ROW EXECUTE FUNCTION f()",
    );
    desk.bench.file("a.csv", "1\n2\n");
    desk.is_not_told("load a.csv -t t", &["dropped, renamed or moved"]);
}

fn the_input_is_an_address(server: Server) {
    let desk = desk(server, "id int");
    // Stands for a program that fetches the file.
    desk.bench.file(
        "curl",
        "#!/bin/sh\n[ \"$1 $2\" = '-fsSL ftp://example.org/day.csv' ] && echo id && echo 1\n",
    );
    let path = desk.bench.path("curl");
    assert!(Command::new("chmod").arg("+x").arg(&path).status().unwrap().success());
    let failed = desk.run("load ftp://example.org/day.csv --header -t t");
    failed.fails(1, &["is a URL, not a file"]);
    let command = command_of(&failed).replace("curl ", "./curl ");
    assert!(command.contains("load - --header -t t --format csv"), "{command}");
    desk.shell_loads(&command, "id = 1", 1);
}

fn the_client_encoding_is_another(server: Server) {
    let desk = desk(server, "id int, b text");
    desk.bench.file("a.csv", b"1,Zo\xeb\n");
    let mut load = program();
    desk.at_home(load.args(["load", "a.csv", "-t", "t"])).env("PGCLIENTENCODING", "LATIN1");
    let failed = Running::start(&mut load).ended();
    failed.fails(2, &["client_encoding \"LATIN1\" is not supported"]);
    let command = command_of(&failed);
    assert!(command.starts_with("PGCLIENTENCODING=UTF8 pgsluice load"), "{command}");
    desk.shell_loads(&command, "b = E'Zo\\u00eb'", 1);
}
