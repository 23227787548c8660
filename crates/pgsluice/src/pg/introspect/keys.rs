//! Partition keys: the native columns, and the reasons why others are not native.

use std::collections::HashMap;

use pgsluice_core::catalog::KeyColumn;
use pgsluice_core::expr::Expr;
use pgsluice_core::types::{KeyType, Labels};
use tokio_postgres::types::{Oid, Type};
use tokio_postgres::{Row, Transaction};

use super::expressions::{self, Expressions};
use super::native::native;
use super::session::{SessionFacts, is_c};
use crate::error::Result;
use crate::pg::Parameters;

/// The key columns of one partitioned table.
pub(super) type KeyColumns = Vec<KeyColumn>;

/// Query for key columns. Catalogue rows are converted to JSON if the name of a column differs among
/// versions. A domain is read as its base type; the server checks its constraints in the leaf like in the
/// root. The operator class of an array uses the default class of its elements. An expression has the type of
/// its operator class.
macro_rules! key_columns {
    ($keyed:literal) => {
        concat!(
            "
WITH RECURSIVE keyed (id, relid, strategy, attrs, classes, collations) AS (",
            $keyed,
            "
), step (domain, type, modifier) AS (
    SELECT oid, typbasetype, typtypmod
    FROM pg_catalog.pg_type
    WHERE typtype = 'd' AND oid IN (SELECT a.atttypid FROM keyed JOIN pg_catalog.pg_attribute a
                                    ON a.attrelid = keyed.relid
                                    AND a.attnum = ANY (keyed.attrs))
    UNION ALL
    SELECT step.domain, t.typbasetype, t.typtypmod
    FROM step
    JOIN pg_catalog.pg_type t ON t.oid = step.type AND t.typtype = 'd'
), base AS (
    SELECT step.* FROM step JOIN pg_catalog.pg_type t ON t.oid = step.type AND t.typtype <> 'd'
)
SELECT p.id, p.strategy,
       CASE WHEN a.attname IS NULL
            THEN pg_catalog.pg_get_partkeydef(p.relid) END AS definition,
       a.attname, b.oid AS base_type, COALESCE(base.modifier, a.atttypmod, -1) AS modifier,
       e.oid AS element_type, COALESCE(e.oid, b.oid) AS scalar_type,
       COALESCE(e.typtype, b.typtype) = 'e' AS is_enum,
       COALESCE(pg_catalog.format_type(a.atttypid, a.atttypmod),
                pg_catalog.format_type(b.oid, NULL)) AS type,
       (o.opcdefault OR p.strategy = 'i' AND o.opcname = ANY (ARRAY[
               'cidr_ops', 'varchar_ops', 'text_pattern_ops', 'varchar_pattern_ops', 'bpchar_pattern_ops'
           ]::pg_catalog.name[])) AND o.opcnamespace = 'pg_catalog'::pg_catalog.regnamespace
           AND (o.opcintype = b.oid
                OR (b.oid, o.opcintype) IN (('varchar'::regtype, 'text'::regtype),
                                            ('cidr'::regtype, 'inet'::regtype))
                OR b.typtype = 'e' AND o.opcintype = 'anyenum'::regtype
                OR b.typtype = 'r' AND o.opcintype = 'anyrange'::regtype
                OR e.oid IS NOT NULL AND o.opcintype = 'anyarray'::regtype)
           AS core_opclass,
       EXISTS (SELECT FROM pg_catalog.pg_opclass x
               WHERE x.opcintype = e.oid AND x.opcdefault
               AND x.opcnamespace <> 'pg_catalog'::pg_catalog.regnamespace) AS own_element_opclass,
       o.opcname, c.collname, k.coll = 100 AS database_collation,
       pg_catalog.to_jsonb(c) ->> 'collprovider' AS provider,
       COALESCE(pg_catalog.to_jsonb(c) ->> 'collcollate', '') AS locale,
       c.collisdeterministic AS deterministic,
       EXISTS (SELECT FROM pg_catalog.pg_attrdef d
               WHERE d.adrelid = a.attrelid AND d.adnum = a.attnum) OR a.attidentity <> ''
           OR t.typdefault IS NOT NULL
           AS has_default
FROM keyed p
CROSS JOIN LATERAL unnest(p.attrs, p.classes, p.collations)
    WITH ORDINALITY AS k (attnum, opclass, coll, place)
LEFT JOIN pg_catalog.pg_attribute a ON a.attrelid = p.relid AND a.attnum = k.attnum
LEFT JOIN pg_catalog.pg_type t ON t.oid = a.atttypid
LEFT JOIN base ON base.domain = a.atttypid
LEFT JOIN pg_catalog.pg_opclass o ON o.oid = k.opclass
LEFT JOIN pg_catalog.pg_type b ON b.oid = COALESCE(base.type, a.atttypid, o.opcintype)
LEFT JOIN pg_catalog.pg_type e ON e.typarray = b.oid
LEFT JOIN pg_catalog.pg_collation c ON c.oid = k.coll
ORDER BY p.id, k.place"
        )
    };
}

