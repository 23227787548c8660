//! Estimates for a plan: the free disk space, and the duration of a move.

use std::path::Path;

use nix::sys::statvfs::statvfs;
use tokio_postgres::Client;

use super::sql::definitions::DIRECTORY;
use super::table::Table;
use crate::error::Result;

/// Bytes of a table that are copied and compared per second, and bytes of its indexes that are built per
/// second. `make bench CASE=move` measured them with two connections, on a server that shared two cores with
/// the client.
const COPIED: f64 = 60.0 * 1024.0 * 1024.0;
const INDEXED: f64 = 40.0 * 1024.0 * 1024.0;

/// Returns the free bytes of the file system that contains the table, or `None` if the server is on another
/// computer or does not report its directory.
pub(super) async fn free(table: &Table, client: &Client) -> Result<Option<u64>> {
    let row = client.query_opt(DIRECTORY, &[&table.oid]).await?;
    let directory: Option<String> = row.and_then(|row| row.get(0));
    Ok(directory.and_then(|directory| free_bytes(Path::new(&directory))))
}

/// Returns the estimated seconds for the copy, the comparison and the indexes.
pub(super) fn seconds(table: &Table) -> f64 {
    (table.bytes as f64 / COPIED + table.index_bytes as f64 / INDEXED).ceil()
}

#[allow(clippy::unnecessary_cast)] // the fields' types differ between systems
fn free_bytes(path: &Path) -> Option<u64> {
    let found = statvfs(path).ok()?;
    Some(found.blocks_available() as u64 * found.fragment_size() as u64)
}
