//! Gather: takes all rows of one shard at once, for a thread that both fills the buckets and sends them.

use super::Wire;
use super::block::Block;
use super::payload::Payload;
use super::scheduler::Scheduler;
use super::shard::Shard;

/// Takes all rows of `shard`, which has `nodes` nodes, in one format as one payload; `None` if there are no
/// rows.
pub fn gather(shard: &mut Shard, nodes: usize, wire: Wire) -> Option<Payload> {
    let mut payloads = gather_each(shard, nodes, wire);
    let first = payloads.next()?;
    Some(first.with(payloads.collect()))
}

/// Takes all rows in one format as a payload for each node with rows.
pub fn gather_each(
    shard: &mut Shard,
    nodes: usize,
    wire: Wire,
) -> impl Iterator<Item = Payload> + '_ {
    (0..nodes).filter_map(move |node| {
        let index = Scheduler::choose_bucket(nodes, node, wire);
        let blocks: Vec<Block> = std::iter::from_fn(|| shard.take(index)).collect();
        (!blocks.is_empty()).then(|| Payload::new(node, wire, blocks))
    })
}

#[cfg(test)]
mod tests {
    use super::super::BlockRow;
    use super::*;

    #[test]
    fn all_rows_of_a_format_come_once() {
        let mut shard = Shard::new(Scheduler::count(3));
        for (node, wire) in [(2, Wire::Binary), (0, Wire::Binary), (1, Wire::Text)] {
            for row in 0..5 {
                let room = shard.add_block(Scheduler::choose_bucket(3, node, wire), Block::new(10));
                let pushed = room.push(BlockRow::new(0, row, 0), |block| {
                    block.push(node as u8);
                    Ok::<(), ()>(())
                });
                assert_eq!(pushed, Ok(()));
            }
        }
        let binary = gather(&mut shard, 3, Wire::Binary).expect("rows");
        assert_eq!(binary.rows_by_node().collect::<Vec<_>>(), [(0, 5), (2, 5)]);
        assert_eq!(binary.in_order().map(|(_, row)| row[0]).filter(|leaf| *leaf == 2).count(), 5);
        assert!(gather(&mut shard, 3, Wire::Binary).is_none());
        assert_eq!(gather(&mut shard, 3, Wire::Text).expect("rows").rows(), 5);
        assert_eq!(shard.bytes(), 0);
    }
}
