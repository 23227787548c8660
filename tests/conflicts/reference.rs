//! The reference: a PL/pgSQL function that does row by row, on a table of its own, what a load does.
//!
//! The function `twin.apply()` reads the table `twin.input` three times, in the order of the input. It finds
//! the leaf of each row in a table without keys, then determines which rows count, and then applies these
//! according to the options. If several constraints identify duplicates, it asks the server about each row in
//! turn.

use super::case::{Action, Case, Rule, names};
use super::columns::Column;
use crate::harness::identifier;

/// Returns the statements that create the tables of the function, besides `twin.t` and `shape.t`.
pub(super) fn tables(case: &Case) -> String {
    let columns =
        case.input.iter().map(|Column { name, ty, .. }| format!("{} {ty}", identifier(name)));
    format!(
        "CREATE TABLE twin.input (n serial PRIMARY KEY, leaf oid, counts text, {});
         CREATE TABLE twin.counting (LIKE twin.input);
         CREATE INDEX ON twin.counting ({})",
        columns.collect::<Vec<_>>().join(", "),
        names(&case.key)
    )
}

/// Returns the statement that creates the function.
pub(super) fn function(case: &Case) -> String {
    let does = if case.is_by_any() { by_any(case) } else { by_key(case) };
    format!(
        "CREATE FUNCTION twin.apply() RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    r record; best record; old record; what text; found_leaf oid; many bigint;
BEGIN
    FOR r IN SELECT * FROM twin.input ORDER BY n LOOP
        INSERT INTO shape.t ({known}) VALUES ({values}) RETURNING tableoid INTO found_leaf;
        UPDATE twin.input
        SET leaf = ('twin.' || (SELECT relname FROM pg_class WHERE oid = found_leaf))::regclass
        WHERE n = r.n;
    END LOOP;
    {does}
END $$",
        known = names(case.known()),
        values = input_columns(case.known()),
    )
}

/// Returns the body for cases in which the server decides about each row in turn.
fn by_any(case: &Case) -> String {
    format!(
        "FOR r IN SELECT * FROM twin.input ORDER BY n LOOP
        INSERT INTO twin.t ({known}) VALUES ({values}) ON CONFLICT DO NOTHING;
        GET DIAGNOSTICS many = ROW_COUNT;
        what := CASE many WHEN 1 THEN 'inserted' ELSE 'skipped' END;
        UPDATE twin.input SET counts = what WHERE n = r.n;
    END LOOP;",
        known = names(case.known()),
        values = input_columns(case.known()),
    )
}

/// Returns the body for cases with one key, which decides which input rows count and which rows exist.
fn by_key(case: &Case) -> String {
    let known = names(case.known());
    format!(
        "
    FOR r IN SELECT * FROM twin.input ORDER BY n LOOP
        SELECT * INTO best FROM twin.counting c WHERE c.leaf = r.leaf AND {same_counting};
        IF NOT FOUND THEN
            INSERT INTO twin.counting SELECT * FROM twin.input WHERE n = r.n;
        ELSIF {is_better} THEN
            UPDATE twin.input SET counts = 'duplicate' WHERE n = best.n;
            DELETE FROM twin.counting WHERE n = best.n;
            INSERT INTO twin.counting SELECT * FROM twin.input WHERE n = r.n;
        ELSE
            UPDATE twin.input SET counts = 'duplicate' WHERE n = r.n;
        END IF;
    END LOOP;
    FOR r IN SELECT * FROM twin.input WHERE counts IS NULL ORDER BY n LOOP
        SELECT c.tableoid AS leaf, c.ctid AS place, ({is_newer}) AS is_newer, ({differs}) AS differs
        INTO old FROM twin.t c WHERE c.tableoid = r.leaf AND {same_there};
        IF NOT FOUND THEN
            IF {deletes} OR {leaves_out} THEN
                what := 'not_found';
            ELSE
                INSERT INTO twin.t ({known}) VALUES ({values});
                what := 'inserted';
            END IF;
        ELSIF {skips} THEN
            what := 'skipped';
        ELSIF NOT old.is_newer THEN
            what := 'not_newer';
        ELSIF {deletes} THEN
            DELETE FROM twin.t WHERE tableoid = old.leaf AND ctid = old.place;
            what := 'deleted';
        ELSIF NOT old.differs THEN
            what := '{unchanged}';
        ELSE
            {update};
            what := 'updated';
        END IF;
        UPDATE twin.input SET counts = what WHERE n = r.n;
    END LOOP;",
        values = input_columns(case.known()),
        same_counting = same(case),
        same_there = same(case),
        is_better = match case.rule {
            Rule::First => "false".to_owned(),
            Rule::Last => "true".to_owned(),
            Rule::Newest => is_newer("best"),
        },
        is_newer = match case.rule {
            Rule::Newest => is_newer("c"),
            _ => "true".to_owned(),
        },
        differs = differs(case),
        deletes = deletes(case),
        leaves_out = !case.inserts,
        skips = case.action == Action::Skip,
        unchanged = if case.rule == Rule::Newest { "not_newer" } else { "unchanged" },
        update = update(case),
    )
}

/// Returns the condition that the row `c` has the key of the input row.
fn same(case: &Case) -> String {
    let operator = if case.table.joins_nulls { "IS NOT DISTINCT FROM" } else { "=" };
    let same = case.key.iter().map(|column| {
        let name = identifier(column.name);
        match case.table.stated.filter(|stated| stated.column == column.name) {
            Some(stated) => format!("c.{name} {operator} (r.{name} COLLATE {})", stated.collation),
            None => format!("c.{name} {operator} r.{name}"),
        }
    });
    same.collect::<Vec<_>>().join(" AND ")
}

/// Returns the condition that the input row is newer. NULL is older than any value.
fn is_newer(than: &str) -> String {
    format!("r.newest IS NOT NULL AND ({than}.newest IS NULL OR r.newest > {than}.newest)")
}

fn differs(case: &Case) -> String {
    if case.set.is_empty() {
        return "false".to_owned();
    }
    let record = |of: &str| {
        let columns = case.set.iter().map(|column| format!("{of}.{}", identifier(column.name)));
        format!("ROW({})::record", columns.collect::<Vec<_>>().join(", "))
    };
    format!("{} *<> {}", record("c"), record("r"))
}

fn deletes(case: &Case) -> &'static str {
    let is_boolean =
        case.columns.iter().any(|column| column.name == "gone" && column.ty == "boolean");
    match (case.action, case.delete_when) {
        (Action::Delete, _) => "true",
        (_, false) => "false",
        (_, true) if is_boolean => "r.gone IS TRUE",
        (_, true) => "r.gone IS NOT NULL",
    }
}

fn update(case: &Case) -> String {
    let set = case.set.iter().map(|column| identifier(column.name));
    let set: Vec<String> = set.map(|name| format!("{name} = r.{name}")).collect();
    match set.is_empty() {
        true => "NULL".to_owned(),
        false => format!(
            "UPDATE twin.t SET {} WHERE tableoid = old.leaf AND ctid = old.place",
            set.join(", ")
        ),
    }
}

fn input_columns<'a>(columns: impl Iterator<Item = &'a Column>) -> String {
    let columns = columns.map(|column| format!("r.{}", identifier(column.name)));
    columns.collect::<Vec<_>>().join(", ")
}
