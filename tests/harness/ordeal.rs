//! An ordeal: loads that are struck, resumed with other options and struck again until they finish. Then
//! their results are checked.

use std::os::unix::process::ExitStatusExt;
use std::time::{Duration, Instant};

use super::{Bench, Chance, Ended, Running, size};

/// The input of a load, and the expected result.
pub(crate) trait Subject {
    fn bench(&mut self) -> &mut Bench;

    /// Removes the results of a load.
    fn begin_anew(&self);

    /// Starts a load into the server of `url`.
    fn start(&self, url: &str, id: &str, options: &[String]) -> Running;

    /// Compares the result of a finished load with the expected one. Returns the number of rows that runs
    /// before the last one had stored.
    fn check(&self, ended: &Ended) -> u64;

    /// Returns the number of rows of the input.
    fn rows(&self) -> u64;

    /// Returns the number of rows of the table before and after a load.
    fn in_table(&self) -> [u64; 2];
}

/// The effect of a strike on a run.
pub(crate) enum Blow {
    /// The run finished before it was struck.
    Missed(Ended),
    /// The run ended, and must be resumed.
    Hit,
    /// The run recovered by itself, and finished.
    Borne(Ended),
}

/// Counts of the events of an ordeal.
#[derive(Debug, Default)]
pub(crate) struct Story {
    pub(crate) loads: usize,
    pub(crate) blows: usize,
    /// Strikes when no row was in the table, and when all rows were.
    early: usize,
    late: usize,
    /// Number of loads that recovered by themselves.
    borne: usize,
    /// Number of loads that found some of their rows in the table.
    pub(crate) resumed: usize,
}

/// Loads of a subject that are struck.
pub(crate) struct Ordeal<S> {
    pub(crate) subject: S,
    pub(crate) chance: Chance,
    /// The URL that the loads use.
    pub(crate) url: String,
    /// Duration of a load that is not struck.
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

    /// Strikes loads until `blows` strikes have hit.
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
            // Committed rows are not loaded again, and no file changes.
            let again = self.start(&id, &[]).ended_within(size().patience);
            let summary = again.summary();
            let (read, in_before) = (&summary["rows_read"], &summary["rows_already_loaded"]);
            assert_eq!(*read, self.subject.rows(), "{summary}");
            assert_eq!(summary["rows_loaded"], 0, "{summary}");
            assert!(in_before.as_u64() > Some(0), "{summary}");
        }
        story
    }

    /// Starts a run of the load `id`, with other performance options than the previous run.
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

    /// Records a strike. Returns true if only a little was left to be hit.
    fn note(&mut self, story: &mut Story) -> bool {
        let [before, after] = self.subject.in_table();
        let found = self.subject.bench().count("t");
        story.blows += 1;
        story.early += usize::from(found == before);
        story.late += usize::from(found == after);
        found == after
    }
}

/// Kills a load at a random moment, or once some of its rows are in the table. On a busy machine most random
/// moments are too early.
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
    /// Prints a summary.
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

/// Returns a number with digits grouped for people.
pub(crate) fn grouped(number: usize) -> String {
    let digits = number.to_string();
    let groups = digits.as_bytes().rchunks(3).rev().map(String::from_utf8_lossy);
    groups.collect::<Vec<_>>().join(",")
}
