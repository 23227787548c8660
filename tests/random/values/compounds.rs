//! Types that are composed of others: arrays, ranges, documents and rows.

use super::{Kind, asked, native, ordered, unordered};

pub(super) const KINDS: &[Kind] = &[
    Kind {
        sql: "int[]",
        plain: native("@", &["{}", "{-1}", "{0}", "{0,0}", "{0,NULL}", "{1}", "{NULL}"]),
        others: &["{-2}", "{0,1}", "{1,2,3}", "{NULL,NULL}"],
        odd: &["{ 0 , null }", "{\"1\"}", "{+1}"],
        unread: &["[0:1]={0,0}", "{{0}}"],
        forms: &[asked("cardinality(@)", &["0", "1", "2", "3"])],
    },
    Kind {
        sql: "varchar(8)[] COLLATE \"C\"",
        plain: native("@", &["{}", "{\"\"}", "{\"\",a}", "{A}", "{a,b}", "{a,NULL}", "{é}"]),
        others: &["{A,A}", "{\"a b\",\"c,\\\"\\\\\"}", "{\"NULL\"}", "{ab}"],
        odd: &["{ a , \"b\" }", "{a\\,b}", "{\"\\a\"}", "{null}"],
        unread: &["{{a,b}}"],
        forms: &[],
    },
    Kind {
        sql: "text[] COLLATE public.words",
        plain: unordered("@", &["{}", "{1}", "{a}", "{a,b}", "{b}", "{m}", "{NULL}"]),
        others: &["{B}", "{a,NULL}", "{\"a b\"}", "{é}"],
        odd: &["{ a , \"b\" }", "{\"\\a\"}", "{null}"],
        unread: &["{{a,b}}"],
        forms: &[],
    },
    Kind {
        sql: "numeric[]",
        plain: native("@", &["{}", "{-1}", "{0}", "{0.5,NaN}", "{1}", "{NaN}"]),
        others: &["{0.50}", "{0,NULL}", "{1.0,2}"],
        odd: &["{1e0}", "{ 0.5, nan }"],
        unread: &["{{1}}"],
        forms: &[],
    },
    Kind {
        sql: "public.mood[]",
        plain: native("@", &["{none}", "{low}", "{mid,low}", "{mid,high}", "{high}"]),
        others: &["{}", "{low,NULL}"],
        odd: &["{ low }", "{\"high\"}"],
        unread: &[],
        forms: &[],
    },
    Kind {
        sql: "int4range",
        plain: native("@", &["empty", "(,1)", "(,)", "[0,1)", "[0,)", "[1,2147483647)"]),
        others: &["(,-5)", "[0,2)", "[1,)", "[2147483646,2147483647)"],
        odd: &["[0,0]", "(-1,0]", "(3,3)", " Empty", "(,]", "(-1,)", "[\"0\",+1)"],
        unread: &[],
        forms: &[asked("isempty(@)", &["f", "t"]).with_hash_of_another()],
    },
    Kind {
        sql: "numrange",
        plain: native("@", &["empty", "(,0.5)", "(,)", "[0,1)", "[0,1]", "(0,1]", "[0.5,)"]),
        others: &["[0,0]", "(0.00,2)", "[1.0,NaN)", "(,0)"],
        odd: &["[ 0 ,1)", "(1,1)", "[1e0,2)", "[\"0\",1]"],
        unread: &[],
        forms: &[asked("lower(@)", &["0", "0.5", "1"])],
    },
    Kind {
        sql: "daterange",
        plain: native("@", &["empty", "(,2024-03-01)", "[2024-02-29,2024-03-01)", "[2024-02-29,)"]),
        others: &["[1999-12-31,2024-03-01)", "(,)", "[2024-03-01,infinity)"],
        odd: &["[2024-02-29,2024-02-29]", "(2024-02-28,)", "[\"Feb 29 2024\",2024-03-01)"],
        unread: &[],
        forms: &[],
    },
    Kind {
        sql: "tstzrange",
        plain: native(
            "@",
            &[
                "empty",
                "(,\"2024-02-29 00:00:00+00\")",
                "[\"2024-02-29 00:00:00+00\",\"2024-03-01 00:00:00+00\")",
                "[\"2024-02-29 00:00:00+00\",\"2024-03-01 00:00:00+00\"]",
                "(\"2024-02-29 00:00:00+00\",)",
            ],
        ),
        others: &["(,)", "[\"2024-02-29 12:00:00+00\",infinity)"],
        odd: &["[2024-02-29 00:00:00Z,2024-03-01]", "(2024-02-29,2024-02-29]"],
        unread: &[],
        forms: &[],
    },
    Kind {
        // Strings in it sort by the database's collation.
        sql: "jsonb",
        plain: ordered("@", &["\"a\"", "1", "2", "[1]", "{}"]),
        others: &["3", "null", "[2]", "{\"a\": [1, {}]}"],
        odd: &[" 1.0", "{ }", "[ ]", "\"\\u0061\"", "{\"b\":1,\"aa\":2,\"b\":3}"],
        unread: &["1e9999"],
        forms: &[
            asked("jsonb_typeof(@)", &["array", "number", "object", "string"]),
            asked("(@ -> 'a')", &["\"a\"", "1", "[1, {}]"]),
        ],
    },
    Kind {
        sql: "public.pair",
        plain: asked("@", &["(0,a)", "(0,b)", "(0,)", "(1,a)", "(,)"]).without_hash(),
        others: &["(-1,)", "(1,\"a b\")", "(,a)"],
        odd: &["( 0,a)", "(\"1\",\"a\")"],
        unread: &[],
        forms: &[],
    },
];