const PARTITION_KEYS: &str = key_columns!(
    "
    SELECT partrelid, partrelid, partstrat::pg_catalog.text,
           partattrs::int2[], partclass::oid[], partcollation::oid[]
    FROM pg_catalog.pg_partitioned_table
    WHERE partrelid = ANY (ARRAY(SELECT pg_catalog.unnest($1::pg_catalog.oid[])))"
);

/// Query for the key columns of indexes. Only equality matters here, and for equality some other operator
/// classes are as good as the type's own.
const INDEX_KEYS: &str = key_columns!(
    "
    SELECT indexrelid, indrelid, 'i'::pg_catalog.text,
           (indkey::int2[])[0:indnkeyatts - 1], indclass::oid[], indcollation::oid[]
    FROM pg_catalog.pg_index
    WHERE indexrelid = $1"
);

/// Query for a column ordered by the type's own operator class.
const ORDERED_COLUMN: &str = key_columns!(
    "
    SELECT a.attrelid, a.attrelid, 'r'::pg_catalog.text, ARRAY[a.attnum],
           ARRAY[(SELECT o.oid FROM pg_catalog.pg_opclass o
                  JOIN pg_catalog.pg_am m ON m.oid = o.opcmethod AND m.amname = 'btree'
                  WHERE o.opcdefault AND o.opcintype = CASE a.atttypid
                      WHEN 'varchar'::regtype THEN 'text'::regtype ELSE a.atttypid END)],
           ARRAY[a.attcollation]
    FROM pg_catalog.pg_attribute a
    WHERE a.attrelid = $1 AND a.attname = $2::pg_catalog.text AND a.attnum > 0 AND NOT a.attisdropped"
);

const LABELS: &str = "
SELECT enumtypid, pg_catalog.array_agg(enumlabel::text ORDER BY enumsortorder),
       pg_catalog.array_agg(oid ORDER BY enumsortorder)
FROM pg_catalog.pg_enum
WHERE enumtypid = ANY ($1)
GROUP BY enumtypid";

/// Reads the keys of the tables `oids`, for an input with `columns`.
pub(super) async fn read(
    transaction: &Transaction<'_>,
    session: &SessionFacts,
    oids: &[Oid],
    columns: &[String],
) -> Result<HashMap<Oid, KeyColumns>> {
    let mut keys: HashMap<Oid, KeyColumns> = HashMap::new();
    let rows = transaction.query_typed(PARTITION_KEYS, &[(&oids, Type::OID_ARRAY)]).await?;
    let enums = read_enums(transaction, &rows).await?;
    let is_expression = |row: &&Row| row.get::<_, Option<&str>>("attname").is_none();
    let with_expressions: Vec<Oid> =
        rows.iter().filter(is_expression).map(|row| row.get("id")).collect();
    let mut expressions =
        expressions::read(transaction, session, with_expressions, columns).await?;
    for row in rows {
        let column = session.key_column(&row, columns, &enums, &mut expressions);
        keys.entry(row.get("id")).or_default().push(column);
    }
    Ok(keys)
}

/// Reads the columns of an index without expressions, for an input with `columns`.
pub(super) async fn read_index(
    transaction: &Transaction<'_>,
    session: &SessionFacts,
    index: Oid,
    columns: &[String],
) -> Result<KeyColumns> {
    let rows = transaction.query_typed(INDEX_KEYS, &[(&index, Type::OID)]).await?;
    read_rows(transaction, session, &rows, columns).await
}

/// Reads a column of a table with its order; returns no column if the table lacks it.
pub(super) async fn read_column(
    transaction: &Transaction<'_>,
    session: &SessionFacts,
    table: Oid,
    column: &str,
    columns: &[String],
) -> Result<KeyColumns> {
    let asked: Parameters<'_> = &[(&table, Type::OID), (&column, Type::TEXT)];
    let rows = transaction.query_typed(ORDERED_COLUMN, asked).await?;
    read_rows(transaction, session, &rows, columns).await
}

async fn read_rows(
    transaction: &Transaction<'_>,
    session: &SessionFacts,
    rows: &[Row],
    columns: &[String],
) -> Result<KeyColumns> {
    let enums = read_enums(transaction, rows).await?;
    let mut none = Expressions::default();
    Ok(rows.iter().map(|row| session.key_column(row, columns, &enums, &mut none)).collect())
}

/// Reads the labels of the enums among the key columns, by type.
async fn read_enums(transaction: &Transaction<'_>, keys: &[Row]) -> Result<HashMap<Oid, Labels>> {
    let is_enum = |row: &&Row| row.get::<_, Option<bool>>("is_enum").unwrap_or(false);
    let mut types: Vec<Oid> =
        keys.iter().filter(is_enum).map(|row| row.get("scalar_type")).collect();
    types.sort_unstable();
    types.dedup();
    if types.is_empty() {
        return Ok(HashMap::new());
    }
    let rows = transaction.query_typed(LABELS, &[(&types, Type::OID_ARRAY)]).await?;
    let labels = |row: &Row| {
        let (labels, oids): (Vec<String>, Vec<Oid>) = (row.get(1), row.get(2));
        (row.get(0), Labels::new(labels.into_iter().zip(oids).collect()))
    };
    Ok(rows.iter().map(labels).collect())
}

