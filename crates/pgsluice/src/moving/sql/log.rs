//! The log of changed keys: tables of entries, two triggers on the table that is moved, and their functions.
//!
//! The log only says which rows must be looked up again, so the order of its entries does not matter. It is
//! complete as long as both triggers are unchanged, and the sequence `void` was never used.
//!
//! Entries are in two tables. One inherits from the other, so that a query for the log reads both. The
//! trigger writes to one of them. The other one is truncated after its entries were processed. Truncation
//! leaves nothing behind, even while an old snapshot prevents VACUUM from removing rows.

use pgsluice_core::catalog::quote_identifier;
use serde::{Deserialize, Serialize};

use crate::ledger::sql::moves::MARK;
use crate::pg::sql::literal;

/// The number of entries, about 3 GiB, after which the log is given up if the move does not remove them.
pub(in crate::moving) const CAP: i64 = 40_000_000;

/// The log of a table, and the columns by which its entries find rows.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub(in crate::moving) struct Log {
    /// The table, qualified and quoted like all names here.
    pub(in crate::moving) table: String,
    /// The table, for messages.
    pub(in crate::moving) label: String,
    /// The log, which is also the first table of entries and the function of the row trigger.
    pub(in crate::moving) name: String,
    /// The second table of entries.
    pub(in crate::moving) second: String,
    /// The function of the TRUNCATE trigger.
    pub(in crate::moving) truncated: String,
    /// The sequence that numbers entries.
    pub(in crate::moving) seq: String,
    /// A sequence that is advanced once the log is incomplete.
    pub(in crate::moving) void: String,
    /// The column with the number of an entry.
    pub(in crate::moving) number: String,
    /// The key of the table, and the other columns of the partition keys.
    pub(in crate::moving) columns: Vec<LoggedColumn>,
    /// The columns of the table that an INSERT can name.
    pub(in crate::moving) stored: Vec<String>,
}

/// A column that identifies a row, or that determines its partition.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub(in crate::moving) struct LoggedColumn {
    /// The column of the table, unquoted.
    pub(in crate::moving) name: String,
    /// The column of the log.
    pub(in crate::moving) logged: String,
    /// The type and the collation.
    pub(in crate::moving) ty: String,
    /// The equality operator.
    pub(in crate::moving) equal: String,
    pub(in crate::moving) is_key: bool,
    pub(in crate::moving) is_nullable: bool,
}

impl LoggedColumn {
    pub(in crate::moving) fn quoted(&self) -> String {
        quote_identifier(&self.name)
    }
}

/// The triggers, in the order of their names.
const TRIGGERS: [&str; 2] = ["pgsluice_log", "pgsluice_truncate"];

/// Returns the columns that identify a row of table `$1`, followed by the remaining columns of `$2`: the
/// name, the type with its collation, the equality operator, whether the column identifies the row, and
/// whether it accepts NULL.
///
/// A key is a unique index that PostgreSQL itself would accept as a replica identity: `RelationGetIndexList`
/// in `relcache.c`. Its operators must be those that DISTINCT uses.
pub(in crate::moving) const COLUMNS: &str = "
WITH found AS (
    SELECT i.indrelid, (i.indkey::int2[])[0:i.indnkeyatts - 1] AS attnums,
           (i.indclass::oid[])[0:i.indnkeyatts - 1] AS classes
    FROM pg_index i
    WHERE i.indrelid = $1 AND i.indisunique AND i.indimmediate AND i.indisvalid AND i.indpred IS NULL
      AND NOT EXISTS (
          SELECT FROM unnest((i.indkey::int2[])[0:i.indnkeyatts - 1], (i.indclass::oid[])[0:i.indnkeyatts - 1])
                          AS key (attnum, class)
          LEFT JOIN pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = key.attnum
          LEFT JOIN pg_opclass o ON o.oid = key.class
          WHERE a.attnotnull IS NOT TRUE OR o.opcdefault IS NOT TRUE)
    ORDER BY i.indisprimary DESC, i.indnkeyatts, i.indexrelid LIMIT 1
),
wanted AS (
    SELECT key.attnum, key.class, nth, true AS is_key
    FROM found, unnest(attnums, classes) WITH ORDINALITY AS key (attnum, class, nth)
    UNION ALL
    SELECT a.attnum, o.oid, 1000 + nth, false
    FROM found, unnest($2::text[]) WITH ORDINALITY AS of_tree (name, nth)
    JOIN pg_attribute a ON a.attrelid = $1 AND a.attname = of_tree.name
    JOIN pg_type t ON t.oid = a.atttypid
    LEFT JOIN pg_opclass o ON o.opcintype = COALESCE(NULLIF(t.typbasetype, 0), t.oid) AND o.opcdefault
                          AND o.opcmethod = (SELECT oid FROM pg_am WHERE amname = 'btree')
    WHERE a.attnum <> ALL (attnums)
)
SELECT a.attname::text,
       format_type(a.atttypid, a.atttypmod)
           || COALESCE((SELECT format(' COLLATE %I.%I', n.nspname, c.collname)
                        FROM pg_collation c JOIN pg_namespace n ON n.oid = c.collnamespace
                        WHERE c.oid = a.attcollation), ''),
       COALESCE((SELECT format('OPERATOR(%I.%s)', n.nspname, r.oprname)
                 FROM pg_opclass o
                 JOIN pg_amop p ON p.amopfamily = o.opcfamily AND p.amoplefttype = o.opcintype
                                   AND p.amoprighttype = o.opcintype AND p.amopstrategy = 3
                 JOIN pg_operator r ON r.oid = p.amopopr
                 JOIN pg_namespace n ON n.oid = r.oprnamespace
                 WHERE o.oid = w.class), 'OPERATOR(pg_catalog.=)'),
       w.is_key, NOT a.attnotnull
