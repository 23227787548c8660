//! Foreign files, which hold their rows in another format. They are detected by their first bytes, before the
//! reader looks for a row. Some begin with text: if `--format` is given, their lines are rows.

mod way;

use self::way::Way;
use super::{FileFormat, Input};
use crate::error::kind::Kind;
use crate::error::{Error, Remedy, Result, option};

/// A kind of file.
struct Foreign {
    is: fn(&[u8]) -> bool,
    /// Its name, with an article if it needs one.
    name: &'static str,
    way: Way,
}

const AVRO: &str = "import io, sys, polars; \
                    polars.read_avro(io.BytesIO(sys.stdin.buffer.read())).write_ipc_stream(sys.stdout.buffer)";

const ORC: &str = "import io, sys, pyarrow.ipc, pyarrow.orc; \
                   t = pyarrow.orc.read_table(io.BytesIO(sys.stdin.buffer.read())); \
                   w = pyarrow.ipc.new_stream(sys.stdout.buffer, t.schema); w.write_table(t); w.close()";

const DUCKDB: &str = "python3 -c 'import duckdb, sys; duckdb.connect(sys.argv[1], read_only=True)\
                      .sql(sys.argv[2]).write_csv(\"/dev/stdout\")'";

/// Prefixes of the name of an Office document's first member.
const OFFICE: [&[u8]; 5] = [b"[Content_Types].xml", b"_rels/", b"docProps/", b"xl/", b"mimetype"];

