//! Loads that stand still at a point of their way, until the test lets them go on.

use std::fs;
use std::path::PathBuf;

use super::wait_until;

/// Holds a load up at a point.
pub(crate) struct Hold {
    name: &'static str,
    file: PathBuf,
}

impl Hold {
    /// `file` is there while it is held up.
    pub(crate) fn at(name: &'static str, file: PathBuf) -> Self {
        Self { name, file }
    }

    /// What the load finds in its environment.
    pub(crate) fn environment(&self) -> [(&str, &str); 2] {
        let file = self.file.to_str().unwrap();
        [("PGSLUICE_FAILPOINT", self.name), ("PGSLUICE_FAILPOINT_HOLD", file)]
    }

    /// Waits until it is held up.
    #[track_caller]
    pub(crate) fn wait(&self) {
        wait_until(&format!("coming to {}", self.name), || self.file.exists());
    }

    pub(crate) fn let_go(&self) {
        fs::remove_file(&self.file).unwrap();
    }
}
