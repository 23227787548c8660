//! The columns of the catalogue in which two leaves may differ without a difference for their users, each
//! with the reason. [`super::definitions`] compares all other columns, including those of future versions.
//! The list is separate so that a test can check it against the live server.

/// The catalogues whose rows describe a leaf, and their columns that are not compared.
pub(super) const HARMLESS: &[(&str, &[(&str, &str)])] = &[
    (
        "pg_class",
        &[
            ("oid", "another table"),
            ("relname", "compared as a name"),
            ("relacl", "compared as privileges"),
            ("relfilenode", "other files"),
            ("relpages", "an estimate"),
            ("reltuples", "an estimate"),
            ("relallvisible", "an estimate"),
            ("relallfrozen", "an estimate"),
            ("relfrozenxid", "the age of its rows"),
            ("relminmxid", "the age of its rows"),
            ("reltype", "the row type, which is made with the table"),
            ("reltoastrelid", "compared as options of the TOAST table"),
            ("relnatts", "counts dropped columns"),
            ("relhasindex", "a hint that may be out of date; indexes are compared"),
            ("relhasrules", "a hint that may be out of date; a rule is refused"),
            ("relhastriggers", "a hint that may be out of date; triggers are compared"),
            ("relhassubclass", "a hint that may be out of date; a leaf has no children"),
            ("relpartbound", "compared as text"),
        ],
    ),
    (
        "pg_attribute",
        &[
            ("attrelid", "another table"),
            ("attnum", "counts dropped columns; the position is compared"),
            ("attcacheoff", "not used on disk"),
            ("attndims", "not used by the server, and not kept by LIKE"),
            ("atthasmissing", "rows that are older than the column; a new table has none"),
            ("attmissingval", "rows that are older than the column; a new table has none"),
            ("attstattarget", "compared as a number"),
            ("attacl", "compared as privileges"),
        ],
    ),
    (
        "pg_attrdef",
        &[
            ("oid", "another default"),
            ("adrelid", "another table"),
            ("adnum", "counts dropped columns"),
            ("adbin", "compared as text"),
        ],
    ),
    (
        "pg_index",
        &[
            ("indexrelid", "another index"),
            ("indrelid", "another table"),
            ("indkey", "counts dropped columns; compared as text"),
            ("indexprs", "compared as text"),
            ("indpred", "compared as text"),
            ("indcheckxmin", "for transactions that are older than the index"),
        ],
    ),
    (
        "pg_constraint",
        &[
            ("oid", "another constraint"),
            ("conrelid", "another table"),
            ("conindid", "another index"),
            ("conparentid", "compared by the parent's name"),
            ("conkey", "counts dropped columns; compared as text"),
            ("confdelsetcols", "counts dropped columns; compared as text"),
            ("conbin", "compared as text"),
            ("connoinherit", "compared where it is not made by ATTACH"),
        ],
    ),
    (
        "pg_trigger",
        &[
            ("oid", "another trigger"),
            ("tgrelid", "another table"),
            ("tgparentid", "compared by whether there is one"),
            ("tgconstraint", "another constraint"),
            ("tgconstrindid", "another index"),
            ("tgattr", "counts dropped columns; compared as text"),
            ("tgqual", "compared as text"),
        ],
    ),
    (
        "pg_statistic_ext",
        &[
            ("oid", "other statistics"),
            ("stxrelid", "another table"),
            ("stxkeys", "counts dropped columns; compared as text"),
            ("stxexprs", "compared as text"),
        ],
    ),
];
