//! The options of `load` and `plan` about speed and routing. `verify` does not have them, because it routes
//! rows by the server alone.

use clap::{Args, ValueEnum};
use pgsluice::job::{Job, Sink};
use serde::Deserialize;

use crate::options::{parse_size, size};
use crate::spec::listed;

#[derive(Args, Debug, Default, Deserialize)]
#[command(next_help_heading = "Speed")]
#[serde(default)]
pub(crate) struct SpeedArgs {
    /// Number of connections that write [default: one for each processor, at most 8]
    #[arg(short, long, value_name = "N")]
    jobs: Option<usize>,
    /// Memory for rows that wait to be sent: 64MB, 2GiB (both powers of two) [default: 512MiB]
    #[arg(long, value_name = "SIZE", value_parser = parse_size)]
    #[serde(deserialize_with = "size")]
    memory: Option<usize>,
    /// Rows of a leaf below which they share a COPY with other leaves; 0: never
    #[arg(long, value_name = "N", hide = true)]
    #[serde(skip)]
    few_rows: Option<usize>,
    /// Format in which rows are sent [default: binary if every column can be encoded, otherwise text]
    #[arg(long, value_name = "FORMAT")]
    #[serde(deserialize_with = "listed")]
    wire: Option<WireName>,
    /// Where rows go: copy, or null to time pgsluice alone
    #[arg(long, value_name = "SINK", hide = true)]
    #[serde(skip)]
    sink: Option<SinkName>,
    /// Number of threads that parse, route and encode
    #[arg(long, value_name = "N", hide = true)]
    #[serde(skip)]
    threads: Option<usize>,
    /// Let the server route every row, which is slower
    #[arg(long)]
    no_native: bool,
    /// Skip the check that compares the leaves of some keys with the server's before the load
    #[arg(long)]
    no_self_test: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum WireName {
    Binary,
    Text,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum SinkName {
    Copy,
    Null,
}

impl SpeedArgs {
    /// Sets the options of the job.
    pub(crate) fn set(&self, job: &mut Job) {
        job.target.sink = if self.sink == Some(SinkName::Null) { Sink::Null } else { Sink::Copy };
        let speed = &mut job.speed;
        speed.jobs = self.jobs.unwrap_or(speed.jobs);
        speed.memory = self.memory.unwrap_or(speed.memory);
        speed.few_rows = self.few_rows;
        speed.binary = self.wire != Some(WireName::Text);
        speed.threads = self.threads;
        speed.native = !self.no_native;
        job.safety.self_test = !self.no_self_test;
    }
}
