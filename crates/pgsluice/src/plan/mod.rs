//! The plan: the catalogue turned into a router and, for each node, the table that its rows are actually sent
//! to.
//!
//! A leaf is written directly unless that would change what the server does. Otherwise its rows go through
//! the root, still grouped by leaf, and the plan gives the reason.

pub mod eligible;

pub mod changes;
mod clock;
mod connections;
mod detours;
mod explain;
pub(crate) mod landing;
mod missing;
mod passing;
mod refuse;
mod row_format;

use std::sync::Arc;

use pgsluice_core::bucket::{SendOrder, Wire};
use pgsluice_core::catalog::{NodeId, ROOT, Relation, Tree};
use pgsluice_core::encode::Encoder;
use pgsluice_core::parse::Parser;
use pgsluice_core::route::{Cause, Route, Router};
use tokio_postgres::Client;

use self::changes::Changes;
use self::detours::detours;
pub(crate) use self::explain::Reason;
pub(crate) use self::row_format::format_for;
use self::row_format::{check_version, encoder, key_form, left_to_server, make_opaque, shape};
use crate::control::Control;
use crate::error::kind::Kind;
use crate::error::{Error, Result};
use crate::job::{FieldOptions, Job, Sink};
use crate::pg::connect::{Link, open};
use crate::pg::conninfo::Target;
use crate::pg::introspect::uniques::{ExistingRows, Uniques};
use crate::pg::introspect::{Catalogue, FieldColumns};
use crate::pg::replica_identity;
use crate::pg::sql;
use crate::plan::eligible::Eligible;
use crate::source::{ExtraNames, MatchedFields, Shape};

/// The size of a page in bytes, by default.
const PAGE: usize = 8 << 10;

/// The subject of a question that the server has answered: the key of a node, or the spelling of one of its
/// columns.
pub type Answered = (NodeId, Option<usize>);

/// The treatment of a load's rows. A plan does not change once made.
#[derive(Debug)]
pub struct Plan {
    /// The server's catalogue.
    pub catalogue: Catalogue,
    /// The partition tree.
    pub tree: Arc<Tree>,
    /// Finds a row's leaf.
    pub router: Router,
    /// Finds a row's keys.
    pub parser: Parser,
    /// The shape of the input's rows, for this version of the server.
    pub shape: Shape,
    /// COPY's options about single fields.
    pub(crate) fields: FieldOptions,
    /// The encoder of rows in binary; `None` if all are sent as text.
    pub encoder: Option<Encoder>,
    /// The subject and the reason if all rows are sent as text.
    pub text_only: Option<(String, String)>,
    /// The reason why rows of a table are read as text and encoded by pgsluice, if they are.
    pub(crate) read_as_text: Option<String>,
    /// The reason why the whole load must be one statement on one connection, if it must.
    pub one_statement: Option<String>,
    /// The number of connections that the server has room for, and the reason, if fewer than wanted.
    pub fewer_connections: Option<(usize, String)>,
    /// The leaves that are exchanged, if the job asks for it.
    pub exchange: Option<Eligible>,
    /// The rules by which rows change existing ones, if they do.
    pub changes: Option<Changes>,
    /// Whether rows of several leaves are never sent together, because an earlier attempt has shown that
    /// other activity changes the server's counts.
    pub(crate) leaf_by_leaf: bool,
    /// The reason why the rows of each node go through the root, if they do.
    detours: Vec<Option<String>>,
}

impl Plan {
    /// Reads the catalogue of `target` and plans the load.
    pub async fn make(job: &Job, target: &Target, control: &Control) -> Result<Self> {
        job.check()?;
        let Link { mut client, canceller, .. } = control.stop.unless_stopped(open(target)).await?;
        let making = async {
            let mut plan = Self::read(job, &mut client).await?;
            plan.catalogue.define_keys(&client).await?;
            Ok(plan)
        };
        canceller.unless_stopped(control, making).await
    }

