//! A file of vectors: the server's answers about the spellings of one type.

use std::fs;

use pgsluice_core::types::{KeyType, Scale};

/// One line of a vector file. The server's answer is `None` if it refused the spelling.
pub(crate) struct Vector {
    pub(crate) line: String,
    pub(crate) key_type: KeyType,
    pub(crate) native: bool,
    pub(crate) text: Vec<u8>,
    pub(crate) answer: Option<Answer>,
}

pub(crate) struct Answer {
    pub(crate) binary: Vec<u8>,
    pub(crate) hash_0: u64,
    pub(crate) hash_partition: u64,
}

pub(crate) fn read_vectors(name: &str) -> Vec<Vector> {
    let path = format!("{}/../../tests/vectors/{name}.tsv", env!("CARGO_MANIFEST_DIR"));
    let file = fs::read_to_string(&path).expect(&path);
    file.split_terminator('\n').skip(1).map(read_vector).collect()
}

fn read_vector(line: &str) -> Vector {
    let fields: Vec<&str> = line.split('\t').collect();
    let [declared, zone, lane, text, binary, hash_0, hash_partition] = fields[..] else {
        panic!("not seven fields: {line}")
    };
    let native = match lane {
        "native" => true,
        "server" => false,
        _ => panic!("no such lane: {line}"),
    };
    let answer = (binary != "\\N").then(|| Answer {
        binary: read_hex(binary),
        hash_0: read_hash(hash_0),
        hash_partition: read_hash(hash_partition),
    });
    let key_type = read_type(declared, zone.parse().ok());
    Vector { line: line.to_owned(), key_type, native, text: unescape(text), answer }
}

fn read_type(declared: &str, zone: Option<i32>) -> KeyType {
    let (name, modifiers) = match declared.split_once('(') {
        Some((name, modifiers)) => (name, modifiers.trim_end_matches(')')),
        None => (declared, ""),
    };
    let modifier = modifiers.parse().ok();
    let precision = modifier.map_or(6, |modifier: u32| modifier as u8);
    let range = |subtype| KeyType::Range(read_type(subtype, zone).into());
    match name {
        "bool" => KeyType::Bool,
        "int2" => KeyType::Int2,
        "int4" => KeyType::Int4,
        "int8" => KeyType::Int8,
        "text" => KeyType::Text,
        "varchar" => KeyType::Varchar { max: modifier },
        "bpchar" => KeyType::Bpchar { max: modifier },
        "uuid" => KeyType::Uuid,
        "float4" => KeyType::Float4,
        "float8" => KeyType::Float8,
        "oid" => KeyType::Oid,
        "pg_lsn" => KeyType::PgLsn,
        "char" => KeyType::Char,
        "name" => KeyType::Name,
        "bytea" => KeyType::Bytea,
        "macaddr" => KeyType::Macaddr,
        "macaddr8" => KeyType::Macaddr8,
        "numeric" => KeyType::Numeric { scale: read_scale(modifiers) },
        "inet" => KeyType::Inet,
        "cidr" => KeyType::Cidr,
        "date" => KeyType::Date,
        "time" => KeyType::Time { precision },
        "timetz" => KeyType::Timetz { precision, zone },
        "interval" => KeyType::Interval { precision },
        "timestamp" => KeyType::Timestamp { precision },
        "timestamptz" => KeyType::Timestamptz { precision, zone },
        "jsonb" => KeyType::Jsonb,
        "int4range" => range("int4"),
        "int8range" => range("int8"),
        "numrange" => range("numeric"),
        "daterange" => range("date"),
        "tsrange" => range("timestamp"),
        "tstzrange" => range("timestamptz"),
        _ => match name.strip_prefix('_') {
            Some(element) => KeyType::Array(read_type(element, zone).into()),
            None => panic!("no such type: {declared}"),
        },
    }
}

fn read_scale(modifiers: &str) -> Option<Scale> {
    let (precision, scale) = modifiers.split_once(',')?;
    Some(Scale { precision: precision.parse().ok()?, scale: scale.parse().ok()? })
}

/// Reads a hash, which the server's functions return as a signed number.
fn read_hash(text: &str) -> u64 {
    text.parse::<i64>().expect(text) as u64
}

fn read_hex(text: &str) -> Vec<u8> {
    let byte = |at| u8::from_str_radix(&text[at..at + 2], 16).expect(text);
    (0..text.len()).step_by(2).map(byte).collect()
}

/// Decodes the escapes of COPY text that COPY TO writes.
fn unescape(text: &str) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        bytes.push(match byte {
            b'\\' => match rest.next().expect(text) {
                b'b' => 0x08,
                b'f' => 0x0C,
                b'n' => b'\n',
                b'r' => b'\r',
                b't' => b'\t',
                b'v' => 0x0B,
                other => other,
            },
            plain => plain,
        });
    }
    bytes
}
