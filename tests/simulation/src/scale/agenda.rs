//! What happens next.

use std::collections::BTreeMap;

use super::Ms;

/// A message on the queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Message {
    /// About which post.
    pub(super) post: u32,
    /// How often it was received.
    pub(super) receives: u8,
    /// Whether it says that its post is told later.
    pub(super) put_off: bool,
    /// Whether it was received before and not deleted.
    pub(super) returned: bool,
}

/// Something that happens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Event {
    /// The publisher wakes.
    Tick,
    /// Its time is over.
    TickEnds { tick: u32 },
    /// It reads what is due soon in a shard, from this entry on; the first
    /// attempt is 1.
    PlanSoon { tick: u32, shard: u32, from: u32, attempt: u32 },
    /// It reads what is overdue in a shard, from this entry on.
    PlanOverdue { tick: u32, shard: u32, from: u32, attempt: u32 },
    /// It moves an overdue entry.
    Move { tick: u32, post: u32, attempt: u32 },
    /// It moves the next overdue entry of a shard's page, or goes on to the
    /// next page.
    MoveNext { tick: u32, shard: u32 },
    /// A message shows on the queue.
    Visible(Message),
    /// More can be received than before.
    Receive,
    /// A batch is collected no longer.
    WindowEnds { batch: u32, number: u32 },
    /// A batch is invoked.
    Begin { batch: u32 },
    /// A delivery takes its next step.
    Step { task: u32 },
}

/// Events in order of time, and at one time in the order they were put down.
#[derive(Default)]
pub(super) struct Agenda {
    later: BTreeMap<Ms, Vec<Event>>,
    now: Ms,
    /// Those of this moment, the next one last.
    rest: Vec<Event>,
}

impl Agenda {
    pub(super) fn put(&mut self, at: Ms, event: Event) {
        self.later.entry(at).or_default().push(event);
    }

    pub(super) fn next(&mut self) -> Option<(Ms, Event)> {
        while self.rest.is_empty() {
            (self.now, self.rest) = self.later.pop_first()?;
            self.rest.reverse();
        }
        self.rest.pop().map(|event| (self.now, event))
    }
}
