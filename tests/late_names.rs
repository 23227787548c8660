//! Names that first appear late in an input: each input maps fields to columns by its own names. A column
//! that only later rows name is loaded, or an error names it; it is never left out silently.

use crate::harness::{Bench, Ended, Running, Server, on_each_server, program, write};

on_each_server!([
    later_files_have_more_columns,
    later_files_lack_columns,
    names_differ_in_case_from_file_to_file,
    a_key_that_comes_late_is_loaded_or_an_error,
    a_key_that_an_option_names_may_come_late,
    inputs_without_objects_have_all_columns,
    a_mapped_name_is_in_some_object,
    names_that_are_left_out_are_reported,
    very_many_names_are_no_matter,
]);

const FORMATS: [&str; 3] = ["parquet", "arrow", "ndjson"];

fn bench(server: Server) -> Bench {
    let bench = Bench::new(server);
    bench.session.run(
        "CREATE TABLE t (id int PRIMARY KEY, a text, status text DEFAULT 'new') PARTITION BY HASH (id);
         CREATE TABLE t0 PARTITION OF t FOR VALUES WITH (MODULUS 2, REMAINDER 0);
         CREATE TABLE t1 PARTITION OF t FOR VALUES WITH (MODULUS 2, REMAINDER 1)",
    );
    bench
}

/// Writes files of a format from CSV. Returns their names.
fn files(bench: &Bench, format: &str, texts: &[&str]) -> Vec<String> {
    let write = |(number, text): (usize, &&str)| {
        let path = write(text, &bench.path(&number.to_string()), format);
        path.display().to_string()
    };
    texts.iter().enumerate().map(write).collect()
}

fn run(bench: &Bench, command: &str, files: &[String], options: &[&str]) -> Ended {
    let mut line = program();
    line.args([command, "-t", "t", "--json", "-d", &bench.url]).args(files).args(options);
    Running::start(line.current_dir(bench.folder.path())).ended()
}

fn printed(ended: &Ended) -> serde_json::Value {
    assert_eq!(ended.status.code(), Some(0), "{ended:?}");
    serde_json::from_str(&ended.stdout).unwrap()
}

/// Returns the table in order.
fn stored(bench: &Bench) -> String {
    bench.value(
        "SELECT string_agg(concat_ws(' ', id, coalesce(a, '-'), status), ', ' ORDER BY id) FROM t",
    )
}

fn later_files_have_more_columns(server: Server) {
    let bench = bench(server);
    for format in FORMATS {
        let two = files(&bench, format, &["id,other\n1,x\n", "id,a,other\n2,y,z\n"]);
        for options in [&["--ignore-extra"][..], &["--ignore-extra", "--wire=text"]] {
            let summary = run(&bench, "load", &two, options).summary();
            assert_eq!(summary["extra_names"], serde_json::json!(["other"]), "{summary}");
            assert_eq!(stored(&bench), "1 - new, 2 y new", "{format}");
            let audit = run(&bench, "verify", &two, &options[..1]);
            assert_eq!(audit.status.code(), Some(0), "{format}: {audit:?}");
            bench.session.run("TRUNCATE t");
        }
    }
}

fn later_files_lack_columns(server: Server) {
    let bench = bench(server);
    let texts = ["id,a\n1,x\n", "id,status\n2,sold\n", "id\n3\n"];
    for format in ["parquet", "arrow"] {
        let all = files(&bench, format, &texts);
        for command in ["load", "plan"] {
            let ended = run(&bench, command, &all, &[]);
            ended.fails(1, &["has no \"status\", and its column has a default", "by themselves"]);
        }
        assert_eq!(bench.count("t"), 0);
        let some = [all[0].clone(), all[2].clone()];
        run(&bench, "load", &some, &[]).summary();
        assert_eq!(stored(&bench), "1 x new, 3 - new", "{format}");
        let update = ["--on-conflict=update"];
        let ended = run(&bench, "load", &some, &update);
        ended.fails(1, &["has no \"a\", and an update would set", "--update a"]);
        run(&bench, "load", &some, &["--on-conflict=update", "--update=a"]).summary();
        assert_eq!(stored(&bench), "1 x new, 3 - new", "{format}");
        bench.session.run("UPDATE t SET a = 'old'");
        run(&bench, "load", &all[2..], &update).summary();
        assert_eq!(stored(&bench), "1 old new, 3 old new", "{format}");
        run(&bench, "load", &some, &["--on-conflict=update", "--update=a"]).summary();
        assert_eq!(stored(&bench), "1 x new, 3 - new", "{format}");
        bench.session.run("TRUNCATE t");
    }
    let all = files(&bench, "ndjson", &texts);
    let ended = run(&bench, "load", &all, &[]);
    if server.major() < 16 {
        ended.fails(1, &["key \"status\" is missing, and its column has a default"]);
        return;
    }
    ended.summary();
    assert_eq!(stored(&bench), "1 x new, 2 - sold, 3 - new");
}