FROM wanted w JOIN pg_attribute a ON a.attrelid = $1 AND a.attnum = w.attnum
ORDER BY w.nth";

/// Returns facts about table `$1` that must not change: its triggers, and its columns if its rows are
/// rewritten.
const WATCHED: &str = "
SELECT (SELECT is_called FROM {void}), (SELECT last_value FROM {seq}),
       (SELECT string_agg(concat_ws(' ', tgname, oid, xmin, tgenabled), ', ' ORDER BY tgname)
        FROM pg_trigger WHERE tgrelid = $1 AND tgname IN ({triggers}) AND NOT tgisinternal),
       pg_relation_filenode($1),
       (SELECT string_agg(xmin::text, ' ' ORDER BY attnum) FROM pg_attribute WHERE attrelid = $1 AND attnum > 0),
       (SELECT string_agg(concat_ws(' ', attnum, attname, atttypid, atttypmod, attisdropped), ', ' ORDER BY attnum)
        FROM pg_attribute WHERE attrelid = $1 AND attnum > 0),
       $1 IS NOT DISTINCT FROM to_regclass({table})::oid";

impl Log {
    /// Returns the columns that identify a row.
    pub(in crate::moving) fn keys(&self) -> Vec<&LoggedColumn> {
        self.columns.iter().filter(|column| column.is_key).collect()
    }

    /// Returns the columns that accept NULL.
    pub(in crate::moving) fn nullable(&self) -> Vec<&LoggedColumn> {
        self.columns.iter().filter(|column| column.is_nullable).collect()
    }

    /// Returns the statements that create the log and the functions of the triggers.
    pub(in crate::moving) fn create(
        &self,
        owner: Option<&str>,
        grantees: &[String],
    ) -> Vec<String> {
        let Self { name, second, seq, void, truncated, number, .. } = self;
        // Truncated tables need no vacuum, and it would be in the way.
        let options = "WITH (autovacuum_enabled = off)";
        let columns: Vec<String> =
            self.columns.iter().map(|column| format!("{} {}", column.logged, column.ty)).collect();
        let keys: Vec<&str> = self.keys().iter().map(|column| column.logged.as_str()).collect();
        let keys = keys.join(", ");
        let mut statements = vec![
            format!("CREATE SEQUENCE {seq}"),
            format!("CREATE SEQUENCE {void}"),
            format!(
                "CREATE TABLE {name} ({number} int8 PRIMARY KEY, {}) {options}",
                columns.join(", ")
            ),
            format!("CREATE TABLE {second} (PRIMARY KEY ({number})) INHERITS ({name}) {options}"),
            format!("CREATE INDEX ON {name} ({keys})"),
            format!("CREATE INDEX ON {second} ({keys})"),
            format!("COMMENT ON TABLE {name} IS {}", literal(MARK.as_bytes())),
            format!("ALTER SEQUENCE {seq} OWNED BY {name}.{number}"),
            format!("ALTER SEQUENCE {void} OWNED BY {name}.{number}"),
            format!("CREATE {}", self.row_function(name, CAP)),
            format!(
                "CREATE {}",
                function(
                    truncated,
                    "",
                    &format!("PERFORM nextval({});\n    RETURN NULL;", text(void))
                )
            ),
        ];
        let grantees = grantees.iter().map(String::as_str);
        for role in grantees.filter(|role| *role != "PUBLIC").chain(["PUBLIC"]) {
            statements.push(format!("REVOKE ALL ON TABLE {name}, {second} FROM {role}"));
            statements.push(format!("REVOKE ALL ON SEQUENCE {seq}, {void} FROM {role}"));
            statements.push(format!("REVOKE ALL ON FUNCTION {name}(), {truncated}() FROM {role}"));
        }
        if let Some(owner) = owner {
            statements.push(format!("ALTER TABLE {name} OWNER TO {owner}"));
            statements.push(format!("ALTER TABLE {second} OWNER TO {owner}"));
            statements.push(format!("ALTER FUNCTION {name}() OWNER TO {owner}"));
            statements.push(format!("ALTER FUNCTION {truncated}() OWNER TO {owner}"));
        }
        statements
    }

    /// Returns the statement that saves the state of the move. Only the owner of the log can write it.
    pub(in crate::moving) fn save_state(&self, state: &str) -> String {
        format!("COMMENT ON COLUMN {}.{} IS {}", self.name, self.number, text(state))
    }

