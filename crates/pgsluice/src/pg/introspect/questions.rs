//! The keys that are not native but that the server can be asked about, and the questions.
//!
//! For a list or range key, the question is the value's place among the bounds, which `width_bucket` finds by
//! the default order of the key's type. For a hash key, the question is its hash. A key that cannot be asked
//! about stays opaque.

use std::collections::{BTreeSet, HashMap};

use futures_util::future::{try_join, try_join_all};
use pgsluice_core::catalog::{KeyColumn, NodeId, Tree, label};
use tokio_postgres::types::{Oid, Type};
use tokio_postgres::{Row, Transaction};

use super::session::SessionFacts;
use super::types::with_base_types;
use super::volatilities::{self, Volatilities};
use crate::error::Result;
use crate::pg::bounds::Literals;
use crate::pg::constraint::ReadColumn;
use crate::pg::qualified::qualify_type;
use crate::pg::question::{Answer, Question, Term, question};
use crate::pg::raw::Raw;
use crate::pg::volatility::Volatility;

/// The places of bound literals among all literals of a node, by node and index in the key.
pub(super) type LiteralPlaces = HashMap<NodeId, PlacesOfKey>;
pub(super) type PlacesOfKey = HashMap<usize, HashMap<String, i64>>;

/// The questions to the server during a load.
#[derive(Debug, Default)]
pub(crate) struct Questions {
    all: Vec<Question>,
    numbers: HashMap<Question, usize>,
    of: HashMap<NodeId, usize>,
    /// The question how the server spells the fields of native keys; `None` if no field can have several
    /// spellings.
    pub(crate) spelling: Option<Question>,
    /// The reason why there is no question about spellings although one is needed.
    pub(crate) unspelled: Option<String>,
    /// The volatility of each field of the input.
    pub(super) volatilities: Vec<Volatility>,
    /// The columns that the question about spellings reads.
    pub(super) table: Vec<ReadColumn>,
    /// The fields that it covers in addition to the fields of partition keys.
    pub(super) also: BTreeSet<usize>,
}

impl Questions {
    /// Whether there is a question about the key of any node.
    pub(crate) fn is_about_keys(&self) -> bool {
        !self.of.is_empty()
    }

    /// Returns the question about the key of `node`, and its number.
    pub(crate) fn get(&self, node: NodeId) -> Option<(usize, &Question)> {
        let number = *self.of.get(&node)?;
        Some((number, &self.all[number]))
    }

    /// Returns each question about keys, with its node.
    pub(super) fn by_node(&self) -> impl Iterator<Item = (NodeId, &Question)> {
        self.of.iter().map(|(&node, &number)| (node, &self.all[number]))
    }

    /// Leaves the key of `node` to the server.
    pub(super) fn remove(&mut self, node: NodeId) {
        self.of.remove(&node);
    }

    /// Returns the volatility of a field.
    pub(crate) fn volatility(&self, field: usize) -> Volatility {
        self.volatilities.get(field).copied().unwrap_or_default()
    }

    fn insert(&mut self, node: NodeId, question: Question) {
        let number = *self.numbers.entry(question).or_insert_with_key(|question| {
            self.all.push(question.clone());
            self.all.len() - 1
        });
        self.of.insert(node, number);
    }
}

