//! The agenda: all events that are still to happen, in order of time.

use std::collections::BTreeMap;

use super::Ms;

/// A message on the queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Message {
    pub(super) post: u32,
    /// How often it was received so far.
    pub(super) receives: u8,
    /// Whether it puts the roll-up of its post off until later.
    pub(super) deferred: bool,
    /// Whether it has to ask for a place before the call.
    pub(super) needs_permit: bool,
    /// Whether it was received before and not deleted.
    pub(super) returned: bool,
}

/// Something that happens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Event {
    /// A schedule wakes the publisher.
    Tick,
    /// The tick's time limit is over.
    TickEnds {
        tick: u32,
    },
    /// The tick reads what is due soon in a shard, from this entry on. The
    /// first attempt is 1.
    PlanSoon {
        tick: u32,
        shard: u32,
        from: u32,
        attempt: u32,
    },
    /// The tick reads what is overdue in a shard, from this entry on.
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
    /// The tick moves the next overdue entry of a shard's page, or continues to
    /// the next page.
    MoveNext {
        tick: u32,
        shard: u32,
    },
    /// A message becomes visible on the queue.
    Visible(Message),
    /// The event source may be able to receive more than before.
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

/// Events in order of time; events of the same time in the order in which they
/// were added.
#[derive(Default)]
pub(super) struct Agenda {
    later: BTreeMap<Ms, Vec<Event>>,
    now: Ms,
    /// The events of this moment, the next one last.
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
