//! The reference: what a load does, row by row in PL/pgSQL, on a table of its own.

use super::case::Case;
use crate::harness::identifier;

/// A block that applies the rows of `twin.input` to `twin.t` in the order of the input, and writes the fate of each
/// there. `twin.input` has them with their number `n` and their `leaf`.
pub(super) fn block(case: &Case) -> String {
    let same = |one: &str, other: &str| {
        let same = case.key.iter().map(|column| identifier(column.0));
        same.map(|name| format!("{one}.{name} = {other}.{name}")).collect::<Vec<_>>().join(" AND ")
    };
    let better = match (case.newer, case.counts) {
        (true, _) => "(coalesce(b.newest, -1), -b.n) > (coalesce(a.newest, -1), -a.n)",
        (false, "last") => "b.n > a.n",
        (false, _) => "b.n < a.n",
    };
    let deleting = match (case.action, case.delete_when) {
        ("delete", _) => "true",
        (_, false) => "false",
        _ if case.columns.last().is_some_and(|flag| flag.1 == "boolean") => "r.gone IS TRUE",
        _ => "r.gone IS NOT NULL",
    };
    let is_newer = match case.newer {
        true => "coalesce(t.newest < r.newest, t.newest IS NULL AND r.newest IS NOT NULL)",
        false => "true",
    };
    let set: Vec<String> = case.set.iter().map(|name| identifier(name)).collect();
    let record = |of: &str| {
        let columns: Vec<String> = set.iter().map(|name| format!("{of}.{name}")).collect();
        format!("ROW({})::record", columns.join(", "))
    };
    let differs = if set.is_empty() {
        "false".to_owned()
    } else {
        format!("{} *<> {}", record("t"), record("r"))
    };
    let missing = if case.newer { "stale" } else { "unchanged" };
    let (update, insert) = statements(case);
    format!(
        "DO $$
DECLARE r record; old record; what text; is_there boolean;
BEGIN
    FOR r IN SELECT a.*, NOT EXISTS (
            SELECT FROM twin.input b
            WHERE {same_rows} AND a.leaf = b.leaf AND {better}) AS counts
        FROM twin.input a ORDER BY n
    LOOP
        SELECT t.tableoid AS leaf, t.ctid AS place, ({is_newer}) AS is_newer, ({differs}) AS differs
        INTO old
        FROM twin.t t JOIN pg_class c ON c.oid = t.tableoid
        WHERE c.relname = r.leaf AND {same_key};
        is_there := FOUND;
        IF NOT r.counts THEN
            what := 'duplicate';
        ELSIF {deleting} THEN
            IF NOT is_there THEN
                what := 'absent';
            ELSIF NOT old.is_newer THEN
                what := 'stale';
            ELSE
                DELETE FROM twin.t WHERE tableoid = old.leaf AND ctid = old.place;
                what := 'deleted';
            END IF;
        ELSIF NOT is_there THEN
            {insert};
        ELSIF {skips} THEN
            what := 'skipped';
        ELSIF NOT old.is_newer OR NOT old.differs THEN
            what := '{missing}';
        ELSE
            {update};
            what := 'updated';
        END IF;
        UPDATE twin.input SET fate = what WHERE n = r.n;
    END LOOP;
END $$",
        same_rows = same("a", "b"),
        same_key = same("t", "r"),
        skips = case.action == "skip",
    )
}

/// The statements that change a row that is there, and that store a new one.
fn statements(case: &Case) -> (String, String) {
    let set: Vec<String> = case.set.iter().map(|name| identifier(name)).collect();
    let assigned: Vec<String> = set.iter().map(|name| format!("{name} = r.{name}")).collect();
    let update = match set.is_empty() {
        true => "NULL".to_owned(),
        false => format!(
            "UPDATE twin.t SET {} WHERE tableoid = old.leaf AND ctid = old.place",
            assigned.join(", ")
        ),
    };
    let given = case.input_columns().filter(|column| !(case.is_besides && column.0 == "gone"));
    let given: Vec<String> = given.map(|column| identifier(column.0)).collect();
    let values: Vec<String> = given.iter().map(|name| format!("r.{name}")).collect();
    let insert = match case.inserts {
        true => format!(
            "INSERT INTO twin.t ({}) VALUES ({}); what := 'inserted'",
            given.join(", "),
            values.join(", ")
        ),
        false => "what := 'absent'".to_owned(),
    };
    (update, insert)
}