    /// Returns the statement that makes the trigger write to `table`, and the log grow up to entry `cap`.
    pub(in crate::moving) fn write_to(&self, table: &str, cap: i64) -> String {
        format!("CREATE OR REPLACE {}", self.row_function(table, cap))
    }

    /// Returns the function of the row trigger, which writes to `table`. Beyond entry `cap` it stops logging
    /// and advances a sequence, which a rollback does not undo. So if the mover has died, its log does not
    /// fill the disk.
    fn row_function(&self, table: &str, cap: i64) -> String {
        let Self { name, seq, void, .. } = self;
        let values = |row: &str, place: &str| {
            let values: Vec<String> =
                self.columns.iter().map(|column| format!("{row}.{}", column.quoted())).collect();
            (
                values.join(", "),
                format!("INSERT INTO {table} VALUES ({place}, {});", values.join(", ")),
            )
        };
        let next = format!("nextval({})", text(seq));
        let ((old, log_old), (new, log_new)) = (values("OLD", "place"), values("NEW", "place"));
        let (_, log_next) = values("NEW", &next);
        let body = format!(
            "IF place > {cap} THEN
        PERFORM nextval({void});
    ELSIF TG_OP = 'INSERT' THEN
        {log_new}
    ELSE
        {log_old}
        IF TG_OP = 'UPDATE' THEN
            IF ROW({old})::record *<> ROW({new})::record THEN
                {log_next}
            END IF;
        END IF;
    END IF;
    RETURN NULL;",
            void = text(void),
        );
        function(name, &format!("DECLARE place int8 := {next};\n"), &body)
    }

    /// Returns the statements that begin to log. They wait for all transactions that write to the table.
    pub(in crate::moving) fn watch(&self) -> String {
        let Self { name, table, truncated, .. } = self;
        let [row, truncate] = TRIGGERS;
        [
            format!(
                "CREATE TRIGGER {row} AFTER INSERT OR UPDATE OR DELETE ON {table} FOR EACH ROW EXECUTE FUNCTION {name}()"
            ),
            format!(
                "CREATE TRIGGER {truncate} AFTER TRUNCATE ON {table} FOR EACH STATEMENT EXECUTE FUNCTION {truncated}()"
            ),
            // The triggers also fire when a subscription applies changes.
            format!("ALTER TABLE {table} ENABLE ALWAYS TRIGGER {row}, ENABLE ALWAYS TRIGGER {truncate}"),
        ]
        .join("; ")
    }

    /// Returns the query for facts about table `$1`: whether the log is incomplete, the number of its last entry, the
    /// facts that must not change, and whether the table still has its name.
    pub(in crate::moving) fn facts(&self) -> String {
        let triggers = TRIGGERS.map(text).join(", ");
        WATCHED
            .replace("{triggers}", &triggers)
            .replace("{table}", &text(&self.table))
            .replace("{void}", &self.void)
            .replace("{seq}", &self.seq)
    }

    /// Returns the statements that end logging and drop the log.
    pub(in crate::moving) fn drop(&self) -> String {
        let Self { name, second, truncated, .. } = self;
        // The triggers are dropped with the functions.
        format!(
            "DROP FUNCTION IF EXISTS {name}() CASCADE; DROP FUNCTION IF EXISTS {truncated}() CASCADE; \
             DROP TABLE {name}, {second}"
        )
    }

    /// Returns the condition that no entry of the log is about the row `row`, for a scan that returns rows in
    /// the order of their pages. The server hashes the log, or looks up each row in its index, but does not
    /// plan a join.
    pub(in crate::moving) fn not_logged(&self, row: &str) -> String {
        format!("CASE WHEN {} THEN false ELSE true END", self.logged(row))
    }

    /// Returns the clause that excludes the rows `row` that the log is about from a query.
    pub(in crate::moving) fn unchanged(&self, row: &str) -> String {
        format!(" WHERE NOT {}", self.logged(row))
    }

    fn logged(&self, row: &str) -> String {
        let alias = if row.trim_matches('"') == "logged" { "entry" } else { "logged" };
        let same = same(&self.keys(), alias, row);
        format!("EXISTS (SELECT FROM {} AS {alias} WHERE {same})", self.name)
    }
}

/// Returns the condition that two rows have the same values in these columns of the log and of the table.
pub(super) fn same(columns: &[&LoggedColumn], entry: &str, row: &str) -> String {
    let same = columns.iter().map(|column| {
        format!("{entry}.{} {} {row}.{}", column.logged, column.equal, column.quoted())
    });
    same.collect::<Vec<_>>().join(" AND ")
}

fn function(name: &str, declare: &str, body: &str) -> String {
    let body = format!("{declare}BEGIN\n    {body}\nEND");
    format!(
        "FUNCTION {name}() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
         SET search_path = pg_catalog, pg_temp AS {}",
        literal(body.as_bytes())
    )
}

fn text(name: &str) -> String {
    literal(name.as_bytes())
}
