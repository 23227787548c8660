//! The indexes by which rows of each table may be sorted before they are sent.

use std::collections::HashMap;
use std::sync::Arc;

use pgsluice_core::bucket::{Order, SendOrder, SortColumn};
use pgsluice_core::types::Codec;
use tokio_postgres::Transaction;
use tokio_postgres::types::{Oid, Type};

use super::codecs::CodecAnswer;
use crate::error::Result;

/// Query for the indexes. An expression has no name. Among equally good indexes of a table, the first one is
/// used.
const INDEXES: &str = "
SELECT i.indrelid,
       ARRAY(SELECT a.attname::pg_catalog.text
             FROM pg_catalog.unnest(i.indkey::pg_catalog.int2[]) WITH ORDINALITY AS k (attnum, place)
             LEFT JOIN pg_catalog.pg_attribute a
                 ON a.attrelid = i.indrelid AND a.attnum = k.attnum AND k.attnum > 0
             WHERE place <= i.indnkeyatts
             ORDER BY place),
       ARRAY(SELECT o & 1 = 1 FROM pg_catalog.unnest(i.indoption::pg_catalog.int2[]) AS o)
FROM pg_catalog.pg_index i
JOIN pg_catalog.pg_class c ON c.oid = i.indexrelid
JOIN pg_catalog.pg_am m ON m.oid = c.relam
WHERE i.indrelid = ANY (ARRAY(SELECT pg_catalog.unnest($1::pg_catalog.oid[])))
  AND m.amname = 'btree' AND i.indisready AND i.indpred IS NULL
ORDER BY i.indrelid, i.indisprimary DESC, i.indisreplident DESC, i.indisclustered DESC, i.indexrelid";

/// Reads the orders in which the rows of each table may be sent, for an input with `columns`.
pub(super) async fn read(
    transaction: &Transaction<'_>,
    tables: &[Oid],
    columns: &[String],
    codecs: &[CodecAnswer],
) -> Result<HashMap<Oid, SendOrder>> {
    let rows = transaction.query_typed(INDEXES, &[(&tables, Type::OID_ARRAY)]).await?;
    let mut indexes: HashMap<Oid, Vec<Arc<[SortColumn]>>> = HashMap::new();
    for row in &rows {
        let (names, descending): (Vec<Option<String>>, Vec<bool>) = (row.get(1), row.get(2));
        let names = names.iter().map(Option::as_deref).zip(descending);
        let order = order_by(names, columns, codecs);
        indexes.entry(row.get(0)).or_default().extend(order);
    }
    indexes.retain(|_, indexes| !indexes.is_empty());
    let orders = indexes.into_iter().map(|(oid, indexes)| (oid, SendOrder::Index(indexes.into())));
    Ok(orders.collect())
}

/// Returns the order by these columns, each descending or not, up to the first column without an order;
/// `columns` are the columns of the input.
pub(super) fn order_by<'n>(
    names: impl Iterator<Item = (Option<&'n str>, bool)>,
    columns: &[String],
    codecs: &[CodecAnswer],
) -> Option<Arc<[SortColumn]>> {
    let key = names.map_while(|(name, descending)| {
        let field = columns.iter().position(|column| Some(&**column) == name)?;
        let order = order(codecs.get(field)?.as_ref().ok()?)?;
        Some(SortColumn { field, order, descending })
    });
    Some(key.collect::<Arc<[SortColumn]>>()).filter(|key| !key.is_empty())
}

/// Returns the order of a codec; `None` if the bytes of COPY BINARY do not sort like the values. Strings are
/// compared byte by byte regardless of their collation: neighbours in that order are neighbours in most other
/// orders.
fn order(codec: &Codec) -> Option<Order> {
    use Codec as C;
    match codec {
        C::Int2 | C::Int4 | C::Int8 | C::Date | C::Time | C::Timestamp | C::Timestamptz { .. } => {
            Some(Order::Signed)
        }
        C::Bool | C::Oid | C::PgLsn | C::Uuid | C::Macaddr | C::Macaddr8 => Some(Order::Bytes),
        C::Name | C::Text | C::Padded | C::Bytea => Some(Order::Bytes),
        _ => None,
    }
}
