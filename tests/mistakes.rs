//! Mistakes of beginners: each costs one message and leaves no row in the table, and the command in the
//! message works. Only a bad row late in a long file may leave rows, and then the command loads the rest.

mod files;
mod hints;

use std::io::Write;
use std::process::{Command, Stdio};

use crate::harness::{Address, Bench, Ended, Role, Running, Server, on_each_server, program};

on_each_server!([
    a_header_is_not_mentioned,
    the_delimiter_is_another,
    the_table_is_another,
    the_columns_are_in_another_order,
    the_input_is_latin1,
    the_input_is_compressed,
    a_partition_is_missing,
    the_password_is_wrong,
    there_are_no_rights,
    who_may_not_read_the_table_is_warned_as_well,
    the_same_file_again,
    an_option_is_misspelt,
    a_row_in_the_middle_is_bad,
    a_late_mistake_has_no_command_that_doubles,
    the_plan_says_it_before,
    names_with_control_characters_can_be_copied,
]);

const ROWS: usize = 1000;
/// With this limit, a load of a 12 MB file has to wait for commits, even if the server is slow.
const SHORT: &str = "--memory 1MB";

/// A table `orders` by day, and environment variables that name the server, so that commands can be copied.
struct Desk {
    bench: Bench,
    address: Address,
}

impl Desk {
    fn new(server: Server) -> Self {
        let bench = Bench::new(server);
        bench.session.run(
            "CREATE TABLE orders (id int NOT NULL, day date NOT NULL, name text)
                 PARTITION BY RANGE (day);
             CREATE TABLE orders_2026_01 PARTITION OF orders
                 FOR VALUES FROM ('2026-01-01') TO ('2026-02-01') PARTITION BY HASH (id);
             CREATE TABLE orders_2026_01_0 PARTITION OF orders_2026_01
                 FOR VALUES WITH (MODULUS 2, REMAINDER 0);
             CREATE TABLE orders_2026_01_1 PARTITION OF orders_2026_01
                 FOR VALUES WITH (MODULUS 2, REMAINDER 1);
             CREATE TABLE \"Mixed\" (id int, day date, name text)",
        );
        let address = Address::from_url(&bench.url);
        Self { bench, address }
    }

    fn with(server: Server, name: &str, content: impl AsRef<[u8]>) -> Self {
        let desk = Self::new(server);
        desk.bench.file(name, content);
        desk
    }

    fn at_home<'c>(&self, command: &'c mut Command) -> &'c mut Command {
        let Address { host, port, database, user, password } = &self.address;
        command.current_dir(self.bench.folder.path()).stdin(Stdio::null());
        command.env("PGHOST", host).env("PGPORT", port).env("PGDATABASE", database);
        command.env("PGUSER", user).env("PGPASSWORD", password)
    }

    /// Runs the program with the words of `line`, and tries its hints if it fails.
    fn run(&self, line: &str) -> Ended {
        let ended = Running::start(self.at_home(program().args(line.split(' ')))).ended();
        self.try_hints(&ended);
        ended
    }

    /// Runs the command of each hint, with `plan` in place of `load`. It must not end in the same error.
    fn try_hints(&self, failed: &Ended) {
        let error = failed.stderr.lines().find_map(|line| line.strip_prefix("pgsluice: error: "));
        // The message without the row's position.
        let Some((_, reason)) = error.and_then(|error| error.split_once(": ")) else { return };
        let hints = failed.stderr.lines().filter_map(|line| line.strip_prefix("HINT:  "));
        let commands = hints.filter_map(|hint| Some(hint.split_once(": ")?.1));
        for command in commands.filter(|command| command.contains("pgsluice load ")) {
            let is_of_load = |option: &&str| command.contains(option);
            if ["--load-id", "--reject-file", "--create-partitions"].iter().any(is_of_load) {
                continue;
            }
            let planned = self.shell(&command.replace("pgsluice load ", "pgsluice plan "));
            assert!(!planned.stderr.contains(reason), "{command}\n{failed:?}\n{planned:?}");
        }
    }

    /// Runs a complete command in a shell.
    fn shell(&self, line: &str) -> Ended {
        let mut command = Command::new("sh");
        let path = std::path::Path::new(program().get_program()).parent().unwrap().to_owned();
        let paths = std::env::var("PATH").unwrap();
        command.args(["-c", line]).env("PATH", format!("{}:{paths}", path.display()));
        command.env("PGSLUICE_SMALL_ROWS", "299");
        Running::start(self.at_home(&mut command)).ended()
    }

    /// Makes the mistake, checks that it leaves nothing, and then follows the hint.
    fn mend(&self, line: &str, message: &str) -> Ended {
        let failed = self.run(line);
        failed.fails(1, &["pgsluice: error: ", message]);
        assert_eq!(self.bench.count("orders"), 0, "{failed:?}");
        self.shell(&command_of(&failed))
    }

    /// Makes the mistake and follows the hint, which must load all rows.
    fn mends(&self, line: &str, message: &str) {
        let ended = self.mend(line, message);
        assert_eq!(ended.status.code(), Some(0), "{line}: {ended:?}");
        assert_eq!(self.bench.count("orders"), ROWS as u64, "{line}: {ended:?}");
    }
}

