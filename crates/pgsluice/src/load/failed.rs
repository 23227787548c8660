//! The end of a failed load: the rows that it has left in the table, and how to resume it.

use std::path::Path;
use std::sync::atomic::Ordering::Relaxed;

use crate::control::{Control, Rejecting};
use crate::counts::words::group_digits;
use crate::error::kind::Kind;
use crate::error::{Error, Left, Remedy, Setting, option, quote_shell};

/// Returns the error of a load that was asked to end but has not, with the known state of the table.
pub fn interrupted(control: &Control) -> Error {
    with_committed(Error::interrupted(), control)
}

/// Adds to an error the rows that the failed load has left in the table, and how to resume it.
pub(crate) fn with_committed(error: Error, control: &Control) -> Error {
    let rows = control.rows_in();
    let in_doubt = control.progress.rows_in_doubt.load(Relaxed);
    let load_id = control.attempts.resume().filter(|_| rows + in_doubt > 0);
    let error = error.leaving(Left { committed: rows, in_doubt, earlier: 0, load_id });
    let error = match rows {
        0 if control.attempts.is_share() => {
            error.with_detail("No row of this participant is in the table.")
        }
        0 => error.with_detail("No row of this load is in the table."),
        1 => error.with_detail("1 row of this load was committed before and is in the table."),
        rows => error.with_detail(format!(
            "{} rows of this load were committed before and are in the table.",
            group_digits(rows)
        )),
    };
    let error = match control.attempts.resume() {
        // A mismatch of counts would occur again after a resume.
        _ if error.kind() == Kind::Internal => error,
        _ if rows + in_doubt == 0 => without_rows(error, control.attempts.rejecting()),
        Some(id) => with_rest(error, &id, control.attempts.rejecting()),
        None => error.with_hint(
            "Remove them before you load the same input again, or they will be loaded twice.",
        ),
    };
    match in_doubt {
        0 => error,
        rows => error.with_detail(format!(
            "{} more may be in the table: the server did not answer their COMMIT.",
            group_digits(rows)
        )),
    }
}

/// Adds a remedy to the error of a load without rows in the table, if its cause is a bad row and it has no
/// other remedy.
fn without_rows(error: Error, rejecting: Rejecting) -> Error {
    let is_row = error.kind() == Kind::Data && error.place().is_some() && !error.is_permanent();
    let Rejecting::IfAsked(suffix) = rejecting else { return error };
    if !is_row || error.is_for_all_rows() || !error.remedies().all(Remedy::rounds) {
        return error;
    }
    let what = "Repair the row, or skip such rows";
    error.with_remedy(Remedy::options(what, rejects(suffix)))
}

/// Adds a remedy to the error of a load with rows in the table: to resume it without rejected rows.
fn with_rest(mut error: Error, id: &str, rejecting: Rejecting) -> Error {
    if error.take_round() {
        // The committed rows were not rounded, so the load cannot be resumed with this option.
        let what = format!("To round such values, remove the rows of load {id} and load all anew");
        error = error.with_remedy(Remedy::options(what, [option("round")]));
    }
    let load_id = option("load-id").with(id);
    match (error.kind(), rejecting) {
        (Kind::Data, _) if error.is_permanent() => error.with_hint(format!(
            "The input cannot be read past this row, and a load cannot resume with a changed file: remove the rows of \
             load {id} from the table, repair the file, and load it again."
        )),
        (Kind::Data, Rejecting::IfAsked(suffix)) if error.sqlstate().is_some() => {
            let [file, max] = rejects(suffix);
            let unchanged = format!(
                "Do not change the input, because only the same input resumes the load. Repair the row in {}, and \
                 load that file afterwards.",
                quote_shell(file.value.as_deref().unwrap_or_default())
            );
            let what = "To load the rest, skipping such rows";
            error.with_hint(unchanged).with_remedy(Remedy::options(what, [load_id, file, max]))
        }
        (Kind::Data, Rejecting::Does) => {
            let more = option("max-rejects").with("100%");
            let what = "To load the rest, skipping any number of rows";
            error.with_remedy(Remedy::options(what, [load_id, more]))
        }
        _ => error.with_remedy(Remedy::options("To load the rest", [load_id])),
    }
}

/// Returns options that reject rows into a file that does not exist yet, whose name has this suffix.
fn rejects(suffix: &str) -> [Setting; 2] {
    let names = (1..).map(|number| match number {
        1 => format!("bad.{suffix}"),
        number => format!("bad-{number}.{suffix}"),
    });
    let is_new =
        |name: &String| [name, &format!("{name}.log")].map(Path::new).iter().all(|it| !it.exists());
    let name = names.into_iter().find(is_new).unwrap_or_default();
    [option("reject-file").with(name), option("max-rejects").with("100")]
}
