//! Strings of all kinds, and labels.

use super::{Kind, ascii, asked, native, ordered};

const AWKWARD: &[&str] = &["B", "a,b", "a\"b", "a\nb", "a\\b", "b\tc", "\\N"];

pub(super) const KINDS: &[Kind] = &[
    Kind {
        sql: "text COLLATE \"C\"",
        plain: native("@", &["", " ", "A", "Z", "a", "a b", "ab", "é", "日本"]),
        others: AWKWARD,
        odd: &["é\u{301}", "NULL", "'", "\u{1}"],
        unread: &[],
        forms: &[
            ascii("lower(@)", &["", " ", "a", "ab", "b", "z"]),
            ascii("upper(@)", &["", "A", "AB", "B", "Z"]),
            native("left(@, 1)", &["", " ", "A", "a", "b", "é"]),
            native("coalesce(@, 'none')", &["A", "a", "ab", "none", "é"]),
            asked("(@ || 'x')", &[" x", "Ax", "ax", "bx", "x"]),
            asked("md5(@)", MD5),
        ],
    },
    Kind {
        sql: "varchar(12) COLLATE \"C\"",
        plain: native("@", &["", " ", "A", "Z", "a", "a b", "ab", "é", "日本"]),
        others: AWKWARD,
        odd: &["a           ", "ab            ", "日本            "],
        unread: &[],
        forms: &[
            native("substr(@, 2, 1)", &["", " ", "b", "本"]),
            asked("length(@)", &["0", "1", "2", "3", "12"]),
        ],
    },
    Kind {
        // PostgreSQL writes it with its padding.
        sql: "char(8) COLLATE \"C\"",
        plain: native(
            "@",
            &[
                "        ",
                "A       ",
                "Z       ",
                "a       ",
                "a b     ",
                "ab      ",
                "é       ",
                "日本      ",
            ],
        ),
        others: &["B       ", "a,b     ", "a\"b     ", "a\nb     ", "a\\b     "],
        odd: &["a", "ab ", "a b            ", "é  ", "日本"],
        unread: &[],
        forms: &[asked("length(@)", &["0", "1", "2", "3"])],
    },
    Kind {
        // Digits and letters of one case ascend in any collation.
        sql: "text COLLATE public.words",
        plain: ordered("@", &["1", "2", "a", "b", "c", "m", "z"]),
        others: AWKWARD,
        odd: &["é\u{301}", "NULL", "'", "\u{1}"],
        unread: &[],
        forms: &[
            ordered("left(@, 1)", &["1", "a", "b", "m"]),
            asked("upper(@)", &["1", "A", "B", "M"]),
        ],
    },
    Kind {
        sql: "name",
        plain: native("@", &["", " ", "A", "a", "ab", "é"]),
        others: AWKWARD,
        odd: &["a                                                                         b"],
        unread: &[],
        forms: &[],
    },
    Kind {
        sql: "\"char\"",
        plain: native("@", &["", " ", "A", "a", "~"]),
        others: &["B", ",", "\"", "b"],
        odd: &["ab", "~~", "\\101"],
        unread: &[],
        forms: &[],
    },
    Kind {
        sql: "public.code",
        plain: native("@", &["", "A", "a", "ab", "é"]),
        others: &["B", "b", "a\nb"],
        odd: &["a         ", "日本       "],
        unread: &[],
        forms: &[ascii("lower(@)", &["", "a", "ab", "b"])],
    },
    Kind {
        // Labels whose order is not that of their oids.
        sql: "public.mood",
        plain: native("@", &["none", "low", "mid", "high"]),
        others: &[],
        odd: &[],
        unread: &[],
        forms: &[],
    },
    Kind {
        sql: "uuid",
        plain: native(
            "@",
            &[
                "00000000-0000-0000-0000-000000000000",
                "00000000-0000-0000-0000-000000000001",
                "7fffffff-ffff-ffff-ffff-ffffffffffff",
                "80000000-0000-0000-0000-000000000000",
                "ffffffff-ffff-ffff-ffff-ffffffffffff",
            ],
        ),
        others: &["01234567-89ab-cdef-0123-456789abcdef", "80000000-0000-0000-0000-000000000001"],
        odd: &[
            "FFFFFFFF-FFFF-FFFF-FFFF-FFFFFFFFFFFF",
            "{80000000-0000-0000-0000-000000000000}",
            "7fffffffffffffffffffffffffffffff",
            "0000-0000-0000-0000-0000-0000-0000-0001",
        ],
        unread: &[],
        forms: &[ordered("lower(left(@::text, 1))", &["0", "7", "8", "f"])],
    },
    Kind {
        sql: "bytea",
        plain: native("@", &["\\x", "\\x00", "\\x61", "\\x6100", "\\x80", "\\xffff"]),
        others: &["\\x01", "\\x61ff", "\\x5c", "\\x7f"],
        odd: &["a", "a\\000", "\\\\", "\\x 61", "", "\\200"],
        unread: &[],
        forms: &[asked("length(@)", &["0", "1", "2"]), asked("md5(@)", MD5)],
    },
];

/// MD5 sums, the first and the last of which are those of `a` and of the empty string.
const MD5: &[&str] =
    &["0cc175b9c0f1b6a831c399e269772661", "4", "8", "c", "d41d8cd98f00b204e9800998ecf8427e"];
