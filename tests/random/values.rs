//! Types of columns, and for each a ladder of values that ascends in the type's own order.
//!
//! A bound is a rung. A row's field is a rung too, or a value just below or above it, spelled as
//! PostgreSQL writes it or in some other way that the type also reads.

use proptest::sample::Index;

/// A column's type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Smallint,
    Integer,
    Bigint,
    Boolean,
    Text,
    Varchar,
    Char,
    Uuid,
    Date,
    Timestamp,
    Seconds,
    Timestamptz,
    /// Text in the database's collation: its order is the server's, its hash is not.
    Collated,
    Numeric,
    Scaled,
    Real,
    Double,
    Bytea,
    Time,
    Interval,
    Inet,
    Macaddr,
    /// Strings in it sort by the database's collation.
    Jsonb,
    Integers,
    Strings,
    IntegerRange,
    Period,
    /// Not native in any way.
    Transaction,
}

pub(crate) const KINDS: &[Kind] = &[
    Kind::Integer,
    Kind::Smallint,
    Kind::Bigint,
    Kind::Boolean,
    Kind::Text,
    Kind::Varchar,
    Kind::Char,
    Kind::Uuid,
    Kind::Date,
    Kind::Timestamp,
    Kind::Seconds,
    Kind::Timestamptz,
    Kind::Collated,
    Kind::Numeric,
    Kind::Scaled,
    Kind::Real,
    Kind::Double,
    Kind::Bytea,
    Kind::Time,
    Kind::Interval,
    Kind::Inet,
    Kind::Macaddr,
    Kind::Jsonb,
    Kind::Integers,
    Kind::Strings,
    Kind::IntegerRange,
    Kind::Period,
    Kind::Transaction,
];

/// One field of the input.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Field {
    /// `None` is NULL.
    pub(crate) text: Option<String>,
    /// Spelled as PostgreSQL itself writes it, so the native lane must take it.
    pub(crate) canonical: bool,
}

