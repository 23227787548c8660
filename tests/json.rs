//! `--json` is an interface: the output of each command, including errors, conforms to
//! docs/manual/json.schema.json, and docs/manual/json.md describes each key.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::harness::{Bench, Ended, Running, Server, on_each_server, program, rows};

on_each_server!([each_command_prints_what_the_schema_says, failures_print_what_the_schema_says,]);

fn manual() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/manual")
}

fn schema() -> Value {
    let text = fs::read_to_string(manual().join("json.schema.json")).unwrap();
    serde_json::from_str(&text).unwrap()
}

/// Whether the value has one of the types that the schema names.
fn has_type(value: &Value, types: &Value) -> bool {
    let is = |name: &Value| match name.as_str() {
        Some("null") => value.is_null(),
        Some("boolean") => value.is_boolean(),
        Some("integer") => value.is_u64() || value.is_i64(),
        Some("number") => value.is_number(),
        Some("string") => value.is_string(),
        Some("array") => value.is_array(),
        Some("object") => value.is_object(),
        _ => false,
    };
    types.as_array().map_or_else(|| is(types), |types| types.iter().any(is))
}

/// Checks the part of JSON Schema that the schema uses.
#[track_caller]
fn check(value: &Value, schema: &Value, at: &str) {
    assert!(has_type(value, &schema["type"]), "{at}: {value} is no {}", schema["type"]);
    if let Some(values) = schema["enum"].as_array() {
        assert!(values.contains(value), "{at}: {value} is none of {values:?}");
    }
    for each in value.as_array().into_iter().flatten() {
        check(each, &schema["items"], &format!("{at}[]"));
    }
    let Some(object) = value.as_object() else { return };
    for key in schema["required"].as_array().into_iter().flatten() {
        assert!(object.contains_key(key.as_str().unwrap()), "{at} lacks {key}");
    }
    for (key, inner) in object {
        match schema["properties"].get(key) {
            Some(schema) => check(inner, schema, &format!("{at}.{key}")),
            None => assert_ne!(schema["additionalProperties"], false, "{at}.{key} is not in it"),
        }
    }
}

fn run(bench: &Bench, line: &str) -> Ended {
    let mut command = program();
    command.args(line.split(' ')).args(["-d", &bench.url, "--json"]);
    Running::start(command.current_dir(bench.folder.path())).ended()
}

/// Returns the single value of the output.
#[track_caller]
fn printed(ended: &Ended, of: &str) -> Value {
    let value: Value =
        serde_json::from_str(&ended.stdout).unwrap_or_else(|error| panic!("{error}: {ended:?}"));
    check(&value, &schema()["$defs"][of], of);
    value
}

fn each_command_prints_what_the_schema_says(server: Server) {
    let bench = Bench::with_table(server);
    bench.file("rows.csv", rows(1000, 10));
    for load in [
        "load rows.csv -t t --load-id a",
        "load rows.csv -t t --load-id a",
        "load rows.csv -t t -q",
    ] {
        let ended = run(&bench, load);
        assert_eq!(ended.status.code(), Some(0), "{ended:?}");
        let load = printed(&ended, "load");
        assert_eq!(load["rows_inserted"], 1000, "{load}");
    }
    let plan = printed(&run(&bench, "plan rows.csv -t t"), "plan");
    assert_eq!((&plan["rows"], &plan["rows_routed"]), (&1000.into(), &1000.into()));
    bench.file("more.csv", "100,x\n");
    let full = printed(&run(&bench, "plan more.csv -t t --full"), "plan");
    assert_eq!(full["missing"].as_array().unwrap().len(), 1, "{full}");
    let verify = run(&bench, "verify rows.csv -t t");
    assert_eq!(verify.status.code(), Some(1), "{verify:?}");
    let verify = printed(&verify, "verify");
    assert_eq!((&verify["equal"], &verify["rows_surplus"]), (&false.into(), &1000.into()));
    let tree = printed(&run(&bench, "tree -t t"), "tree");
    assert_eq!(tree["tables"].as_array().unwrap().len(), 11);
    assert_eq!(tree["tables"][1]["parent"], "public.t");
    let list = printed(&run(&bench, "ledger list"), "ledger_list");
    assert_eq!(list.as_array().unwrap().len(), 2);
    printed(&run(&bench, "ledger show a"), "ledger_show");
    let share = run(&bench, "load rows.csv -t t --load-id shared --participant 0");
    assert_eq!(printed(&share, "load")["share"]["participant"], "0");
    let finished = printed(&run(&bench, "ledger finish shared"), "ledger_finish");
    assert_eq!(finished["participants"], 1);
    moves_print_what_the_schema_says(&bench);
}

