use std::sync::LazyLock;

use super::copied::*;
use super::load::STORE_CALL_S;
use super::*;

/// Measured once, because that takes seconds.
static PROFILE: LazyLock<Profile> = LazyLock::new(Profile::measured);

fn million(parameters: Parameters) -> Figures {
    Figures::compute(Load::MILLION, parameters, &PROFILE)
}

#[track_caller]
fn assert_near(value: f64, expected: f64) {
    assert!((value - expected).abs() < 0.01 * expected.abs().max(1.0), "{value} instead of {expected}");
}

#[test]
fn longest_call_grows_with_the_batch_and_slow_calls_count() {
    // The mean of a log-normal distribution is the median times exp(spread² / 2); a slow call adds
    // 15 s in one of a thousand.
    let spread = 10.0_f64.ln() / 3.09;
    assert_near(calls::longest_s(1), 0.3 * (spread * spread / 2.0).exp() + 0.015);
    let longest = [1, 10, 50].map(calls::longest_s);
    assert!(longest[0] < longest[1] && longest[1] < longest[2] && longest[2] < 3.0, "{longest:?}");
}

#[test]
fn million_begins_on_the_second_with_everything_ready() {
    let figures = million(Parameters::LARGEST);

    assert_near(figures.begun_s, 59.0);
    assert!(figures.environments < 1_000.0 && figures.pollers <= 200.0, "{figures:?}");
    assert_near(figures.write_units_per_post, 4.0);
    // 16,667 posts a second in 64 shards, with one write each in the index.
    assert_near(figures.hottest_partition.amount, {
        let mean = in_a_second() / 64.0;
        mean + 4.0 * mean.sqrt()
    });
    assert!(figures.plan_s < TICK_LIMIT_S, "{figures:?}");
    assert_near(figures.rolled_up_s, 5_000.0);
}

fn in_a_second() -> f64 {
    let mean = 1_000_000.0 / 60.0;
    mean + 4.0 * f64::sqrt(mean)
}

#[test]
fn table_load_counts_both_writes_of_a_delivery() {
    let table = million(Parameters::LARGEST).hottest_table;

    assert_eq!((&*table.name, table.limit), ("deliveries, writes", limits::TABLE_UNITS));
    assert_near(table.amount, 2.0 * in_a_second());
}

#[test]
fn fewer_environments_or_a_start_from_idle_delay_posts() {
    let ready = million(Parameters::LARGEST);
    let few = million(Parameters { delivery_concurrency: 100, ..Parameters::LARGEST });

    // A million posts at 50 in each 2.4 s of an environment, without the first 5,000.
    assert_near(few.begun_s, 995_000.0 / 100.0 / 50.0 * (calls::longest_s(50) + 3.0 * STORE_CALL_S));
    assert!(130.0 < ready.begun_from_idle_s && ready.begun_from_idle_s < 140.0, "{ready:?}");
    // Once all environments have been added, more posts take proportionally longer.
    let idle = |posts| {
        let load = Load { posts, ..Load::MILLION };
        Figures::compute(load, Parameters::default(), &PROFILE).begun_from_idle_s
    };
    assert_near(idle(300_000) - idle(200_000), idle(200_000) - idle(100_000));
}

#[test]
fn few_posts_have_no_figure_above_a_limit() {
    let demands = SIZES[0].demands(&PROFILE);
    assert!(demands.iter().all(|it| it.share() <= 1.0), "{demands:?}");
    let figures = Figures::compute(Load { posts: 1, within_s: 1, busiest_user: 1 }, Parameters::default(), &PROFILE);
    assert_eq!((figures.begun_s, figures.begun_from_idle_s, figures.rolled_up_s), (0.0, 0.0, 0.0));
    assert_near(figures.in_flight, 1.0);
}

#[test]
fn noisy_user_leaves_environments_to_others() {
    let noisy = Parameters::default().noisy_user();

    // A quarter of 20, and one call of each second until it is known to be slow.
    assert_eq!(noisy.environments, 8);
    assert_near(noisy.others_late_s, 1.036);
}

#[test]
fn copied_numbers_match_code_and_template() {
    let queue = "libs/cloud/src/queue.rs";
    let plan = "libs/publishing/src/plan.rs";
    let permits = "libs/permits/src/lib.rs";
    let template = "template.yaml";
    // The line above tells it from the same setting of another function.
    let webhook_scaling = format!(
        "# Slow endpoints must not use up the concurrency of requests.\n            ScalingConfig: {{MaximumConcurrency: \
         {WEBHOOK_ENVIRONMENTS}}}\n"
    );
    let lines = [
        (queue, format!("const LEAD_TIME: TimeDelta = TimeDelta::seconds({LEAD_S});")),
        (queue, format!("const BATCH: usize = {};", limits::SEND_BATCH)),
        (queue, format!("const CONCURRENCY: usize = {SENDS_AT_ONCE};")),
        (plan, format!("const PAGE: i32 = {PAGE};")),
        (plan, format!("const SHARDS_AT_ONCE: usize = {SHARDS_AT_ONCE};")),
        (plan, format!("const MAX_IMMEDIATE_ROLL_UPS: usize = {IMMEDIATE_ROLL_UPS};")),
        (plan, format!("const DEFERRED_ROLL_UPS_PER_SECOND: u32 = {DEFERRED_ROLL_UPS_PER_S};")),
        (permits, format!("const RECORDED_AFTER: Duration = Duration::from_secs({RECORDED_AFTER_S});")),
        (permits, format!("const PERMIT_WAIT: TimeDelta = TimeDelta::seconds({PERMIT_WAIT_S});")),
        (template, format!("Timeout: {TICK_LIMIT_S}\n")),
        (template, format!("AllowedValues: [{}, {LARGEST_BATCH}]\n", limits::RECEIVE_BATCH)),
        (template, format!("MaxValue: {MOST_ENVIRONMENTS}\n")),
        (template, format!("MaxValue: {MOST_SHARDS}\n")),
        (template, format!("DefaultRouteSettings: {{ThrottlingRateLimit: {REQUESTS_PER_S},")),
        (template, webhook_scaling),
        (template, format!("Default: {}\n", limits::NEW_TABLE_WRITE_UNITS)),
    ];

    let repository = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    // Long numbers contain underscores.
    let without = |text: &str| text.replace('_', "");
    for (file, line) in lines {
        let text = std::fs::read_to_string(repository.join(file)).unwrap();
        assert!(without(&text).contains(&without(&line)), "{file} has no `{line}`: the figures have to change with it");
    }
}
