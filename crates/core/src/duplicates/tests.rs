//! Tests of the rules that choose a row per key, against the slow twin.

use proptest::prelude::*;

use super::*;
use crate::format::Format;
use crate::parse::{Fields, Parser};
use crate::types::{Datum, KeyType};

const SECRET: Secret = Secret(*b"sixteen bytes of");

fn print(
    key: &[KeyPart],
    row: &str,
    leaf: Option<usize>,
    distinct: bool,
) -> Result<Print, NoPrint> {
    let parser = Parser::new(&Format::csv(), (0..3).collect());
    let mut fields = Fields::default();
    parser.parse(row.as_bytes(), &mut fields);
    SECRET.print(leaf, key, (row.as_bytes(), &fields), distinct, &mut Vec::new())
}

#[test]
fn equal_keys_have_one_print_however_they_are_spelled() {
    let numeric = KeyType::Numeric { scale: None };
    let key =
        [KeyPart { slot: 0, key_type: numeric }, KeyPart { slot: 2, key_type: KeyType::Int8 }];
    let of = |row| print(&key, row, None, true).unwrap();
    assert_eq!(of("1.0,a,7"), of("1.00,b,7"));
    assert_ne!(of("1.0,a,7"), of("1.0,a,8"));
    assert_ne!(of("1.0,a,7"), of("1.1,a,7"));
    assert_ne!(print(&key, "1,a,7", Some(1), true), print(&key, "1,a,7", Some(2), true));
    let texts = [0, 1].map(|slot| KeyPart { slot, key_type: KeyType::Text });
    let of = |row| print(&texts, row, None, true).unwrap();
    assert_ne!(of("ab,c,"), of("a,bc,"));
}

#[test]
fn null_equals_nothing_by_default() {
    let key = [0, 1].map(|slot| KeyPart { slot, key_type: KeyType::Int4 });
    assert_eq!(print(&key, "1,,", None, true), Err(NoPrint::Null));
    assert_eq!(print(&key, "1,,", None, false), print(&key, "1,,x", None, false));
    assert_ne!(print(&key, "1,,", None, false), print(&key, "1,0,", None, false));
    assert_eq!(print(&key, "1", None, true), Err(NoPrint::Missing(1)));
    assert_eq!(print(&key, "1,0x2,", None, true).map(|_| ()), Err(NoPrint::Spelling(1)));
}

/// Writes the entries to parts, and reads them back.
fn write_and_read<R: Rank>(rows: impl Iterator<Item = (Print, R)>, rule: Rule) -> Vec<Entry<R>> {
    let entries = rows.zip(0..).map(|((print, rank), row)| Entry::new(print, rank, row, rule));
    let mut parts = vec![Vec::new(); 7];
    entries.for_each(|entry| entry.write(&mut parts[entry.part(7)]));
    let entries = parts.iter().flat_map(|part| part.chunks_exact(Entry::<R>::BYTES));
    entries.map(|bytes| Entry::read(bytes).expect("an entry")).collect()
}

proptest! {
    #[test]
    fn duplicates_are_those_of_the_twin(
        rows in proptest::collection::vec((0..12_i64, proptest::option::of(-3..3_i64)), 0..60),
        which in 0..3_usize,
    ) {
        let rule = [Rule::First, Rule::Last, Rule::Greatest][which];
        let key = [KeyPart { slot: 0, key_type: KeyType::Int8 }];
        let prints = rows.iter().map(|(of, _)| print(&key, &format!("{of},,"), None, true).unwrap());
        let mut counting: Vec<usize> = (0..rows.len()).collect();
        let found = |row: u64, by: u64| counting[row as usize] = by as usize;
        if rule == Rule::Greatest {
            let value = |value| RankedValue::from_datum(Datum::Int(value)).expect("a short one");
            let values = rows.iter().map(|(_, of)| of.map(value).unwrap_or_default());
            find_duplicates(&mut write_and_read(prints.zip(values), rule), rule, found);
        } else {
            find_duplicates(&mut write_and_read(prints.map(|print| (print, NoRank)), rule), rule, found);
        }
        prop_assert_eq!(counting, naive::counting(&rows, rule));
    }
}
