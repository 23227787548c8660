//! Damaged files must be read or rejected, and must not end the program.

use arrow_array::{ArrayRef, Int32Array, ListArray, RecordBatch, StringArray, types::Int32Type};
use arrow_ipc::CompressionType;
use arrow_ipc::writer::{FileWriter, IpcWriteOptions, StreamWriter};
use pgsluice_core::types::{Column, ColumnType, TypeStructure};

use super::super::parallel::Counted as _;
use super::*;

fn batch() -> RecordBatch {
    let lists = [Some(vec![Some(1), None]), None, Some(vec![])];
    let columns: [(&str, ArrayRef); 3] = [
        ("a", Arc::new(Int32Array::from(vec![1, 2, 3]))),
        ("b", Arc::new(StringArray::from(vec![Some("x"), None, Some("xyz".repeat(50).as_str())]))),
        ("c", Arc::new(ListArray::from_iter_primitive::<Int32Type, _, _>(lists))),
    ];
    RecordBatch::try_from_iter(columns).expect("a batch")
}

/// Returns the number of rows in a file, or why it is rejected.
fn rows(bytes: &[u8], format: FileFormat) -> std::result::Result<usize, String> {
    rows_without(&[], bytes, format)
}

/// Returns the same as `rows` for a table without some of the columns.
fn rows_without(
    left_out: &[&str],
    bytes: &[u8],
    format: FileFormat,
) -> std::result::Result<usize, String> {
    let dir = tempfile::tempdir().expect("a directory");
    let path = dir.path().join("rows");
    std::fs::write(&path, bytes).expect("a file");
    let inputs = Inputs::resolve([path.display().to_string()]).expect("an input");
    let input = inputs.first().expect("an input");
    let plain = |oid, structure| ColumnType { oid, modifier: -1, name: String::new(), structure };
    let element = Box::new(plain(23, TypeStructure::Plain));
    let types = [
        ("a", plain(23, TypeStructure::Plain)),
        ("b", plain(25, TypeStructure::Plain)),
        ("c", plain(1007, TypeStructure::Array { delimiter: b',', element })),
    ];
    let target = |(name, ty): (&str, _)| KeyTarget {
        key: name.to_owned(),
        column: Column { name: name.to_owned(), ty },
        missing: MissingKey::Null,
    };
    let columns = types.into_iter().filter(|(name, _)| !left_out.contains(name)).map(target);
    let columns: Vec<KeyTarget> = columns.collect();
    let names: Vec<String> = columns.iter().map(|target| target.key.clone()).collect();
    let lookup = Arc::new(ColumnLookup::new(&names, HashMap::new()));
    let by_name = ByName { ignore_extra: !left_out.is_empty(), ..ByName::default() };
    let typed = Typed::new(format, columns, by_name, lookup);
    let read = || {
        let (mut batches, mut rows) = (typed.open(input)?, 0);
        while let Some((batch, _)) = batches.next()? {
            rows += batch.count();
        }
        Ok(rows)
    };
    read().map_err(|error: Error| error.to_string())
}

/// Damages each byte in turn, and truncates the file at many places.
fn damage(whole: &[u8], format: FileFormat) {
    assert_eq!(rows(whole, format), Ok(3));
    for place in 0..whole.len() {
        let mut bytes = whole.to_vec();
        bytes[place] = [0, 0x7F, 0xFF][place % 3];
        if let Err(why) = rows(&bytes, format) {
            assert!(why.contains("rows"), "{why}");
        }
    }
    // Lengths that are stored there become 16 TiB.
    for place in (5..whole.len()).step_by(8) {
        let mut bytes = whole.to_vec();
        bytes[place] = 0x10;
        let _ = rows(&bytes, format);
    }
    for length in (0..whole.len()).step_by(11) {
        // A stream may end without an end marker.
        if let Ok(rows) = rows(&whole[..length], format) {
            assert!(format == FileFormat::Arrow && matches!(rows, 0 | 3), "{length}: {rows}");
        }
    }
}

#[cfg(feature = "parquet")]
fn parquet(encoding: Option<::parquet::basic::Encoding>) -> Vec<u8> {
    use ::parquet::file::properties::WriterProperties;
    let properties = WriterProperties::builder();
    let properties = match encoding {
        Some(encoding) => {
            properties.set_dictionary_enabled(false).set_column_encoding("b".into(), encoding)
        }
        None => properties,
    };
    let mut file = Vec::new();
    let (schema, properties) = (batch().schema(), Some(properties.build()));
    let writer = ::parquet::arrow::ArrowWriter::try_new(&mut file, schema, properties);
    let mut writer = writer.expect("a writer");
    writer.write(&batch()).expect("written");
    writer.close().expect("written");
    file
}

#[cfg(feature = "parquet")]
#[test]
fn a_damaged_parquet_file_is_an_error() {
    damage(&parquet(None), FileFormat::Parquet);
}

