//! Opening a table: resolves its name, takes a snapshot, and looks up its columns and heaps.

use std::sync::Arc;

use pgsluice_core::catalog;
use pgsluice_session::conninfo::Target;
use pgsluice_session::template::fill;
use tokio_postgres::types::Type;
use tokio_postgres::{Client, Row};

use super::heap::{Heap, MAX_HEAPS, OpenRelation, SourceColumn};
use super::session::{Sessions, SourceSession};
use super::{Relation, Snapshots};
use crate::control::Control;
use crate::error::kind::Kind;
use crate::error::{Error, Result};
use crate::source::sql::relation::{COLUMNS, EXPORT, FIND, HEAPS, NOTHING, hold};

/// A table whose name was resolved, before its snapshot is taken.
struct ResolvedTable {
    oid: u32,
    name: catalog::Relation,
    version: u32,
    page: u64,
}

/// Opens a table for at most `readers` concurrent sessions. Connects to `target` if the relation names no server.
pub(in crate::source) fn open(
    (relation, snapshots): (&Relation, Snapshots),
    target: &Target,
    control: &Arc<Control>,
    readers: usize,
) -> Result<OpenRelation> {
    let server = relation.server.as_ref().unwrap_or(target);
    let holder = SourceSession::open(server)?;
    let found = holder.run(control, async |link| find(&relation.name, &link.client).await)?;
    let explain = |error| refused(error, &found.name.label());
    holder.begin(snapshots, control)?;
    let looking = async |link: &pgsluice_session::connect::Link| {
        let client = &link.client;
        let snapshot = match snapshots {
            Snapshots::One => Some(client.query_one(EXPORT, &[]).await?.get(0)),
            Snapshots::Each => None,
        };
        let heaps = read_heaps(&found, client).await?;
        let columns = client.query_typed(&fill(COLUMNS, &[]), &[(&found.oid, Type::OID)]).await?;
        Ok((snapshot, heaps, columns.iter().map(column).collect()))
    };
    let (snapshot, heaps, columns) = holder.run(control, looking).map_err(explain)?;
    if snapshots == Snapshots::Each {
        // The portal of the last query would keep its snapshot.
        holder.run(control, async |link| Ok(link.client.batch_execute(NOTHING).await?))?;
    }
    let ResolvedTable { name, version, page, .. } = found;
    let sessions = Sessions::new(server.clone(), snapshot, holder, Arc::clone(control), readers);
    let (label, alias, filter) = (name.label(), name.name, relation.filter.clone());
    Ok(OpenRelation { sessions, label, alias, filter, columns, heaps, page, version })
}

async fn find(name: &str, client: &Client) -> Result<ResolvedTable> {
    let is_number = name.bytes().all(|byte| byte.is_ascii_digit());
    let rows = match is_number {
        true => Vec::new(),
        false => client.query_typed(&fill(FIND, &[]), &[(&name, Type::TEXT)]).await?,
    };
    let Some(row) = rows.first() else {
        let message = format!("\"{name}\" does not exist on the source, or is not a table or view");
        return Err(Error::new(Kind::Server, message)
            .with_sqlstate("42P01")
            .with_hint("Check the name, the schema, and the server to read from."));
    };
    let name = catalog::Relation { schema: row.get(1), name: row.get(2) };
    let (version, page) = (row.get::<_, i32>(3), row.get::<_, i64>(4));
    let [version, page] = [u64::from(version.unsigned_abs()), page.unsigned_abs()];
    Ok(ResolvedTable { oid: row.get(0), name, version: version as u32, page: page.max(1) })
}

fn column(row: &Row) -> SourceColumn {
    SourceColumn { name: row.get(0), ty: row.get(1), spelled: row.get(2) }
}

/// Locks the heaps of a table and returns them.
///
/// The locks are taken after the snapshot. A table that was truncated or rewritten in between would look empty under
/// the snapshot, so it is refused.
async fn read_heaps(found: &ResolvedTable, client: &Client) -> Result<Vec<Heap>> {
    let label = found.name.label();
    let sql = fill(HEAPS, &[]);
    let names = client.query_typed(&sql, &[(&found.oid, Type::OID)]).await?;
    let relation = |row: &Row| catalog::Relation { schema: row.get(0), name: row.get(1) };
    let held: Vec<String> = names.iter().map(|row| hold(&relation(row).to_string())).collect();
    client.batch_execute(&held.join("; ")).await?;
    let rows = client.query_typed(&sql, &[(&found.oid, Type::OID)]).await?;
    if rows.len() > MAX_HEAPS {
        let message = format!("table {label} has more than {MAX_HEAPS} partitions");
        return Err(Error::new(Kind::Server, message).with_sqlstate("54000"));
    }
    if let Some(row) = rows.iter().find(|row| !row.get::<_, bool>(4)) {
        let message = format!(
            "table {} was truncated or rewritten while it was being opened",
            relation(row).label()
        );
        let error = Error::new(Kind::Server, message).with_sqlstate("55000");
        return Err(error.with_hint("Run the command again."));
    }
    let heap = |row: &Row| {
        let relation = relation(row);
        let bytes = row.get::<_, i64>(3).unsigned_abs();
        Heap { label: relation.label(), sql: relation.to_string(), bytes, has_pages: row.get(2) }
    };
    Ok(rows.iter().map(heap).collect())
}

/// Adds a detail and a hint to an error of the source, for which the hints about targets do not apply.
pub(super) fn refused(error: Error, label: &str) -> Error {
    if error.kind() == Kind::Interrupted {
        return error;
    }
    let hint = match error.sqlstate() {
        Some("42501") => Some(
            "Connect to the source as a role with SELECT on the table, and without row-level \
             security policies that apply to it.",
        ),
        // The table was found: these are about names in the condition.
        Some("42P01" | "42883" | "42704") => {
            Some("In the condition, qualify names that are not in pg_catalog.")
        }
        _ => None,
    };
    let error =
        error.with_detail(format!("The source reported this while {label} was being read."));
    match hint {
        Some(hint) => error.only_hint(hint),
        None => error,
    }
}