/// Query for the terms of the questions. `width_bucket` can compare a type if its operator class is the
/// default one, arrays of the type exist, and values can be sent and received in binary format. A hash
/// function can be called if it accepts the type itself, not just a type with the same binary layout. A
/// polymorphic class compares the column's own type; for an expression, the catalogue does not contain the
/// type. The collation of a column is ignored if it is compared as a type without one, like pg_ndistinct as
/// bytea.
const TERMS: &str = with_base_types!(
    "
SELECT p.partrelid, NOT COALESCE(pg_catalog.has_schema_privilege(t.typnamespace, 'USAGE'), true)
           OR NOT COALESCE(pg_catalog.has_schema_privilege(c.collnamespace, 'USAGE'), true)
           AS is_denied,
       k.attnum = 0 AS is_expression, refers.columns, refers.defaulted,
       pg_catalog.pg_get_expr(p.partexprs, p.partrelid) AS expressions,
       pg_catalog.quote_ident(a.attname) AS column,
       pg_catalog.format_type(t.oid, -1) AS type,
       CASE WHEN k.coll <> 0 AND t.typcollation <> 0 THEN
           pg_catalog.quote_ident(cn.nspname) || '.' || pg_catalog.quote_ident(c.collname)
       END AS collation,
       pg_catalog.quote_ident(hn.nspname) || '.' || pg_catalog.quote_ident(h.proname) AS hash,
       CASE WHEN o.opcdefault AND t.typarray <> 0 AND t.typsend <> 0 AND t.typreceive <> 0
            THEN 'OPERATOR(' || pg_catalog.quote_ident(en.nspname) || '.' || e.oprname || ')'
       END AS equal
FROM pg_catalog.pg_partitioned_table p
CROSS JOIN LATERAL unnest(p.partattrs::int2[], p.partclass::oid[], p.partcollation::oid[])
    WITH ORDINALITY AS k (attnum, opclass, coll, place)
JOIN pg_catalog.pg_opclass o ON o.oid = k.opclass
JOIN pg_catalog.pg_type i ON i.oid = o.opcintype
LEFT JOIN pg_catalog.pg_attribute a ON a.attrelid = p.partrelid AND a.attnum = k.attnum
    AND k.attnum <> 0
LEFT JOIN base ON base.domain = a.atttypid
LEFT JOIN pg_catalog.pg_type t
    ON t.oid = CASE WHEN i.typtype = 'p' THEN COALESCE(base.type, a.atttypid) ELSE i.oid END
LEFT JOIN pg_catalog.pg_collation c ON c.oid = k.coll
LEFT JOIN pg_catalog.pg_namespace cn ON cn.oid = c.collnamespace
LEFT JOIN pg_catalog.pg_amproc hp ON p.partstrat = 'h' AND hp.amprocfamily = o.opcfamily
    AND hp.amproclefttype = i.oid AND hp.amprocrighttype = i.oid AND hp.amprocnum = 2
LEFT JOIN pg_catalog.pg_proc h ON h.oid = hp.amproc AND h.proargtypes[0] = i.oid
LEFT JOIN pg_catalog.pg_namespace hn ON hn.oid = h.pronamespace
LEFT JOIN pg_catalog.pg_amop ep ON p.partstrat <> 'h' AND ep.amopfamily = o.opcfamily
    AND ep.amoplefttype = i.oid AND ep.amoprighttype = i.oid AND ep.amopstrategy = 3
LEFT JOIN pg_catalog.pg_operator e ON e.oid = ep.amopopr
LEFT JOIN pg_catalog.pg_namespace en ON en.oid = e.oprnamespace
CROSS JOIN LATERAL (
    SELECT COALESCE(pg_catalog.array_agg(u.attname::text), '{}') AS columns,
           COALESCE(pg_catalog.array_agg(u.attname::text) FILTER (
               WHERE u.atthasdef OR u.attidentity <> '' OR ut.typdefault IS NOT NULL
           ), '{}') AS defaulted
    FROM pg_catalog.pg_attribute u
    JOIN pg_catalog.pg_type ut ON ut.oid = u.atttypid
    WHERE u.attrelid = p.partrelid AND u.attnum > 0
      AND (u.attnum = k.attnum OR k.attnum = 0 AND u.attnum IN (
          SELECT (pg_catalog.regexp_matches(p.partexprs::text, ':varattno (\\d+)', 'g'))[1]::int2))
) AS refers
WHERE p.partrelid = ANY (ARRAY(SELECT pg_catalog.unnest($1::pg_catalog.oid[])))
ORDER BY p.partrelid, k.place"
);

