//! The figures of a run.

use std::collections::BTreeMap;
use std::fmt;

use super::limits::SLOW_MS;
use super::posts::{NOISY, Post};
use super::scale_run::{PeakLoad, ScaleRun};
use super::time::seconds;
use super::{Ms, limits};

/// The table, index or partition with the highest load relative to its limit.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PeakPartition {
    /// The name of the table or index; for a partition also its number.
    pub place: String,
    /// Units requested in its busiest second, divided by its limit per second. Retries of throttled
    /// requests are not counted. Above 1, requests were throttled.
    pub share: f64,
    /// The busiest second, from the start of the full minute.
    pub second: Ms,
}

impl PeakPartition {
    pub(super) fn heat(&mut self, share: f64, second: Ms, place: impl FnOnce() -> String) {
        if self.share < share {
            *self = Self { place: place(), share, second };
        }
    }
}

impl fmt::Display for PeakPartition {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{:.0} % {}", self.share * 100.0, self.place)
    }
}

/// The figures of a run.
///
/// "Meanwhile" is until the last post was settled, which means that the outcome of its publish call
/// is stored. Seconds count from the start of the full minute, whose last posts are due at second
/// 59.
#[derive(Clone, Debug, PartialEq)]
pub struct ScaleFigures {
    /// Number of posts.
    pub posts: u32,
    /// Number of posts that became public.
    pub public: u32,
    /// Number of posts that were rolled up.
    pub rolled_up: u32,
    /// Number of publish calls; more calls than posts would mean that one was sent twice.
    pub calls_begun: u32,
    /// Number of publish calls before their second.
    pub early: u32,
    /// When the last post was public. Slow platforms, which take 15 s, are included, so less than
    /// 74 is hardly possible.
    pub drained_s: f64,
    /// When the last post was public, without posts to slow platforms.
    pub drained_but_slow_s: f64,
    /// When the last publish call began; after that, only platforms are waited for. The last posts
    /// are due at second 59: without delays this is just above 59. The target is at most 60.
    pub begun_s: f64,
    /// Median delay from the due second to the publish call.
    pub late_p50_ms: Ms,
    /// 99th percentile of that delay.
    pub late_p99_ms: Ms,
    /// 99th percentile for the users whose platforms are not slow.
    pub others_late_p99_ms: Ms,
    pub late_most_ms: Ms,
    /// Median delay from the due second until the post was public.
    pub public_p50_ms: Ms,
    /// 99th percentile of that delay.
    pub public_p99_ms: Ms,
    /// Write units per post meanwhile, without roll-ups.
    pub write_units_per_post: f64,
    /// Read units per post of the deliveries.
    pub read_units_per_post: f64,
    /// Read units of planning all posts.
    pub read_units_to_plan: f64,
    /// Read units of the sweep over overdue entries, until the end.
    pub read_units_to_sweep: f64,
    /// The partition with the highest relative load meanwhile.
    pub hottest_partition: PeakPartition,
    /// The table or index with the highest relative load meanwhile, as a whole.
    pub hottest_table: PeakPartition,
    /// Throttled calls to the store meanwhile, including retries, by table or index.
    pub throttled: BTreeMap<String, u32>,
    /// Deliveries that were given up until the end, because the store throttled one call three
    /// times. The queue or the sweep repeats them.
    pub deliveries_cut_off: u32,
    /// Deliveries that were deferred because all permits of their user were held.
    pub deferred: u32,
    /// Messages that went to the dead-letter queue after too many receives. The sweep finds their
    /// posts.
    pub put_aside: u32,
    /// Ticks that did not finish, or left overdue entries. The next tick repeats that work.
    pub ticks_cut_off: u32,
    /// Duration of the longest tick that finished.
    pub longest_tick_s: f64,
    /// Number of messages sent, until the end.
    pub messages: u32,
    /// Number of invocations, until the end.
    pub invocations: u32,
    /// Maximum number of concurrent invocations.
    pub invocations_at_once: u32,
    /// Maximum number of messages in flight: received and not yet deleted.
    pub in_flight: u32,
    /// Number of posts that were rolled up meanwhile.
    pub rolled_up_meanwhile: u32,
    /// When the last post was rolled up.
    pub last_roll_up_s: f64,
    /// Write units per post for roll-ups, including moves by the sweep.
    pub write_units_to_tell: f64,
    /// The partition with the highest load after the last post was settled.
    pub hottest_after: PeakPartition,
    /// Calls that were throttled after the last post was settled.
    pub throttled_after: u32,
}

