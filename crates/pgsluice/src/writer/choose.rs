//! The choice of the statement that sends the rows of a flush: few rows go as arrays, many by COPY.

use std::sync::Arc;

use pgsluice_core::bucket::{Payload, Wire};

use super::batch::WriteBatch;
use super::failure::WriteFailure;
use super::send_method::SendMethod;
use super::session::{ENOUGH_WITHOUT_CONFLICT, Planned};
use crate::error::kind::Kind;
use crate::plan::changes::Changes;

/// Maximum number of rows that are sent as arrays.
///
/// Measured locally in milliseconds per flush of pgbench's accounts, arrays against COPY, PostgreSQL 18 on 2
/// cores: 1.2 and 1.7 for 100 rows in 16 hash leaves, 2.7 and 2.7 for 1,000, 20.6 and 16.8 for 10,000; in 800
/// leaves 3.6 and 4.6, 8.1 and 10.9, 37.0 and 32.1. Arrays of 21 integers are 9 % slower than COPY at 1,000
/// rows, and 33 % at 3,000. COPY waits for one more answer: at a round trip of 20 ms it takes 45 to 55 ms for
/// up to 3,000 rows, arrays 24 to 35.
const MAX_ROWS: usize = 1000;

/// Maximum number of bytes that are sent as arrays, about where COPY becomes faster for rows of 1,900 bytes.
/// The server ends a session whose message exceeds a gigabyte.
const MAX_BYTES: usize = 2 << 20;

/// Maximum number of times that rows are sent again before the server's refusal is an error.
const MAX_RETRIES: u32 = 8;

impl Planned {
    /// Whether rows are expected to conflict with existing ones.
    pub(super) fn expects_conflicts(&self) -> bool {
        let changes = self.plan.changes.as_ref();
        changes.is_some_and(|it| {
            self.without_conflict.get() < ENOUGH_WITHOUT_CONFLICT
                || !it.may_join_leaves()
                || it.sorts_keys
        })
    }

    /// Chooses the statement for the rows of a flush.
    pub(super) fn choose(&self, batch: &WriteBatch) -> SendMethod {
        let payloads = &batch.payloads[..];
        if payloads.is_empty() {
            return SendMethod::Copy;
        }
        if self.updates_first.get() {
            return SendMethod::Stage;
        }
        let expects_conflicts = self.expects_conflicts();
        let insert = match expects_conflicts {
            true => &self.inserts.changing,
            false => &self.inserts.plain,
        };
        match (expects_conflicts, insert.is_some() && fit_one_insert(payloads)) {
            (false, true) => SendMethod::Arrays,
            (false, false) => SendMethod::Copy,
            (true, true) => SendMethod::Conflict,
            (true, false) => SendMethod::Stage,
        }
    }

    /// Returns the method to try after `method` has failed with `failure`. Returns `None` if no other method is
    /// left or `tried` is at its limit.
    pub(super) fn next_method(
        &self,
        method: SendMethod,
        failure: &WriteFailure,
        tried: u32,
    ) -> Option<SendMethod> {
        let WriteFailure::Refused(error) = failure else { return None };
        let is_any = |codes: &[&str]| error.sqlstate().is_some_and(|code| codes.contains(&code));
        let has_conflicts = self.plan.changes.is_some() && is_any(&["23505", "23P01"]);
        let may_exist = self.plan.changes.as_ref().is_some_and(Changes::may_update_first)
            && is_any(&["23502", "23514"]);
        match method {
            // INSERT also checks columns of existing rows that an update does not set.
            SendMethod::Stage if may_exist && !self.updates_first.get() => {
                self.updates_first.set(true);
                Some(SendMethod::Stage)
            }
            // Another session has inserted a key since the update.
            SendMethod::Stage
                if has_conflicts && self.updates_first.get() && tried < MAX_RETRIES =>
            {
                Some(SendMethod::Stage)
            }
            SendMethod::Stage => None,
            _ if has_conflicts || may_exist => {
                self.without_conflict.set(0);
                Some(SendMethod::Stage)
            }
            // The refusal of a COPY names the row.
            SendMethod::Arrays if error.kind() == Kind::Data => Some(SendMethod::Copy),
            SendMethod::Conflict if error.kind() == Kind::Data => Some(SendMethod::Stage),
            SendMethod::Arrays | SendMethod::Conflict | SendMethod::Copy => None,
        }
    }
}

/// Whether a single INSERT can take the rows of all payloads.
fn fit_one_insert(payloads: &[Arc<Payload>]) -> bool {
    match payloads {
        [payload] if payload.wire() == Wire::Binary => {
            payload.rows() <= MAX_ROWS && payload.bytes() <= MAX_BYTES
        }
        _ => false,
    }
}
