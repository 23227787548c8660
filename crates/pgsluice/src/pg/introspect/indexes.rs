//! The index of each table by which rows are sorted before they are sent.

use std::collections::HashMap;
use std::sync::Arc;

use pgsluice_core::bucket::{Order, SortColumn};
use pgsluice_core::types::Codec;
use tokio_postgres::Transaction;
use tokio_postgres::types::{Oid, Type};

use super::codecs::CodecAnswer;
use crate::error::Result;

/// An expression has no name.
const INDEXES: &str = "
SELECT DISTINCT ON (i.indrelid) i.indrelid,
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
  AND m.amname = 'btree' AND i.indisvalid
  AND (i.indisprimary OR i.indisreplident OR i.indisclustered)
ORDER BY i.indrelid, i.indisprimary DESC, i.indisreplident DESC, i.indexrelid";

/// Reads the columns that the rows of each table are sorted by, for an input with `columns`.
pub(super) async fn read(
    transaction: &Transaction<'_>,
    tables: &[Oid],
    columns: &[String],
    codecs: &[CodecAnswer],
) -> Result<HashMap<Oid, Arc<[SortColumn]>>> {
    let rows = transaction.query_typed(INDEXES, &[(&tables, Type::OID_ARRAY)]).await?;
    let orders = rows.iter().map(|row| {
        let (names, descending): (Vec<Option<String>>, Vec<bool>) = (row.get(1), row.get(2));
        let names = names.iter().map(Option::as_deref).zip(descending);
        Some((row.get(0), order_by(names, columns, codecs)?))
    });
    Ok(orders.flatten().collect())
}

/// The order by these columns, each descending or not, as far as there is one; `columns` are those of the input.
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

/// None where the bytes of COPY BINARY do not sort as the values do. Strings are compared byte by byte,
/// whatever the collation: neighbours there are neighbours in most others.
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
