//! The codecs of the input's columns, or the reasons why they have none.

use std::collections::HashMap;

use pgsluice_core::types::{Codec, Column, ColumnType, TypeStructure};
use tokio_postgres::Transaction;
use tokio_postgres::types::{Oid, Type};

use super::native::interval_precision;
use super::session::SessionFacts;
use crate::error::Result;
use crate::pg::Parameters;
use crate::pg::template::fill;

/// Query for the parts of each type, starting from the types of the table's columns, which belong to the type
/// 0. A domain is made of the type below it, an array of its elements, a range of its bounds, a multirange of
/// its ranges, a composite type of its columns.
const PARTS: &str = "
WITH RECURSIVE edge (whole, part, modifier, place, label) AS (
    SELECT 0::pg_catalog.oid, a.atttypid, a.atttypmod, given.place, a.attname
    FROM unnest($2::pg_catalog.text[]) WITH ORDINALITY AS given (name, place)
    JOIN pg_catalog.pg_attribute a
        ON a.attrelid = $1 AND a.attname = given.name AND a.attnum > 0 AND NOT a.attisdropped
    UNION
    SELECT t.oid, p.part, p.modifier, p.place, p.label
    FROM edge
    JOIN pg_catalog.pg_type t ON t.oid = edge.part
    CROSS JOIN LATERAL (
        SELECT t.typbasetype, t.typtypmod, 1, ''::pg_catalog.name WHERE t.typtype = 'd'
        UNION ALL
        SELECT e.oid, -1, 1, '' FROM pg_catalog.pg_type e
        WHERE e.oid = t.typelem AND e.typarray = t.oid
        UNION ALL
        SELECT r.rngsubtype, -1, 1, '' FROM pg_catalog.pg_range r WHERE r.rngtypid = t.oid
        UNION ALL
        SELECT r.rngtypid, -1, 1, '' FROM pg_catalog.pg_range r
        WHERE t.typtype = 'm'
          AND (pg_catalog.to_jsonb(r) ->> 'rngmultitypid')::pg_catalog.oid = t.oid
        UNION ALL
        SELECT a.atttypid, a.atttypmod, a.attnum, a.attname FROM pg_catalog.pg_attribute a
        WHERE t.typtype = 'c' AND a.attrelid = t.typrelid AND a.attnum > 0 AND NOT a.attisdropped
    ) AS p (part, modifier, place, label)
)
SELECT whole, part, modifier, t.typtype::pg_catalog.text, t.typdelim::pg_catalog.text,
       pg_catalog.format_type(part, NULL), label
FROM edge
JOIN pg_catalog.pg_type t ON t.oid = part
ORDER BY whole, place";

/// Query for whether amounts of money are spelled like pgsluice reads them. `cash_in` expects the signs that
/// `cash_out` writes, which depend on lc_monetary; an amount with other signs would be an error.
const MONEY: &str = "
SELECT (-1234.56)::pg_catalog.money::pg_catalog.text {eq} '-$1,234.56'";

/// A codec, or a message for the user why the type has no codec.
pub(super) type CodecAnswer = std::result::Result<Codec, String>;

/// The codec of a column, and the column with the structure of its type.
pub(super) type Encoded = (CodecAnswer, Column);

/// Reads the codecs of `columns` of the table `root`, each with the column.
pub(super) async fn read(
    transaction: &Transaction<'_>,
    session: &SessionFacts,
    root: Oid,
    columns: &[String],
) -> Result<Vec<Encoded>> {
    let mut parts: HashMap<Oid, Vec<CodecPart>> = HashMap::new();
    let asked: Parameters<'_> = &[(&root, Type::OID), (&columns, Type::TEXT_ARRAY)];
    for row in transaction.query_typed(PARTS, asked).await? {
        let part = CodecPart {
            oid: row.get(1),
            modifier: row.get(2),
            kind: row.get(3),
            delimiter: row.get(4),
            name: row.get(5),
            label: row.get(6),
        };
        parts.entry(row.get(0)).or_default().push(part);
    }
    let is_money = |part: &CodecPart| part.oid == Type::MONEY.oid();
    let reads_money = parts.values().flatten().any(is_money)
        && transaction.query_typed_one(&fill(MONEY, &[]), &[]).await?.get(0);
    let types = Types { session, reads_money, parts };
    let columns = types.parts_of(0).iter();
    let encoded = |column| (types.codec(column, column.modifier), types.column(column));
    Ok(columns.map(encoded).collect())
}

