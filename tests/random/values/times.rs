//! Dates, times and intervals.

use super::{Kind, asked, native};

const DAYS: &[&str] = &["1970-01-01", "1999-12-31", "2000-01-01", "2024-02-29", "2024-03-01"];
const TIMESTAMPS: &[&str] = &[
    "1969-12-31 23:59:59",
    "2000-01-01 00:00:00",
    "2024-02-29 23:59:59",
    "2024-03-01 00:00:00",
    "2024-03-01 00:00:01",
];
const MONTHS: &[&str] = &["1969-12-01", "2000-01-01", "2024-02-01", "2024-03-01"];
const ODD_TIMESTAMPS: &[&str] = &[
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
];

pub(super) const KINDS: &[Kind] = &[
    Kind {
        sql: "date",
        plain: native("@", DAYS),
        others: &["1969-12-31", "1998-01-08", "2024-02-28", "9999-12-31"],
        odd: &[
            "20240229",
            "Jan 1 2000",
            "12/31/1999",
            "J2451545",
            "infinity",
            "-infinity",
            " 2024-03-01 ",
        ],
        unread: &["0044-03-15 BC"],
        forms: &[
            native("extract(year FROM @)", &["1969", "1970", "1999", "2000", "2024"]),
            native("date_part('month', @)", &["1", "2", "3", "12"]),
            asked("(@ - 1)", DAYS).with_hash_of_another(),
        ],
    },
    Kind {
        sql: "timestamp",
        plain: native("@", TIMESTAMPS),
        others: &["2000-01-01 00:00:00.000001", "2024-02-29 23:59:59.999999"],
        odd: ODD_TIMESTAMPS,
        unread: &[],
        forms: &[
            native("date_trunc('month', @)", MONTHS),
            native("(@::date)", DAYS),
            native("extract(hour FROM @)", &["0", "1", "12", "23"]),
            asked("(@ - '1 day'::interval)", TIMESTAMPS),
        ],
    },
    Kind {
        sql: "timestamp(0)",
        plain: native("@", TIMESTAMPS),
        others: &["1999-12-31 23:59:59", "2024-02-29 23:59:58"],
        odd: ODD_TIMESTAMPS,
        unread: &[],
        forms: &[native("date_part('second', @)", &["0", "1", "58", "59"])],
    },
    Kind {
        sql: "timestamptz",
        plain: native(
            "@",
            &[
                "1969-12-31 23:59:59+00",
                "2000-01-01 00:00:00+00",
                "2024-02-29 23:59:59+00",
                "2024-03-01 00:00:00+00",
                "2024-03-01 00:00:01+00",
            ],
        ),
        others: &["2024-02-29 23:59:59.999999+00", "2024-03-01 02:00:00.5+02"],
        odd: &[
            "2024-03-01 01:59:59+02:00",
            "2024-02-29 18:15:00-0545",
            "2024-03-01T00:00:00Z",
            "2024-03-01 00:00:00",
            "2024-03-01 01:00:00 CET",
            "2024-02-29 19:00:00 America/New_York",
            "2024-02-29 23:59:59.9999996+00",
            "infinity",
        ],
        unread: &[],
        forms: &[
            native("date_trunc('month', @ AT TIME ZONE 'UTC')", MONTHS),
            asked("(@ AT TIME ZONE 'Europe/Berlin')", TIMESTAMPS),
        ],
    },
    Kind {
        sql: "time",
        plain: native("@", &["00:00:00", "00:00:00.000001", "12:00:00", "23:59:59", "24:00:00"]),
        others: &["11:59:59.999999", "00:00:01"],
        odd: &["12:00", "12:00 PM", "24:00:00.000", "23:59:59.9999999", "120000"],
        unread: &[],
        forms: &[native("date_part('hour', @)", &["0", "11", "12", "23", "24"])],
    },
    Kind {
        // Ordered by the moment in UTC.
        sql: "timetz",
        plain: native("@", &["00:00:00+00", "12:00:00+02", "12:00:00+00", "23:59:59-05"]),
        others: &["12:00:00.000001+00", "10:00:00+00", "11:00:00+01", "24:00:00+00"],
        // Without an offset that is read natively, a value would get the present one.
        odd: &[],
        unread: &["12:00Z", "12:00", "12:00 PM+02", "120000+00", "12:00:00+02:00:00", "10:00 UTC"],
        forms: &[],
    },
    Kind {
        sql: "interval",
        plain: native("@", &["-1 years", "00:00:00", "1 day", "1 mon", "1 year 2 mons"]),
        others: &["1 day 24:00:00", "29 days 24:00:00", "-00:00:01", "3 mons"],
        odd: &["P1D", "@ 1 day", "1 day ago", "1.5 mons", "24:00"],
        unread: &["-1 day 02:03:04"],
        forms: &[asked("(@ * 2)", &["-2 years", "00:00:00", "2 days", "2 mons"])],
    },
];