/// Creates the questions about the tree's opaque columns, for an input with `columns`.
pub(super) async fn find(
    transaction: &Transaction<'_>,
    session: &SessionFacts,
    tree: &mut Tree,
    oids: &[Oid],
    columns: &[String],
    literals: &[Option<Literals>],
) -> Result<(Questions, LiteralPlaces)> {
    let has_opaque = |node: &NodeId| {
        tree.nodes[*node].key.as_ref().is_some_and(|key| key.columns.iter().any(is_opaque))
    };
    let nodes: Vec<NodeId> = (0..tree.nodes.len()).filter(has_opaque).collect();
    let (mut questions, mut places) = (Questions::default(), LiteralPlaces::new());
    if nodes.is_empty() {
        return Ok((questions, places));
    }
    let (table, volatilities) = read_columns(transaction, session, oids[0]).await?;
    questions.set_volatilities(&volatilities, columns);
    let known = KnownColumns { columns, table: &table, volatilities: &volatilities };
    let asked: Vec<Oid> = nodes.iter().map(|&node| oids[node]).collect();
    let mut rows: HashMap<Oid, Vec<Row>> = HashMap::new();
    for row in transaction.query_typed(TERMS, &[(&asked, Type::OID_ARRAY)]).await? {
        rows.entry(row.get("partrelid")).or_default().push(row);
    }
    let mut unsteady = Vec::new();
    let reading = nodes.iter().filter_map(|&node| {
        let rows = rows.get(&oids[node])?;
        let key = match AskedKey::examine(tree, node, rows, &known) {
            Ok(key) => key,
            Err(why) => {
                unsteady.extend(why.map(|why| (node, why)));
                return None;
            }
        };
        let children = tree.nodes[node].children.iter();
        let bounds = children.filter_map(|&child| literals[child].as_ref()).collect();
        Some(key.read(transaction, bounds))
    });
    let keys: Vec<AskedKey<'_>> = try_join_all(reading.collect::<Vec<_>>()).await?;
    for (node, why) in unsteady {
        leave_opaque(tree, node, &why);
    }
    for key in keys {
        let FoundQuestions { node, question, fields, places: of_key } = key.finish(&table, columns);
        let Some(key) = &mut tree.nodes[node].key else { continue };
        let Some(question) = question else {
            key.columns.iter_mut().for_each(not_asked);
            continue;
        };
        fields.into_iter().for_each(|(index, fields)| key.columns[index].ask(fields));
        places.insert(node, of_key);
        questions.insert(node, question);
    }
    Ok((questions, places))
}

/// Reads the columns of the table, and the volatility of each.
pub(super) async fn read_columns(
    transaction: &Transaction<'_>,
    session: &SessionFacts,
    table: Oid,
) -> Result<(Vec<ReadColumn>, Volatilities)> {
    try_join(
        ReadColumn::read_all(transaction, table),
        volatilities::read(transaction, session, table),
    )
    .await
}

/// Extends the reason why a key is opaque.
fn leave_opaque(tree: &mut Tree, node: NodeId, more: &str) {
    let columns = tree.nodes[node].key.iter_mut().flat_map(|key| &mut key.columns);
    for column in columns {
        if let KeyColumn::Opaque { why, .. } = column {
            why.push_str(", and ");
            why.push_str(more);
        }
    }
}

/// Facts about the table's columns.
struct KnownColumns<'a> {
    /// The columns of the input.
    columns: &'a [String],
    table: &'a [ReadColumn],
    volatilities: &'a Volatilities,
}

/// The key of one node, if the server is asked about it.
struct AskedKey<'r> {
    node: NodeId,
    rows: &'r [Row],
    columns: Vec<AskedColumn>,
}

/// A column or expression of a key that the server is asked about.
struct AskedColumn {
    /// Its index in the key.
    index: usize,
    fields: Vec<usize>,
    term: Term,
    places: HashMap<String, i64>,
}

/// The result of examining one node's key.
struct FoundQuestions {
    node: NodeId,
    /// `None` if the server cannot be asked.
    question: Option<Question>,
    fields: Vec<(usize, Vec<usize>)>,
    places: PlacesOfKey,
}

impl<'r> AskedKey<'r> {
    /// Examines a key. Returns an error if a column cannot be asked about, with the reason if it is worth
    /// reporting. If one column is unknown, the others are of no use.
    fn examine(
        tree: &Tree,
        node: NodeId,
        rows: &'r [Row],
        known: &KnownColumns<'_>,
    ) -> Result<Self, Option<String>> {
        let key = tree.nodes[node].key.as_ref().ok_or(None)?;
        let opaque = key.columns.iter().enumerate().filter(|(_, column)| is_opaque(column));
        let asked = opaque
            .map(|(index, _)| AskedColumn::from_row(index, rows.get(index).ok_or(None)?, known));
        Ok(Self { node, rows, columns: asked.collect::<Result<_, _>>()? })
    }

