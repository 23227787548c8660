//! A random case: a table, its existing rows, an input, and the options of its load.

use super::columns::{CASELESS, Column, FLAGS, KEYS, NEWER, VALUES};
use super::table::{Parts, Table};
use crate::harness::{Cell, Chance, identifier};

/// Number of rows of a load that is killed: enough for many transactions.
const ROWS_TO_KILL: usize = 3_000;

/// The action for an input row whose key exists.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Action {
    Skip,
    Update,
    Delete,
}

/// The rule that decides which input row wins if several have the same key.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Rule {
    First,
    Last,
    /// The row with the greatest value of the column `newest`.
    Newest,
}

/// The format of the input rows.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    Csv,
    /// Objects of NDJSON. Some of them lack keys, which become NULL.
    Objects,
    /// Objects that must be refused: one of them lacks a key that an update would set and that other objects have.
    Refused,
}

pub(super) struct Case {
    pub(super) table: Table,
    pub(super) key: Vec<Column>,
    /// All columns of the table: the key, the values, `newest` and `gone`.
    pub(super) columns: Vec<Column>,
    /// Rows that exist before the load, with all columns.
    pub(super) before: Vec<Vec<Cell>>,
    /// The columns of the input.
    pub(super) input: Vec<Column>,
    pub(super) files: Vec<Vec<Vec<Cell>>>,
    pub(super) form: Form,
    /// The columns that an object may lack.
    pub(super) may_lack: Vec<&'static str>,
    pub(super) action: Action,
    pub(super) rule: Rule,
    /// The columns that an update sets.
    pub(super) set: Vec<Column>,
    pub(super) inserts: bool,
    /// Whether rows are deleted where `gone` is true.
    pub(super) delete_when: bool,
    /// Whether the table lacks this column. The input then calls it `flag`.
    pub(super) is_besides: bool,
    /// Options that decide the result.
    pub(super) meaning: Vec<String>,
    /// Options that affect only the speed.
    pub(super) speed: Vec<String>,
    pub(super) is_piped: bool,
    pub(super) is_killed: bool,
}

impl Case {
    pub(super) fn random(chance: &mut Chance, [knows_joined_nulls, has_icu]: [bool; 2]) -> Self {
        let is_killed = chance.is_one_in(5);
        let key = key(chance, is_killed, has_icu);
        let flag = chance.one_of(&FLAGS);
        let others = [VALUES[0], VALUES[1], VALUES[2], chance.one_of(&NEWER), flag];
        let columns: Vec<Column> = key.iter().chain(&others).copied().collect();
        // The reference finds keys with joined NULLs without an index.
        let may_join_nulls = knows_joined_nulls && !is_killed;
        let action = chance.one_of(&[
            Action::Skip,
            Action::Skip,
            Action::Update,
            Action::Update,
            Action::Update,
            Action::Delete,
        ]);
        let updates = action == Action::Update;
        let is_caseless = key.iter().any(|column| column.name == CASELESS.name);
        let has_others = action == Action::Skip && !is_caseless && chance.is_one_in(2);
        let may_have_twin = action != Action::Skip;
        let parts =
            Parts { key: &key, columns: &columns, may_join_nulls, has_others, may_have_twin };
        let table = parts.table(chance);
        let rule = match chance.below(4) {
            _ if has_others => Rule::First,
            0 if updates => Rule::Newest,
            1 => Rule::First,
            2 => Rule::Last,
            _ if updates => Rule::Last,
            _ => Rule::First,
        };
        let delete_when = updates && chance.is_one_in(3);
        let is_besides = delete_when && flag.ty == "boolean" && chance.is_one_in(2);
        let input = input(chance, &key, &others, [rule == Rule::Newest, delete_when]);
        let set = input.iter().filter(|column| others.iter().any(|it| it.name == column.name));
        let mut set: Vec<Column> =
            set.filter(|column| !(is_besides && column.name == "gone")).copied().collect();
        let names_set = updates && !set.is_empty() && chance.is_one_in(3);
        if names_set {
            shuffle(chance, &mut set);
            set.truncate(1 + chance.below(set.len()));
        }
        let mut case = Self {
            table,
            key,
            columns,
            before: Vec::new(),
            input,
            files: Vec::new(),
            form: Form::Csv,
            may_lack: Vec::new(),
            action,
            rule,
            set,
            inserts: action != Action::Delete && !(updates && chance.is_one_in(4)),
            delete_when,
            is_besides,
            meaning: Vec::new(),
            speed: Vec::new(),
            is_piped: !is_killed && chance.is_one_in(7),
            is_killed,
        };
        case.fill(chance);
        case.choose_form(chance, names_set);
        case.choose_meaning(chance, names_set);
        case.choose_speed(chance);
        case
    }