impl SessionFacts {
    fn key_column(
        &self,
        row: &Row,
        columns: &[String],
        enums: &HashMap<Oid, Labels>,
        expressions: &mut Expressions,
    ) -> KeyColumn {
        let Some(column) = row.get::<_, Option<String>>("attname") else {
            let text: String = row.get("definition");
            return match self.key_expression(row, enums, expressions.next(row.get("id"))) {
                Ok(expr) => KeyColumn::Expression { text, expr },
                Err(why) => KeyColumn::Opaque { column: text, why },
            };
        };
        let field = columns.iter().position(|name| *name == column);
        if field.is_none() && row.get("has_default") {
            let why = "the input omits the column, so its default determines the key".to_owned();
            return KeyColumn::Opaque { column, why };
        }
        match self.key_type(row, enums) {
            Ok(ty) => KeyColumn::Native { column, field, ty },
            Err(why) => KeyColumn::Opaque { column, why },
        }
    }

    /// Returns `expr`, if it is known and has the type that the server gives it.
    fn key_expression(
        &self,
        row: &Row,
        enums: &HashMap<Oid, Labels>,
        expr: Option<Expr>,
    ) -> Result<Expr, String> {
        let expr = expr.ok_or("the expression is not evaluated natively")?;
        let ty = self.key_type(row, enums)?;
        // varchar uses the operator classes of text.
        let varchar = ty == KeyType::Text && expr.is_of(&KeyType::Varchar { max: None });
        let same = varchar || expr.is_of(&ty);
        same.then_some(expr).ok_or_else(|| "the expression is of another type".to_owned())
    }

    fn key_type(&self, row: &Row, enums: &HashMap<Oid, Labels>) -> Result<KeyType, String> {
        let (oid, modifier): (Oid, i32) = (row.get("scalar_type"), row.get("modifier"));
        let type_name: &str = row.get("type");
        let scalar = match enums.get(&oid) {
            Some(labels) => Some(KeyType::Enum(labels.clone())),
            None => Type::from_oid(oid).and_then(|ty| native(&ty, modifier, self.zone)),
        };
        let Some(scalar) = scalar else {
            return Err(format!("type {type_name} is not routed natively"));
        };
        if !row.get::<_, Option<bool>>("core_opclass").unwrap_or(false) {
            let name: Option<&str> = row.get("opcname");
            return Err(format!(
                "operator class {} is not the default of the type",
                name.unwrap_or_default()
            ));
        }
        if row.get("own_element_opclass") {
            return Err(format!("the elements of {type_name} have a custom operator class"));
        }
        let of = match &scalar {
            KeyType::Range(subtype) => subtype,
            other => other,
        };
        if matches!(of, KeyType::Timetz { .. } | KeyType::Timestamptz { .. }) && !self.zulu {
            return Err("the session redefines the time zone Z".to_owned());
        }
        match of {
            KeyType::Text | KeyType::Name | KeyType::Varchar { .. } | KeyType::Bpchar { .. } => {
                self.check_text(row)?;
            }
            KeyType::Jsonb => self.check_jsonb(row)?,
            _ => {}
        }
        match row.get::<_, Option<Oid>>("element_type") {
            None => Ok(scalar),
            Some(_) if !self.array_nulls => {
                Err("the session's array_nulls is off, so NULL is a string".to_owned())
            }
            Some(_) => Ok(KeyType::Array(scalar.into())),
        }
    }

    fn check_text(&self, row: &Row) -> Result<(), String> {
        self.check_encoding()?;
        let name: &str = row.get::<_, Option<&str>>("collname").unwrap_or_default();
        if !row.get::<_, Option<bool>>("deterministic").unwrap_or(false) {
            return Err(format!("collation {name} is not deterministic"));
        }
        let database = row.get::<_, Option<bool>>("database_collation").unwrap_or(false);
        let is_c = if database {
            self.collation_is_c
        } else {
            is_c(row.get("provider"), row.get("locale"))
        };
        // A list uses the order only to find equal values, and a deterministic collation treats values as
        // equal if their bytes are equal.
        match row.get("strategy") {
            "r" if !is_c => Err(format!("only the server knows how collation {name} sorts")),
            _ => Ok(()),
        }
    }

    /// Checks a jsonb key, whose strings sort by the database's collation, regardless of the key's.
    fn check_jsonb(&self, row: &Row) -> Result<(), String> {
        self.check_encoding()?;
        match row.get("strategy") {
            "r" if !self.collation_is_c => {
                Err("only the server knows how strings in jsonb sort".to_owned())
            }
            _ => Ok(()),
        }
    }

    fn check_encoding(&self) -> Result<(), String> {
        match self.encoding.as_str() {
            "UTF8" => Ok(()),
            other => Err(format!("text in a {other} database is not routed natively")),
        }
    }
}