    /// Reads the places of the bounds' values.
    async fn read(mut self, transaction: &Transaction<'_>, bounds: Vec<&Literals>) -> Result<Self> {
        for column in &mut self.columns {
            if matches!(column.term.answer, Answer::Hash(_)) {
                continue;
            }
            let literals = bounds.iter().flat_map(|bound| bound.values());
            let literals = literals.filter(|(index, _)| *index == column.index);
            let literals: BTreeSet<&str> = literals.map(|(_, literal)| literal).collect();
            let literals: Vec<&str> = literals.into_iter().collect();
            let row = transaction.query_one(&column.term.places(), &[&literals]).await?;
            if let Answer::Place { bounds, .. } = &mut column.term.answer {
                *bounds = row.get(0);
            }
            let (literals, places): (Vec<String>, Vec<i64>) = (row.get(1), row.get(2));
            column.places = literals.into_iter().zip(places).collect();
        }
        Ok(self)
    }

    fn finish(self, table: &[ReadColumn], columns: &[String]) -> FoundQuestions {
        let expressions =
            self.rows.first().and_then(|row| row.get::<_, Option<String>>("expressions"));
        let is_expression = |index: usize| self.rows[index].get::<_, bool>("is_expression");
        let mut count = (0..self.rows.len()).filter(|&index| is_expression(index)).count();
        let mut keys = Vec::from_iter(expressions);
        let mut terms = Vec::new();
        for AskedColumn { index, term, .. } in &self.columns {
            let place = if is_expression(*index) {
                (0..*index).filter(|&index| is_expression(index)).count()
            } else {
                keys.push(self.rows[*index].get("column"));
                count += 1;
                count - 1
            };
            terms.push((place, term.clone()));
        }
        let fields = self.columns.iter().flat_map(|column| column.fields.iter().copied());
        let fields: BTreeSet<usize> = fields.collect();
        let named: Vec<_> = fields.into_iter().map(|field| (field, &*columns[field])).collect();
        FoundQuestions {
            node: self.node,
            question: question(table, &named, &keys.join(", "), count, &terms),
            fields: self
                .columns
                .iter()
                .map(|column| (column.index, column.fields.clone()))
                .collect(),
            places: self.columns.into_iter().map(|column| (column.index, column.places)).collect(),
        }
    }
}

impl AskedColumn {
    /// Creates a column from a row of [`TERMS`]. A column that the input omits is NULL, unless it has a
    /// default.
    fn from_row(index: usize, row: &Row, known: &KnownColumns<'_>) -> Result<Self, Option<String>> {
        let needed: Vec<String> = row.get("columns");
        let defaulted: Vec<String> = row.get("defaulted");
        let mut fields = Vec::new();
        for name in needed {
            match known.columns.iter().position(|column| *column == name) {
                _ if known.is_unread(&name) => return Err(None),
                Some(field) => {
                    known.check(&name)?;
                    fields.push(field);
                }
                None if defaulted.contains(&name) => return Err(None),
                None => {}
            }
        }
        let answer = match row.get("hash") {
            Some(function) => Answer::Hash(function),
            None => {
                let equal = row.get::<_, Option<_>>("equal").ok_or(None)?;
                Answer::Place { equal, bounds: Raw(Vec::new()) }
            }
        };
        let ty = row.get::<_, Option<&str>>("type").ok_or(None)?;
        if row.get("is_denied") {
            return Err(Some(format!("this user lacks the USAGE privilege on the schema of {ty}")));
        }
        if fields.is_empty() {
            return Err(None);
        }
        let ty = qualify_type(ty).ok_or(None)?;
        let term = Term { ty, collation: row.get("collation"), answer };
        Ok(Self { index, fields, term, places: HashMap::new() })
    }
}

impl KnownColumns<'_> {
    /// Whether no query reads the text of a column.
    fn is_unread(&self, name: &str) -> bool {
        self.table.iter().any(|column| column.name == name && column.is_unread)
    }

    /// Returns an error if the server's answer about a column may change.
    fn check(&self, name: &str) -> Result<(), Option<String>> {
        match self.volatilities.get(name) {
            Some(Volatility::Volatile) => Err(Some(format!(
                "the meaning of values in column {} depends on more than the row",
                label(name)
            ))),
            _ => Ok(()),
        }
    }
}

/// Extends the reason why a column is opaque: its names cannot be qualified.
fn not_asked(column: &mut KeyColumn) {
    if let KeyColumn::Opaque { why, .. } = column {
        why.push_str(
            ", and the server cannot be asked with names that are safe under any search_path",
        );
    }
}

fn is_opaque(column: &KeyColumn) -> bool {
    matches!(column, KeyColumn::Opaque { .. })
}
