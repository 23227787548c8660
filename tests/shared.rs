//! Writers that share a load: each advances the positions of the participants that it has opened in the
//! transaction of its rows. If several writers have opened a participant, only the last one may write.

use std::sync::Arc;

use pgsluice::writer::{Durability, Positions, RejectRows, Step, WriteExtras, Writer};
use pgsluice::{Control, Error, InputOptions, Job, Kind, Result, Target};

use crate::harness::{Scratch, Server, on_each_server};

on_each_server!([
    positions_move_with_the_rows,
    only_the_last_of_two_writers_of_a_participant_works,
    one_overtaken_participant_keeps_all_rows_back,
    positions_that_do_not_fit_are_refused,
    a_shared_load_and_one_of_its_own_are_not_mixed,
    rejected_rows_are_stored_with_the_others,
    keys_are_inserted_in_one_order,
]);

const TABLES: &str = "
CREATE TABLE t (id int PRIMARY KEY, v text) PARTITION BY HASH (id);
CREATE TABLE t_0 PARTITION OF t FOR VALUES WITH (MODULUS 2, REMAINDER 0);
CREATE TABLE t_1 PARTITION OF t FOR VALUES WITH (MODULUS 2, REMAINDER 1);
CREATE TABLE refused (\"offset\" int, value bytea, at timestamptz DEFAULT now())";

/// A table with writers of one load.
struct Case {
    scratch: Scratch,
    control: Arc<Control>,
}

impl Case {
    fn new(server: Server) -> Self {
        let scratch = server.scratch();
        scratch.session().run(TABLES);
        Self { scratch, control: Arc::default() }
    }

    fn job() -> Job {
        let mut job = Job::new("t");
        job.safety.load_id = Some("stream".to_owned());
        job.safety.shared = true;
        job
    }

    fn open(&self, job: Job) -> Result<Writer> {
        let target = Target::from_url(self.scratch.url()).expect("a target");
        Writer::open(job, target, Durability::Commit, &self.control)
    }

    /// Opens a writer for these participants.
    fn writer(&self, participants: &[&str]) -> Writer {
        let mut writer = self.open(Self::job()).expect("a writer");
        self.take(&mut writer, participants);
        writer
    }

    fn take(&self, writer: &mut Writer, participants: &[&str]) {
        let names: Vec<String> = participants.iter().map(|name| (*name).to_owned()).collect();
        writer.open_participants(&names, &self.control).expect("positions");
    }

    fn write(
        &self,
        writer: &mut Writer,
        ids: std::ops::Range<i32>,
        steps: &[Step<'_>],
    ) -> Result<u64> {
        let extras = WriteExtras { positions: Positions::Steps(steps), ..WriteExtras::default() };
        let written = writer.write_with(&rows(ids), &extras, &self.control);
        written.map(|receipt| receipt.counts.inserted)
    }

    fn value(&self, sql: &str) -> String {
        let rows = self.scratch.session().rows(sql);
        rows[0][0].clone().unwrap_or_default()
    }

    /// Returns the number of rows, and all positions.
    fn state(&self) -> String {
        self.value(
            "SELECT (SELECT count(*) FROM t) || ' ' || coalesce(string_agg(participant || '=' || \
             coalesce(position, ''), ' ' ORDER BY participant), '') FROM pgsluice.load \
             WHERE participant <> ''",
        )
    }
}

fn rows(ids: std::ops::Range<i32>) -> InputOptions {
    let texts: Vec<String> = ids.map(|id| id.to_string()).collect();
    InputOptions::from_rows(&["id"], texts.iter().map(|id| [Some(id.as_str())]))
}

fn step<'s>(participant: &'s str, from: Option<&'s str>, to: &'s str) -> Step<'s> {
    Step { participant, from, to }
}

#[track_caller]
fn overtaken(result: Result<u64>, participant: &str) {
    let error: Error = result.expect_err("overtaken");
    let message = format!("participant {participant} of load stream was taken over");
    assert!(error.message().starts_with(&message), "{error}");
    assert_eq!(error.sqlstate(), Some("55006"), "{error}");
}

