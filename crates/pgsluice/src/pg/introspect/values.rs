//! The values of bounds. The server casts all literals of one type in one query, and returns them in binary
//! format.

use std::borrow::Cow;
use std::collections::HashMap;

use pgsluice_core::catalog::{Bound, Edge, Key, KeyColumn, NodeId, Tree};
use pgsluice_core::types::{KeyType, OwnedDatum};
use tokio_postgres::{Client, Transaction};

use super::questions::{LiteralPlaces, PlacesOfKey};
use crate::error::Result;
use crate::pg::bounds::{Literal, Literals, parse};
use crate::pg::raw::Raw;
use crate::pg::sql;

type Datums = HashMap<Cow<'static, str>, HashMap<String, Vec<u8>>>;

/// Fills in the bounds of all nodes of the tree. `literals` has one entry for each node; `places` has the
/// places of values that the server is asked about.
///
/// A bound that is not understood makes its parent's key opaque: without it, the rows of the default
/// partition are unknown.
pub(super) async fn fill(
    transaction: &Transaction<'_>,
    tree: &mut Tree,
    literals: &[Option<Literals>],
    places: &LiteralPlaces,
) -> Result<()> {
    let mut wanted: HashMap<Cow<'static, str>, Vec<&str>> = HashMap::new();
    for (node, literals) in literals.iter().enumerate() {
        for (ty, text) in typed_literals(tree, node, literals.as_ref()) {
            wanted.entry(cast_type(ty)).or_default().push(text);
        }
    }
    let mut datums = Datums::new();
    for (name, mut texts) in wanted {
        texts.sort_unstable();
        texts.dedup();
        let sql = format!(
            "SELECT v::{name} FROM unnest($1::text[]) WITH ORDINALITY AS u (v, n) ORDER BY n"
        );
        let rows = transaction.query(&sql, &[&texts]).await?;
        let binary = rows.iter().map(|row| row.get::<_, Raw>(0).0);
        datums.insert(name, texts.into_iter().map(str::to_owned).zip(binary).collect());
    }
    for (node, literals) in literals.iter().enumerate() {
        let Some(parent) = tree.nodes[node].parent else { continue };
        let places = places.get(&parent);
        let bound = literals.as_ref().and_then(|literals| {
            bound(tree.nodes[parent].key.as_ref()?, literals, &datums, places)
        });
        match bound {
            Some(bound) => tree.nodes[node].bound = Some(bound),
            None => make_opaque(tree, parent, node),
        }
    }
    Ok(())
}

/// Returns the tree with the values of its bounds, which are given as the server deparsed them earlier.
pub(crate) async fn fill_bounds(
    client: &mut Client,
    mut tree: Tree,
    bounds: &[Option<&str>],
) -> Result<Tree> {
    let literals: Vec<Option<Literals>> =
        bounds.iter().map(|bound| bound.and_then(parse)).collect();
    let transaction = client.build_transaction().read_only(true).start().await?;
    transaction.batch_execute(sql::DEPARSE_SETTINGS).await?;
    fill(&transaction, &mut tree, &literals, &HashMap::new()).await?;
    transaction.commit().await?;
    client.batch_execute(sql::RESET_SETTINGS).await?;
    Ok(tree)
}

/// Returns the literals of a node's bound with the types of their key columns.
fn typed_literals<'l>(
    tree: &'l Tree,
    node: NodeId,
    literals: Option<&'l Literals>,
) -> Vec<(&'l KeyType, &'l str)> {
    let key = tree.nodes[node].parent.and_then(|parent| tree.nodes[parent].key.as_ref());
    let (Some(key), Some(literals)) = (key, literals) else { return Vec::new() };
    let native = |index: usize| key.columns.get(index)?.ty();
    literals.values().filter_map(|(index, text)| Some((native(index)?, text))).collect()
}

