//! Detours: tables that are not written by their own names, because that would change what the server does.

use pgsluice_core::catalog::{NodeId, ROOT, Tree};

use crate::pg::introspect::Facts;

/// Returns for each table the reason why its rows go through the root, if they do.
pub(super) fn detours(tree: &Tree, facts: &[Facts]) -> Vec<Option<String>> {
    let root = tree.nodes[ROOT].relation.label();
    let whole = if facts[ROOT].statement_triggers {
        Some(format!("{root} has a statement-level trigger"))
    } else if facts[ROOT].row_security {
        Some(format!("row security applies to {root}"))
    } else if !facts[ROOT].may_insert {
        Some(format!("this user may not insert into {root}"))
    } else {
        None
    };
    let detour = |(node, facts): (NodeId, &Facts)| {
        if node == ROOT {
            return None;
        }
        whole.clone().or_else(|| why_not_direct(facts).map(str::to_owned))
    };
    facts.iter().enumerate().map(detour).collect()
}

/// Returns the reason why writing a table below the root by its name would behave differently, if it would.
fn why_not_direct(facts: &Facts) -> Option<&'static str> {
    match facts {
        Facts { kind: 'f', .. } => Some("it is a foreign table"),
        Facts { statement_triggers: true, .. } => {
            Some("its own statement-level trigger would fire")
        }
        Facts { row_security: true, .. } => Some("its own row security would apply"),
        Facts { may_insert: false, .. } => Some("this user may not insert into it directly"),
        Facts { computes_input: true, .. } => {
            Some("it computes a column that the root takes from the input")
        }
        Facts { other_defaults: true, .. } => {
            Some("its defaults for columns missing from the input differ from the root's")
        }
        _ => None,
    }
}
