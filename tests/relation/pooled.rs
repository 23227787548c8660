//! Poolers in front of the source. Session mode works like the server itself. In transaction mode, a load reads exactly
//! the rows of the source, or fails with an error about the pooler.

use super::case::{Case, TREE};
use crate::harness::{Pool, Server, on_each_server};

on_each_server!([a_pool_by_the_session, a_pool_by_the_transaction,]);

const SIZES: [usize; 2] = [8, 20];

fn make(server: Server) -> Case {
    let case = Case::here(server);
    case.make(TREE);
    case.make_old(20_000);
    case.copy("old", "id, day, v");
    case
}

fn a_pool_by_the_session(server: Server) {
    let case = make(server);
    for size in SIZES {
        case.bench.session.run("TRUNCATE public.t");
        let pool = Pool::before(&case.bench.url, "session", size);
        case.load("old", &["--from", &pool.url()]).summary();
        case.agree("a pool in session mode");
    }
}

fn a_pool_by_the_transaction(server: Server) {
    let case = make(server);
    for size in SIZES {
        case.bench.session.run("TRUNCATE public.t");
        let pool = Pool::before(&case.bench.url, "transaction", size);
        let ended = case.load("old", &["--from", &pool.url()]);
        if ended.status.success() {
            case.agree("a pool in transaction mode");
        } else {
            ended.fails(1, &["pooler in transaction mode", "(SQLSTATE 0A000)"]);
            assert_eq!(case.bench.count("t"), 0, "{ended:?}");
        }
    }
}