#[cfg(feature = "parquet")]
#[test]
fn a_column_that_is_left_out_is_not_decoded() {
    use ::parquet::file::metadata::ParquetMetaDataReader;
    let mut file = parquet(None);
    let read = ParquetMetaDataReader::new().parse_and_finish(&bytes::Bytes::from(file.clone()));
    let metadata = read.expect("a footer");
    for (place, name) in ["a", "b", "c"].into_iter().enumerate() {
        let (start, length) = metadata.row_group(0).column(place).byte_range();
        let whole = file.clone();
        file[start as usize..(start + length) as usize].fill(0xFF);
        assert!(rows(&file, FileFormat::Parquet).is_err());
        assert_eq!(rows_without(&[name], &file, FileFormat::Parquet), Ok(3));
        file = whole;
    }
    // At least one column of a file is always decoded.
    let refused = rows_without(&["a", "b", "c"], &file, FileFormat::Parquet);
    assert!(refused.is_err_and(|why| why.contains("matches no column")));
}

/// Reads a page that claims billions of string lengths; allocating memory for them once aborted the program.
#[cfg(feature = "parquet")]
#[test]
fn strings_that_a_page_cannot_have_are_an_error() {
    use ::parquet::basic::Encoding;
    for encoding in [Encoding::DELTA_LENGTH_BYTE_ARRAY, Encoding::DELTA_BYTE_ARRAY] {
        let file = parquet(Some(encoding));
        damage(&file, FileFormat::Parquet);
        // Two lengths, in blocks of 128 in four parts.
        let head = [0x80, 1, 4, 2];
        let places = (0..file.len()).filter(|&place| file[place..].starts_with(&head));
        let places: Vec<usize> = places.collect();
        assert!(!places.is_empty());
        for place in places {
            let mut file = file.clone();
            file[place + 3] = 0x7F;
            let refused = rows(&file, FileFormat::Parquet).expect_err("no such page");
            assert!(refused.contains("more values than it can"), "{refused}");
        }
    }
}

/// Reads footers whose claims must not exhaust memory or the stack; each of these once aborted the program.
#[cfg(feature = "parquet")]
#[test]
fn a_footer_that_says_too_much_is_an_error() {
    let groups = [0x49, 0xFC, 0xFF, 0xFF, 0xFF, 0xFF, 7, 0, 0, 0].to_vec();
    let root = [0x48, 1, b'a', 0x15, 2, 0];
    let group = [0x35, 0, 0x18, 1, b'a', 0x15, 2, 0];
    let leaf = [0x15, 2, 0x25, 0, 0x18, 1, b'a', 0];
    // A list of 100,001 schema elements, and no row group.
    let head = [0x15, 2, 0x19, 0xFC, 0xA1, 0x8D, 6];
    let groups_of_one = [&head[..], &root, &group.repeat(99_999), &leaf].concat();
    let deep = [groups_of_one, [0x16, 0, 0x19, 0x0C, 0].to_vec()].concat();
    for (footer, why) in [(groups, "footer is damaged"), (deep, "nested too deep")] {
        let length = (footer.len() as u32).to_le_bytes();
        let file = [&b"PAR1"[..], &footer, &length, b"PAR1"].concat();
        let refused = rows(&file, FileFormat::Parquet).expect_err("no such file");
        assert!(refused.contains(why), "{refused}");
    }
}

#[test]
fn a_damaged_arrow_file_is_an_error() {
    for compression in [None, Some(CompressionType::ZSTD)] {
        let options = IpcWriteOptions::default().try_with_compression(compression).expect("known");
        let mut file = Vec::new();
        let writer = FileWriter::try_new_with_options(&mut file, &batch().schema(), options);
        let mut writer = writer.expect("a writer");
        writer.write(&batch()).expect("written");
        writer.finish().expect("written");
        damage(&file, FileFormat::Arrow);
    }
}

#[test]
fn a_damaged_arrow_stream_is_an_error() {
    for compression in [None, Some(CompressionType::LZ4_FRAME)] {
        let options = IpcWriteOptions::default().try_with_compression(compression).expect("known");
        let mut stream = Vec::new();
        let writer = StreamWriter::try_new_with_options(&mut stream, &batch().schema(), options);
        let mut writer = writer.expect("a writer");
        writer.write(&batch()).expect("written");
        writer.finish().expect("written");
        damage(&stream, FileFormat::Arrow);
    }
}

#[test]
fn an_arrow_column_that_is_left_out_is_not_decoded() {
    let mut stream = Vec::new();
    let mut writer = StreamWriter::try_new(&mut stream, &batch().schema()).expect("a writer");
    writer.write(&batch()).expect("written");
    writer.finish().expect("written");
    let text = stream.windows(3).position(|bytes| bytes == b"xyz").expect("the text of a row");
    // The value is no longer UTF-8.
    stream[text..text + 3].fill(0xFF);
    assert!(rows(&stream, FileFormat::Arrow).is_err());
    assert_eq!(rows_without(&["b"], &stream, FileFormat::Arrow), Ok(3));
    for name in ["a", "c"] {
        assert!(rows_without(&[name], &stream, FileFormat::Arrow).is_err());
    }
}