/// All kinds. The first match counts.
const FOREIGN: [Foreign; 24] = [
    Foreign {
        is: |b| b.starts_with(b"\x1f\x8b"),
        name: "compressed with gzip",
        way: Way::Print("zcat"),
    },
    Foreign {
        is: |b| b.starts_with(b"\x28\xb5\x2f\xfd"),
        name: "compressed with zstd",
        way: Way::Print("zstdcat"),
    },
    Foreign {
        is: |b| b.starts_with(b"\xfd7zXZ\0"),
        name: "compressed with xz",
        way: Way::Print("xzcat"),
    },
    Foreign { is: is_bzip2, name: "compressed with bzip2", way: Way::Print("bzcat") },
    Foreign {
        is: |b| b.starts_with(b"\x04\x22\x4d\x18"),
        name: "compressed with lz4",
        way: Way::Print("lz4cat"),
    },
    Foreign {
        is: |b| b.starts_with(b"LZIP\x01"),
        name: "compressed with lzip",
        way: Way::Print("lzip -dc"),
    },
    Foreign {
        is: |b| b.starts_with(b"\x1f\x9d"),
        name: "compressed with compress",
        way: Way::Print("zcat"),
    },
    Foreign {
        is: |b| is_zip(b) && OFFICE.iter().any(|name| contains(&b[..b.len().min(512)], name)),
        name: "an Office document",
        way: Way::Say("Save the sheet as CSV in UTF-8, and load that file."),
    },
    Foreign { is: is_zip, name: "a ZIP archive", way: Way::PrintFile("unzip -p") },
    Foreign {
        is: |b| b.starts_with(b"7z\xbc\xaf\x27\x1c"),
        name: "a 7z archive",
        way: Way::PrintFile("7z x -so"),
    },
    Foreign {
        is: |b| b.starts_with(b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"),
        name: "an Office document",
        way: Way::Say("Save the sheet as CSV in UTF-8, and load that file."),
    },
    Foreign {
        is: |b| is_tar(b) && b.starts_with(b"toc.dat\0"),
        name: "a pg_dump archive",
        way: Way::Restore,
    },
    Foreign { is: is_tar, name: "a tar archive", way: Way::Untar },
    Foreign { is: |b| b.starts_with(b"PGDMP\x01"), name: "a pg_dump archive", way: Way::Restore },
    Foreign {
        is: |b| b.starts_with(b"PGCOPY\n\xff\r\n\0"),
        name: "in COPY's binary format",
        way: Way::Copy,
    },
    Foreign { is: |b| b.starts_with(b"Obj\x01"), name: "an Avro file", way: Way::Convert(AVRO) },
    Foreign {
        is: |b| b.strip_prefix(b"ORC").is_some_and(|rest| is_binary(&rest[..rest.len().min(16)])),
        name: "an ORC file",
        way: Way::Convert(ORC),
    },
    Foreign {
        is: |b| b.starts_with(b"SQLite format 3\0"),
        name: "an SQLite database",
        way: Way::Query("sqlite3 -header -csv", "'SELECT * FROM {table}'"),
    },
    Foreign { is: is_duckdb, name: "a DuckDB database", way: Way::Query(DUCKDB, "'FROM {table}'") },
    Foreign {
        is: |b| b.starts_with(b"FEA1\0"),
        name: "a Feather version 1 file",
        way: Way::Say("Rewrite it as Arrow IPC (Feather version 2), and load that file."),
    },
    Foreign {
        is: |b| b.starts_with(b"\x89HDF\r\n\x1a\n"),
        name: "an HDF5 file",
        way: Way::Say("Export its table as Parquet or CSV, and load that file."),
    },
    Foreign {
        is: |b| b.starts_with(b"version https://git-lfs.github.com/spec/"),
        name: "a Git LFS pointer, without the file itself",
        way: Way::Fetch("Fetch the file with git lfs pull, in its repository"),
    },
    Foreign {
        is: is_web_page,
        name: "a web page",
        way: Way::Fetch("Download the file itself; on GitHub, use the Raw link"),
    },
    Foreign { is: is_sql_dump, name: "a pg_dump SQL script", way: Way::Run },
];

/// Rejects an input that begins like a foreign file.
pub(super) fn check(start: &[u8], input: &Input) -> Result<()> {
    let is = |what: &str| {
        Error::new(Kind::Data, format!("{} is {what}", input.name)).with_sqlstate("0A000")
    };
    if let Some(format) = FileFormat::from_start(start) {
        let error = is(&format!("in {} format", format.name()));
        return Err(error.with_remedy(Remedy::options(
            "Specify the format",
            [option("format").with(format.name())],
        )));
    }
    let means_text = |foreign: &Foreign| foreign.way.is_for_text() && input.is_format_given;
    match FOREIGN.iter().find(|foreign| (foreign.is)(start)) {
        Some(foreign) if !means_text(foreign) => {
            Err(foreign.way.explain(is(foreign.name), input, start))
        }
        _ => Ok(()),
    }
}

fn is_bzip2(start: &[u8]) -> bool {
    match start {
        [b'B', b'Z', b'h', b'1'..=b'9', block @ ..] => {
            // The block begins with the digits of pi; an empty file, with those of its square root.
            block.starts_with(b"1AY&SY") || block.starts_with(b"\x17\x72\x45\x38\x50\x90")
        }
        _ => false,
    }
}

fn is_zip(start: &[u8]) -> bool {
    [b"PK\x03\x04", b"PK\x05\x06", b"PK\x07\x08"].iter().any(|magic| start.starts_with(*magic))
}

/// Whether the bytes begin with a member of a POSIX or GNU archive, whose name is padded with zeros.
fn is_tar(start: &[u8]) -> bool {
    start.get(257..262) == Some(b"ustar") && start[..257].contains(&0)
}

/// Whether the bytes begin with a checksum, the word DUCK and a version of eight bytes.
fn is_duckdb(start: &[u8]) -> bool {
    start.get(8..12) == Some(b"DUCK") && start.get(14..20) == Some(&[0; 6])
}

fn is_sql_dump(start: &[u8]) -> bool {
    let text = start.strip_prefix(b"--").map(<[u8]>::trim_ascii_start);
    text.is_some_and(|text| {
        text.starts_with(b"-- PostgreSQL database dump")
            || text.starts_with(b"-- PostgreSQL database cluster dump")
    })
}

/// Whether the bytes begin with the tag of an HTML document.
fn is_web_page(start: &[u8]) -> bool {
    let text = start.trim_ascii_start();
    let begins = |tag: &[u8]| text.get(..tag.len()).is_some_and(|it| it.eq_ignore_ascii_case(tag));
    begins(b"<!doctype html") || begins(b"<html>") || begins(b"<html ")
}

/// Whether the bytes contain control characters other than white space.
pub(super) fn is_binary(bytes: &[u8]) -> bool {
    bytes.iter().any(|byte| byte.is_ascii_control() && !(b'\t'..=b'\r').contains(byte))
}

fn contains(bytes: &[u8], part: &[u8]) -> bool {
    bytes.windows(part.len()).any(|window| window == part)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn checked(name: &str, bytes: &[u8]) -> Result<()> {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join(name);
        std::fs::write(&path, "").expect("a file");
        let inputs = super::super::Inputs::resolve([path.display().to_string()]).expect("inputs");
        let mut input = inputs[0].clone();
        name.clone_into(&mut input.name);
        check(bytes, &input)
    }

    fn tar(member: &str) -> Vec<u8> {
        let mut header = member.as_bytes().to_vec();
        header.resize(257, 0);
        [&header, &b"ustar\x0000"[..]].concat()
    }

    #[test]
    fn foreign_files_are_known_and_have_a_way() {
        for (name, bytes, parts) in [
            (
                "a.avro",
                &b"Obj\x01\x02\x16avro.schema"[..],
                ["an Avro file", "< a.avro | pgsluice load"],
            ),
            ("a.orc", b"ORC\n\x06\x12\x04", ["an ORC file", "--format arrow"]),
            ("a.orc", b"ORC\x11\0\0\n\x06", ["an ORC file", "pyarrow"]),
            ("a.db", b"SQLite format 3\0", ["an SQLite database", "sqlite3 -header -csv a.db"]),
            (
                "a.db",
                b"\x12\x1f@X\xf2\xc4\xec\x12DUCK\xe7\x03\0\0\0\0\0\0",
                ["a DuckDB database", "a.db"],
            ),
            (
                "a.tar",
                &tar("a.csv"),
                ["a tar archive", "tar -xOf a.tar | pgsluice load - ... --format csv"],
            ),
            ("a.tar", &tar("toc.dat"), ["a pg_dump archive", "pg_restore -f - a.tar | psql"]),
            ("a.dump", b"PGDMP\x01\x0e\0", ["a pg_dump archive", "pg_restore -f - a.dump | psql"]),
            (
                "a.bin",
                b"PGCOPY\n\xff\r\n\0\0",
                ["COPY's binary", "\\copy TABLE FROM '\\''a.bin'\\''"],
            ),
            (
                "a.xlsx",
                b"PK\x03\x04\x14\0\0\0[Content_Types].xml",
                ["an Office document", "as CSV"],
            ),
            ("a.zip", b"PK\x03\x04\x14\0\0\0a.csv", ["a ZIP archive", "unzip -p a.zip | pgsluice"]),
            ("a.bz2", b"BZh11AY&SY", ["compressed with bzip2", "bzcat a.bz2"]),
            ("a.sql", b"--\n-- PostgreSQL database dump\n--\n", ["SQL script", "psql -f a.sql"]),
            (
                "a.sql",
                b"--\r\n-- PostgreSQL database cluster dump",
                ["SQL script", "--format text"],
            ),
        ] {
            let message = checked(name, bytes).expect_err(name).to_string();
            assert!(parts.iter().all(|part| message.contains(part)), "{parts:?}: {message}");
        }
    }

    #[test]
    fn text_is_not_taken_for_anything_else() {
        for text in [
            "PGDMP\n1\n",
            "ORC,elf\n1,2\n",
            "ORC\nelf\n",
            "Obj\t1\n",
            "PAR1,PAR2\n",
            "BZh9,1\n",
            "LZIP\n",
            "PK\t1\n",
            "12345678DUCK,1\n",
            "PGCOPY\n",
            "SQLite format 3\n",
            "--\n-- PostgreSQL\n",
            "FEA1\n",
            &format!("{}ustar\n", "x".repeat(257)),
        ] {
            assert!(checked("a.csv", text.as_bytes()).is_ok(), "{text}");
        }
    }
}