/// Returns the column that the table lacks, and that marks rows that delete others.
pub(super) fn flag(name: &str) -> Encoded {
    let (oid, type_name) = (Type::BOOL.oid(), "boolean".to_owned());
    let ty = ColumnType { oid, modifier: -1, name: type_name, structure: TypeStructure::Plain };
    (Ok(Codec::Bool), Column { name: name.to_owned(), ty })
}

/// A type that is part of another one.
struct CodecPart {
    oid: Oid,
    modifier: i32,
    /// `pg_type.typtype`
    kind: String,
    /// The separator of array elements.
    delimiter: String,
    name: String,
    /// The name of the column that has this type, if it is the type of a column.
    label: String,
}

/// The types of the input, and the settings that determine how they are encoded.
struct Types<'s> {
    session: &'s SessionFacts,
    /// Whether amounts of money are spelled like pgsluice reads them.
    reads_money: bool,
    /// The parts of each type that has any, in order.
    parts: HashMap<Oid, Vec<CodecPart>>,
}

impl Types<'_> {
    fn parts_of(&self, whole: Oid) -> &[CodecPart] {
        self.parts.get(&whole).map_or(&[], Vec::as_slice)
    }

    fn codec(&self, ty: &CodecPart, modifier: i32) -> CodecAnswer {
        match (&*ty.kind, self.parts_of(ty.oid)) {
            // The receive function checks the domain's constraints like its input function.
            ("d", [base]) => self.codec(base, base.modifier),
            ("e", _) => self.text(Codec::Text),
            ("r", [subtype]) => Ok(Codec::Range(self.codec(subtype, -1)?.into())),
            ("m", [range]) => match self.codec(range, -1)? {
                Codec::Range(subtype) => Ok(Codec::Multirange(subtype)),
                _ => Err(unknown(ty)),
            },
            ("c", columns) => self.composite(columns),
            ("b", [element]) => self.array(element, modifier),
            ("b", []) => match Type::from_oid(ty.oid) {
                Some(scalar) => self.scalar(&scalar, modifier).unwrap_or_else(|| Err(unknown(ty))),
                None => Err(unknown(ty)),
            },
            _ => Err(unknown(ty)),
        }
    }

    fn composite(&self, columns: &[CodecPart]) -> CodecAnswer {
        let column = |column: &CodecPart| Ok((column.oid, self.codec(column, column.modifier)?));
        let columns: std::result::Result<Box<[_]>, String> = columns.iter().map(column).collect();
        Ok(Codec::Composite(columns?))
    }

    fn column(&self, ty: &CodecPart) -> Column {
        Column { name: ty.label.clone(), ty: self.column_type(ty, ty.modifier) }
    }

    fn column_type(&self, ty: &CodecPart, modifier: i32) -> ColumnType {
        let structure = match (&*ty.kind, self.parts_of(ty.oid)) {
            ("d", [base]) => TypeStructure::Domain(self.column_type(base, base.modifier).into()),
            ("e", _) => TypeStructure::Enum,
            ("c", columns) => {
                TypeStructure::Composite(columns.iter().map(|it| self.column(it)).collect())
            }
            ("b", [element]) => TypeStructure::Array {
                delimiter: element.delimiter.bytes().next().unwrap_or(b','),
                element: self.column_type(element, modifier).into(),
            },
            _ => TypeStructure::Plain,
        };
        ColumnType { oid: ty.oid, modifier, name: ty.name.clone(), structure }
    }

    /// Returns the codec of an array. Its modifier is that of its elements.
    fn array(&self, element: &CodecPart, modifier: i32) -> CodecAnswer {
        if !self.session.array_nulls {
            return Err("the session's array_nulls is off, so NULL is a string".to_owned());
        }
        let &[delimiter] = element.delimiter.as_bytes() else { return Err(unknown(element)) };
        let codec = self.codec(element, modifier)?;
        Ok(Codec::Array { oid: element.oid, delimiter, element: codec.into() })
    }

    /// Returns the codec of a scalar type, if it has one.
    fn scalar(&self, ty: &Type, modifier: i32) -> Option<CodecAnswer> {
        let zone = self.session.zone;
        let codec = match *ty {
            Type::BOOL => Codec::Bool,
            Type::INT2 => Codec::Int2,
            Type::INT4 => Codec::Int4,
            Type::INT8 => Codec::Int8,
            Type::NUMERIC => Codec::Numeric,
            Type::FLOAT4 => Codec::Float4,
            Type::FLOAT8 => Codec::Float8,
            Type::OID => Codec::Oid,
            Type::PG_LSN => Codec::PgLsn,
            Type::MONEY => return Some(self.money()),
            Type::CHAR => Codec::Char,
            Type::NAME => return Some(self.text(Codec::Name)),
            Type::BPCHAR if modifier >= 0 => return Some(self.text(Codec::Padded)),
            Type::TEXT | Type::VARCHAR | Type::BPCHAR | Type::JSON => {
                return Some(self.text(Codec::Text));
            }
            Type::XML => return Some(self.text(Codec::Xml)),
            Type::JSONB => return Some(self.text(Codec::Jsonb)),
            Type::BYTEA => Codec::Bytea,
            Type::BIT | Type::VARBIT => Codec::Bit,
            Type::UUID => Codec::Uuid,
            Type::MACADDR => Codec::Macaddr,
            Type::MACADDR8 => Codec::Macaddr8,
            Type::INET => Codec::Inet,
            Type::CIDR => Codec::Cidr,
            Type::DATE => Codec::Date,
            Type::TIME => Codec::Time,
            Type::TIMETZ => return Some(self.zoned(Codec::Timetz { zone })),
            Type::INTERVAL => return Some(interval(modifier)),
            Type::TIMESTAMP => Codec::Timestamp,
            Type::TIMESTAMPTZ => return Some(self.zoned(Codec::Timestamptz { zone })),
            Type::POINT => Codec::Point,
            Type::LINE => Codec::Line,
            Type::LSEG => Codec::Lseg,
            Type::BOX => Codec::Box,
            Type::PATH => Codec::Path,
            Type::POLYGON => Codec::Polygon,
            Type::CIRCLE => Codec::Circle,
            _ => return None,
        };
        Some(Ok(codec))
    }

    fn text(&self, codec: Codec) -> CodecAnswer {
        match self.session.encoding.as_str() {
            "UTF8" => Ok(codec),
            other => Err(format!("text in a {other} database is not encoded natively")),
        }
    }

    fn zoned(&self, codec: Codec) -> CodecAnswer {
        if !self.session.zulu {
            return Err("the session redefines the time zone Z".to_owned());
        }
        Ok(codec)
    }

    fn money(&self) -> CodecAnswer {
        if !self.reads_money {
            return Err("the session's lc_monetary is not English".to_owned());
        }
        Ok(Codec::Money)
    }
}

fn interval(modifier: i32) -> CodecAnswer {
    if interval_precision(modifier).is_none() {
        return Err("an interval with restricted fields is not encoded natively".to_owned());
    }
    Ok(Codec::Interval)
}

fn unknown(ty: &CodecPart) -> String {
    format!("type {} is not encoded natively", ty.name)
}