/// A few rows go as arrays, many go by COPY.
fn positions_move_with_the_rows(server: Server) {
    let case = Case::new(server);
    let mut writer = case.writer(&["b", "a"]);
    assert_eq!(writer.position_of("a"), None);
    let both = [step("b", None, "7"), step("a", None, "3")];
    assert_eq!(case.write(&mut writer, 0..10, &both).expect("written"), 10);
    assert_eq!(case.state(), "10 a=3 b=7");
    let one = [step("a", Some("3"), "2003")];
    assert_eq!(case.write(&mut writer, 10..2010, &one).expect("written"), 2000);
    assert_eq!(case.state(), "2010 a=2003 b=7");
    // A gap has no rows.
    assert_eq!(case.write(&mut writer, 0..0, &[step("b", Some("7"), "9")]).expect("moved"), 0);
    writer.close(&case.control).expect("closed");
    let again = case.writer(&["a", "b", "c"]);
    let positions = ["a", "b", "c"].map(|name| again.position_of(name));
    assert_eq!(positions, [Some("2003"), Some("9"), None]);
    let rows = "SELECT sum(rows_read) || ' ' || sum(rows_inserted) FROM pgsluice.load";
    assert_eq!(case.value(rows), "2010 2010");
}

fn only_the_last_of_two_writers_of_a_participant_works(server: Server) {
    let case = Case::new(server);
    let mut stale = case.writer(&["a", "b"]);
    assert_eq!(case.write(&mut stale, 0..5, &[step("a", None, "5")]).expect("written"), 5);
    let mut last = case.writer(&["a"]);
    assert_eq!(last.position_of("a"), Some("5"));
    overtaken(case.write(&mut stale, 5..9, &[step("a", Some("5"), "9")]), "a");
    assert_eq!(case.state(), "5 a=5 b=");
    assert_eq!(case.write(&mut last, 5..8, &[step("a", Some("5"), "8")]).expect("written"), 3);
    // The writer still owns the other participant.
    assert_eq!(case.write(&mut stale, 20..21, &[step("b", None, "1")]).expect("written"), 1);
    // It may open the participant again.
    case.take(&mut stale, &["a"]);
    assert_eq!(stale.position_of("a"), Some("8"));
    overtaken(case.write(&mut last, 8..9, &[step("a", Some("8"), "9")]), "a");
    assert_eq!(case.state(), "9 a=8 b=1");
}

fn one_overtaken_participant_keeps_all_rows_back(server: Server) {
    let case = Case::new(server);
    let mut stale = case.writer(&["a", "b", "c"]);
    let _last = case.writer(&["b"]);
    for ids in [0..5, 0..3000] {
        let steps = ["a", "b", "c"].map(|name| step(name, None, "5"));
        overtaken(case.write(&mut stale, ids, &steps), "b");
        assert_eq!(case.state(), "0 a= b= c=");
    }
    // A writer that lost its session does not open participants of others.
    case.scratch.session().run(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity \
         WHERE datname = current_database() AND pid <> pg_backend_pid()",
    );
    // The loss of the session may only be noticed by the first write.
    let mut write = || case.write(&mut stale, 0..5, &[step("a", None, "5")]);
    let is_lost = |error: &Error| error.kind() == Kind::Connection;
    let written = write();
    overtaken(if written.as_ref().is_err_and(is_lost) { write() } else { written }, "b");
    case.take(&mut stale, &["a"]);
    assert_eq!(case.write(&mut stale, 0..5, &[step("a", None, "5")]).expect("written"), 5);
}

fn positions_that_do_not_fit_are_refused(server: Server) {
    let case = Case::new(server);
    let mut writer = case.writer(&["a"]);
    for (steps, message) in [
        (vec![step("b", None, "1")], "participant b is not open in this Writer"),
        (vec![step("a", Some("1"), "2")], "participant a is at position none, not at 1"),
        (vec![], "a Writer that shares its load needs positions of participants"),
    ] {
        let error = case.write(&mut writer, 0..1, &steps).expect_err("refused");
        assert!(error.message().starts_with(message), "{error}");
        assert_eq!(error.kind(), Kind::Usage, "{error}");
    }
    // A position that was changed manually cannot be continued.
    case.scratch.session().run("UPDATE pgsluice.load SET position = '4' WHERE participant = 'a'");
    overtaken(case.write(&mut writer, 0..1, &[step("a", None, "2")]), "a");
    assert_eq!(case.state(), "0 a=4");
}