fn bound(
    key: &Key,
    literals: &Literals,
    datums: &Datums,
    places: Option<&PlacesOfKey>,
) -> Option<Bound> {
    if key.columns.iter().any(|column| matches!(column, KeyColumn::Opaque { .. })) {
        return Some(Bound::Opaque);
    }
    let datum = |index: usize, text: &str| match key.columns.get(index)? {
        KeyColumn::Asked { .. } => Some(OwnedDatum::Int(*places?.get(&index)?.get(text)?)),
        column => {
            let ty = column.ty()?;
            ty.from_binary(datums.get(&cast_type(ty))?.get(text)?)
        }
    };
    let edges = |edges: &[Literal]| -> Option<Vec<Edge>> {
        let edge = |(index, edge): (usize, &Literal)| match edge {
            Literal::MinValue => Some(Edge::MinValue),
            Literal::MaxValue => Some(Edge::MaxValue),
            Literal::Value(text) => datum(index, text).map(Edge::Datum),
        };
        edges.iter().enumerate().map(edge).collect()
    };
    Some(match literals {
        Literals::Default => Bound::Default,
        Literals::Hash { modulus, remainder } => {
            Bound::Hash { modulus: *modulus, remainder: *remainder }
        }
        Literals::List(values) => {
            let value = |text: &Option<String>| match text {
                None => Some(None),
                Some(text) => datum(0, text).map(Some),
            };
            Bound::List(values.iter().map(value).collect::<Option<_>>()?)
        }
        Literals::Range { lower, upper } => {
            Bound::Range { lower: edges(lower)?, upper: edges(upper)? }
        }
    })
}

fn make_opaque(tree: &mut Tree, parent: NodeId, node: NodeId) {
    let relation = tree.nodes[node].relation.label();
    let Some(key) = &mut tree.nodes[parent].key else { return };
    for column in &mut key.columns {
        column.make_opaque(|| format!("could not parse the bound of partition {relation}"));
    }
}

/// Returns the type to cast a literal to. It has no length or precision, because the server has already
/// applied them to the bound, and a bare `character` would cut it to one character. An enum has the binary
/// format of its label.
fn cast_type(ty: &KeyType) -> Cow<'static, str> {
    Cow::Borrowed(match ty {
        KeyType::Bool => "pg_catalog.bool",
        KeyType::Int2 => "pg_catalog.int2",
        KeyType::Int4 => "pg_catalog.int4",
        KeyType::Int8 => "pg_catalog.int8",
        KeyType::Numeric { .. } => "pg_catalog.numeric",
        KeyType::Float4 => "pg_catalog.float4",
        KeyType::Float8 => "pg_catalog.float8",
        KeyType::Oid => "pg_catalog.oid",
        KeyType::PgLsn => "pg_catalog.pg_lsn",
        KeyType::Char => "pg_catalog.\"char\"",
        KeyType::Name => "pg_catalog.name",
        KeyType::Bytea => "pg_catalog.bytea",
        KeyType::Text | KeyType::Enum(_) => "pg_catalog.text",
        KeyType::Varchar { .. } => "pg_catalog.varchar",
        KeyType::Bpchar { .. } => "pg_catalog.bpchar",
        KeyType::Uuid => "pg_catalog.uuid",
        KeyType::Macaddr => "pg_catalog.macaddr",
        KeyType::Macaddr8 => "pg_catalog.macaddr8",
        KeyType::Inet => "pg_catalog.inet",
        KeyType::Cidr => "pg_catalog.cidr",
        KeyType::Date => "pg_catalog.date",
        KeyType::Time { .. } => "pg_catalog.time",
        KeyType::Timetz { .. } => "pg_catalog.timetz",
        KeyType::Interval { .. } => "pg_catalog.interval",
        KeyType::Timestamp { .. } => "pg_catalog.timestamp",
        KeyType::Timestamptz { .. } => "pg_catalog.timestamptz",
        KeyType::Jsonb => "pg_catalog.jsonb",
        KeyType::Range(subtype) => match **subtype {
            KeyType::Int4 => "pg_catalog.int4range",
            KeyType::Int8 => "pg_catalog.int8range",
            KeyType::Date => "pg_catalog.daterange",
            KeyType::Timestamp { .. } => "pg_catalog.tsrange",
            KeyType::Timestamptz { .. } => "pg_catalog.tstzrange",
            _ => "pg_catalog.numrange",
        },
        KeyType::Array(ty) => return Cow::Owned(cast_type(ty).into_owned() + "[]"),
    })
}
