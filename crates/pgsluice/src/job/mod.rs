//! A job: the input, the table, and all settings of a load. Every setting is defined once, here, with its
//! default and range; the command line and Python fill it in.

mod changes;
mod check;
mod fields;
mod held;
mod open;
mod share;

use std::path::{Path, PathBuf};
use std::time::Duration;

use pgsluice_core::format::Format;

pub use self::changes::{ChangeOptions, Duplicates, OnConflict};
pub use self::fields::{Columns, FieldOptions};
pub use self::share::ShareOptions;

use crate::source::{ByName, Encoding, FileFormat, Header, InputNames, Inputs};

/// The default for [`SpeedOptions::memory`], in bytes.
pub const DEFAULT_MEMORY: usize = 512 << 20;

/// The minimum memory of a load, in bytes.
pub const MIN_MEMORY: usize = 1 << 20;

/// The maximum number of connections of a load.
pub const MAX_JOBS: usize = 256;

/// The default time for retrying the swap of an exchange, or the commit of several transactions at once,
/// while other sessions hold locks.
pub const DEFAULT_SWAP_PATIENCE: Duration = Duration::from_secs(60);

/// The default schema of the ledger.
pub const DEFAULT_LEDGER: &str = "pgsluice";

/// The maximum length of a load's id, in characters.
pub const LONGEST_LOAD_ID: usize = 200;

/// The default maximum number of partitions that a load creates.
pub const DEFAULT_MAX_NEW_PARTITIONS: usize = 100;

/// The maximum number of rows of each input that a plan reads.
pub const SAMPLE_ROWS: usize = 10_000;

/// The approximate maximum number of bytes of each input that a plan reads.
pub const SAMPLE_BYTES: usize = 64 << 20;

/// The description of a load: what to load, into which table, and how.
///
/// ```
/// use pgsluice::core::format::Format;
/// use pgsluice::{Header, Inputs, Job};
///
/// let mut job = Job::new("public.measurements");
/// job.input.files = Inputs::resolve(["-"])?;
/// job.input.format = Format::csv();
/// job.input.header = Header::Present;
/// job.safety.atomic = true;
/// job.check()?;
/// # Ok::<(), pgsluice::Error>(())
/// ```
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Job {
    /// The rows to load.
    pub input: InputOptions,
    /// The table to load into.
    pub target: TargetOptions,
    /// The rules by which the rows change existing rows.
    pub changes: ChangeOptions,
    /// The resources of the load.
    pub speed: SpeedOptions,
    /// The safety measures of the load.
    pub safety: SafetyOptions,
}

/// The rows to load, and their format.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct InputOptions {
    /// The inputs, in order.
    pub files: Inputs,
    /// The format of the files.
    pub file_format: FileFormat,
    /// Whether the user gave the format. In this case the lines of an SQL dump are loaded as rows.
    pub is_format_given: bool,
    /// The format of delimited rows; COPY's text format by default, and for other file formats.
    pub format: Format,
    /// The meaning of the first row of each input.
    pub header: Header,
    /// The encoding of the inputs.
    pub encoding: Encoding,
    /// The columns of the input, in its order; `None` for all writable columns.
    pub columns: Option<Vec<String>>,
    /// Rules for matching names in a header to columns, with [`Header::Map`].
    pub by_name: ByName,
    /// Whether values that their columns cannot hold exactly are rounded, like the server rounds values in
    /// text. In text formats, the server always rounds.
    pub round: bool,
    /// The names in the inputs, once they are known.
    pub(crate) names: Option<InputNames>,
    /// COPY's options about single fields.
    pub fields: FieldOptions,
}

impl Default for InputOptions {
    fn default() -> Self {
        Self {
            files: Inputs::default(),
            file_format: FileFormat::default(),
            is_format_given: false,
            format: Format::text(),
            header: Header::default(),
            encoding: Encoding::default(),
            columns: None,
            by_name: ByName::default(),
            round: false,
            names: None,
            fields: FieldOptions::default(),
        }
    }
}

/// The table to load into.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct TargetOptions {
    /// The table's name in SQL syntax, optionally qualified or quoted.
    pub table: String,
    /// Whether missing partitions are created before the load.
    pub create_partitions: bool,
    /// The width of new ranges: `month`, an interval, or a number; `None` for the width of their siblings.
    pub step: Option<String>,
    /// The maximum number of partitions that are created. A load that needs more fails.
    pub max_new_partitions: usize,
    /// The final destination of rows.
    pub sink: Sink,
    /// Whether the table is dropped if the load fails. The error then does not mention rows in it.
    pub(crate) is_scratch: bool,
}

impl Default for TargetOptions {
    fn default() -> Self {
        Self {
            table: String::new(),
            create_partitions: false,
            step: None,
            max_new_partitions: DEFAULT_MAX_NEW_PARTITIONS,
            sink: Sink::default(),
            is_scratch: false,
        }
    }
}

