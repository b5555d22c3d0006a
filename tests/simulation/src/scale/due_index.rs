//! The due index: each shard lists the deliveries that need a step, in order of time.

use std::ops::Range;

use super::Ms;
use super::posts::{Post, State};

pub(super) struct DueIndex {
    shards: Vec<Vec<u32>>,
}

impl DueIndex {
    pub(super) fn new(posts: &[Post], shards: u32) -> Self {
        let mut index = Self { shards: vec![Vec::new(); shards as usize] };
        for (number, post) in (0_u32..).zip(posts) {
            index.shards[post.keys.shard as usize].push(number);
        }
        for shard in &mut index.shards {
            shard.sort_by_key(|it| posts[*it as usize].due_at);
        }
        index
    }

    /// The positions in a shard of the entries after `after` and not after `until`. Positions are
    /// valid until the shard is tidied.
    pub(super) fn between(&self, shard: u32, (after, until): (Ms, Ms), posts: &[Post]) -> Range<usize> {
        let entries = &self.shards[shard as usize];
        let no_later = |time: Ms| entries.partition_point(|it| posts[*it as usize].due_at <= time);
        no_later(after)..no_later(until)
    }

    /// The entries at these positions of a shard.
    pub(super) fn at(&self, shard: u32, places: Range<usize>) -> &[u32] {
        self.shards[shard as usize].get(places).unwrap_or_default()
    }

    /// Removes the entries of rolled-up posts, and appends the entries that were moved at
    /// `moved_at`: no entry of the shard is due after them.
    pub(super) fn tidy(&mut self, shard: u32, moved_at: Ms, posts: &[Post]) {
        let entries = &mut self.shards[shard as usize];
        let mut moved = Vec::new();
        entries.retain(|it| {
            let post = &posts[*it as usize];
            let is_moved = post.due_at == moved_at;
            if is_moved && post.state != State::RolledUp {
                moved.push(*it);
            }
            !is_moved && post.state != State::RolledUp
        });
        entries.append(&mut moved);
    }
}
