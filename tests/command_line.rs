//! The manual's command-line page, completions, and man pages.

mod page;

use std::fs;
use std::path::Path;
use std::process::Command;

use crate::harness::{Bench, Server, on_each_server, program, run};

on_each_server!([bash_completes_tables,]);

/// The environment variable that makes the test write the page instead of comparing it.
const WRITE: &str = "PGSLUICE_WRITE_COMMAND_LINE";

#[test]
fn the_page_is_what_the_program_takes() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/manual/command-line.md");
    let page = page::page(pgsluice_cli::command());
    if std::env::var_os(WRITE).is_some() {
        fs::write(&file, &page).expect("docs/manual/command-line.md is written");
        return;
    }
    let text = fs::read_to_string(&file).expect("docs/manual/command-line.md is read");
    let differs = text.lines().zip(page.lines()).find(|(written, right)| written != right);
    assert!(
        text == page,
        "docs/manual/command-line.md differs, first in {differs:?}; `make command-line` writes it"
    );
}

#[test]
fn bash_completes_commands_and_options() {
    for (line, expected) in [
        ("pgsluice lo", "load"),
        ("pgsluice load --exch", "--exchange"),
        ("pgsluice load --format t", "text"),
        ("pgsluice server st", "start stop status"),
        ("pgsluice completions f", "fish"),
    ] {
        assert_eq!(completed(line), expected, "{line}");
    }
}

#[test]
fn each_shell_gets_a_script_and_another_is_refused() {
    for shell in ["bash", "zsh", "fish"] {
        let outcome = run(&["completions", shell], None);
        assert_eq!(outcome.status, Some(0), "{shell}: {}", outcome.stderr);
        assert!(outcome.stdout.contains("PGSLUICE_COMPLETE"), "{shell}");
    }
    let outcome = run(&["completions", "tcsh"], None);
    assert_eq!(outcome.status, Some(2), "{}", outcome.stderr);
    // The program loads nothing, and gives the reason.
    let asked = program().env("PGSLUICE_COMPLETE", "tcsh").args(["load", "x.csv"]).output();
    let asked = asked.expect("the program runs");
    let message = String::from_utf8_lossy(&asked.stderr);
    assert!(asked.status.code() == Some(2) && message.contains("tcsh"), "{message}");
}

#[test]
fn man_pages_are_written_for_each_command() {
    let place = tempfile::tempdir().unwrap();
    let directory = place.path().join("man1");
    let outcome = run(&["man", directory.to_str().unwrap()], None);
    assert_eq!(outcome.status, Some(0), "{}", outcome.stderr);
    for (name, says) in [
        ("pgsluice.1", "pgsluice\\-load(1)"),
        ("pgsluice-load.1", "\\-\\-exchange"),
        ("pgsluice-server-start.1", "\\-\\-foreground"),
    ] {
        let page = fs::read_to_string(directory.join(name)).expect(name);
        assert!(page.contains(says), "{name}: {page}");
    }
}

#[test]
fn man_pages_that_cannot_be_written_are_an_error() {
    let place = tempfile::tempdir().unwrap();
    let file = place.path().join("file");
    fs::write(&file, "").unwrap();
    let outcome = run(&["man", file.to_str().unwrap()], None);
    assert_eq!(outcome.status, Some(1));
    assert!(outcome.stderr.contains("could not write man pages to"), "{}", outcome.stderr);
}

/// Names of tables are completed from the server that the command line names.
fn bash_completes_tables(server: Server) {
    let bench = Bench::with_table(server);
    bench.session.run(
        "CREATE TABLE orders (id int) PARTITION BY LIST (id);
         CREATE TABLE orders_1 PARTITION OF orders FOR VALUES IN (1);
         CREATE TABLE \"Orders\" (id int); CREATE SCHEMA sales; CREATE TABLE sales.others (id int)",
    );
    let on = |words: &str| completed(&format!("pgsluice load x.csv -d {} {words}", bench.url));
    assert_eq!(on("-t o"), "orders");
    assert_eq!(on("--table sal"), "sales.others");
    assert_eq!(on("-t '\"O"), "'\"Orders\"'");
    assert_eq!(on("-t nothing"), "");
    let nowhere = "pgsluice tree -d postgres://nobody@127.0.0.1:1/none -t o";
    assert_eq!(completed(nowhere), "", "nothing is printed at the prompt");
}

/// Returns the completions that bash offers for the last word of the line.
fn completed(line: &str) -> String {
    let script = r#"
        PATH=$(dirname "$1"):$PATH
        source <(pgsluice completions bash)
        read -ra COMP_WORDS <<< "$2"
        COMP_CWORD=$(( ${#COMP_WORDS[@]} - 1 ))
        _clap_complete_pgsluice pgsluice "${COMP_WORDS[COMP_CWORD]}" "${COMP_WORDS[COMP_CWORD - 1]}"
        echo "${COMPREPLY[*]}"
    "#;
    let path = program().get_program().to_owned();
    let output = Command::new("bash").args(["-c", script, "bash"]).arg(path).arg(line).output();
    let output = output.expect("bash runs");
    assert!(output.stderr.is_empty(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).trim().to_owned()
}
