use chrono::TimeDelta;

pub const TIME_OUT: TimeDelta = TimeDelta::seconds(15);

/// How long a connection to an endpoint may take, as a part of [`TIME_OUT`].
pub const CONNECT_TIME_OUT: TimeDelta = TimeDelta::seconds(10);

pub const TRIES: usize = WAITS_S.len();

/// Waits before the attempts, in seconds: three days together. Source: `spec/standard-webhooks.md`,
/// "Deliverability and reliability".
const WAITS_S: [i64; 10] = [0, 5, 300, 1_800, 7_200, 18_000, 36_000, 50_400, 72_000, 86_400];

/// The first wait for a permit. Each further wait is twice as long.
const FIRST_WAIT_FOR_PERMIT: TimeDelta = TimeDelta::seconds(8);

/// How often that wait doubles: up to 8 min 32 s. The longer a user's backlog is, the more often
/// each of its deliveries was postponed, and the less it asks for.
const MOST_DOUBLINGS: u32 = 6;

const THROTTLED: TimeDelta = TimeDelta::minutes(1);

const LONGEST_ASKED: TimeDelta = TimeDelta::hours(24);

/// A longer wait is an entry of the due index, where the tick finds it. A queue holds a message for
/// fifteen minutes at most.
pub const PLANNED_AHEAD: TimeDelta = TimeDelta::minutes(14);

/// The wait after so many attempts, which is at least one; `None` after the last. `random` changes
/// it by up to a tenth in either direction, so that deliveries that failed together are not
/// attempted together.
pub(super) fn wait(attempts: usize, random: u32) -> Option<TimeDelta> {
    let wait_ms = WAITS_S.get(attempts)? * 1_000;
    let tenth = wait_ms / 10;
    let offset_ms = i64::from(random) % (2 * tenth + 1) - tenth;
    Some(TimeDelta::milliseconds(wait_ms + offset_ms))
}

/// The wait of a delivery that got no permit and was postponed this often before. `random`
/// lengthens the wait by up to a half, so that a backlog spreads.
pub(super) fn wait_for_permit(postponed: u32, random: u32) -> TimeDelta {
    let wait_ms = FIRST_WAIT_FOR_PERMIT.num_milliseconds() << postponed.min(MOST_DOUBLINGS);
    TimeDelta::milliseconds(wait_ms + i64::from(random) % (wait_ms / 2))
}

pub(super) fn with_retry_after(wait: TimeDelta, requested: Option<TimeDelta>, is_throttled: bool) -> TimeDelta {
    let min_wait = if is_throttled { THROTTLED } else { TimeDelta::zero() };
    wait.max(min_wait).max(requested.map_or(TimeDelta::zero(), |it| it.min(LONGEST_ASKED)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ten_attempts_are_made_within_three_days_and_a_tenth() {
        for random in [0, 1, u32::MAX / 2, u32::MAX] {
            let all: TimeDelta = (1..).map_while(|it| wait(it, random)).sum();
            assert!(TimeDelta::hours(68) <= all && all <= TimeDelta::hours(84), "{all}");
        }
        assert_eq!((1..).map_while(|it| wait(it, 7)).count() + 1, TRIES);
    }

    #[test]
    fn wait_varies_by_at_most_a_tenth() {
        for random in (0..u32::MAX).step_by(99_999_989) {
            let wait = wait(2, random).unwrap();
            assert!(TimeDelta::seconds(270) <= wait && wait <= TimeDelta::seconds(330), "{wait}");
        }
    }

    #[test]
    fn waits_for_a_permit_double_up_to_eight_minutes() {
        assert_eq!([0, 1, 6, u32::MAX].map(|it| wait_for_permit(it, 0).num_seconds()), [8, 16, 512, 512]);
        for random in [1, u32::MAX / 3, u32::MAX] {
            let wait = wait_for_permit(9, random);
            assert!(TimeDelta::seconds(512) <= wait && wait < TimeDelta::seconds(768), "{wait}");
            assert!(wait < PLANNED_AHEAD, "the queue holds it back, and not the tick");
        }
    }

    #[test]
    fn endpoint_can_lengthen_the_wait_but_not_shorten_it() {
        let (five, hour) = (TimeDelta::seconds(5), TimeDelta::hours(1));
        assert_eq!(with_retry_after(five, None, false), five);
        assert_eq!(with_retry_after(five, Some(TimeDelta::seconds(1)), false), five);
        assert_eq!(with_retry_after(five, Some(hour), true), hour);
        assert_eq!(with_retry_after(five, None, true), TimeDelta::minutes(1));
        assert_eq!(with_retry_after(five, Some(TimeDelta::days(400)), false), TimeDelta::hours(24));
    }
}