fn a_shared_load_and_one_of_its_own_are_not_mixed(server: Server) {
    let case = Case::new(server);
    drop(case.writer(&["a"]));
    let mut own = Case::job();
    own.safety.shared = false;
    let error = case.open(own.clone()).err().expect("refused");
    assert!(error.message().contains("was opened with --shared"), "{error}");
    own.safety.load_id = Some("own".to_owned());
    let mut own = case.open(own).expect("a writer");
    assert_eq!(
        own.open_participants(&["a".into()], &case.control).err().unwrap().kind(),
        Kind::Usage
    );
    let mut unnamed = Case::job();
    unnamed.safety.load_id = None;
    assert_eq!(case.open(unnamed).err().expect("refused").kind(), Kind::Usage);
}

/// The rejected rows are stored in the same transaction, and their columns are read with the table's types.
fn rejected_rows_are_stored_with_the_others(server: Server) {
    let case = Case::new(server);
    let mut writer = case.writer(&["a"]);
    let columns = ["offset", "value"].map(str::to_owned);
    let mut put = |table: &str, ids: std::ops::Range<i32>, from: Option<&str>, to: &str| {
        let text = r#"[{"offset": 1, "value": "\\xff00"}, {"offset": 2, "value": null}]"#;
        let rejects = RejectRows { table, columns: &columns, rows: text };
        let steps = [step("a", from, to)];
        let extras = WriteExtras {
            positions: Positions::Steps(&steps),
            rejected: 2,
            rejects: Some(rejects),
        };
        writer.write_with(&rows(ids), &extras, &case.control)
    };
    let counts = put("refused", 0..4, None, "6").expect("written").counts;
    assert_eq!((counts.read, counts.inserted, counts.rejected), (6, 4, 2));
    let found = "SELECT string_agg(\"offset\" || ':' || coalesce(encode(value, 'hex'), '-'), ' ' \
                 ORDER BY \"offset\") FROM refused WHERE at IS NOT NULL";
    assert_eq!(case.value(found), "1:ff00 2:-");
    // Rejected rows alone advance the position too.
    put("public.refused", 0..0, Some("6"), "8").expect("written");
    assert_eq!(case.state(), "4 a=8");
    let error = put("nowhere", 9..10, Some("8"), "9").expect_err("no such table");
    assert_eq!(error.sqlstate(), Some("42P01"), "{error}");
    // A refused row keeps them out.
    assert_eq!(put("refused", 0..1, Some("8"), "9").expect_err("there").sqlstate(), Some("23505"));
    assert_eq!(
        (case.value("SELECT count(*) FROM refused"), case.state()),
        ("4".into(), "4 a=8".into())
    );
}

/// Two writers insert the same keys in opposite orders, often enough that a deadlock would be certain without
/// a common order.
fn keys_are_inserted_in_one_order(server: Server) {
    let case = Case::new(server);
    let deadlocks = "SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()";
    let before = case.value(deadlocks);
    std::thread::scope(|scope| {
        for (name, is_reversed) in [("a", false), ("b", true)] {
            let case = &case;
            scope.spawn(move || {
                let mut job = Case::job();
                job.changes.on_conflict = pgsluice::job::OnConflict::Skip;
                job.changes.key = Some(vec!["id".to_owned()]);
                let mut writer = case.open(job).expect("a writer");
                case.take(&mut writer, &[name]);
                let mut from: Option<String> = None;
                for round in 0..20 {
                    let ids = round * 1500..(round + 1) * 1500;
                    let mut texts: Vec<String> = ids.map(|id| id.to_string()).collect();
                    if is_reversed {
                        texts.reverse();
                    }
                    let rows = InputOptions::from_rows(
                        &["id"],
                        texts.iter().map(|id| [Some(id.as_str())]),
                    );
                    let to = round.to_string();
                    let steps = [step(name, from.as_deref(), &to)];
                    let extras = WriteExtras {
                        positions: Positions::Steps(&steps),
                        ..WriteExtras::default()
                    };
                    writer.write_with(&rows, &extras, &Arc::default()).expect("written");
                    from = Some(to);
                }
            });
        }
    });
    assert_eq!(case.value("SELECT count(*) FROM t"), "30000");
    assert_eq!(case.value(deadlocks), before);
}