/// Returns the command in the last hint of a message.
fn command_of(failed: &Ended) -> String {
    let mut hints = failed.stderr.lines().filter(|line| line.starts_with("HINT:  "));
    let hint = hints.next_back().unwrap_or_else(|| panic!("no hint: {failed:?}"));
    let (_, command) = hint.trim_start_matches("HINT:  ").split_once(": ").unwrap();
    command.to_owned()
}

fn rows_of(name: impl Fn(usize) -> String) -> String {
    (1..=ROWS).map(|id| format!("{id},2026-01-{:02},{}\n", 1 + id % 28, name(id))).collect()
}

fn rows() -> String {
    rows_of(|id| format!("n{id}"))
}

fn a_header_is_not_mentioned(server: Server) {
    let desk = Desk::with(server, "orders.csv", format!("id,day,name\n{}", rows()));
    desk.mends("load orders.csv -t orders", "Line 1 looks like a header: pgsluice load");
    // The names in the header identify the columns.
    let other = Desk::with(server, "orders.csv", {
        let rows = rows();
        let turned = rows.lines().map(|row| row.split(',').rev().collect::<Vec<_>>().join(","));
        format!("Name,Day,ID\n{}\n", turned.collect::<Vec<_>>().join("\n"))
    });
    other.mends("load orders.csv -t orders", "--header --columns name,day,id");
}

fn the_delimiter_is_another(server: Server) {
    for (delimiter, message) in
        [(';', "--delimiter ';'"), ('\t', "'\\t'"), ('|', "--delimiter '|'")]
    {
        let rows = rows().replace(',', &delimiter.to_string());
        let desk = Desk::with(server, "orders.csv", rows);
        desk.mends("load orders.csv -t orders", message);
    }
    let text =
        Desk::with(server, "orders.txt", format!("id;day;name\n{}", rows().replace(',', ";")));
    text.mends("load orders.txt -t orders", "--format csv --delimiter ';' --header");
}

fn the_table_is_another(server: Server) {
    let desk = Desk::with(server, "orders.csv", rows());
    desk.mends("load orders.csv -t order", "There is public.orders: ");
    desk.bench.session.run("TRUNCATE orders");
    let ended = desk.mend("load orders.csv -t Mixed", "There is public.\"Mixed\": ");
    assert_eq!(ended.status.code(), Some(0), "{ended:?}");
    assert_eq!(desk.bench.count("\"Mixed\""), ROWS as u64);
}

fn the_columns_are_in_another_order(server: Server) {
    let rows: Vec<String> = (1..=ROWS).map(|id| format!("n{id},2026-01-05,{id}\n")).collect();
    let desk = Desk::with(server, "orders.csv", rows.concat());
    desk.mends(
        "load orders.csv -t orders",
        "The fields fit the columns name, day, id in this order",
    );
}

fn the_input_is_latin1(server: Server) {
    let text = rows_of(|id| if id == 500 { "caf\u{e9}".to_owned() } else { format!("n{id}") });
    let bytes: Vec<u8> = text.chars().map(|c| u8::try_from(u32::from(c)).unwrap()).collect();
    let desk = Desk::with(server, "orders.csv", bytes);
    desk.mends(
        "load orders.csv -t orders",
        "may be latin1: pgsluice load orders.csv -t orders --encoding latin1",
    );
    assert_eq!(desk.bench.count("orders WHERE name = E'caf\\u00e9'"), 1);
}

fn the_input_is_compressed(server: Server) {
    let desk = Desk::new(server);
    let mut bzip2 = Command::new("bzip2");
    let file = std::fs::File::create(desk.bench.path("orders.csv.bz2")).unwrap();
    let mut bzip2 = bzip2.arg("-c").stdin(Stdio::piped()).stdout(file).spawn().unwrap();
    bzip2.stdin.take().unwrap().write_all(format!("id,day,name\n{}", rows()).as_bytes()).unwrap();
    bzip2.wait().unwrap();
    for verb in ["plan", "verify"] {
        let refused = desk.run(&format!("{verb} orders.csv.bz2 --header -t orders"));
        refused.fails(1, &["orders.csv.bz2 is compressed with bzip2 (SQLSTATE 0A000)"]);
    }
    desk.mends("load orders.csv.bz2 --header -t orders", "bzcat orders.csv.bz2 | pgsluice load -");
}

