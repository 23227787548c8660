//! Programs that use the library and are killed at each point of a transaction: a writer, which continues
//! from its position, and a relay, which stores all rows or no row.

use std::env;
use std::os::unix::process::ExitStatusExt;
use std::process::{Command, ExitStatus};
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures_util::SinkExt;
use pgsluice::core::format::Format;
use pgsluice::gather::relay::{Piece, Relay};
use pgsluice::job::InputOptions;
use pgsluice::source::Input;
use pgsluice::testing::failpoint::failpoint;
use pgsluice::writer::{Durability, Positions, Step, WriteExtras, Writer};
use pgsluice::{Control, Job, Target};
use tokio_postgres::{CopyInSink, NoTls, SimpleQueryMessage};

use crate::harness::{Bench, Server, on_each_server};

on_each_server!([
    a_writer_that_is_killed_continues_from_its_position,
    writers_of_participants_that_are_killed_continue_from_them,
    a_relay_that_is_killed_leaves_all_rows_or_none,
]);

/// The environment variable that passes the database to a child.
const DATABASE: &str = "PGSLUICE_TEST_CHILD";

/// The failpoints of one transaction.
const POINTS: [&str; 4] =
    ["payload::begun", "payload::sent", "payload::committing", "payload::committed"];

/// The number of rows of each call: a few rows go as arrays, many go by COPY.
const CALLS: [usize; 5] = [40, 1500, 7, 1100, 30];

const TABLE: &str = "
CREATE TABLE t (id int NOT NULL, v text) PARTITION BY HASH (id);
CREATE TABLE t_0 PARTITION OF t FOR VALUES WITH (MODULUS 2, REMAINDER 0);
CREATE TABLE t_1 PARTITION OF t FOR VALUES WITH (MODULUS 2, REMAINDER 1)";

fn a_writer_that_is_killed_continues_from_its_position(server: Server) {
    let bench = Bench::new(server);
    bench.session.run(TABLE);
    for point in POINTS {
        for count in 1..=3 {
            let at = format!("{point}:{count}");
            let killed = run("writes_a_stream", &bench.url, Some(&at));
            assert_eq!(killed.signal(), Some(9), "{at}");
            let rows: Vec<i64> = sums().collect();
            let before = bench.count("t") as i64;
            assert!(
                before == 0 || rows.contains(&before),
                "{at}: {before} rows are no whole calls"
            );
            assert!(run("writes_a_stream", &bench.url, None).success(), "{at}");
            check_rows(&bench, &at);
            bench.session.run("TRUNCATE t; DELETE FROM pgsluice.load");
        }
    }
}

fn writers_of_participants_that_are_killed_continue_from_them(server: Server) {
    let bench = Bench::new(server);
    bench.session.run(TABLE);
    for point in POINTS {
        for count in 1..=3 {
            let at = format!("{point}:{count}");
            let killed = run("moves_participants", &bench.url, Some(&at));
            assert_eq!(killed.signal(), Some(9), "{at}");
            // The rows in the table and the recorded positions belong to the same calls.
            let positions = "SELECT coalesce(sum(position::int), 0) FROM pgsluice.load \
                             WHERE participant <> ''";
            assert_eq!(bench.value(positions), bench.count("t").to_string(), "{at}");
            assert!(run("moves_participants", &bench.url, None).success(), "{at}");
            check_rows(&bench, &at);
            bench.session.run("TRUNCATE t; DELETE FROM pgsluice.load");
        }
    }
}

fn a_relay_that_is_killed_leaves_all_rows_or_none(server: Server) {
    let bench = Bench::new(server);
    bench.session.run(TABLE);
    for point in POINTS {
        let killed = run("relays_rows", &bench.url, Some(point));
        assert_eq!(killed.signal(), Some(9), "{point}");
        match point {
            "payload::committed" => check_rows(&bench, point),
            _ => assert_eq!(bench.count("t"), 0, "{point}"),
        }
        bench.session.run("TRUNCATE t");
    }
    assert!(run("relays_rows", &bench.url, None).success());
    check_rows(&bench, "not killed");
}

/// Checks that each row is in the table once, in the correct leaf.
#[track_caller]
fn check_rows(bench: &Bench, at: &str) {
    let (rows, ids) = (bench.count("t"), bench.value("SELECT count(DISTINCT id) FROM t"));
    let all: usize = CALLS.iter().sum();
    assert_eq!((rows as usize, ids), (all, all.to_string()), "{at}");
}

/// Returns the total number of rows after each call.
fn sums() -> impl Iterator<Item = i64> {
    CALLS.iter().scan(0, |sum, rows| {
        *sum += *rows as i64;
        Some(*sum)
    })
}

/// Runs a child, which is killed at `point` if given.
fn run(child: &str, url: &str, point: Option<&str>) -> ExitStatus {
    let mut command = Command::new(env::current_exe().expect("this program"));
    let child = format!("chaos::writers::{child}");
    command.args(["--exact", &child, "--ignored", "-q"]).env(DATABASE, url);
    command.envs(point.map(|point| ("PGSLUICE_FAILPOINT", point)));
    command.output().expect("a child").status
}