    /// Writes some cases as objects. If rows are updated, an object may lack only columns that `--update`
    /// names; otherwise the load is refused.
    fn choose_form(&mut self, chance: &mut Chance, names_set: bool) {
        if self.is_besides || !chance.is_one_in(3) {
            return;
        }
        let all = if names_set { &self.set } else { &self.input };
        let updates = self.action == Action::Update;
        let is_needed =
            |column: &Column| updates && !names_set || ["newest", "gone"].contains(&column.name);
        self.may_lack =
            all.iter().filter(|column| !is_needed(column)).map(|column| column.name).collect();
        let rows = self.files.iter().map(Vec::len).sum::<usize>();
        let may_refuse = updates && !names_set && !self.delete_when && !self.is_killed;
        self.form = match may_refuse && rows > 1 && !self.set.is_empty() && chance.is_one_in(4) {
            true => Form::Refused,
            false => Form::Objects,
        };
        if self.form == Form::Objects && self.files.len() > 1 && !self.may_lack.is_empty() {
            self.come_late(chance);
        }
    }

    /// Removes a column from all files but the last one that has rows.
    fn come_late(&mut self, chance: &mut Chance) {
        let key = |name: &str| self.key.iter().any(|column| column.name == name);
        let late = chance.one_of(&self.may_lack);
        let Some(last) = self.files.iter().rposition(|rows| !rows.is_empty()) else { return };
        let Some(place) = self.input.iter().position(|column| column.name == late) else { return };
        if !key(late) {
            self.files[..last].iter_mut().flatten().for_each(|row| row[place] = None);
        }
    }

    /// Fills in the rows.
    fn fill(&mut self, chance: &mut Chance) {
        let is_large = self.is_killed || chance.is_one_in(12);
        // Where several constraints count, the reference compares each row with all earlier ones.
        let large = if self.is_by_any() { ROWS_TO_KILL / 4 } else { ROWS_TO_KILL };
        let (max, before) = if is_large { (large, large / 2) } else { (60, 25) };
        let many = if is_large { 1 + chance.below(2_000) } else { 2 + chance.below(10) };
        let rows = if self.is_killed { max } else { chance.below(max + 1) };
        let cell = |column: &Column, chance: &mut Chance| {
            let nulls = match column.name {
                "gone" => 0.6,
                name if self.key.iter().any(|it| it.name == name) && self.table.is_primary => 0.0,
                _ => 0.08,
            };
            (chance.share() >= nulls).then(|| column.value(chance, many))
        };
        let mut row = |columns: &[Column]| columns.iter().map(|it| cell(it, chance)).collect();
        self.before = (0..before).map(|_| row(&self.columns)).collect();
        let rows: Vec<Vec<Cell>> = (0..rows).map(|_| row(&self.input)).collect();
        let mut cuts: Vec<usize> =
            (0..chance.below(3)).map(|_| chance.below(rows.len() + 1)).collect();
        cuts.extend([0, rows.len()]);
        cuts.sort_unstable();
        self.files = cuts.windows(2).map(|cut| rows[cut[0]..cut[1]].to_vec()).collect();
    }