fn names_differ_in_case_from_file_to_file(server: Server) {
    let bench = bench(server);
    for format in FORMATS {
        let two = files(&bench, format, &["ID,other\n1,x\n", "id,A\n2,y\n"]);
        run(&bench, "load", &two, &["--ignore-extra"]).summary();
        assert_eq!(stored(&bench), "1 - new, 2 y new", "{format}");
        bench.session.run("TRUNCATE t");
    }
    // In one object, the column's exact name wins.
    bench.file("both.ndjson", "{\"ID\":1,\"id\":2}\n{\"id\":3,\"Id\":4}\n");
    let both = ["both.ndjson".to_owned()];
    run(&bench, "load", &both, &[]).fails(1, &["keys \"ID\" and \"id\" match the same column"]);
    let summary = run(&bench, "load", &both, &["--ignore-extra"]).summary();
    assert_eq!(summary["extra_names"], serde_json::json!(["ID", "Id"]), "{summary}");
    assert_eq!(stored(&bench), "2 - new, 3 - new");
}

/// Returns objects without a key, far more than the program examines at first, and one object with it.
fn late(key: &str) -> String {
    let many: String = (0..40_000).map(|id| format!("{{\"id\":{id}}}\n")).collect();
    format!("{many}{{\"id\":40000,\"{key}\":\"late\"}}\n")
}

fn a_key_that_comes_late_is_loaded_or_an_error(server: Server) {
    let bench = bench(server);
    let file = ["rows.ndjson".to_owned()];
    for key in ["a", "A"] {
        bench.file("rows.ndjson", late(key));
        run(&bench, "load", &file, &["--ignore-extra"]).summary();
        assert_eq!(bench.count("t WHERE a = 'late'"), 1, "{key}");
        bench.session.run("TRUNCATE t");
    }
    for key in ["status", "STATUS"] {
        bench.file("rows.ndjson", late(key));
        for options in [&[][..], &["--ignore-extra"]] {
            let ended = run(&bench, "load", &file, options);
            ended.fails(
                1,
                &["rows.ndjson:40001: ", "which is not loaded: the first objects do not have it"],
            );
            let names = ended.stderr.contains("--ignore-extra");
            assert!(!names || !options.is_empty(), "it would lose the value: {ended:?}");
            bench.session.run("TRUNCATE t");
        }
        if server.major() < 16 {
            continue;
        }
        let ended = run(&bench, "load", &file, &[]);
        ended.fails(1, &[&format!("--map {key}=status")]);
        bench.session.run("TRUNCATE t");
        run(&bench, "load", &file, &[&format!("--map={key}=status")]).summary();
        assert_eq!(bench.count("t WHERE status = 'late'"), 1);
        assert_eq!(bench.count("t WHERE status = 'new'"), 40_000);
        bench.session.run("TRUNCATE t");
    }
}

fn a_key_that_an_option_names_may_come_late(server: Server) {
    let bench = bench(server);
    bench.session.run("ALTER TABLE t ADD at int; INSERT INTO t VALUES (0, 'old'), (40000, 'old')");
    bench.file("rows.ndjson", late("a"));
    let file = ["rows.ndjson".to_owned()];
    let options = ["--on-conflict=update", "--newer=at", "--no-insert"];
    run(&bench, "load", &file, &options)
        .fails(1, &["rows.ndjson:1: ", "Give the key in every object"]);
    run(&bench, "load", &file, &["--on-conflict=update", "--update=a", "--no-insert"]).summary();
    assert_eq!(stored(&bench), "0 - new, 40000 late new");
}

