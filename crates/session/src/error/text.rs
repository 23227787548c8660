//! An error in the words and the order of psql's messages.

use std::fmt;

use super::printable::{on_one_line, printable};
use super::{Error, Location, ReportedText, Unit};

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ReportedText { sqlstate, place, column, is_of_server, .. } = &*self.0;
        let message = self.message();
        match place {
            Some(place) if self.0.is_foretold => {
                let Location { source, line, unit, .. } = place;
                f.write_str("this load would fail at ")?;
                match unit {
                    Unit::Bytes => write!(f, "line {line}")?,
                    Unit::Rows => write!(f, "row {line}")?,
                    Unit::Group(group) => write!(f, "row {line} of group {group}")?,
                    Unit::Tuple => write!(f, "ctid {}", place.ctid().unwrap_or_default())?,
                }
                write!(f, " of {}: ", on_one_line(source))?;
            }
            Some(place) => write!(f, "{place}: ")?,
            None if self.0.is_foretold => f.write_str("this load would fail: ")?,
            None => {}
        }
        if let Some(column) = column {
            write!(f, "column {}: ", on_one_line(column))?;
        }
        match is_of_server {
            true => f.write_str(&printable(message))?,
            false => f.write_str(&on_one_line(message))?,
        }
        if let Some(code) = sqlstate {
            write!(f, " (SQLSTATE {code})")?;
        }
        let at = place.as_ref().and_then(|place| match place.unit {
            Unit::Bytes => Some(format!("The row begins at byte {}.", place.offset)),
            Unit::Rows | Unit::Group(_) => {
                Some(format!("It is row {} of the input.", place.offset + 1))
            }
            Unit::Tuple => None,
        });
        let detail = match (self.detail(), at) {
            (Some(detail), Some(at)) => Some(format!("{detail}\n{at}")),
            (detail, at) => detail.map(str::to_owned).or(at),
        };
        for (label, text) in [("DETAIL", detail), ("HINT", self.hint())] {
            for line in text.iter().flat_map(|text| text.lines()) {
                write!(f, "\n{label}:  {}", printable(line))?;
            }
        }
        Ok(())
    }
}