    /// Makes a plan like [`Self::make`], over an open connection, without the definitions of keys.
    pub(crate) async fn read(job: &Job, client: &mut Client) -> Result<Self> {
        let fields = FieldColumns::from_job(job);
        let mut chosen = None;
        let mut choose = |catalogue: &Catalogue, uniques: &Uniques| {
            let index = changes::choose(catalogue, uniques, &job.changes)?;
            Ok(chosen.insert(index).wanted(&job.changes))
        };
        let existing = ExistingRows {
            choose: &mut choose,
            newer: job.changes.newer.as_deref(),
            delete_when: job.changes.delete_when.as_deref(),
        };
        let existing = Some(existing).filter(|_| job.changes.is_any());
        let table = &job.target.table;
        let catalogue = Catalogue::read_with(client, table, fields, existing).await?;
        check_version(job, catalogue.version)?;
        let mut plan = Self::new(job, catalogue);
        if let Some(chosen) = chosen {
            changes::check_detours(&plan.catalogue, &plan.detours)?;
            let changes = Changes::new(job, &plan.catalogue, chosen)?;
            let leaves: Vec<_> = plan.leaves().collect();
            replica_identity::check(client, &leaves, changes.updated_column(), changes.deletes())
                .await?;
            plan.changes = Some(changes);
            changes::check_leaves(&plan)?;
        }
        if let Some(mode) = job.safety.exchange {
            plan.exchange = Some(eligible::find(client, &plan, mode).await?);
        }
        plan.fewer_connections = plan.find_room(job, client).await?;
        Ok(plan)
    }

    /// Returns notes on the input, for the user.
    pub fn notes(&self, job: &Job) -> Vec<String> {
        let fields = self.catalogue.input_fields.iter().flat_map(MatchedFields::notes);
        let is_null = job.target.sink == Sink::Null;
        let null = is_null.then(|| "nothing is sent, because of --sink null".to_owned());
        let text =
            self.read_as_text.as_ref().map(|why| format!("the rows are read as text: {why}"));
        job.input.notes().into_iter().chain(fields).chain(text).chain(null).collect()
    }

    /// Returns the names that were left out so far.
    pub fn extra_names(&self) -> ExtraNames {
        self.shape.extra.names()
    }

    /// Returns a note on names that were found later and left out.
    pub fn extra_note(&self) -> Option<String> {
        self.shape.extra.note()
    }

    /// Returns the number of connections that write at the same time.
    pub fn jobs(&self, job: &Job) -> usize {
        if job.safety.atomic || self.one_statement.is_some() {
            return 1;
        }
        self.fewer_connections.as_ref().map_or(job.speed.jobs, |(jobs, _)| *jobs)
    }

    /// Returns the number of threads that route. One more than needed can route while another waits for the
    /// server's answers.
    pub(crate) fn routers(&self, job: &Job) -> usize {
        let processors = std::thread::available_parallelism().map_or(1, usize::from);
        let routers = job.speed.threads.unwrap_or(self.jobs(job).min(processors));
        routers + usize::from(self.asks())
    }

    fn new(job: &Job, catalogue: Catalogue) -> Self {
        let mut tree = catalogue.tree.clone();
        if let Some(why) = left_to_server(job, &catalogue) {
            make_opaque(&mut tree, &why);
        }
        let tree = Arc::new(tree);
        let root = &catalogue.facts[ROOT];
        let one_statement = root.statement_triggers.then(|| {
            let root = tree.nodes[ROOT].relation.label();
            format!("a statement-level trigger on {root} must fire only once")
        });
        let encoder = encoder(job, &catalogue, one_statement.as_deref());
        let (encoder, text_only) = match encoder {
            Ok(encoder) => (Some(encoder), None),
            Err(why) => (None, Some(why)),
        };
        let read_as_text = passing::obstacle(job, &catalogue).filter(|_| encoder.is_some());
        let are_encoded = job.input.file_format.is_typed() && read_as_text.is_none();
        // The encoder reads every field anyway.
        let encodes_text = encoder.is_some() && !are_encoded;
        let router = match encodes_text || job.changes.is_any() {
            true => Router::over(Arc::clone(&tree), (0..catalogue.columns.len()).collect()),
            false => Router::new(Arc::clone(&tree)),
        };
        let keys = (encoder.is_some() && are_encoded)
            .then(|| (router.wanted_fields(), key_form(job, &tree)));
        let shape = shape(job, &catalogue, keys);
        let fields = FieldOptions {
            default: shape.default().or_else(|| job.input.fields.default.clone()),
            ..job.input.fields.clone()
        };
        let parser = Parser::new(&shape.format, router.wanted_fields().to_vec());
        let detours = detours(&tree, &catalogue.facts);
        Self {
            catalogue,
            tree,
            router,
            parser,
            shape,
            fields,
            encoder,
            text_only,
            read_as_text,
            one_statement,
            fewer_connections: None,
            exchange: None,
            changes: None,
            leaf_by_leaf: false,
            detours,
        }
    }

    /// Returns the COPY statement for the rows of `node`.
    pub fn copy_statement(&self, node: NodeId, wire: Wire) -> String {
        let target = if self.detours[node].is_some() { ROOT } else { node };
        self.copy_into(&self.tree.nodes[target].relation, wire)
    }

