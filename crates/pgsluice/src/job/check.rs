//! Checks of a job's options.

use super::{Job, LONGEST_LOAD_ID, MAX_JOBS, MIN_MEMORY};
use crate::error::kind::Kind;
use crate::error::{Error, Result, option};

impl Job {
    /// Rejects invalid options, before anything is opened.
    ///
    /// # Errors
    ///
    /// Fails if the job has no input, or if its options are invalid or cannot be used together.
    pub fn check(&self) -> Result<()> {
        if self.input.files.is_empty() {
            return Err(Error::new(Kind::Usage, "no input file given"));
        }
        if self.safety.once && !self.input.files.are_files() {
            let message =
                option("once") + " needs files: a stream cannot be recognized before it is read";
            let hint = "Leave out " + option("once") + ", or load from files.";
            return Err(Error::new(Kind::Usage, message).with_hint(hint));
        }
        self.check_settings()
    }

    /// Rejects invalid settings, regardless of the input.
    ///
    /// # Errors
    ///
    /// Fails if a setting is out of range, or if settings cannot be used together.
    pub fn check_settings(&self) -> Result<()> {
        let usage = |message: String| Err(Error::new(Kind::Usage, message));
        if !(1..=MAX_JOBS).contains(&self.speed.jobs) {
            return usage(format!("number of jobs must be between 1 and {MAX_JOBS}"));
        }
        if self.speed.threads.is_some_and(|threads| !(1..=MAX_JOBS).contains(&threads)) {
            return usage(format!("number of threads must be between 1 and {MAX_JOBS}"));
        }
        if self.speed.memory < MIN_MEMORY {
            return usage("memory must be at least 1MiB".to_owned());
        }
        self.check_share()?;
        if self.safety.rejects.is_some() && self.safety.exchange.is_some() {
            return usage("rows cannot be rejected in an exchange".to_owned());
        }
        if self.safety.atomic && self.safety.exchange.is_some() {
            let message =
                option("atomic") + " and " + option("exchange") + " cannot be used together";
            return Err(Error::new(Kind::Usage, message).with_hint(
                "Leave out "
                    + option("atomic")
                    + ", as all exchanged leaves are swapped in at once anyway, or leave out "
                    + option("exchange")
                    + ".",
            ));
        }
        self.changes.check()?;
        if self.changes.is_any() && self.safety.exchange.is_some() {
            let message =
                option("on-conflict") + " and " + option("exchange") + " cannot be used together";
            return Err(Error::new(Kind::Usage, message).with_hint(
                "Leave out " + option("exchange")
                    + ": it replaces the leaf with a new table that contains only rows of the input.",
            ));
        }
        self.input.check()?;
        self.safety.load_id.as_deref().map_or(Ok(()), |id| check_name("a load id", id))
    }

    /// Rejects a share that could not be stored in one transaction, or whose load has no id or ledger.
    fn check_share(&self) -> Result<()> {
        let Some(share) = &self.safety.share else { return Ok(()) };
        check_name("the name of a participant", &share.participant)?;
        let together = [
            ("exchange", self.safety.exchange.is_some()),
            ("create-partitions", self.target.create_partitions),
            ("once", self.safety.once),
        ];
        if let Some((other, _)) = together.into_iter().find(|(_, is_given)| *is_given) {
            let message =
                option("participant") + " and " + option(other) + " cannot be used together";
            return Err(Error::new(Kind::Usage, message));
        }
        if self.safety.load_id.is_none() || !self.keeps_ledger() {
            let message = option("participant") + " needs " + option("load-id") + " and a ledger";
            return Err(Error::new(Kind::Usage, message));
        }
        if !self.safety.atomic {
            let message = "the rows of a participant must be committed in one transaction";
            return Err(Error::new(Kind::Usage, message));
        }
        Ok(())
    }
}

/// Rejects a name that could be confused with others in a line of text.
fn check_name(what: &str, name: &str) -> Result<()> {
    let is_usual = !name.is_empty() && name.chars().count() <= LONGEST_LOAD_ID;
    if is_usual && !name.chars().any(char::is_control) {
        return Ok(());
    }
    let message =
        format!("{what} must have 1 to {LONGEST_LOAD_ID} characters and no control characters");
    Err(Error::new(Kind::Usage, message))
}
