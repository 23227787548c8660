//! Which of the input's columns are encoded here, and why the others are not.

use std::collections::HashMap;

use pgsluice_core::types::Codec;
use tokio_postgres::Transaction;
use tokio_postgres::types::{Oid, Type};

use super::native::interval_precision;
use super::session::Session;
use crate::error::Result;

/// What each type is made of, from the types of the table's columns on: these are parts of the type 0.
/// Of a domain it is the type below it, of an array its elements', of ranges that of their bounds, of
/// multiranges that of their ranges, of a composite type those of its columns.
const PARTS: &str = "
WITH RECURSIVE edge (whole, part, modifier, place) AS (
    SELECT 0::pg_catalog.oid, a.atttypid, a.atttypmod, given.place
    FROM unnest($2::pg_catalog.text[]) WITH ORDINALITY AS given (name, place)
    JOIN pg_catalog.pg_attribute a
        ON a.attrelid = $1 AND a.attname = given.name AND a.attnum > 0 AND NOT a.attisdropped
    UNION
    SELECT t.oid, p.part, p.modifier, p.place
    FROM edge
    JOIN pg_catalog.pg_type t ON t.oid = edge.part
    CROSS JOIN LATERAL (
        SELECT t.typbasetype, t.typtypmod, 1 WHERE t.typtype = 'd'
        UNION ALL
        SELECT e.oid, -1, 1 FROM pg_catalog.pg_type e
        WHERE e.oid = t.typelem AND e.typarray = t.oid
        UNION ALL
        SELECT r.rngsubtype, -1, 1 FROM pg_catalog.pg_range r WHERE r.rngtypid = t.oid
        UNION ALL
        SELECT r.rngtypid, -1, 1 FROM pg_catalog.pg_range r
        WHERE t.typtype = 'm'
          AND (pg_catalog.to_jsonb(r) ->> 'rngmultitypid')::pg_catalog.oid = t.oid
        UNION ALL
        SELECT a.atttypid, a.atttypmod, a.attnum FROM pg_catalog.pg_attribute a
        WHERE t.typtype = 'c' AND a.attrelid = t.typrelid AND a.attnum > 0 AND NOT a.attisdropped
    ) AS p (part, modifier, place)
)
SELECT whole, part, modifier, t.typtype::pg_catalog.text, t.typdelim::pg_catalog.text,
       pg_catalog.format_type(part, NULL)
FROM edge
JOIN pg_catalog.pg_type t ON t.oid = part
ORDER BY whole, place";

/// Whether an amount of money is read as it is here, which lc_monetary decides.
const MONEY: &str = "
SELECT pg_catalog.cash_send('-$1,234.56'::pg_catalog.money) = '\\xfffffffffffe1dc0'
   AND pg_catalog.cash_send('1.5'::pg_catalog.money) = '\\x0000000000000096'";

/// A codec, or in words for the user why there is none.
pub(super) type Answer = std::result::Result<Codec, String>;

/// The codecs of `columns` of the table `root`.
pub(super) async fn read(
    transaction: &Transaction<'_>,
    session: &Session,
    root: Oid,
    columns: &[String],
) -> Result<Vec<Answer>> {
    let mut types = Types { session, parts: HashMap::new() };
    for row in transaction.query(PARTS, &[&root, &columns]).await? {
        let part = Part {
            oid: row.get(1),
            modifier: row.get(2),
            kind: row.get(3),
            delimiter: row.get(4),
            name: row.get(5),
        };
        types.parts.entry(row.get(0)).or_default().push(part);
    }
    Ok(types.parts_of(0).iter().map(|column| types.codec(column, column.modifier)).collect())
}

/// A type within another.
struct Part {
    oid: Oid,
    modifier: i32,
    /// `pg_type.typtype`
    kind: String,
    /// What parts the elements of an array.
    delimiter: String,
    name: String,
}

/// The parts of each type that has some, in their order.
struct Types<'s> {
    session: &'s Session,
    parts: HashMap<Oid, Vec<Part>>,
}

impl Types<'_> {
    fn parts_of(&self, whole: Oid) -> &[Part] {
        self.parts.get(&whole).map_or(&[], Vec::as_slice)
    }

    fn codec(&self, ty: &Part, modifier: i32) -> Answer {
        let unknown = || Err(format!("type {} is not encoded natively", ty.name));
        match (&*ty.kind, self.parts_of(ty.oid)) {
            // What else it demands, its receive function checks as its input function does.
            ("d", [base]) => self.codec(base, base.modifier),
            ("b", []) => match Type::from_oid(ty.oid) {
                Some(scalar) => self.scalar(&scalar, modifier).unwrap_or_else(unknown),
                None => unknown(),
            },
            _ => unknown(),
        }
    }

    /// None for a type that has no codec.
    fn scalar(&self, ty: &Type, modifier: i32) -> Option<Answer> {
        let zone = self.session.zone;
        let codec = match *ty {
            Type::INT2 => Codec::Int2,
            Type::INT4 => Codec::Int4,
            Type::INT8 => Codec::Int8,
            Type::NUMERIC => Codec::Numeric,
            Type::BPCHAR if modifier >= 0 => return Some(self.text(Codec::Padded)),
            Type::TEXT | Type::VARCHAR | Type::BPCHAR => return Some(self.text(Codec::Text)),
            Type::UUID => Codec::Uuid,
            Type::DATE => Codec::Date,
            Type::TIMESTAMP => Codec::Timestamp,
            Type::TIMESTAMPTZ => return Some(self.zoned(Codec::Timestamptz { zone })),
            _ => return None,
        };
        Some(Ok(codec))
    }

    fn text(&self, codec: Codec) -> Answer {
        match self.session.encoding.as_str() {
            "UTF8" => Ok(codec),
            other => Err(format!("text in a {other} database is not encoded natively")),
        }
    }

    fn zoned(&self, codec: Codec) -> Answer {
        match self.session.zulu {
            true => Ok(codec),
            false => Err("the session reads the time zone Z as its own".to_owned()),
        }
    }
}