fn moves_print_what_the_schema_says(bench: &Bench) {
    bench.session.run(
        "CREATE TABLE plain AS SELECT generate_series(1, 10) AS id; CREATE UNIQUE INDEX ON plain (id);
         CREATE MATERIALIZED VIEW seen AS SELECT * FROM plain",
    );
    let line = "partition plain --by HASH(id) --leaves 2 --offline";
    let plan = printed(&run(bench, &format!("{line} --plan")), "partition_plan");
    assert_eq!((&plan["leaves"], &plan["old_table"]), (&0.into(), &"public.plain_old".into()));
    assert_eq!(plan["obstacles"].as_array().unwrap().len(), 1, "{plan}");
    assert_eq!(printed(&run(bench, line), "failure")["exit_status"], 2);
    bench.session.run("DROP MATERIALIZED VIEW seen");
    let plan = printed(&run(bench, &format!("{line} --plan")), "partition_plan");
    assert_eq!((&plan["leaves"], plan["ddl"].as_array().map(Vec::len)), (&2.into(), Some(4)));
    assert_eq!(printed(&run(bench, "partition status"), "partition_status"), Value::Array(vec![]));
    assert_eq!(printed(&run(bench, line), "partition")["rows"], 10);
}

fn failures_print_what_the_schema_says(server: Server) {
    let bench = Bench::with_table(server);
    bench.file("rows.csv", "1,a\nx,b\n");
    for (line, status, kind) in [
        ("load rows.csv -t t", 1, "data"),
        ("plan rows.csv -t t", 1, "data"),
        ("verify none.csv -t t", 1, "input"),
        ("tree -t none", 1, "server"),
        ("ledger show none", 1, "server"),
        ("load rows.csv -t t --memory 1kB", 2, "usage"),
        ("load rows.csv -t t --nonsense", 2, "usage"),
    ] {
        let ended = run(&bench, line);
        assert_eq!(ended.status.code(), Some(status), "{line}: {ended:?}");
        let failure = printed(&ended, "failure");
        assert_eq!(failure["error"]["kind"], kind, "{line}: {failure}");
        assert_eq!(failure["exit_status"], status, "{line}: {failure}");
        assert!(ended.stderr.contains("error: "), "{line}: {ended:?}");
    }
    let load = printed(&run(&bench, "load rows.csv -t t"), "failure");
    let place = &load["error"]["place"];
    assert_eq!((&place["line"], &place["offset"]), (&2.into(), &4.into()), "{load}");
    assert_eq!((&load["committed"], &load["error"]["sqlstate"]), (&0.into(), &"22P02".into()));
}

#[test]
fn the_page_has_each_key() {
    let page = fs::read_to_string(manual().join("json.md")).unwrap();
    let mut schemas = vec![schema()["$defs"].clone()];
    let mut keys = Vec::new();
    while let Some(schema) = schemas.pop() {
        if let Some(properties) = schema["properties"].as_object() {
            keys.extend(properties.keys().cloned());
        }
        let inner = schema.as_object().into_iter().flatten().map(|(_, inner)| inner.clone());
        schemas.extend(inner.filter(Value::is_object));
    }
    // Properties of a run, which the page need not describe: `ledger show` prints them for people.
    let told = ["host", "pid", "program", "since", "token", "user", "upto", "ranges"];
    let missing: Vec<&String> = keys
        .iter()
        .filter(|key| !told.contains(&key.as_str()) && !page.contains(&format!("`{key}`")))
        .collect();
    assert!(missing.is_empty(), "docs/manual/json.md lacks {missing:?}");
}
