//! Tests of the matching of names to columns.

use super::*;

fn names(list: &str) -> Vec<String> {
    list.split(',').map(str::to_owned).collect()
}

fn match_header(by_name: &ByName, header: &str, columns: &str) -> Result<MatchedFields> {
    by_name.match_headers(&InputNames::new("rows.csv", names(header)), &names(columns))
}

fn with(map: &[(&str, &str)], ignore_extra: bool) -> ByName {
    let map = map.iter().map(|(name, column)| ((*name).to_owned(), (*column).to_owned()));
    ByName { map: map.collect(), ignore_extra }
}

#[test]
fn fields_find_their_columns() {
    let found = match_header(&ByName::default(), "c,a", "a,b,c").expect("columns");
    assert_eq!((found.columns, found.extra, found.notes), (names("c,a"), Vec::new(), Vec::new()));
    let found = match_header(&with(&[("x", "b")], true), "x,y,a", "a,b,c").expect("columns");
    assert_eq!(found.columns, names("b,a"));
    assert_eq!(found.selected, [true, false, true]);
    assert_eq!(found.notes(), ["ignored fields: y"]);
}

#[test]
fn a_name_that_comes_twice_is_refused_if_it_is_a_column() {
    let found = match_header(&with(&[], true), "a,x,b,x", "a,b").expect("columns");
    assert_eq!((found.columns, found.extra), (names("a,b"), names("x")));
    assert_eq!(found.selected, [true, false, true, false]);
    let error = match_header(&with(&[], true), "a,x,a", "a,b").expect_err("twice").to_string();
    assert!(error.contains("use --columns and --header instead"), "{error}");
}

#[test]
fn very_many_names_take_little_time_and_space() {
    let many: Vec<String> = (0..80_000).map(|name| format!("k{name}")).collect();
    let header = format!("a,{}", many.join(","));
    let found = match_header(&with(&[], true), &header, "a,b").expect("columns");
    let message = found.notes().join("\n");
    assert!(message.ends_with("k19 and 79980 more") && message.len() < 1000, "{message}");
    let long = format!("a,{}", "x".repeat(1 << 20));
    let error = match_header(&ByName::default(), &long, "a,b").expect_err("no column").to_string();
    assert!(error.len() < 1000, "{error}");
}

#[test]
fn each_input_leads_by_its_own_names() {
    let mut headers = InputNames::new("1", names("ID,other"));
    headers.add("2", names("id,a"));
    let found = with(&[], true).match_headers(&headers, &names("id,a,b")).expect("columns");
    assert_eq!((found.columns, found.extra), (names("id,a"), names("other")));
    let keys = with(&[], true).match_keys(&headers, &names("id,a,b"), |_| false);
    assert_eq!(keys.expect("columns").columns, names("id,a"));
    let error = ByName::default().match_headers(&headers, &names("id,b,other")).expect_err("a");
    assert!(error.to_string().contains("2 has field \"a\", which matches no column"), "{error}");
}

#[test]
fn case_matters_where_there_is_a_choice() {
    let found = match_header(&ByName::default(), "ID,Name", "id,name").expect("columns");
    assert_eq!(found.columns, names("id,name"));
    assert_eq!(found.notes.len(), 2);
    let found = match_header(&ByName::default(), "id,Id", "id,ID,Id").expect("columns");
    assert_eq!(found.columns, names("id,Id"));
    let error = match_header(&ByName::default(), "iD", "id,ID").expect_err("either").to_string();
    assert!(error.contains("\"iD\" matches both column id and column \"ID\""), "{error}");
}

#[test]
fn names_without_a_column_are_refused() {
    let none = ByName::default();
    for (by_name, header, message) in [
        (none.clone(), "a,a", "the input has field \"a\" more than once (SQLSTATE 42701)"),
        (none.clone(), "a,x", "the input has field \"x\", which matches no column of the table"),
        (none.clone(), "a;b", "another delimiter: --delimiter ';'"),
        (none, "a,amont", "If the column has another name in the input: --map amont=amount"),
        (with(&[("x", "a")], false), "b", "the input has no field \"x\""),
        (with(&[("b", "nope")], false), "b", "column \"nope\" does not exist"),
        (with(&[("x", "a")], false), "x,a", "two fields match column a"),
        (with(&[], true), "x,y", "the input has field \"x\", which matches no column of the table"),
    ] {
        let error = match_header(&by_name, header, "a,b,amount").expect_err(message).to_string();
        assert!(error.contains(message), "{error}");
    }
}