impl Kind {
    pub(crate) fn sql(self) -> &'static str {
        match self {
            Self::Smallint => "smallint",
            Self::Integer => "integer",
            Self::Bigint => "bigint",
            Self::Boolean => "boolean",
            Self::Text => "text COLLATE \"C\"",
            Self::Varchar => "varchar(12) COLLATE \"C\"",
            Self::Char => "char(8) COLLATE \"C\"",
            Self::Uuid => "uuid",
            Self::Date => "date",
            Self::Timestamp => "timestamp",
            Self::Seconds => "timestamp(0)",
            Self::Timestamptz => "timestamptz",
            Self::Collated => "text",
            Self::Numeric => "numeric",
            Self::Scaled => "numeric(12,2)",
            Self::Real => "real",
            Self::Double => "float8",
            Self::Bytea => "bytea",
            Self::Time => "time",
            Self::Interval => "interval",
            Self::Inet => "inet",
            Self::Macaddr => "macaddr",
            Self::Jsonb => "jsonb",
            Self::Integers => "int[]",
            Self::Strings => "varchar(8)[] COLLATE \"C\"",
            Self::IntegerRange => "int4range",
            Self::Period => "tstzrange",
            Self::Transaction => "xid8",
        }
    }

    /// The values that bounds are made of, ascending.
    pub(crate) fn ladder(self) -> &'static [&'static str] {
        match self {
            Self::Smallint => &["-32768", "-100", "-1", "0", "1", "7", "255", "32767"],
            Self::Integer => &["-2147483648", "-65536", "-1", "0", "1", "42", "2147483647"],
            Self::Bigint => {
                &["-9223372036854775808", "-4294967296", "0", "9", "9223372036854775807"]
            }
            Self::Boolean => &["f", "t"],
            Self::Text | Self::Varchar => &["", " ", "A", "Z", "a", "a b", "ab", "é", "日本"],
            Self::Char => &["", "A", "Z", "a", "a b", "ab", "é", "日本"],
            Self::Uuid => &[
                "00000000-0000-0000-0000-000000000000",
                "00000000-0000-0000-0000-000000000001",
                "7fffffff-ffff-ffff-ffff-ffffffffffff",
                "80000000-0000-0000-0000-000000000000",
                "ffffffff-ffff-ffff-ffff-ffffffffffff",
            ],
            Self::Date => &["1970-01-01", "1999-12-31", "2000-01-01", "2024-02-29", "2024-03-01"],
            Self::Timestamp | Self::Seconds => &[
                "1969-12-31 23:59:59",
                "2000-01-01 00:00:00",
                "2024-02-29 23:59:59",
                "2024-03-01 00:00:00",
                "2024-03-01 00:00:01",
            ],
            Self::Timestamptz => &[
                "1969-12-31 23:59:59+00",
                "2000-01-01 00:00:00+00",
                "2024-02-29 23:59:59+00",
                "2024-03-01 00:00:00+00",
                "2024-03-01 00:00:01+00",
            ],
            // Digits and one case of letters ascend in any collation.
            Self::Collated => &["1", "2", "a", "b", "c", "m", "z"],
            Self::Numeric => &["-1e30", "-5", "-0.0001", "0", "1e-20", "1", "10000", "1e30", "NaN"],
            Self::Scaled => &["-5", "0", "0.01", "1", "10", "100.5"],
            Self::Real => &["-1e+30", "-0.1", "0", "0.1", "1", "1e+30", "Infinity", "NaN"],
            Self::Double => &["-1e+300", "-0.1", "0", "1e-300", "0.1", "1", "Infinity", "NaN"],
            Self::Bytea => &["\\x", "\\x00", "\\x61", "\\x6100", "\\x80", "\\xffff"],
            Self::Time => &["00:00:00", "00:00:00.000001", "12:00:00", "23:59:59", "24:00:00"],
            Self::Interval => &["-1 years", "00:00:00", "1 day", "1 mon", "1 year 2 mons"],
            Self::Inet => &["0.0.0.0/0", "10.0.0.0/8", "10.0.0.0", "10.0.0.1", "::/0", "fe80::1"],
            Self::Macaddr => &["00:00:00:00:00:00", "08:00:2b:01:02:03", "ff:ff:ff:ff:ff:ff"],
            Self::Jsonb => &["\"a\"", "1", "2", "[1]", "{}"],
            Self::Integers => &["{}", "{-1}", "{0}", "{0,0}", "{0,NULL}", "{1}", "{NULL}"],
            Self::Strings => &["{}", "{\"\"}", "{\"\",a}", "{A}", "{a,b}", "{a,NULL}", "{é}"],
            Self::IntegerRange => &["empty", "(,1)", "(,)", "[0,1)", "[0,)", "[1,2147483647)"],
            Self::Period => &[
                "empty",
                "(,\"2024-02-29 00:00:00+00\")",
                "[\"2024-02-29 00:00:00+00\",\"2024-03-01 00:00:00+00\")",
                "[\"2024-02-29 00:00:00+00\",\"2024-03-01 00:00:00+00\"]",
                "(\"2024-02-29 00:00:00+00\",)",
            ],
            Self::Transaction => &["0", "1", "5", "18446744073709551615"],
        }
    }

    /// Values that are no bounds: between the rungs, beyond them, or awkward.
    fn others(self) -> &'static [&'static str] {
        match self {
            Self::Smallint => &["-32767", "-2", "2", "8", "32766"],
            Self::Integer => &["-2147483647", "-2", "2", "43", "65536", "2147483646"],
            Self::Bigint => &["-1", "1", "4294967296", "-4294967297", "9223372036854775806"],
            Self::Boolean => &[],
            Self::Text | Self::Varchar | Self::Collated => {
                &["B", "a,b", "a\"b", "a\nb", "a\\b", "b\tc", "\\N"]
            }
            Self::Char => &["B       ", "a,b     ", "a\"b     ", "a\nb     ", "a\\b     "],
            Self::Uuid => {
                &["01234567-89ab-cdef-0123-456789abcdef", "80000000-0000-0000-0000-000000000001"]
            }
            Self::Date => &["1969-12-31", "1998-01-08", "2024-02-28", "9999-12-31"],
            Self::Timestamp => &["2000-01-01 00:00:00.000001", "2024-02-29 23:59:59.999999"],
            Self::Seconds => &["1999-12-31 23:59:59", "2024-02-29 23:59:58"],
            Self::Timestamptz => &["2024-02-29 23:59:59.999999+00", "2024-03-01 02:00:00.5+02"],
            Self::Numeric => &["-5.0", "0.00", "1.0", "99999999999999999999.5", "-0.00010"],
            Self::Scaled => &["-5.01", "0.02", "99.99"],
            Self::Real => &["-0", "0.2", "-1", "1e-30", "3.4028235e+38"],
            Self::Double => &["-0", "0.30000000000000004", "-1", "1.7976931348623157e+308"],
            Self::Bytea => &["\\x01", "\\x61ff", "\\x5c", "\\x7f"],
            Self::Time => &["11:59:59.999999", "00:00:01"],
            Self::Interval => &["1 day 24:00:00", "29 days 24:00:00", "-00:00:01", "3 mons"],
            Self::Inet => &["10.0.0.0/16", "10.1.2.3/8", "192.168.0.1", "::1", "::ffff:0:0/96"],
            Self::Macaddr => &["08:00:2b:01:02:04", "7f:ff:ff:ff:ff:ff", "80:00:00:00:00:00"],
            Self::Jsonb => &["3", "null", "[2]", "{\"a\": [1, {}]}"],
            Self::Integers => &["{-2}", "{0,1}", "{1,2,3}", "{NULL,NULL}"],
            Self::Strings => &["{A,A}", "{\"a b\",\"c,\\\"\\\\\"}", "{\"NULL\"}", "{ab}"],
            Self::IntegerRange => &["(,-5)", "[0,2)", "[1,)", "[2147483646,2147483647)"],
            Self::Period => &["(,)", "[\"2024-02-29 12:00:00+00\",infinity)"],
            Self::Transaction => &["2", "4294967296"],
        }
    }

    /// Values in spellings that PostgreSQL reads but does not write.
    fn odd(self) -> &'static [&'static str] {
        match self {
            Self::Smallint => &["+7", " 0 ", "-0", "007", "+32767"],
            Self::Integer => &["+42", " 1", "-0", "00042", "\t0\n", "-00065536"],
            Self::Bigint => &["+9", "9 ", "-0", "000009223372036854775807"],
            Self::Boolean => {
                &["true", "FALSE", "yes", "n", "on", "off", "1", "0", " t ", "tr", "fal"]
            }
            Self::Varchar => &["a           ", "ab            ", "日本            "],
            Self::Text | Self::Collated => &["é\u{301}", "NULL", "'", "\u{1}"],
            Self::Char => &["a", "ab ", "a b            ", "é  ", "日本"],
            Self::Uuid => &[
                "FFFFFFFF-FFFF-FFFF-FFFF-FFFFFFFFFFFF",
                "{80000000-0000-0000-0000-000000000000}",
                "7fffffffffffffffffffffffffffffff",
                "0000-0000-0000-0000-0000-0000-0000-0001",
            ],
            Self::Date => &[
                "20240229",
                "Jan 1 2000",
                "12/31/1999",
                "J2451545",
                "infinity",
                "-infinity",
                "0044-03-15 BC",
                " 2024-03-01 ",
            ],
            Self::Timestamp | Self::Seconds => &[
                "2024-02-29 23:59:59.4",
                "2024-02-29 23:59:59.5",
                "2024-02-29 23:59:58.5",
                "2024-02-29 23:59:59.9999996",
                "2024-02-29 24:00:00",
                "2024-02-29T23:59:60",
                "2024-03-01",
                "2024-03-01 00:00:00+03",
                "infinity",
                "-infinity",
                "epoch",
            ],
            Self::Timestamptz => &[
                "2024-03-01 01:59:59+02:00",
                "2024-02-29 18:15:00-0545",
                "2024-03-01T00:00:00Z",
                "2024-03-01 00:00:00",
                "2024-03-01 01:00:00 CET",
                "2024-02-29 19:00:00 America/New_York",
                "2024-02-29 23:59:59.9999996+00",
                "infinity",
            ],
            Self::Numeric => &["1e1", " 0.005", "10000e0", "-5.", "+1.0", "nan"],
            Self::Scaled => &["1e1", " 0.005", "0.004", "NaN", "+1.0"],
            Self::Real => &["1e-40", " 1 ", "inf", "0.100000001490116", "+.1e0"],
            Self::Double => &["1e-310", " 1 ", "-inf", "0x1p3", "00.1", "1.00000000000000001"],
            Self::Bytea => &["a", "a\\000", "\\\\", "\\x 61", "", "\\200"],
            Self::Time => &["12:00", "12:00 PM", "24:00:00.000", "23:59:59.9999999", "120000"],
            Self::Interval => {
                &["P1D", "@ 1 day", "1 day ago", "1.5 mons", "-1 day 02:03:04", "24:00"]
            }
            Self::Inet => &["10.0.0.0/32", "010.0.0.0", "::ffff:1.2.3.4", "FE80::1/128"],
            Self::Macaddr => &["08-00-2B-01-02-03", "0800.2b01.0203", "8:0:2b:1:2:3"],
            Self::Jsonb => {
                &[" 1.0", "{ }", "[ ]", "\"\\u0061\"", "1e9999", "{\"b\":1,\"aa\":2,\"b\":3}"]
            }
            Self::Integers => &["{ 0 , null }", "[0:1]={0,0}", "{{0}}", "{\"1\"}", "{+1}"],
            Self::Strings => &["{ a , \"b\" }", "{{a,b}}", "{a\\,b}", "{\"\\a\"}", "{null}"],
            Self::IntegerRange => {
                &["[0,0]", "(-1,0]", "(3,3)", " Empty", "(,]", "(-1,)", "[\"0\",+1)"]
            }
            Self::Period => &["[2024-02-29 00:00:00Z,2024-03-01]", "(2024-02-29,2024-02-29]"],
            Self::Transaction => &[" 5", "007"],
        }
    }

    /// Whether the native lane must find a leaf by this type.
    pub(crate) fn native(self, hashed: bool) -> bool {
        match self {
            Self::Transaction => false,
            Self::Collated | Self::Jsonb => hashed,
            _ => true,
        }
    }

    /// A field of this type; `choice` is of [`CHOICES`] and decides how odd it is.
    pub(crate) fn field(self, choice: u8, which: &Index) -> Field {
        let pick = |from: &[&str]| (!from.is_empty()).then(|| which.get(from).to_string());
        let (text, canonical) = match choice {
            0..=6 => (pick(self.ladder()), true),
            7..=11 => (pick(self.others()).or_else(|| pick(self.ladder())), true),
            12..=14 => (pick(self.odd()), false),
            _ => return Field { text: None, canonical: true },
        };
        // PostgreSQL writes char(n) with its padding.
        let padded = |text: String| match self {
            Self::Char if canonical => format!("{text:8}"),
            _ => text,
        };
        Field { text: text.map(padded), canonical }
    }
}

/// How many choices there are for [`Kind::field`]; the last is NULL.
pub(crate) const CHOICES: u8 = 16;