impl ScaleFigures {
    pub(super) fn from_model(run: &ScaleRun<'_>, hot: PeakLoad, after: PeakLoad) -> Self {
        let (posts, tally, queue) = (&run.posts, &run.tally, &run.queue);
        let count = f64::from(run.setting.posts.max(1));
        let begun: Vec<_> = posts.iter().filter_map(|it| Some((it.due, it.begun?, it.public?))).collect();
        let mut late: Vec<Ms> = begun.iter().map(|(due, begun, _)| begun - due).collect();
        let mut public_after: Vec<Ms> = begun.iter().map(|(due, _, public)| public - due).collect();
        late.sort_unstable();
        let is_other = |it: &&Post| run.setting.noisy.is_none() || it.keys.user != NOISY;
        let mut others_late: Vec<Ms> =
            posts.iter().filter(is_other).filter_map(|it| Some(it.begun? - it.due)).collect();
        others_late.sort_unstable();
        public_after.sort_unstable();
        let is_slow = |begun: Ms, public: Ms| SLOW_MS <= public - begun;
        let usual = begun.iter().filter(|(_, begun, public)| !is_slow(*begun, *public));
        let throttled = |it: &PeakLoad| it.throttled.values().sum::<u32>();
        let throttled_after = throttled(&after) - throttled(&hot);
        Self {
            posts: run.setting.posts,
            public: u32::try_from(begun.len()).unwrap_or(u32::MAX),
            rolled_up: tally.rolled_up,
            calls_begun: tally.calls_begun,
            early: u32::try_from(late.iter().filter(|it| **it < 0).count()).unwrap_or(u32::MAX),
            drained_s: latest(begun.iter().map(|it| it.2)),
            drained_but_slow_s: latest(usual.map(|it| it.2)),
            begun_s: latest(begun.iter().map(|it| it.1)),
            late_p50_ms: percentile(&late, 50),
            late_p99_ms: percentile(&late, 99),
            others_late_p99_ms: percentile(&others_late, 99),
            late_most_ms: percentile(&late, 100),
            public_p50_ms: percentile(&public_after, 50),
            public_p99_ms: percentile(&public_after, 99),
            write_units_per_post: tally.hot_write_units / count,
            read_units_per_post: tally.deliver_read_units / count,
            read_units_to_plan: tally.plan_read_units,
            read_units_to_sweep: tally.sweep_read_units,
            hottest_partition: hot.partition,
            hottest_table: hot.table,
            throttled: hot.throttled,
            deliveries_cut_off: tally.deliveries_cut_off,
            deferred: tally.deferred,
            put_aside: tally.put_aside,
            ticks_cut_off: tally.ticks_cut_off,
            longest_tick_s: seconds(tally.longest_tick_ms),
            messages: tally.messages,
            invocations: queue.invocations,
            invocations_at_once: queue.most_busy,
            in_flight: queue.most_in_flight,
            rolled_up_meanwhile: tally.rolled_up_meanwhile,
            last_roll_up_s: seconds(tally.last_roll_up),
            write_units_to_tell: (tally.roll_up_write_units + tally.sweep_write_units) / count,
            hottest_after: after.partition,
            throttled_after,
        }
    }

    /// Names and values, in the order of the report.
    pub fn rows(&self) -> Vec<(&'static str, String)> {
        let throttled = self.throttled.values().sum::<u32>();
        let in_flight = format!("{} of {}", self.in_flight, limits::MAX_IN_FLIGHT);
        vec![
            ("posts", self.posts.to_string()),
            ("public", self.public.to_string()),
            ("rolled up", self.rolled_up.to_string()),
            ("public calls begun", self.calls_begun.to_string()),
            ("begun early", self.early.to_string()),
            ("last call begun, s", format!("{:.1}", self.begun_s)),
            ("last post public but slow ones, s", format!("{:.1}", self.drained_but_slow_s)),
            ("last post public, s", format!("{:.1}", self.drained_s)),
            ("late p50, ms", self.late_p50_ms.to_string()),
            ("late p99, ms", self.late_p99_ms.to_string()),
            ("late p99 of the others, ms", self.others_late_p99_ms.to_string()),
            ("late at most, ms", self.late_most_ms.to_string()),
            ("public after p50, ms", self.public_p50_ms.to_string()),
            ("public after p99, ms", self.public_p99_ms.to_string()),
            ("write units per post", format!("{:.2}", self.write_units_per_post)),
            ("read units per post", format!("{:.2}", self.read_units_per_post)),
            ("read units to plan", format!("{:.0}", self.read_units_to_plan)),
            ("read units to sweep", format!("{:.0}", self.read_units_to_sweep)),
            ("hottest partition", self.hottest_partition.to_string()),
            ("hottest table", self.hottest_table.to_string()),
            ("throttled calls", throttled.to_string()),
            ("deliveries cut off", self.deliveries_cut_off.to_string()),
            ("deliveries deferred", self.deferred.to_string()),
            ("messages put aside", self.put_aside.to_string()),
            ("longest tick, s", format!("{:.1}", self.longest_tick_s)),
            ("ticks cut off", self.ticks_cut_off.to_string()),
            ("messages", self.messages.to_string()),
            ("invocations", self.invocations.to_string()),
            ("invocations at once", self.invocations_at_once.to_string()),
            ("in flight", in_flight),
            ("rolled up meanwhile", self.rolled_up_meanwhile.to_string()),
            ("last roll-up, s", format!("{:.0}", self.last_roll_up_s)),
            ("write units to tell, per post", format!("{:.2}", self.write_units_to_tell)),
            ("hottest partition after", self.hottest_after.to_string()),
            ("throttled calls after", self.throttled_after.to_string()),
        ]
    }
}

impl fmt::Display for ScaleFigures {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.rows().into_iter().try_for_each(|(name, value)| writeln!(out, "{name:<36}{value:>30}"))
    }
}

fn latest(times: impl Iterator<Item = Ms>) -> f64 {
    seconds(times.max().unwrap_or_default())
}

/// A percentile of a sorted list; 0 for an empty one.
fn percentile(sorted: &[Ms], percent: usize) -> Ms {
    let rank = (sorted.len() * percent).div_ceil(100);
    sorted.get(rank.saturating_sub(1)).copied().unwrap_or_default()
}
