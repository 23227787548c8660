//! The options of the input: checked, and what the inputs themselves must say to them.

use std::sync::Arc;

use super::{InputOptions, Job};
use crate::control::Control;
use crate::error::kind::Kind;
use crate::error::{Error, Result};
use crate::source::Header;

impl InputOptions {
    /// Refuses options that make no sense.
    pub(super) fn check(&self) -> Result<()> {
        let usage = |message: String| Err(Error::new(Kind::Usage, message));
        if self.columns.as_ref().is_some_and(Vec::is_empty) {
            return usage("the list of columns is empty".to_owned());
        }
        if self.header == Header::Map && self.columns.is_some() {
            let message = "the columns are listed, and named by the header";
            return Err(Error::new(Kind::Usage, message).with_hint(
                "--columns is for fields in a fixed order, --header=map for any order: leave one out.",
            ));
        }
        if self.header != Header::Map && !self.by_name.is_empty() {
            return usage("--map and --ignore-extra need --header=map".to_owned());
        }
        self.format.check().map_err(|refused| Error::new(Kind::Usage, refused.0))?;
        self.fields.check(&self.format).map_err(|refused| Error::new(Kind::Usage, refused))
    }

    /// What is known of how the inputs are wrapped, in words.
    pub(crate) fn notes(&self) -> Vec<String> {
        let compressed = self.files.compressions().into_iter().map(|(name, inputs)| match inputs {
            1 => format!("1 input is compressed by {name}"),
            inputs => format!("{inputs} inputs are compressed by {name}"),
        });
        let encoded =
            (!self.encoding.is_utf8()).then(|| format!("the input is in {}", self.encoding.name()));
        compressed.chain(encoded).collect()
    }
}

impl Job {
    /// The job with its inputs in their encoding and, where the header says what the columns are, with the names in
    /// it; to be done once.
    pub fn opened(&self, control: &Arc<Control>) -> Result<Self> {
        let mut job = self.clone();
        let input = &mut job.input;
        input.files = input.files.in_encoding(input.encoding);
        if input.header == Header::Map {
            let (files, names) = input.files.names(&input.format, control)?;
            input.files = files;
            input.names = Some(names);
        }
        Ok(job)
    }
}
