//! The permits that each user holds, like `permits::HeldPermits`.

use publishing::ConcurrencyLimits;

use super::Ms;

/// A permit that was acquired longer ago is not expected to be released soon.
const SLOW_MS: Ms = 1_000;

/// A longer call is always counted.
pub(super) const COUNTED_AFTER_MS: Ms = 3_000;

/// How long a delivery waits for permits that fast calls hold.
pub(super) const WAITS_MS: Ms = 3_000;

/// A permit of an environment for the calls of one user.
struct Permit {
    batch: u32,
    /// The start of the call that acquired the permit, and when the start was written.
    began: Ms,
    known: Ms,
    calls: u32,
}

/// Whether a call may be made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Acquisition {
    /// The call may begin, and is counted only when it is slow.
    Uncounted,
    /// The call shares the permit of its environment.
    Shared,
    /// The call has acquired a permit, which was written.
    Acquired,
    /// No permit is free, but one may be released soon.
    Wait,
    /// Slow calls hold all permits.
    None,
}

/// The permits of every user.
pub(super) struct UserPermits(Vec<Vec<Permit>>);

impl UserPermits {
    pub(super) fn new(users: u32) -> Self {
        Self((0..users).map(|_| Vec::new()).collect())
    }

    fn others(&self, user: u32, batch: u32, now: Ms) -> impl Iterator<Item = &Permit> {
        self.0[user as usize].iter().filter(move |it| it.batch != batch && it.known <= now)
    }

    /// Whether slow calls hold all permits.
    pub(super) fn is_held_by_slow_calls(&self, user: u32, batch: u32, limits: ConcurrencyLimits, now: Ms) -> bool {
        limits.permits() <= self.others(user, batch, now).count()
            && self.others(user, batch, now).all(|it| it.began + SLOW_MS <= now)
    }

    pub(super) fn leave(
        &mut self,
        user: u32,
        batch: u32,
        needs_permit: bool,
        limits: ConcurrencyLimits,
        now: Ms,
    ) -> Acquisition {
        if self.is_held_by_slow_calls(user, batch, limits, now) {
            return Acquisition::None;
        }
        if limits.permits() <= self.others(user, batch, now).count() {
            return Acquisition::Wait;
        }
        match needs_permit {
            false => Acquisition::Uncounted,
            true if self.add(user, batch, (now, now)) => Acquisition::Acquired,
            true => Acquisition::Shared,
        }
    }

    /// Counts a call. Returns whether the call is the first of its environment.
    pub(super) fn add(&mut self, user: u32, batch: u32, (began, known): (Ms, Ms)) -> bool {
        let permits = &mut self.0[user as usize];
        if let Some(permit) = permits.iter_mut().find(|it| it.batch == batch) {
            permit.calls += 1;
            return false;
        }
        permits.push(Permit { batch, began, known, calls: 1 });
        true
    }

    /// Ends a counted call. Returns whether the call was the last of its environment.
    pub(super) fn give_back(&mut self, user: u32, batch: u32) -> bool {
        let permits = &mut self.0[user as usize];
        let Some(at) = permits.iter().position(|it| it.batch == batch) else { return false };
        permits[at].calls -= 1;
        let is_last = permits[at].calls == 0;
        if is_last {
            permits.swap_remove(at);
        }
        is_last
    }
}
