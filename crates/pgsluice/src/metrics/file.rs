//! A file with the metrics of a run, which is replaced each second and when the run ends.

use std::fs::{self, File, Permissions};
use std::io::{self, Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use super::Metrics;
use crate::control::{Control, Event, Events};
use crate::error::kind::Kind;
use crate::error::{Error, Result, plain_io};

const INTERVAL: Duration = Duration::from_secs(1);

/// The beginning of every file with metrics.
const BEGINNING: &[u8] = b"# HELP pgsluice_";

/// A file with the metrics of a run. Dropping it ends the writing. The file stays.
#[derive(Debug)]
pub struct MetricsFile {
    writer: Arc<FileWriter>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Debug)]
struct FileWriter {
    path: PathBuf,
    metrics: Metrics,
    control: Weak<Control>,
    is_over: AtomicBool,
    has_failed: AtomicBool,
    /// Held while the file is replaced, so that an older text never replaces a newer one.
    writing: Mutex<()>,
}

impl MetricsFile {
    /// Writes the file for the first time, and replaces it each second from now on.
    ///
    /// # Errors
    ///
    /// Fails if the file cannot be written, and if it exists and has other content than metrics.
    pub fn begin(path: &Path, control: &Arc<Control>) -> Result<Self> {
        check(path)?;
        let writer = Arc::new(FileWriter {
            path: path.to_owned(),
            metrics: Metrics::default(),
            control: Arc::downgrade(control),
            is_over: AtomicBool::new(false),
            has_failed: AtomicBool::new(false),
            writing: Mutex::new(()),
        });
        writer.write(control).map_err(|error| {
            cannot_write(path, &error).with_hint(
                "The file is replaced each second, so its directory must exist and be writable.",
            )
        })?;
        control.listen(Arc::<FileWriter>::clone(&writer));
        let of_thread = Arc::clone(&writer);
        let thread = thread::spawn(move || {
            while !of_thread.is_over.load(Relaxed) {
                thread::park_timeout(INTERVAL);
                of_thread.replace();
            }
        });
        Ok(Self { writer, thread: Some(thread) })
    }
}

impl Drop for MetricsFile {
    fn drop(&mut self) {
        self.writer.is_over.store(true, Relaxed);
        if let Some(thread) = self.thread.take() {
            thread.thread().unpark();
            let _ = thread.join();
        }
    }
}

impl FileWriter {
    /// Replaces the file. The first failure is a warning, because the rows matter more than the metrics.
    fn replace(&self) {
        let Some(control) = self.control.upgrade() else { return };
        if let Err(error) = self.write(&control)
            && !self.has_failed.swap(true, Relaxed)
        {
            control.warn(cannot_write(&self.path, &error).message());
        }
    }

    fn write(&self, control: &Control) -> io::Result<()> {
        let _writing = self.writing.lock().unwrap_or_else(PoisonError::into_inner);
        let folder = match self.path.parent() {
            Some(folder) if !folder.as_os_str().is_empty() => folder,
            _ => Path::new("."),
        };
        let mut file = tempfile::Builder::new()
            .prefix(".pgsluice-metrics-")
            // Other users may read metrics, as far as the umask permits it.
            .permissions(Permissions::from_mode(0o666))
            .tempfile_in(folder)?;
        file.write_all(self.metrics.text(control).as_bytes())?;
        file.persist(&self.path).map_err(|error| error.error)?;
        Ok(())
    }
}

impl Events for FileWriter {
    fn event(&self, event: &Event<'_>) {
        self.metrics.event(event);
        if matches!(event, Event::Finished { .. }) {
            self.replace();
        }
    }
}

/// Fails if the file exists and is not one with metrics, because it would be lost.
fn check(path: &Path) -> Result<()> {
    let found = match fs::metadata(path) {
        Ok(found) => found,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(cannot_write(path, &error)),
    };
    if found.is_dir() {
        let message = format!("\"{}\" is a directory", path.display());
        let hint = "Name a file in it, such as pgsluice.prom.";
        return Err(Error::new(Kind::Usage, message).with_hint(hint));
    }
    let mut beginning = Vec::new();
    if found.is_file() {
        let reading = File::open(path)
            .and_then(|file| file.take(BEGINNING.len() as u64).read_to_end(&mut beginning));
        reading.map_err(|error| cannot_write(path, &error))?;
    }
    if found.is_file() && (beginning.is_empty() || beginning == BEGINNING) {
        return Ok(());
    }
    let message = format!("\"{}\" exists and is no file with metrics of pgsluice", path.display());
    Err(Error::new(Kind::Usage, message)
        .with_detail("The file for metrics is replaced each second.")
        .with_hint("Name a file that does not exist yet."))
}

fn cannot_write(path: &Path, error: &io::Error) -> Error {
    let reason = plain_io(error);
    Error::new(Kind::Input, format!("could not write metrics to \"{}\": {reason}", path.display()))
}