    fn choose_meaning(&mut self, chance: &mut Chance, names_set: bool) {
        let action = match self.action {
            Action::Skip => "skip",
            Action::Update => "update",
            Action::Delete => "delete",
        };
        let mut given = self.input.clone();
        let flag = if self.is_besides { "flag" } else { "gone" };
        given.iter_mut().filter(|it| it.name == "gone").for_each(|column| column.name = flag);
        self.meaning = vec![format!("--on-conflict={action}")];
        self.meaning.push(match self.form {
            Form::Csv => format!("--columns={}", names(&given)),
            Form::Objects | Form::Refused => "--format=ndjson".to_owned(),
        });
        let needs_key = !self.table.is_primary && self.action != Action::Skip;
        if needs_key || !self.is_by_any() && chance.is_one_in(2) {
            let mut key = self.key.clone();
            shuffle(chance, &mut key);
            self.meaning.push(format!("--key={}", names(&key)));
        }
        if names_set {
            self.meaning.push(format!("--update={}", names(&self.set)));
        }
        if self.action == Action::Update && !self.inserts {
            self.meaning.push("--no-insert".to_owned());
        }
        if self.delete_when {
            self.meaning.push(format!("--delete-when={flag}"));
        }
        let by_itself = if self.action == Action::Update { Rule::Last } else { Rule::First };
        match self.rule {
            Rule::Newest => self.meaning.push("--newer=newest".to_owned()),
            rule if rule == by_itself && chance.is_one_in(2) => {}
            Rule::First => self.meaning.push("--duplicates=first".to_owned()),
            Rule::Last => self.meaning.push("--duplicates=last".to_owned()),
        }
    }

    fn choose_speed(&mut self, chance: &mut Chance) {
        let jobs = chance.one_of(&["-j1", "-j4"]);
        let memory = chance.one_of(&["--memory=1MiB", "--memory=64MiB"]);
        self.speed = vec![jobs.to_owned(), memory.to_owned()];
        self.speed.extend(chance.is_one_in(3).then(|| "--wire=text".to_owned()));
        if self.is_killed {
            // Without this, a small load would be one transaction.
            self.speed.push("--few-rows=0".to_owned());
        } else if chance.is_one_in(6) {
            self.speed.push("--atomic".to_owned());
        } else if chance.is_one_in(6) && self.form != Form::Refused {
            self.speed.extend(["--reject-file=bad", "--max-rejects=5"].map(str::to_owned));
        }
    }

    /// Whether a row is a duplicate if it violates any of several constraints.
    pub(super) fn is_by_any(&self) -> bool {
        !self.table.others.is_empty()
    }

    /// Returns the input columns that the table has.
    pub(super) fn known(&self) -> impl Iterator<Item = &Column> {
        self.input.iter().filter(|column| !(self.is_besides && column.name == "gone"))
    }
}

fn key(chance: &mut Chance, is_killed: bool, has_icu: bool) -> Vec<Column> {
    let mut key = KEYS.to_vec();
    key.retain(|column| has_icu || column.name != CASELESS.name);
    shuffle(chance, &mut key);
    key.truncate(1 + chance.below(3));
    if is_killed && key.iter().all(|column| column.ty == "boolean") {
        // There are only two keys.
        key.push(KEYS[0]);
    }
    key
}

/// Returns the columns of the input. Some are left out, unless they are needed.
fn input(
    chance: &mut Chance,
    key: &[Column],
    others: &[Column],
    [needs_newest, needs_flag]: [bool; 2],
) -> Vec<Column> {
    let mut input = key.to_vec();
    for column in others {
        let is_needed = match column.name {
            "newest" => needs_newest,
            "gone" => needs_flag,
            _ => false,
        };
        if is_needed || !chance.is_one_in(3) {
            input.push(*column);
        }
    }
    if chance.is_one_in(3) {
        shuffle(chance, &mut input);
    }
    input
}

fn shuffle<T>(chance: &mut Chance, all: &mut [T]) {
    for at in 1..all.len() {
        all.swap(at, chance.below(at + 1));
    }
}

/// Returns the names of columns as a list for SQL and for options.
pub(super) fn names<'a>(columns: impl IntoIterator<Item = &'a Column>) -> String {
    let names = columns.into_iter().map(|column| identifier(column.name));
    names.collect::<Vec<_>>().join(",")
}
