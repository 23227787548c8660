//! Loads that pause at a failpoint until the test lets them continue.

use std::fs;
use std::path::PathBuf;

use super::wait_until;

/// A failpoint at which a load pauses.
pub(crate) struct Hold {
    name: &'static str,
    file: PathBuf,
}

impl Hold {
    /// Creates a hold. The load pauses as long as `file` exists.
    pub(crate) fn at(name: &'static str, file: PathBuf) -> Self {
        Self { name, file }
    }

    /// Returns environment variables for the load.
    pub(crate) fn environment(&self) -> [(&str, &str); 2] {
        let file = self.file.to_str().unwrap();
        [("PGSLUICE_FAILPOINT", self.name), ("PGSLUICE_FAILPOINT_HOLD", file)]
    }

    /// Waits until the load pauses.
    #[track_caller]
    pub(crate) fn wait(&self) {
        wait_until(&format!("coming to {}", self.name), || self.file.exists());
    }

    pub(crate) fn let_go(&self) {
        fs::remove_file(&self.file).unwrap();
    }
}