    /// Returns the COPY statement for rows into another table.
    pub(crate) fn copy_into(&self, relation: &Relation, wire: Wire) -> String {
        let format = (wire == Wire::Text).then_some(&self.shape.format);
        let copy = sql::copy_in(relation, &self.catalogue.columns, format);
        match wire {
            Wire::Text => sql::with_fields(copy, &self.fields, &self.catalogue.columns),
            Wire::Binary => copy,
        }
    }

    /// Returns the statement that locks the tables on which the rows of `node` depend, if any can be locked.
    pub(crate) fn lock(&self, node: NodeId, wire: Wire) -> Option<String> {
        let above = |node: &NodeId| self.tree.nodes[*node].parent;
        let node = match (self.is_direct(node), wire) {
            (true, _) => node,
            (false, Wire::Binary) => ROOT,
            (false, Wire::Text) => return None,
        };
        // A user who may not insert into a table cannot lock it either, and COPY into the root does not
        // need that lock.
        let mut path: Vec<&Relation> = std::iter::successors(Some(node), above)
            .filter(|&node| self.catalogue.facts[node].may_insert)
            .map(|node| &self.tree.nodes[node].relation)
            .collect();
        path.reverse();
        Some(sql::lock(&path))
    }

    /// Returns the names of all leaves.
    fn leaves(&self) -> impl Iterator<Item = &Relation> {
        self.tree.leaves().map(|leaf| &self.tree.nodes[leaf].relation)
    }

    /// Whether the rows of `node` are sent to it by its own name. False for the root.
    pub(crate) fn is_direct(&self, node: NodeId) -> bool {
        node != ROOT && self.detours[node].is_none()
    }

    /// Returns the error for a node that is no longer in the tree.
    pub(crate) fn moved(&self, node: NodeId) -> Error {
        let [relation, root] = [node, ROOT].map(|node| self.tree.nodes[node].relation.label());
        let message = match self.is_direct(node) {
            true => format!("table {relation} is no longer a partition of {root}"),
            false => format!("table {root} is no longer the same table"),
        };
        Error::new(Kind::Server, message).with_hint(
            "It was detached, dropped, renamed or replaced after the load began: start the load \
             again.",
        )
    }

    /// Returns the error for columns whose types have changed.
    pub(crate) fn retyped(&self) -> Error {
        let root = self.tree.nodes[ROOT].relation.label();
        Error::new(Kind::Server, format!("the columns of table {root} have changed")).with_hint(
            "A column was altered, dropped or renamed after the load began: start the load again.",
        )
    }

    /// Returns the reason why the rows of `node` go through the root, if they do and the node is not the
    /// root.
    pub fn detour(&self, node: NodeId) -> Option<&str> {
        self.detours[node].as_deref()
    }

    /// Returns the order in which the rows of `node` are sent.
    pub(crate) fn order(&self, node: NodeId) -> &SendOrder {
        &self.catalogue.facts[node].order
    }

    /// Returns the average size of a leaf in bytes, as the server estimates.
    pub(crate) fn estimated_leaf_bytes(&self) -> usize {
        let pages = |leaf: NodeId| self.catalogue.facts[leaf].estimated_pages;
        let pages: usize =
            self.tree.leaves().map(|leaf| usize::try_from(pages(leaf)).unwrap_or(0)).sum();
        pages.saturating_mul(PAGE) / self.tree.leaves().count().max(1)
    }

    /// Whether rows of some leaf may be sorted.
    pub(crate) fn sorts(&self) -> bool {
        let may_sort = self.encoder.is_some() && !self.is_in_order();
        may_sort && self.tree.leaves().any(|leaf| *self.order(leaf) != SendOrder::Input)
    }

    /// Returns the route of a row without keys.
    pub(crate) fn route_without_keys(&self, cause: Cause) -> Route {
        match self.tree.nodes[ROOT].key {
            None => Route::Leaf(ROOT),
            Some(_) => Route::Node(ROOT, cause),
        }
    }

    /// Whether the server is asked about the key of any node.
    pub(crate) fn asks(&self) -> bool {
        self.catalogue.questions.is_about_keys()
    }

    /// Returns the name of one table, or the number of several.
    pub fn name(&self, nodes: &[NodeId]) -> String {
        match nodes {
            [one] => format!("table {}", self.tree.nodes[*one].relation.label()),
            several => format!("{} tables", several.len()),
        }
    }
}