fn target() -> (String, Target) {
    let url = env::var(DATABASE).expect("run by another test");
    let target = Target::from_url(&url).expect("a target");
    (url, target)
}

/// Returns rows numbered from `before` on.
fn rows(before: usize, rows: usize) -> InputOptions {
    let lines = (before..before + rows).map(|id| format!("{id},{}\n", "x".repeat(id % 50)));
    let bytes = lines.collect::<String>().into_bytes();
    let mut input = Job::new("t").input;
    input.files = Input::from_bytes("rows", Arc::from(bytes)).into();
    input.format = Format::csv();
    input
}

/// A child that writes a stream from the position that the ledger has recorded.
#[test]
#[ignore = "run as a child by a_writer_that_is_killed_continues_from_its_position"]
fn writes_a_stream() {
    let (_, target) = target();
    let control = Arc::<Control>::default();
    let mut job = Job::new("t");
    job.safety.load_id = Some("stream".to_owned());
    let mut writer =
        Writer::open(job, target, Durability::Commit, &control).expect("the writer opens");
    let position = writer.position().map_or(0, |position| position.parse().expect("a number"));
    for (call, end) in CALLS.into_iter().zip(sums()).filter(|(_, end)| *end > position) {
        let input = rows(end as usize - call, call);
        let end = end.to_string();
        writer.write(&input, Some(&end), 0, &control).expect("the rows are written");
    }
}

/// A child that writes the rows of two participants from the positions that the ledger has recorded. The
/// first half of each call's rows belongs to one participant, the second half to the other.
#[test]
#[ignore = "run as a child by writers_of_participants_that_are_killed_continue_from_them"]
fn moves_participants() {
    let (_, target) = target();
    let control = Arc::<Control>::default();
    let mut job = Job::new("t");
    job.safety.load_id = Some("stream".to_owned());
    job.safety.shared = true;
    let mut writer =
        Writer::open(job, target, Durability::Commit, &control).expect("the writer opens");
    let names = ["first", "second"].map(str::to_owned);
    writer.open_participants(&names, &control).expect("the participants open");
    let position = |writer: &Writer, name: &str| {
        writer.position_of(name).map_or(0, |position| position.parse::<usize>().expect("a number"))
    };
    let done: usize = names.iter().map(|name| position(&writer, name)).sum();
    for (call, end) in CALLS.into_iter().zip(sums()).filter(|(_, it)| *it > done as i64) {
        let before = names.each_ref().map(|name| position(&writer, name));
        let behind_both =
            [(before[0] + call / 2).to_string(), (before[1] + call - call / 2).to_string()];
        let from = before.map(|position| position.to_string());
        let steps = [0, 1].map(|place| Step {
            participant: &names[place],
            from: writer.position_of(&names[place]).map(|_| from[place].as_str()),
            to: &behind_both[place],
        });
        let extras = WriteExtras { positions: Positions::Steps(&steps), ..WriteExtras::default() };
        let input = rows(end as usize - call, call);
        writer.write_with(&input, &extras, &control).expect("the rows are written");
    }
}

/// A child that sends all rows in one transaction on its own connection.
#[test]
#[ignore = "run as a child by a_relay_that_is_killed_leaves_all_rows_or_none"]
fn relays_rows() {
    let (url, target) = target();
    let mut job = Job::new("t");
    job.input = rows(0, CALLS.iter().sum());
    let mut relay = Relay::begin(&job, &target, &Arc::default()).expect("the relay begins");
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    runtime.expect("a runtime").block_on(async {
        let (client, connection) =
            tokio_postgres::connect(&url, NoTls).await.expect("a connection");
        tokio::spawn(connection);
        client.batch_execute("BEGIN").await.expect("a transaction");
        let mut answer = None;
        for question in relay.questions() {
            let rows = client.simple_query(&question).await.expect("an answer");
            answer = rows.iter().find_map(|message| match message {
                SimpleQueryMessage::Row(row) => row.get(0).map(str::to_owned),
                _ => None,
            });
        }
        relay.check(answer.as_deref()).expect("the same table");
        let mut sink: Option<std::pin::Pin<Box<CopyInSink<Bytes>>>> = None;
        loop {
            match relay.next(Duration::from_secs(60)).expect("a piece").expect("in time") {
                Piece::Begin(copy) => {
                    let begun = client.copy_in(&copy.statement).await.expect("COPY begins");
                    sink = Some(Box::pin(begun));
                }
                Piece::Rows(bytes) => {
                    let sink = sink.as_mut().expect("COPY has begun");
                    sink.send(bytes.into()).await.expect("the rows are sent");
                }
                Piece::End => {
                    let mut sink = sink.take().expect("COPY has begun");
                    sink.as_mut().finish().await.expect("COPY ends");
                }
                Piece::Done => break,
            }
        }
        client.batch_execute("COMMIT").await.expect("the rows are committed");
        failpoint("payload::committed");
    });
}
