//! Sizes of the service, and which limit each of them reaches first.

use std::fmt::Write as _;

use super::copied::{LEAD_S, MOST_SHARDS, REQUESTS_PER_S, TICK_LIMIT_S, WEBHOOK_ENVIRONMENTS};
use super::limits::{
    ACCOUNT_CONCURRENCY, EVENT_CALLS_PER_S, GATEWAY_REQUESTS_PER_S, KEY_REQUESTS_PER_S, MAX_IN_FLIGHT,
    NEW_TABLE_WRITE_UNITS, RECEIVE_BATCH,
};
use super::{Demand, Figures, Load, Parameters, Profile};

/// Posts of a user in a day, and requests other than those that schedule them. Assumed.
pub const POSTS_A_DAY: u32 = 1;
pub const REQUESTS_A_DAY: u32 = 10;

/// One in this many of a day's posts is due in the same second, such as 9:00:00. Assumed.
const IN_BUSIEST_SECOND: u32 = 100;

/// Requests in a busy second, compared with the mean of the day. Assumed.
const REQUEST_PEAK: f64 = 5.0;

/// Duration of a request, and of a call to a webhook endpoint. Assumed.
const REQUEST_S: f64 = 0.05;
const WEBHOOK_CALL_S: f64 = 0.5;

/// Events of a post with one target: `post.scheduled`, `target.published`, `post.published`.
const EVENTS: f64 = 3.0;

const DAY_S: f64 = 86_400.0;

#[derive(Clone, Copy, Debug)]
pub struct Size {
    pub name: &'static str,
    pub users: u32,
    pub parameters: Parameters,
}

/// The last size is a sixth of the one before.
pub const SIZES: [Size; 4] = [
    Size { name: "1,000", users: 1_000, parameters: parameters(8, 20, 10) },
    Size { name: "100,000", users: 100_000, parameters: parameters(8, 100, 10) },
    Size { name: "10,000,000", users: 10_000_000, parameters: parameters(MOST_SHARDS, 1_000, 50) },
    Size { name: "one of six regions", users: 1_666_700, parameters: parameters(MOST_SHARDS, 334, 50) },
];

const fn parameters(due_shards: u32, delivery_concurrency: u32, delivery_batch: u32) -> Parameters {
    Parameters { due_shards, delivery_concurrency, delivery_batch }
}

impl Size {
    fn load(&self) -> Load {
        Load { posts: self.users * POSTS_A_DAY / IN_BUSIEST_SECOND, within_s: 1, busiest_user: 1 }
    }

    /// On average, of something that each user does `a_day` times.
    fn per_s(&self, a_day: u32) -> f64 {
        f64::from(self.users) * f64::from(a_day) / DAY_S
    }

    /// In the busiest second, with the default quotas.
    pub fn demands(&self, profile: &Profile) -> Vec<Demand> {
        let figures = Figures::compute(self.load(), self.parameters, profile);
        let requests = REQUEST_PEAK * self.per_s(POSTS_A_DAY + REQUESTS_A_DAY);
        let begun = figures.in_flight;
        let environments = f64::from(self.parameters.delivery_concurrency).min(figures.environments.ceil());
        let events = EVENTS * self.per_s(POSTS_A_DAY);
        let webhooks = events * WEBHOOK_CALL_S / f64::from(RECEIVE_BATCH);
        vec![
            Demand::new(
                "environments for all posts at once, of `DeliveryConcurrency`",
                figures.environments.ceil(),
                self.parameters.delivery_concurrency.into(),
            ),
            Demand::new(
                "concurrency of the account",
                environments + (requests * REQUEST_S).ceil(),
                ACCOUNT_CONCURRENCY,
            ),
            Demand::new(
                "table with the highest load, write units per second",
                figures.hottest_table.amount,
                figures.hottest_table.limit,
            ),
            Demand::new("likewise, of a table as it is created", figures.hottest_table.amount, NEW_TABLE_WRITE_UNITS),
            Demand::new(
                "partition with the highest load, units per second",
                figures.hottest_partition.amount,
                figures.hottest_partition.limit,
            ),
            Demand::new("duration of the tick that plans them, s", figures.plan_s, TICK_LIMIT_S),
            Demand::new("messages in flight", begun, MAX_IN_FLIGHT),
            Demand::new("requests of KMS per second, at most one a post", begun, KEY_REQUESTS_PER_S),
            Demand::new("calls of `PutEvents` per second, mean", events, EVENT_CALLS_PER_S),
            Demand::new(
                "environments of webhooks, mean, if every user has an endpoint",
                webhooks,
                WEBHOOK_ENVIRONMENTS.into(),
            ),
            Demand::new("requests per second, of the stage in `template.yaml`", requests, REQUESTS_PER_S.into()),
            Demand::new("requests per second, of the account", requests, GATEWAY_REQUESTS_PER_S),
        ]
    }
}

/// The table of `docs/scale.md`.
pub fn table(profile: &Profile) -> String {
    let figures = SIZES.map(|it| Figures::compute(it.load(), it.parameters, profile));
    let defaults = SIZES.map(|it| Figures::compute(it.load(), Parameters::default(), profile));
    let demands = SIZES.map(|it| it.demands(profile));
    let mut text = String::new();
    let mut row = |name: &str, cells: [String; 4]| {
        // Writing to a string cannot fail.
        let _: std::fmt::Result = writeln!(text, "| {name} | {} |", cells.join(" | "));
    };
    row("users", SIZES.map(|it| it.name.to_owned()));
    row("---", [(); 4].map(|()| "---:".to_owned()));
    row(
        "`DueShards`, `DeliveryConcurrency`, `DeliveryBatch`",
        SIZES.map(|Size { parameters: it, .. }| {
            format!("{}, {}, {}", it.due_shards, with_separators(it.delivery_concurrency.into()), it.delivery_batch)
        }),
    );
    row("posts due in the busiest second", SIZES.map(|it| with_separators(it.load().posts.into())));
    row("the last of them begins after, s", figures.each_ref().map(|it| format!("{:.1}", it.begun_s)));
    row("likewise with the default parameters, s", defaults.each_ref().map(|it| format!("{:.1}", it.begun_s)));
    let from_idle = figures.each_ref().map(|it| format!("{:.1}", it.begun_from_idle_s));
    row(&format!("likewise from idle, messages {LEAD_S} s early, s"), from_idle);
    row("the last is rolled up after, s", figures.each_ref().map(|it| format!("{:.0}", it.rolled_up_s)));
    for index in 0..demands[0].len() {
        let cells = demands.each_ref().map(|it| {
            let text =
                format!("{} ({} %)", with_separators(it[index].amount), with_separators(100.0 * it[index].share()));
            if 1.0 < it[index].share() { format!("**{text}**") } else { text }
        });
        row(&demands[0][index].name, cells);
    }
    text
}

pub fn with_separators(value: f64) -> String {
    let digits = format!("{value:.0}");
    let mut text = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if 0 < index && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}
