//! A job: what to load from where into which table, how fast, and how carefully. Every setting stands
//! here once, with its default and range; the command line and Python fill it in.

mod changes;
mod check;
mod fields;
mod held;
mod opened;
mod share;

use std::path::{Path, PathBuf};
use std::time::Duration;

use pgsluice_core::format::Format;

pub use self::changes::{ChangeOptions, Duplicates, OnConflict};
pub use self::fields::{Columns, FieldOptions};
pub use self::share::ShareOptions;

use crate::source::{ByName, Encoding, FileFormat, Header, InputNames, Inputs};

/// Memory for the rows that are waiting to be sent, in bytes.
pub const DEFAULT_MEMORY: usize = 512 << 20;

/// The least memory that a load can run in, in bytes.
pub const LEAST_MEMORY: usize = 1 << 20;

/// The most connections that a load opens.
pub const MOST_JOBS: usize = 256;

/// How long the swap of an exchange, or the commit of several transactions at once, is tried while others
/// hold locks.
pub const DEFAULT_SWAP_PATIENCE: Duration = Duration::from_secs(60);

/// The schema that a ledger is kept in.
pub const DEFAULT_LEDGER: &str = "pgsluice";

/// The most characters that the name of a load has.
pub const LONGEST_LOAD_ID: usize = 200;

/// The most partitions that a load makes unless told otherwise.
pub const DEFAULT_MAX_NEW_PARTITIONS: usize = 100;

/// How many rows of each input a plan reads.
pub const SAMPLE_ROWS: usize = 10_000;

/// About the bytes of each input after which a plan reads no more rows.
pub const SAMPLE_BYTES: usize = 64 << 20;

/// What to load, from where, into which table, and within which bounds.
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
    /// Where the rows come from.
    pub input: InputOptions,
    /// Where they go.
    pub target: TargetOptions,
    /// How they change what is there.
    pub changes: ChangeOptions,
    /// How fast, and with what.
    pub speed: SpeedOptions,
    /// How carefully.
    pub safety: SafetyOptions,
}

/// Where rows come from, and how they are written there.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct InputOptions {
    /// What is read, in this order.
    pub files: Inputs,
    /// What the files are.
    pub file_format: FileFormat,
    /// Whether the user gave the format. If so, the lines of an SQL dump are loaded as rows.
    pub is_format_given: bool,
    /// How rows are written; text as COPY has it by default, and of files that have no such rows.
    pub format: Format,
    /// What to do with the first row of each input.
    pub header: Header,
    /// In which encoding the inputs are.
    pub encoding: Encoding,
    /// The columns that the input has, in its order; None for all that can be written.
    pub columns: Option<Vec<String>>,
    /// How the names in a header lead to columns, with [`Header::Map`].
    pub by_name: ByName,
    /// Whether values that their columns cannot hold exactly are rounded, as the server rounds what it reads as text.
    /// Of formats that are text the server always rounds.
    pub round: bool,
    /// The names in the inputs, once they were read.
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

/// Where rows go.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct TargetOptions {
    /// The table's name as SQL takes it: perhaps qualified, perhaps quoted.
    pub table: String,
    /// Whether partitions that rows need and the table lacks are made before the load.
    pub create_partitions: bool,
    /// The width of new ranges: `month`, an interval, or a number; None for their siblings'.
    pub step: Option<String>,
    /// The most partitions that are made; a load that needs more is refused.
    pub max_new_partitions: usize,
    /// Where rows go in the end.
    pub sink: Sink,
    /// Whether the table is dropped if the load fails: its error says nothing of rows in it.
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

/// How fast a load may be, and with what.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct SpeedOptions {
    /// Connections that write at the same time.
    pub jobs: usize,
    /// Threads that parse, route and encode; None for one a connection, and a processor.
    pub threads: Option<usize>,
    /// Bytes for the rows that are waiting to be sent.
    pub memory: usize,
    /// A leaf's last rows, if fewer than this, travel with those of others through the root. None lets
    /// the loader measure it: as many as the server routes in the time of an empty COPY.
    pub few_rows: Option<usize>,
    /// Whether rows are sent in binary where every column has a codec; otherwise all go as they stand in
    /// the input.
    pub binary: bool,
    /// Whether leaves are found here at all; otherwise every row is left to the server.
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

