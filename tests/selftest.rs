//! The self-test: it is silent if server and router agree, and refuses the load if they do not. To make them
//! disagree, a scratch database gets another hash function.

use std::path::PathBuf;

use tempfile::TempDir;

use crate::harness::{Scratch, Server, Session, on_each_server, run};

on_each_server!([agrees, asks_about_keys_only, refuses, runs_no_casts_of_others,]);

const TREE: &str = "
CREATE TABLE t (day date, id int, name text COLLATE \"C\") PARTITION BY RANGE (day);
CREATE TABLE t_1 PARTITION OF t FOR VALUES FROM ('2024-01-01') TO ('2024-02-01')
    PARTITION BY HASH (id);
CREATE TABLE t_1_0 PARTITION OF t_1 FOR VALUES WITH (MODULUS 2, REMAINDER 0);
CREATE TABLE t_1_1 PARTITION OF t_1 FOR VALUES WITH (MODULUS 2, REMAINDER 1);
CREATE TABLE t_2 PARTITION OF t FOR VALUES FROM ('2024-02-01') TO ('2024-03-01')
    PARTITION BY LIST (name);
CREATE TABLE t_2_a PARTITION OF t_2 FOR VALUES IN ('a', 'it''s', NULL);
CREATE TABLE t_2_d PARTITION OF t_2 DEFAULT";

const ROWS: &str = "2024-01-01,1,x\n2024-01-31,2,y\n2024-01-05,-3,\n\
                    2024-01-06,11,\n2024-01-06,12,\n2024-01-06,13,\n2024-01-06,14,\n2024-02-01,4,a\n2024-02-29,5,\n2024-02-10,6,\"tab\t, \"\"quote\"\" \\\"\n";

/// A function that gives all integers one hash, which PostgreSQL's own function never returns.
const LIE: &str = "
CREATE FUNCTION lie(int4, int8) RETURNS int8 IMMUTABLE STRICT LANGUAGE sql AS 'SELECT 7::int8';
UPDATE pg_amproc SET amproc = 'lie(int4, int8)'::regprocedure
WHERE amproc = 'hashint4extended(int4, int8)'::regprocedure";

struct Case {
    scratch: Scratch,
    session: Session,
    file: PathBuf,
    _folder: TempDir,
}

impl Case {
    fn new(server: Server) -> Self {
        let scratch = server.scratch();
        let session = scratch.session();
        session.run(TREE);
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("rows.csv");
        std::fs::write(&file, ROWS).unwrap();
        Self { scratch, session, file, _folder: folder }
    }

    fn run(&self, command: &str, more: &[&str]) -> crate::harness::Outcome {
        let file = self.file.to_str().unwrap();
        let arguments = [command, file, "-t", "t", "-d", self.scratch.url()];
        run(&[&arguments[..], more].concat(), None)
    }

    fn rows(&self) -> String {
        self.session.rows("SELECT count(*) FROM t")[0][0].clone().unwrap()
    }
}

fn agrees(server: Server) {
    let case = Case::new(server);
    let plan = case.run("plan", &[]);
    assert_eq!(plan.status, Some(0), "{}", plan.stderr);
    let message = plan.stdout.lines().find(|line| line.starts_with("self-test: ")).unwrap();
    let words: Vec<&str> = message.split(' ').collect();
    assert_eq!(words[2..], ["keys,", "2", "levels:", "equal"], "{message}");
    assert!(words[1].parse::<u32>().unwrap() >= 12, "rows and values at bounds: {message}");
    assert!(!case.run("plan", &["--no-self-test"]).stdout.contains("self-test"));
    assert_eq!(case.run("load", &["-q", "--few-rows=300"]).status, Some(0));
    assert_eq!(case.rows(), "10");
}

fn refuses(server: Server) {
    let case = Case::new(server);
    case.session.run(LIE);
    for command in ["plan", "load"] {
        let refused = case.run(command, &["--few-rows=300"]);
        assert_eq!(refused.status, Some(1), "{}", refused.stderr);
        for part in
            ["self-test: public.t_1_", "is not the partition for day = '2024-01-", "--no-native"]
        {
            assert!(refused.stderr.contains(part), "{part}: {}", refused.stderr);
        }
    }
    // Without the self-test, the server's own check still keeps every row out of a wrong leaf.
    let load = case.run("load", &["-q", "--no-self-test", "--few-rows=0"]);
    assert_eq!(load.status, Some(1));
    assert!(load.stderr.contains("violates partition constraint"), "{}", load.stderr);
    case.session.run("TRUNCATE t");
    let load = case.run("load", &["-q", "--no-native"]);
    assert_eq!((load.status, case.rows()), (Some(0), "10".to_owned()), "{}", load.stderr);
}

/// A domain that is never null and has a default is not evaluated for keys that lack it.
fn asks_about_keys_only(server: Server) {
    let case = Case::new(server);
    case.session.run("CREATE DOMAIN given AS int NOT NULL");
    case.session.run("ALTER TABLE t ADD COLUMN other given DEFAULT 1");
    let load = case.run("load", &["-q", "--few-rows=300", "--columns", "day,id,name"]);
    assert_eq!((load.status, case.rows()), (Some(0), "10".to_owned()), "{}", load.stderr);
    case.session.run(LIE);
    assert_eq!(case.run("plan", &["--columns", "day,id,name"]).status, Some(1));
}

/// Casts that run their owner's code with the loader's rights, whereas COPY runs no such code.
const CASTS: &str = "
CREATE TYPE mood AS ENUM ('low', 'high');
CREATE TYPE pair AS (a int, b text);
CREATE DOMAIN few AS pair CHECK ((VALUE).a < 100);
CREATE TABLE ran ();
CREATE FUNCTION to_mood(text) RETURNS mood LANGUAGE plpgsql AS
    $$ BEGIN INSERT INTO public.ran DEFAULT VALUES; RETURN 'low'; END $$;
CREATE FUNCTION of_mood(mood) RETURNS text LANGUAGE plpgsql AS
    $$ BEGIN INSERT INTO public.ran DEFAULT VALUES; RETURN 'low'; END $$;
CREATE FUNCTION to_pair(text) RETURNS pair LANGUAGE plpgsql AS
    $$ BEGIN INSERT INTO public.ran DEFAULT VALUES; RETURN '(0,x)'; END $$;
CREATE FUNCTION of_pair(pair) RETURNS text LANGUAGE plpgsql AS
    $$ BEGIN INSERT INTO public.ran DEFAULT VALUES; RETURN '(0,x)'; END $$;
CREATE CAST (text AS mood) WITH FUNCTION to_mood(text);
CREATE CAST (mood AS text) WITH FUNCTION of_mood(mood);
CREATE CAST (text AS pair) WITH FUNCTION to_pair(text);
CREATE CAST (pair AS text) WITH FUNCTION of_pair(pair);
CREATE TABLE u (m mood, p few, i interval(0)) PARTITION BY LIST (m);
CREATE TABLE u_low PARTITION OF u FOR VALUES IN ('low') PARTITION BY RANGE (p, i);
CREATE TABLE u_low_1 PARTITION OF u_low FOR VALUES FROM (MINVALUE, MINVALUE) TO ('(5,c)', '2 s');
CREATE TABLE u_low_2 PARTITION OF u_low FOR VALUES FROM ('(5,c)', '2 s') TO (MAXVALUE, MAXVALUE);
CREATE TABLE u_high PARTITION OF u FOR VALUES IN ('high', NULL)";

fn runs_no_casts_of_others(server: Server) {
    let case = Case::new(server);
    case.session.run(CASTS);
    let rows =
        "low,\"(5,b)\",1\nlow,\"(5,c)\",1.4\nlow,\"(5,c)\",1.6\nlow,\"(99,)\",0\nhigh,,\n,,\n";
    std::fs::write(&case.file, rows).unwrap();
    let file = case.file.to_str().unwrap();
    for arguments in [
        &["plan", file, "-t", "u"][..],
        &["load", file, "-t", "u", "--few-rows=0", "-q"],
        &["verify", file, "-t", "u"],
    ] {
        let done = run(&[arguments, &["-d", case.scratch.url()]].concat(), None);
        assert_eq!(done.status, Some(0), "{arguments:?}: {}", done.stderr);
        let ran = case.session.rows("SELECT FROM ran");
        assert!(ran.is_empty(), "{arguments:?}");
    }
    let placed = case.session.rows(
        "SELECT string_agg(concat_ws(' ', u.tableoid::regclass, m, p, i), ';' ORDER BY m, p, i) FROM u",
    );
    assert_eq!(
        placed[0][0].as_deref(),
        Some(
            "u_low_1 low (5,b) 00:00:01;u_low_1 low (5,c) 00:00:01;u_low_2 low (5,c) 00:00:02;\
         u_low_2 low (99,) 00:00:00;u_high high;u_high"
        )
    );
}
