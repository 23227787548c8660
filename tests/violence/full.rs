//! A full disk of the server: a load fails and can be resumed, or waits and continues when there is room.

use super::cut::strike;
use super::room::Room;
use crate::harness::{
    Bench, Chance, Clean, Mode, Ordeal, Proxy, Server, Subject, grouped, on_each_server, size,
    wait_within,
};

on_each_server!([a_disk_that_is_full, a_disk_that_is_reported_as_full,]);

fn a_disk_that_is_full(server: Server) {
    let bench = Bench::new(server);
    match Room::mount(&bench) {
        Some(room) => is_full(&room, bench),
        None => server.skip("this user may not mount a file system"),
    }
}

/// A script that moves the tables and indexes of the schema public to another tablespace.
const MOVE: &str = "
DO $$ DECLARE moved record; BEGIN
    FOR moved IN SELECT oid::regclass AS name, relkind FROM pg_class
                 WHERE relnamespace = 'public'::regnamespace AND relkind IN ('r', 'i')
    LOOP
        EXECUTE format('ALTER %s %s SET TABLESPACE %I',
                       CASE moved.relkind WHEN 'i' THEN 'INDEX' ELSE 'TABLE' END, moved.name, 'ROOM');
    END LOOP;
END $$";

/// The space that the tables of the schema public take.
const TABLE_BYTES: &str = "
SELECT sum(pg_total_relation_size(oid)) FROM pg_class
WHERE relnamespace = 'public'::regnamespace AND relkind = 'r'";

/// Options for many payloads, only some of which fit.
const FIRST: [&str; 3] = ["--memory=1MiB", "--few-rows=0", "--jobs=1"];

fn is_full(room: &Room, bench: Bench) {
    let clean = Clean::new(bench, size().rows);
    let bench = &clean.twins.bench;
    bench.session.run(&MOVE.replace("ROOM", room.tablespace()));
    let start = |id: &str, options: &[&str]| clean.twins.start(id, options);
    clean.check(&start("whole", &FIRST).ended_within(size().patience));
    let taken: u64 = bench.value(TABLE_BYTES).parse().unwrap();
    for waits in [false, true] {
        clean.begin_anew();
        room.resize(taken * 2 / 3);
        let id = format!("waits: {waits}");
        let start = |options: &[&str]| start(&id, options);
        let ended = if waits {
            let load = start(&[&FIRST[..], &["--wait=10min"]].concat());
            let attempts = format!("SELECT max(attempt) FROM pgsluice.load WHERE id = '{id}'");
            wait_within(size().patience, "another attempt", || {
                bench.session.rows(&attempts)[0][0].as_ref().is_some_and(|attempt| attempt != "1")
            });
            room.resize(taken * 4);
            load
        } else {
            let ended = start(&FIRST).ended_within(size().patience);
            ended.fails(1, &["No space left on device", "(SQLSTATE 53100)", "--load-id"]);
            assert!(ended.committed() > 0, "{ended:?}");
            room.resize(taken * 4);
            start(&["--jobs=3", "--wire=text"])
        };
        let before = clean.check(&ended.ended_within(size().patience));
        assert!(before > 0, "nothing had been loaded when the disk was full");
    }
    eprintln!(
        "a disk with room for two thirds of {} rows: identical after room was made, resumed and waited \
         for.",
        grouped(size().rows)
    );
}

fn a_disk_that_is_reported_as_full(server: Server) {
    let bench = Bench::new(server);
    let proxy = Proxy::before(&bench.url);
    let clean = Clean::new(bench, size().rows);
    let mut ordeal = Ordeal::new(clean, Chance::new(), proxy.url(), &[]);
    // After the first tenth, because the server would not write anything earlier.
    let all = proxy.sent() / 10..proxy.sent();
    let strike = |ordeal: &mut _, id: &_| strike(&proxy, Mode::Full, &all, ordeal, id);
    let story = ordeal.endure(size().fulls, strike);
    story.tell("disks reported as full", ordeal.subject.rows());
}