/// How carefully a load is done.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct SafetyOptions {
    /// Whether the server is asked about some keys before rows are sent.
    pub self_test: bool,
    /// The leaves for which new tables are built and swapped in, if any.
    pub exchange: Option<ExchangeMode>,
    /// Whether all rows become visible together, or none does.
    pub atomic: bool,
    /// How long the swap of an exchange, and the commit of several transactions at once, are tried while
    /// others hold locks.
    pub swap_patience: Duration,
    /// How long a lock that others hold is waited for; None for ever.
    pub lock_timeout: Option<Duration>,
    /// How far replicas and the archiver may be behind before the load pauses; None for any.
    pub max_lag: Option<MaxLag>,
    /// Where the rows go that the server refuses; None if the first of them ends the load.
    pub rejects: Option<Rejects>,
    /// Names the load in the ledger; a load of that name is resumed. None for a fresh name.
    pub load_id: Option<String>,
    /// The share of the load that these inputs are, if they are not the whole load.
    pub share: Option<ShareOptions>,
    /// The schema of the target in which a ledger is kept, so that the load can be resumed; None for none.
    pub ledger: Option<String>,
    /// Refuse input that another load has loaded into the table, or is loading.
    pub once: bool,
    /// End the sessions of another run of the load, instead of leaving it alone.
    pub end_other: bool,
    /// Whether several writers share the load, each with participants of its own.
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

/// The leaves that an exchange takes, and the end of rows for others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExchangeMode {
    /// Empty leaves. Other leaves get their rows as usual.
    Try,
    /// Empty leaves. A row for another leaf ends the load.
    Require,
    /// Every leaf that the input has rows for, and the rows that it had are gone. A row for a leaf that
    /// cannot be exchanged ends the load.
    Replace,
}

impl ExchangeMode {
    /// Whether a row for a leaf that cannot be exchanged ends the load.
    pub fn is_required(self) -> bool {
        self != Self::Try
    }
}

/// Where the rows go that the server refuses, as they stand in the input.
#[derive(Clone, Debug, PartialEq)]
pub struct Rejects {
    /// Keeps the rows and the server's reasons.
    pub place: RejectPlace,
    /// How many there may be.
    pub most: Most,
}

/// Keeps rejected rows.
#[derive(Clone, Debug, PartialEq)]
pub enum RejectPlace {
    /// A file; see [`log_of`] for the reasons.
    File(PathBuf),
    /// A table, written as in SQL. It gets the rows in the transaction of the rows beside them.
    Table(String),
}

/// Returns the file that takes the reasons of a file of rejected rows, one JSON object in a line for each row.
pub fn log_of(rejects: &Path) -> PathBuf {
    let mut name = rejects.as_os_str().to_owned();
    name.push(".log");
    name.into()
}

/// How many rows may be rejected before the load ends.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Most {
    /// This many rows.
    Rows(u64),
    /// This share of the rows that are read, in percent.
    Percent(f64),
}

/// How far what follows the server's WAL may be behind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MaxLag {
    /// This many bytes of WAL.
    Bytes(u64),
    /// This long.
    Time(Duration),
}

/// Where rows go in the end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Sink {
    /// Into the table.
    #[default]
    Copy,
    /// Nowhere: what is measured is the client alone.
    Null,
}

/// Connections that a load opens unless told otherwise: one for each processor, up to 8.
fn default_jobs() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from).min(8)
}

impl Job {
    /// A job for a table, whose name is given as SQL takes it. It has no input yet.
    pub fn new(table: impl Into<String>) -> Self {
        let mut job = Self::default();
        job.target.table = table.into();
        job
    }

    /// Whether there is anything that a ledger could be kept of.
    pub fn keeps_ledger(&self) -> bool {
        self.safety.ledger.is_some() && self.target.sink == Sink::Copy
    }
}