fn a_partition_is_missing(server: Server) {
    let desk = Desk::with(server, "orders.csv", rows().replace("501,2026-01", "501,2026-02"));
    desk.mends("load orders.csv -t orders", "no partition of relation \"orders\" found for row");
    assert_eq!(desk.bench.count("orders_2026_02"), 1);
    // No partition can be created for a key that is missing.
    let desk = Desk::with(server, "orders.csv", rows().replacen("2026-01-02", "", 1));
    let ended = desk.mend("load orders.csv -t orders", "Only a DEFAULT partition accepts NULL.");
    assert_eq!(ended.status.code(), Some(3), "{ended:?}");
    assert_eq!(desk.bench.count("orders"), ROWS as u64 - 1);
}

fn the_password_is_wrong(server: Server) {
    let desk = Desk::with(server, "orders.csv", rows());
    let mut load = program();
    desk.at_home(load.args(["load", "orders.csv", "-t", "orders"])).env("PGPASSWORD", "wrong");
    let failed = Running::start(&mut load).ended();
    failed.fails(1, &["password authentication failed", "HINT:  ", "PGPASSWORD", "-W"]);
    assert_eq!(desk.run("load orders.csv -t orders").status.code(), Some(0));
}

fn there_are_no_rights(server: Server) {
    let desk = Desk::with(server, "orders.csv", rows());
    let role = Role::new(&desk.bench);
    let refused = desk.run(&format!("load orders.csv -t orders -d {}", role.url));
    refused.fails(
        1,
        &["permission denied for table orders (SQLSTATE 42501)", "HINT:  ", "GRANT INSERT"],
    );
    let hint = refused.stderr.lines().last().unwrap();
    let grant = hint.rsplit(": ").next().unwrap();
    desk.bench.session.run(grant);
    let ended = desk.run(&format!("load orders.csv -t orders -d {}", role.url));
    assert_eq!(ended.status.code(), Some(0), "{ended:?}");
}

fn who_may_not_read_the_table_is_warned_as_well(server: Server) {
    let desk = Desk::with(server, "orders.csv", "1,2026-01-05,first\n");
    let role = Role::new(&desk.bench);
    let (database, name) = (&desk.address.database, &role.name);
    desk.bench.session.run(&format!("GRANT CREATE ON DATABASE {database} TO {name}"));
    desk.bench.session.run(&format!("GRANT INSERT ON orders TO {name}"));
    // The first and the third load are not small.
    for (option, warns) in [(" --few-rows=0", false), ("", true), (" --few-rows=0", true)] {
        let ended = desk.run(&format!("load orders.csv -t orders -d {}{option}", role.url));
        assert_eq!(ended.status.code(), Some(0), "{ended:?}");
        assert_eq!(ended.stderr.contains("warning: the same input"), warns, "{ended:?}");
    }
}

fn the_same_file_again(server: Server) {
    let desk = Desk::with(server, "orders.csv", rows());
    assert_eq!(desk.run("load orders.csv -t orders --load-id first").status.code(), Some(0));
    let refused = desk.run("load orders.csv -t orders --once");
    refused.fails(
        1,
        &["this input was loaded into public.orders before", "It was loaded by load first"],
    );
    assert_eq!(desk.bench.count("orders"), ROWS as u64);
    let again = desk.run("load orders.csv -t orders");
    assert_eq!(again.status.code(), Some(0), "{again:?}");
    let warnings = again.stderr.lines().filter(|line| line.contains("warning: "));
    assert_eq!(warnings.filter(|line| line.contains("by load first, which ended 2")).count(), 1);
    let stream = desk.run("load - --format csv -t orders --once");
    stream.fails(2, &["a stream cannot be recognized before it is read", "HINT:  "]);
    // It is normal to truncate and load the table every night.
    desk.bench.session.run("TRUNCATE orders");
    let nightly = desk.run("load orders.csv -t orders");
    assert!(!nightly.stderr.contains("warning"), "{nightly:?}");
}

fn an_option_is_misspelt(server: Server) {
    let desk = Desk::with(server, "orders.csv", rows());
    let failed = desk.run("load orders.csv --headr -t orders");
    failed.fails(2, &["pgsluice: error: unexpected argument '--headr' found", "'--header'"]);
    assert_eq!(desk.bench.count("orders"), 0);
}

