//! The columns of random tables, with their possible values.

use crate::harness::Chance;

/// A column of a random table.
#[derive(Clone, Copy)]
pub(super) struct Column {
    pub(super) name: &'static str,
    pub(super) ty: &'static str,
    /// Returns the value with this number in one of its spellings; the first spelling is for people.
    pub(super) spell: fn(usize, &mut dyn FnMut(usize) -> usize) -> String,
}

impl Column {
    /// Returns one of the first `many` values.
    pub(super) fn value(&self, chance: &mut Chance, many: usize) -> String {
        let value = chance.below(many);
        (self.spell)(value, &mut |end| chance.below(end))
    }

    /// Returns a value as a literal.
    pub(super) fn literal(&self, value: usize) -> String {
        format!("'{}'", (self.spell)(value, &mut |_| 0))
    }
}

/// Columns that a key can have.
pub(super) const KEYS: [Column; 12] = [
    Column {
        name: "k",
        ty: "int",
        spell: |n, any| match any(4) {
            0 | 1 => n.to_string(),
            2 => format!(" {n}"),
            _ => format!("+0{n}"),
        },
    },
    Column { name: "Key two", ty: "bigint", spell: |n, _| (n as i64 * 9_000_000_007).to_string() },
    Column {
        name: "name",
        ty: "text COLLATE \"C\"",
        spell: |n, _| match n {
            0 => String::new(),
            1 => "A".to_owned(),
            2 => " x\"".to_owned(),
            n => format!("é long enough {n:05}"),
        },
    },
    Column {
        name: "number",
        ty: "numeric",
        spell: |n, any| match any(4) {
            0 => n.to_string(),
            1 => format!("{n}.0"),
            2 => format!("{n}.00"),
            _ => format!("{n}0e-1"),
        },
    },
    Column {
        name: "moment",
        ty: "timestamptz",
        spell: |n, any| {
            let (day, hour, minute) = (1 + n / 1200, n / 60 % 20, n % 60);
            match any(3) {
                0 => format!("2024-01-{day:02} {hour:02}:{minute:02}:00+00"),
                1 => format!("2024-01-{day:02} {:02}:{minute:02}:00+01", hour + 1),
                _ => format!("Jan {day} 2024 {hour:02}:{minute:02} UTC"),
            }
        },
    },
    Column {
        name: "id",
        ty: "uuid",
        spell: |n, any| match any(3) {
            0 => format!("{n:08x}-0000-0000-0000-00000000abcd"),
            1 => format!("{n:08X}-0000-0000-0000-00000000ABCD"),
            _ => format!("{{{n:08x}00000000000000000000abcd}}"),
        },
    },
    Column {
        name: "day",
        ty: "date",
        spell: |n, any| {
            let (year, month, day) = (2000 + n / 336, 1 + n / 28 % 12, 1 + n % 28);
            match any(3) {
                0 => format!("{year}-{month:02}-{day:02}"),
                1 => format!("{year}{month:02}{day:02}"),
                _ => format!("{year}/{month}/{day}"),
            }
        },
    },
    Column {
        name: "yes",
        ty: "boolean",
        spell: |n, any| [["f", "no", "0"], ["t", "true", "1"]][n % 2][any(3)].to_owned(),
    },
    Column {
        name: "padded",
        ty: "char(8)",
        spell: |n, any| {
            let text = match n {
                0 => String::new(),
                1 => "A".to_owned(),
                2 => "a".to_owned(),
                n => format!("p{n:05}"),
            };
            text + ["", " ", "  "][any(3)]
        },
    },
    Column {
        name: "float",
        ty: "float8",
        spell: |n, any| match (n, any(3)) {
            (0, 1) => "-0".to_owned(),
            (1, _) => "NaN".to_owned(),
            (n, 1) => format!("{n}.0"),
            (n, 2) => format!("{n}e0"),
            (n, _) => n.to_string(),
        },
    },
    Column {
        name: "texts",
        ty: "text[]",
        spell: |n, any| match (n % 3, any(2)) {
            (0, 0) => format!("{{a,{n}}}"),
            (0, _) => format!("{{\"a\", {n}}}"),
            (1, _) => format!("{{A,{}}}", n - 1),
            (_, 0) => format!("{{NULL,é{n}}}"),
            (..) => format!("{{null,\"é{n}\"}}"),
        },
    },
    CASELESS,
];

/// A column that ignores case, for servers with ICU.
pub(super) const CASELESS: Column = Column {
    name: "word",
    ty: "text COLLATE public.ci",
    spell: |n, _| if n % 2 == 0 { format!("w{}", n / 2) } else { format!("W{}", n / 2) },
};

/// Other columns of a table. Some of their values are equal, but stored differently.
pub(super) const VALUES: [Column; 3] = [
    Column { name: "v", ty: "numeric", spell: |n, any| format!("{}{}", n % 3, ["", ".0"][any(2)]) },
    Column { name: "w", ty: "text", spell: |n, _| ["a", "b", "c"][n % 3].to_owned() },
    Column {
        name: "j",
        ty: "jsonb",
        spell: |n, any| ["{\"a\": 1}", "{\"a\": 1.0}", "[]"][(n + any(2)) % 3].to_owned(),
    },
];

/// Columns for `--newer`.
pub(super) const NEWER: [Column; 3] = [
    Column { name: "newest", ty: "int", spell: |n, _| (n % 4).to_string() },
    Column { name: "newest", ty: "timestamptz", spell: |n, any| (KEYS[4].spell)(n % 4, any) },
    Column { name: "newest", ty: "numeric", spell: |n, any| (KEYS[3].spell)(n % 4, any) },
];

/// Columns for `--delete-when`.
pub(super) const FLAGS: [Column; 2] = [
    Column { name: "gone", ty: "boolean", spell: |n, any| (KEYS[7].spell)(n, any) },
    Column { name: "gone", ty: "timestamptz", spell: |n, any| (KEYS[4].spell)(n % 4, any) },
];
