//! An ordeal: loads that are struck, resumed by another command and struck again, until they come to
//! their end; and then looked at.

use std::os::unix::process::ExitStatusExt;
use std::time::{Duration, Instant};

use super::{Bench, Chance, Ended, Running, size};

/// What is loaded, and what must have come of it.
pub(crate) trait Subject {
    fn bench(&mut self) -> &mut Bench;

    /// Takes away what a load has left.
    fn begin_anew(&self);

    /// A load into the server of `url`.
    fn start(&self, url: &str, id: &str, options: &[String]) -> Running;

    /// Holds what a load that has come to its end has left against what it should have. The rows that
    /// runs before its last had left in the table.
    fn check(&self, ended: &Ended) -> u64;

    /// Rows of the input.
    fn rows(&self) -> u64;

    /// Rows of the table before a load, and after it.
    fn in_table(&self) -> [u64; 2];
}

/// What has become of a run of a load.
pub(crate) enum Blow {
    /// It came to its end before.
    Missed(Ended),
    /// It is over, and to be resumed.
    Hit,
    /// It went on by itself, and came to its end.
    Borne(Ended),
}

/// What happened.
#[derive(Debug, Default)]
pub(crate) struct Story {
    pub(crate) loads: usize,
    pub(crate) blows: usize,
    /// Of these, when no row was in the table, and when all were.
    early: usize,
    late: usize,
    /// Loads that went on by themselves.
    borne: usize,
    /// Loads that found some of their rows in the table.
    pub(crate) resumed: usize,
}

/// Loads of a subject.
pub(crate) struct Ordeal<S> {
    pub(crate) subject: S,
    pub(crate) chance: Chance,
    /// How the loads come to the server.
    pub(crate) url: String,
    /// How long a load takes that is not struck.
    pub(crate) whole: Duration,
    /// Options of all loads.
    fixed: Vec<String>,
}

impl<S: Subject> Ordeal<S> {
    pub(crate) fn new(mut subject: S, chance: Chance, url: &str, fixed: &[&str]) -> Self {
        let fixed: Vec<String> = fixed.iter().map(|&option| option.to_owned()).collect();
        subject.begin_anew();
        let began = Instant::now();
        let ended = subject.start(url, "whole", &fixed).ended_within(size().patience);
        let whole = began.elapsed();
        subject.check(&ended);
        is_in_the_ledger(subject.bench(), "whole");
        Self { subject, chance, url: url.to_owned(), whole, fixed }
    }

    /// Lets loads be struck until `blows` blows have hit.
    pub(crate) fn endure(
        &mut self,
        blows: usize,
        mut strike: impl FnMut(&mut Self, &str) -> Blow,
    ) -> Story {
        let mut story = Story::default();
        while story.blows < blows {
            assert!(story.loads < 20 * blows, "hardly any blow hits: {story:?}");
            story.loads += 1;
            self.subject.begin_anew();
            let id = format!("load {}", story.loads);
            let mut is_late = false;
            let ended = loop {
                if story.blows == blows || is_late {
                    break self.start(&id, &[]).ended_within(size().patience);
                }
                match strike(self, &id) {
                    Blow::Missed(ended) => break ended,
                    Blow::Hit => is_late = self.note(&mut story),
                    Blow::Borne(ended) => {
                        story.blows += 1;
                        story.borne += 1;
                        break ended;
                    }
                }
            };
            eprintln!("{story:?}");
            let before = self.subject.check(&ended);
            story.resumed += usize::from(0 < before && before < self.subject.rows());
            is_in_the_ledger(self.subject.bench(), &id);
            // What is in is not loaded again, and no file is touched.
            let again = self.start(&id, &[]).ended_within(size().patience);
            let summary = again.summary();
            let (read, in_before) = (&summary["rows_read"], &summary["rows_already_loaded"]);
            assert_eq!(*read, self.subject.rows(), "{summary}");
            assert_eq!(summary["rows_loaded"], 0, "{summary}");
            assert!(in_before.as_u64() > Some(0), "{summary}");
        }
        story
    }

    /// A run of the load `id`, with other options for speed than the one before.
    pub(crate) fn start(&mut self, id: &str, more: &[&str]) -> Running {
        let chance = &mut self.chance;
        let mut options = self.fixed.clone();
        options.extend(more.iter().map(|&option| option.to_owned()));
        options.push(format!("--jobs={}", 1 + chance.below(4)));
        options.push(format!("--memory={}", chance.one_of(&["1MiB", "1MiB", "2MiB", "64MiB"])));
        options.extend(chance.is_one_in(3).then(|| "--wire=text".to_owned()));
        options.extend(chance.is_one_in(3).then(|| "--few-rows=1000".to_owned()));
        options.extend(chance.is_one_in(3).then(|| format!("--threads={}", 1 + chance.below(3))));
        self.subject.start(&self.url, id, &options)
    }

    /// Notes a blow; true if there was not much left to be hit.
    fn note(&mut self, story: &mut Story) -> bool {
        let [before, after] = self.subject.in_table();
        let found = self.subject.bench().count("t");
        story.blows += 1;
        story.early += usize::from(found == before);
        story.late += usize::from(found == after);
        found == after
    }
}

/// Kills a load: at any moment, or once some of its rows are in the table. On a busy machine most moments
/// are too early.
pub(crate) fn kill<S: Subject>(ordeal: &mut Ordeal<S>, id: &str) -> Blow {
    let load = ordeal.start(id, &[]);
    let Ordeal { subject, chance, whole, .. } = ordeal;
    let ended = if chance.is_one_in(2) {
        load.kill_after(chance.moment(*whole))
    } else {
        let [before, after] = subject.in_table();
        let some = before + 1 + chance.below((after - before) as usize) as u64;
        load.kill_when(|| subject.bench().count("t") >= some)
    };
    match ended.status.signal() {
        Some(9) => Blow::Hit,
        _ => Blow::Missed(ended),
    }
}

impl Story {
    /// For people.
    pub(crate) fn tell(&self, what: &str, rows: u64) {
        let Self { loads, blows, early, late, borne, resumed } = self;
        let rows = grouped(rows as usize);
        eprintln!(
            "{blows} {what} in {loads} loads of {rows} rows: identical every time. {early} came before \
             the first row was in, {late} after the last; {borne} loads went on by themselves, {resumed} \
             were resumed in the middle."
        );
    }
}

fn is_in_the_ledger(bench: &Bench, id: &str) {
    let state = bench.value(&format!("SELECT state FROM pgsluice.load WHERE id = '{id}'"));
    assert_eq!(state, "finished", "{id}");
}

/// A number as people write it.
pub(crate) fn grouped(number: usize) -> String {
    let digits = number.to_string();
    let groups = digits.as_bytes().rchunks(3).rev().map(String::from_utf8_lossy);
    groups.collect::<Vec<_>>().join(",")
}
