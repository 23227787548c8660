//! Probe: each question is tried once, without any key, before the load relies on it.
//!
//! The server checks privileges on schemas when it parses a statement, and privileges on functions when it
//! starts one. A key that cannot be asked about is opaque from the first row on, also in the layout in the
//! ledger: the route of a row must not depend on when a privilege was granted.

use std::collections::BTreeMap;

use futures_util::future::{join, join_all};
use pgsluice_core::catalog::{Bound, KeyColumn, NodeId};
use tokio_postgres::Client;

use super::{Catalogue, Questions};
use crate::error::sqlstate;
use crate::error::{Error, Result};
use crate::pg::constraint::ReadColumn;
use crate::pg::question::Question;
use crate::pg::sql;

/// The questions that the server rejects, with its reasons.
#[derive(Debug, Default)]
pub(super) struct RefusedQuestions {
    keys: Vec<(NodeId, String)>,
    spelling: Option<String>,
}

/// Tries all questions in one round trip. Skips the question about spellings if it involves only system
/// types.
pub(super) async fn refused(client: &Client, questions: &Questions) -> Result<RefusedQuestions> {
    // The server treats questions that differ only in their bounds alike.
    let mut nodes: BTreeMap<&str, (&Question, Vec<NodeId>)> = BTreeMap::new();
    for (node, question) in questions.by_node() {
        nodes.entry(&question.sql).or_insert_with(|| (question, Vec::new())).1.push(node);
    }
    let spelling = questions
        .spelling
        .as_ref()
        .filter(|_| questions.table.iter().any(ReadColumn::is_user_defined));
    let all = nodes.values().map(|(question, _)| *question).chain(spelling);
    let answers = join_all(all.enumerate().map(|(number, it)| put(client, number, it))).await;
    let mut answers = answers.into_iter().collect::<Result<Vec<Option<String>>>>()?.into_iter();
    let mut refused = RefusedQuestions::default();
    for (_, nodes) in nodes.into_values() {
        if let Some(Some(why)) = answers.next() {
            refused.keys.extend(nodes.into_iter().map(|node| (node, why.clone())));
        }
    }
    refused.spelling = answers.next().flatten();
    Ok(refused)
}

/// Tries one question like a session that asks it, and returns the reason if the server rejects it. It has no
/// rows, so no function of the user is called.
async fn put(client: &Client, number: usize, question: &Question) -> Result<Option<String>> {
    let nothing = vec!["'{}'"; question.fields.len() + question.bounds.len()].join(", ");
    let settings = sql::ASKING_SESSION.replace("SET ", "SET LOCAL ");
    let asking = format!(
        "{}; {settings}; PREPARE pgsluice_{number} AS {}; EXECUTE pgsluice_{number} ({nothing}); \
         DEALLOCATE pgsluice_{number}",
        sql::BEGIN,
        question.sql
    );
    let (asked, ended) = join(client.simple_query(&asking), client.batch_execute("ROLLBACK")).await;
    let why = match asked {
        Ok(_) => None,
        Err(error) => match error.as_db_error() {
            Some(refusal) if sqlstate::blames_row(refusal.code().code()) => {
                Some(refusal.message().to_owned())
            }
            _ => return Err(Error::from(error)),
        },
    };
    ended?;
    Ok(why)
}

impl Catalogue {
    /// Leaves keys to the server if it rejects the questions about them.
    pub(super) fn leave(&mut self, refused: RefusedQuestions, iso: bool) {
        let Self { tree, questions, columns, .. } = self;
        let RefusedQuestions { keys, spelling } = refused;
        for (node, refusal) in &keys {
            questions.remove(*node);
            let Some(key) = &mut tree.nodes[*node].key else { continue };
            for asked in &mut key.columns {
                if let KeyColumn::Asked { column, why, .. } = asked {
                    let (column, why) = (std::mem::take(column), std::mem::take(why));
                    let why = format!("{why}, and the server cannot be asked: {refusal}");
                    *asked = KeyColumn::Opaque { column, why };
                }
            }
            for child in tree.nodes[*node].children.clone() {
                tree.nodes[child].bound = Some(Bound::Opaque);
            }
        }
        if spelling.is_some() {
            questions.spelling = None;
        } else if !keys.is_empty() && questions.spelling.is_some() {
            // Keys below these are no longer used.
            questions.spell(tree, columns, iso);
        }
        questions.unspelled = spelling;
    }
}