/// The resources of a load.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct SpeedOptions {
    /// The number of connections that write at the same time.
    pub jobs: usize,
    /// The number of threads that parse, route and encode; `None` for one per connection, up to one per
    /// processor.
    pub threads: Option<usize>,
    /// The memory for rows that wait to be sent, in bytes.
    pub memory: usize,
    /// The number of rows below which a leaf's last rows are sent through the root, together with rows of
    /// other leaves. `None` to measure it: as many rows as the server routes in the time of an empty COPY.
    pub few_rows: Option<usize>,
    /// Whether rows are sent in binary if every column has a codec; otherwise all are sent as text.
    pub binary: bool,
    /// Whether pgsluice finds the leaves of rows; otherwise the server routes every row.
    pub native: bool,
}

impl Default for SpeedOptions {
    fn default() -> Self {
        Self {
            jobs: default_jobs(),
            threads: None,
            memory: DEFAULT_MEMORY,
            few_rows: None,
            binary: true,
            native: true,
        }
    }
}

/// The safety measures of a load.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct SafetyOptions {
    /// Whether the routing of some keys is compared with the server before rows are sent.
    pub self_test: bool,
    /// The leaves for which new tables are built and swapped in, if any.
    pub exchange: Option<ExchangeMode>,
    /// Whether the load is all or nothing: all rows are committed in one transaction.
    pub atomic: bool,
    /// The time for retrying the swap of an exchange, or the commit of several transactions at once, while
    /// other sessions hold locks.
    pub swap_patience: Duration,
    /// The maximum time to wait for a lock of another session; `None` to wait forever.
    pub lock_timeout: Option<Duration>,
    /// The maximum lag of replicas and the archiver, beyond which the load pauses; `None` for no limit.
    pub max_lag: Option<MaxLag>,
    /// The place for rows that the server rejects; `None` if the first such row ends the load.
    pub rejects: Option<Rejects>,
    /// The load's id in the ledger; a load with an existing id is resumed. `None` for a fresh id.
    pub load_id: Option<String>,
    /// The share of the load that these inputs are, if they are not the whole load.
    pub share: Option<ShareOptions>,
    /// The schema of the ledger in the target, with which the load can be resumed; `None` to keep no ledger.
    pub ledger: Option<String>,
    /// Whether input that another load has loaded into the table, or is loading, is an error.
    pub once: bool,
    /// Whether the sessions of another run of the load are ended. Otherwise that run makes this one fail.
    pub end_other: bool,
    /// Whether several writers share the load, each with its own participants.
    pub shared: bool,
}

impl Default for SafetyOptions {
    fn default() -> Self {
        Self {
            self_test: true,
            exchange: None,
            atomic: false,
            swap_patience: DEFAULT_SWAP_PATIENCE,
            lock_timeout: None,
            max_lag: None,
            rejects: None,
            load_id: None,
            share: None,
            ledger: Some(DEFAULT_LEDGER.to_owned()),
            once: false,
            end_other: false,
            shared: false,
        }
    }
}

/// The leaves that are exchanged, and the treatment of rows for other leaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExchangeMode {
    /// Empty leaves. Rows for other leaves are loaded as usual.
    Try,
    /// Empty leaves. A row for any other leaf ends the load.
    Require,
    /// Every leaf that the input has rows for, whose existing rows are removed. A row for a leaf that cannot
    /// be exchanged ends the load.
    Replace,
}

impl ExchangeMode {
    /// Whether a row for a leaf that cannot be exchanged ends the load.
    pub fn is_required(self) -> bool {
        self != Self::Try
    }
}

/// Options for rows that the server rejects. They are kept in their original form.
#[derive(Clone, Debug, PartialEq)]
pub struct Rejects {
    /// The place for the rows and the server's reasons.
    pub place: RejectPlace,
    /// The maximum number of rejected rows.
    pub max: MaxRejects,
}

/// A place for rejected rows.
#[derive(Clone, Debug, PartialEq)]
pub enum RejectPlace {
    /// A file; see [`log_of`] for the reasons.
    File(PathBuf),
    /// A table, written as in SQL. Rejected rows are committed in the same transaction as their neighbours.
    Table(String),
}

/// Returns the file with the reasons for a file of rejected rows: one line for each row, with a JSON object.
pub fn log_of(rejects: &Path) -> PathBuf {
    let mut name = rejects.as_os_str().to_owned();
    name.push(".log");
    name.into()
}

/// The number of rows that may be rejected before the load ends.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum MaxRejects {
    /// This many rows.
    Rows(u64),
    /// This percentage of the rows that were read.
    Percent(f64),
}

/// The maximum lag of followers of the server's WAL.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MaxLag {
    /// A number of bytes of WAL.
    Bytes(u64),
    /// A duration.
    Time(Duration),
}

/// The final destination of rows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Sink {
    /// The table.
    #[default]
    Copy,
    /// Nothing is sent, in order to measure the client alone.
    Null,
}

/// Returns the default number of connections: one for each processor, up to 8.
fn default_jobs() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from).min(8)
}

impl Job {
    /// Creates a job for a table, whose name is given in SQL syntax. It has no input yet.
    pub fn new(table: impl Into<String>) -> Self {
        let mut job = Self::default();
        job.target.table = table.into();
        job
    }

    /// Whether the load is recorded in a ledger.
    pub fn keeps_ledger(&self) -> bool {
        self.safety.ledger.is_some() && self.target.sink == Sink::Copy
    }
}
