//! The agenda: all future events, in order of time.

use std::collections::BTreeMap;

use super::Ms;

/// A message on the queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Message {
    pub(super) post: u32,
    /// The number of receives so far.
    pub(super) receives: u8,
    /// Whether the plan deferred the post's roll-up.
    pub(super) deferred: bool,
    /// Whether the delivery needs a permit before its call.
    pub(super) needs_permit: bool,
    /// Whether the message was received before and not deleted.
    pub(super) returned: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Event {
    /// A schedule wakes the publisher.
    Tick,
    /// The tick's time limit is over.
    TickEnds {
        tick: u32,
    },
    /// The tick reads entries of a shard that are due soon, from this entry on. The first attempt
    /// is 1.
    PlanSoon {
        tick: u32,
        shard: u32,
        from: u32,
        attempt: u32,
    },
    /// The tick reads overdue entries of a shard, from this entry on.
    PlanOverdue {
        tick: u32,
        shard: u32,
        from: u32,
        attempt: u32,
    },
    /// The tick moves an overdue entry.
    Move {
        tick: u32,
        post: u32,
        attempt: u32,
    },
    /// The tick moves the next overdue entry of a shard's page, or reads the next page.
    MoveNext {
        tick: u32,
        shard: u32,
    },
    /// A message becomes visible on the queue.
    Visible(Message),
    /// The event source may be able to receive more messages than before.
    Receive,
    WindowEnds {
        batch: u32,
        number: u32,
    },
    /// A batch is invoked.
    Begin {
        batch: u32,
    },
    /// A delivery takes its next step.
    Step {
        task: u32,
    },
}

/// Events in order of time; events of the same time in insertion order.
#[derive(Default)]
pub(super) struct Agenda {
    later: BTreeMap<Ms, Vec<Event>>,
    now: Ms,
    /// The events of the current instant, the next one last.
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
