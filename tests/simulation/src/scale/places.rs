//! The environments that each user holds. As `libs/publishing/src/places.rs`.

use publishing::ConcurrencyLimits;

use super::Ms;

/// A place that was taken longer ago is not expected back soon.
const SLOW_MS: Ms = 1_000;

/// A call that takes longer is counted in any case.
pub(super) const COUNTED_AFTER_MS: Ms = 3_000;

/// How long a delivery waits for a place that fast calls hold.
pub(super) const WAITS_MS: Ms = 3_000;

/// An environment that makes calls for a user.
struct Place {
    batch: u32,
    /// When the call began for which it was taken, and when that was written.
    began: Ms,
    known: Ms,
    calls: u32,
}

/// Whether a call may be made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Leave {
    /// It is begun, and counted only when it is slow.
    Uncounted,
    /// It shares the place that its environment holds.
    Shared,
    /// It has taken a place, which was written.
    Taken,
    /// Permits may be released soon.
    Wait,
    /// All are held by slow calls.
    None,
}

/// The places of every user.
pub(super) struct Places(Vec<Vec<Place>>);

impl Places {
    pub(super) fn new(users: u32) -> Self {
        Self((0..users).map(|_| Vec::new()).collect())
    }

    fn others(&self, user: u32, batch: u32, now: Ms) -> impl Iterator<Item = &Place> {
        self.0[user as usize].iter().filter(move |it| it.batch != batch && it.known <= now)
    }

    /// Whether all places are held by slow calls.
    pub(super) fn are_slow(&self, user: u32, batch: u32, share: ConcurrencyLimits, now: Ms) -> bool {
        share.permits() <= self.others(user, batch, now).count()
            && self.others(user, batch, now).all(|it| it.began + SLOW_MS <= now)
    }

    pub(super) fn leave(
        &mut self,
        user: u32,
        batch: u32,
        needs_permit: bool,
        share: ConcurrencyLimits,
        now: Ms,
    ) -> Leave {
        if self.are_slow(user, batch, share, now) {
            return Leave::None;
        }
        if share.permits() <= self.others(user, batch, now).count() {
            return Leave::Wait;
        }
        match needs_permit {
            false => Leave::Uncounted,
            true if self.add(user, batch, (now, now)) => Leave::Taken,
            true => Leave::Shared,
        }
    }

    /// Counts a call; whether it is the first of its environment.
    pub(super) fn add(&mut self, user: u32, batch: u32, (began, known): (Ms, Ms)) -> bool {
        let places = &mut self.0[user as usize];
        if let Some(place) = places.iter_mut().find(|it| it.batch == batch) {
            place.calls += 1;
            return false;
        }
        places.push(Place { batch, began, known, calls: 1 });
        true
    }

    /// A counted call has ended; whether it was the last of its environment.
    pub(super) fn give_back(&mut self, user: u32, batch: u32) -> bool {
        let places = &mut self.0[user as usize];
        let Some(at) = places.iter().position(|it| it.batch == batch) else { return false };
        places[at].calls -= 1;
        let is_last = places[at].calls == 0;
        if is_last {
            places.swap_remove(at);
        }
        is_last
    }
}