fn inputs_without_objects_have_all_columns(server: Server) {
    let bench = bench(server);
    bench.session.run("ALTER TABLE t ALTER id SET DEFAULT 7, ADD at int");
    bench.file("none.ndjson", "");
    bench.file("lines.ndjson", "\n \n");
    bench.file("empty.ndjson", "{}\n");
    for file in ["none.ndjson", "lines.ndjson"] {
        for options in [
            &[][..],
            &["--on-conflict=update"],
            &["--on-conflict=update", "--key=id"],
            &["--on-conflict=update", "--update=a", "--newer=at"],
            &["--on-conflict=skip", "--key=id"],
            &["--on-conflict=delete"],
            &["--map=x=a"],
        ] {
            let summary = run(&bench, "load", &[file.to_owned()], options).summary();
            assert_eq!(summary["rows_read"], 0, "{file} {options:?}: {summary}");
            let warnings = summary["warnings"].to_string();
            assert!(warnings.contains("the input has no rows"), "{file} {options:?}: {summary}");
        }
    }
    let empty = ["empty.ndjson".to_owned()];
    let ended = run(&bench, "load", &empty, &["--on-conflict=update"]);
    ended.fails(2, &["cannot compare the values of column id: the input omits the column"]);
    assert_eq!(bench.count("t"), 0);
}

fn a_mapped_name_is_in_some_object(server: Server) {
    let bench = bench(server);
    let file = ["rows.ndjson".to_owned()];
    bench.file("rows.ndjson", late("x"));
    run(&bench, "load", &file, &["--map=x=a"]).summary();
    assert_eq!(bench.count("t WHERE a = 'late'"), 1);
    bench.session.run("TRUNCATE t");
    let message = ["the input has no field \"y\""];
    run(&bench, "load", &file, &["--map=y=a", "--ignore-extra"]).fails(1, &message);
    bench.file("rows.ndjson", "{\"id\":1}\n");
    run(&bench, "load", &file, &["--map=y=a"]).fails(1, &message);
    for format in ["parquet", "arrow"] {
        let two = files(&bench, format, &["id\n1\n", "id,x\n2,y\n"]);
        run(&bench, "load", &two, &["--map=y=a", "--ignore-extra"]).fails(1, &message);
        run(&bench, "load", &two, &["--map=x=a"]).summary();
        assert_eq!(stored(&bench), "1 - new, 2 y new");
        bench.session.run("TRUNCATE t");
    }
    assert_eq!(bench.count("t"), 0);
}

fn names_that_are_left_out_are_reported(server: Server) {
    let bench = bench(server);
    let file = ["rows.ndjson".to_owned()];
    bench.file("rows.ndjson", format!("{{\"id\":-1,\"w\":1}}\n{}", late("x")));
    let summary = run(&bench, "load", &file, &["--ignore-extra"]).summary();
    assert_eq!(summary["extra_names"], serde_json::json!(["w", "x"]), "{summary}");
    assert_eq!(summary["extra_names_count"], 2);
    assert!(summary["notes"].to_string().contains("further ignored fields: x"), "{summary}");
    let audit = printed(&run(&bench, "verify", &file, &["--ignore-extra"]));
    assert_eq!(
        (&audit["equal"], &audit["extra_names_count"]),
        (&true.into(), &2.into()),
        "{audit}"
    );
    let plan = printed(&run(&bench, "plan", &file, &["--ignore-extra", "--full"]));
    assert_eq!(plan["extra_names"], serde_json::json!(["w", "x"]), "{plan}");
}

fn very_many_names_are_no_matter(server: Server) {
    let bench = bench(server);
    let many: Vec<String> = (0..80_000).map(|name| format!("\"k{name}\":1")).collect();
    bench.file("rows.ndjson", format!("{{\"id\":1,{}}}\n", many.join(",")));
    let names = many.join(",").replace(['"', ':'], "");
    bench.file("rows.csv", format!("id,{names}\n2{}\n", ",1".repeat(80_000)));
    for file in ["rows.ndjson", "rows.csv"] {
        let summary = run(&bench, "load", &[file.to_owned()], &["--ignore-extra"]).summary();
        assert_eq!(summary["extra_names_count"], 10_000, "they are counted so far");
        assert!(summary.to_string().len() < 10_000, "{file}");
    }
    assert_eq!(bench.count("t"), 2);
}