fn a_row_in_the_middle_is_bad(server: Server) {
    let many = 400_000;
    let row = |id: usize| format!("{id},2026-01-{:02},name of {id}\n", 1 + id % 28);
    let mut text: Vec<String> = (1..=many).map(row).collect();
    for bad in [350_000, 390_000] {
        text[bad] = "x,2026-01-05,bad\n".to_owned();
    }
    let desk = Desk::with(server, "orders.csv", text.concat());
    let failed = desk.run(&format!("load orders.csv -t orders {SHORT}"));
    // Either row may be refused first, because both can be in transit at once.
    let message = ["orders.csv:3", "0001: column id: ", "--reject-file bad.csv --max-rejects 100"];
    failed.fails(1, &message);
    assert!(failed.committed() > 0, "{failed:?}");
    assert_eq!(failed.committed(), desk.bench.count("orders"), "{failed:?}");
    let ended = desk.shell(&command_of(&failed));
    assert_eq!(ended.status.code(), Some(3), "{ended:?}");
    assert_eq!(desk.bench.count("orders"), many as u64 - 2);
    let verified = desk.run("verify orders.csv -t orders --reject-file bad.csv");
    assert_eq!(verified.status.code(), Some(0), "{verified:?}");
    assert!(verified.stdout.contains("left out 2 rows of the input"), "{verified:?}");
}

fn a_late_mistake_has_no_command_that_doubles(server: Server) {
    let row = |id: usize| format!("{id},2026-01-{:02},name of {id}\n", 1 + id % 28).into_bytes();
    for bad in [&b"1,2026-01-05,caf\xe9\n"[..], b"1,2027-01-05,no partition\n"] {
        let mut rows: Vec<_> = (1..=400_000).map(row).collect();
        rows[390_000] = bad.to_owned();
        let desk = Desk::with(server, "orders.csv", rows.concat());
        let failed = desk.run(&format!("load orders.csv -t orders {SHORT}"));
        failed.fails(1, &["orders.csv:390001: ", "HINT:  "]);
        assert!(failed.committed() > 0, "{failed:?}");
        let hints = failed.stderr.lines().filter(|line| line.starts_with("HINT:  "));
        let commands: Vec<_> = hints.filter(|line| line.contains("pgsluice load")).collect();
        assert!(commands.iter().all(|line| line.contains("--load-id")), "{failed:?}");
        assert_eq!(desk.shell(&command_of(&failed)).status.code(), Some(3));
        assert_eq!(desk.bench.count("orders"), 399_999);
    }
}

fn the_plan_says_it_before(server: Server) {
    let desk = Desk::with(server, "orders.csv", format!("id,day,name\n{}", rows()));
    let plan = desk.run("plan orders.csv -t orders");
    assert_eq!(plan.status.code(), Some(1), "{plan:?}");
    let message =
        "error: this load would fail at line 1 of orders.csv: column id: invalid input syntax";
    assert!(plan.stderr.contains(message) && !plan.stdout.contains("fallback"), "{plan:?}");
    assert_eq!(desk.shell(&command_of(&plan)).status.code(), Some(0));
    desk.bench.file("none.csv", "");
    for verb in ["plan", "verify"] {
        let nothing = desk.run(&format!("{verb} none.csv -t orders"));
        assert!(!nothing.stdout.contains("equal"), "{nothing:?}");
    }
    let nothing = desk.run("load none.csv -t orders");
    assert_eq!(nothing.status.code(), Some(0), "{nothing:?}");
    assert!(nothing.stderr.contains("warning: the input has no rows"), "{nothing:?}");
}

fn names_with_control_characters_can_be_copied(server: Server) {
    let name = "two\nlines\u{1b}[31m.csv";
    let desk =
        Desk::with(server, name, format!("id\u{1}day\u{1}name\n{}", rows().replace(',', "\u{1}")));
    let mut load = program();
    desk.at_home(load.args(["load", name, "-t", "orders", "--delimiter", "\u{1}"]));
    let failed = Running::start(&mut load).ended();
    failed.fails(1, &["two\\nlines\\x1b[31m.csv:1: column id: "]);
    assert!(!failed.stderr.contains(|c: char| c.is_control() && c != '\n'), "{failed:?}");
    let command = command_of(&failed);
    assert!(command.contains("--delimiter $'\\001'"), "{command}");
    let mut bash = Command::new("bash");
    let path = std::path::Path::new(program().get_program()).parent().unwrap().to_owned();
    let paths = std::env::var("PATH").unwrap();
    bash.args(["-c", &command]).env("PATH", format!("{}:{paths}", path.display()));
    let ended = Running::start(desk.at_home(&mut bash)).ended();
    assert_eq!(ended.status.code(), Some(0), "{command}: {ended:?}");
    assert_eq!(desk.bench.count("orders"), ROWS as u64);
}
