//! Proves, for the payloads of a connection, that their rows are in their leaves.

use pgsluice_core::bucket::Payload;
use pgsluice_core::catalog::NodeId;

use super::copy::Connection;
use super::failure::Failure;
use super::proof::Proof;
use crate::plan::landing::Evidence;

impl Connection<'_> {
    /// The statements that prove where the rows of `payload` went, if they are to: those rows are of several leaves,
    /// and go through the root.
    pub(super) fn proof_of(&self, payload: &Payload) -> Option<&Proof<'_>> {
        let is_leaf = |node: &NodeId| self.flow.plan.tree.nodes[*node].key.is_none();
        let is_joined = payload.nodes().len() > 1 && payload.nodes().iter().all(is_leaf);
        self.proof.as_ref().filter(|_| is_joined && self.queue.evidence() == Evidence::Counts)
    }

    /// Returns how many rows the session has stored in the leaves of a payload, if that is to be compared.
    pub(super) async fn ask_proof(&self, payload: &Payload) -> Result<Option<Vec<i64>>, Failure> {
        match self.proof_of(payload) {
            Some(proof) => Ok(Some(proof.count(&self.link.client, payload).await?)),
            None => Ok(None),
        }
    }

    /// Fails the transaction unless the rows of `payload` are in their leaves, which had `before`.
    pub(super) async fn prove(
        &self,
        payload: &Payload,
        before: Option<&[i64]>,
    ) -> Result<(), Failure> {
        match self.proof.as_ref().zip(before) {
            Some((proof, before)) => proof.check(&self.link.client, payload, before).await,
            None => Ok(()),
        }
    }
}
