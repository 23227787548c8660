//! An error in the words and the order of psql's messages.

use std::fmt;

use super::{Error, Location, Report};

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Report { message, sqlstate, place, column, detail, hint, .. } = &*self.0;
        match place {
            Some(Location { source, line, .. }) if self.0.is_foretold => {
                write!(f, "this load would fail at line {line} of {source}: ")?;
            }
            Some(place) => write!(f, "{place}: ")?,
            None if self.0.is_foretold => f.write_str("this load would fail: ")?,
            None => {}
        }
        if let Some(column) = column {
            write!(f, "column {column}: ")?;
        }
        f.write_str(message)?;
        if let Some(code) = sqlstate {
            write!(f, " (SQLSTATE {code})")?;
        }
        let at = place.as_ref().map(|place| format!("The row begins at byte {}.", place.offset));
        let detail = match (detail, at) {
            (Some(detail), Some(at)) => Some(format!("{detail}\n{at}")),
            (detail, at) => detail.clone().or(at),
        };
        for (label, text) in [("DETAIL", &detail), ("HINT", hint)] {
            for line in text.iter().flat_map(|text| text.lines()) {
                write!(f, "\n{label}:  {line}")?;
            }
        }
        Ok(())
    }
}
