use super::*;

/// Ten thousand posts in the minute, with proportionally lower limits.
fn small() -> Setting {
    Setting {
        posts: 10_000,
        users: 500,
        busiest_has: 50,
        due_shards: 4,
        source: EventSource::Ready { pollers: 20 },
        environments: 40,
        tables: Tables { write_units: 1_000.0, read_units: 2_000.0, partitions: Partitions::OnePerKey },
        page: 100,
        full: 40,
        ..Setting::million()
    }
}

#[track_caller]
fn assert_nothing_lost(scale: &ScaleFigures) {
    assert_eq!(
        (scale.public, scale.rolled_up, scale.calls_begun),
        (scale.posts, scale.posts, scale.posts),
        "\n{scale}"
    );
    assert_eq!(scale.early, 0);
}

#[test]
fn figures_of_a_small_run_are_consistent() {
    let scale = run(&small());

    assert_nothing_lost(&scale);
    // One call in a thousand is slow, and costs two more writes.
    assert!((4.0..4.01).contains(&scale.write_units_per_post), "\n{scale}");
    // The delivery is read twice: before the publish call, and before the roll-up.
    assert!((scale.read_units_per_post - 8.0).abs() < 0.1, "\n{scale}");
    // 10,000 entries of 130 bytes are 159 units; pages are rounded up.
    assert!((159.0..220.0).contains(&scale.read_units_to_plan), "\n{scale}");
    assert_eq!((scale.throttled_after, scale.deliveries_cut_off, scale.put_aside), (0, 0, 0));
    assert!(scale.throttled.is_empty());
}

#[test]
fn with_everything_ready_posts_are_on_the_second() {
    let scale = run(&small());

    assert!(scale.late_p50_ms <= 100 && scale.late_p99_ms <= 1_000, "\n{scale}");
    assert!(scale.begun_s < 60.0 && scale.drained_but_slow_s < 63.0 && scale.drained_s < 76.0, "\n{scale}");
}

#[test]
fn full_minute_is_rolled_up_later_and_slowly() {
    let slow = run(&Setting { roll_ups_per_s: 10, ..small() });

    assert_nothing_lost(&slow);
    assert!(slow.rolled_up_meanwhile < 500, "\n{slow}");
    assert!((1_000.0..1_300.0).contains(&slow.last_roll_up_s), "\n{slow}");
}

#[test]
fn ordinary_minute_is_rolled_up_immediately() {
    let scale = run(&Setting { full: 20_000, page: 10_000, ..small() });

    assert_nothing_lost(&scale);
    assert!(9_900 < scale.rolled_up_meanwhile, "\n{scale}");
}

#[test]
fn full_minute_is_estimated_from_the_first_page() {
    // The first pages of four shards show only 400 of the 10,000 posts.
    let guessed = |full| run(&Setting { full, ..small() }).rolled_up_meanwhile < 9_000;

    assert!(guessed(399) && !guessed(400));
}

#[test]
fn roll_up_after_the_longest_delay_is_forwarded_until_then() {
    // A post every 0.2 s, so 4,500 in the longest delay of 900 s.
    let scale = run(&Setting { roll_ups_per_s: 5, ..small() });

    assert_nothing_lost(&scale);
    // Each post has one message from the plan, and one more for each started 900 s of its wait for
    // the roll-up: 10,000 and 10,000 and 5,500 and 1,000.
    assert!((26_300..26_700).contains(&scale.messages), "\n{scale}");
    assert!(scale.last_roll_up_s < 2_200.0, "\n{scale}");
}

#[test]
fn environment_limits_concurrent_roll_ups() {
    let in_flight = |roll_ups_at_once| {
        let scale = run(&Setting { full: 20_000, page: 10_000, roll_ups_at_once, ..small() });
        assert_nothing_lost(&scale);
        scale.in_flight
    };

    assert!(in_flight(4) < in_flight(1));
}

#[test]
fn doubling_shards_halves_the_hottest_partition() {
    let share = |due_shards| run(&Setting { due_shards, ..small() }).hottest_partition.share;

    let shares = [1, 2, 4].map(share);
    assert!(shares[1] < shares[0] * 0.7 && shares[2] < shares[1] * 0.7, "{shares:?}");
}

#[test]
fn a_throttled_table_makes_posts_late_and_loses_none() {
    let narrow = Tables { write_units: 200.0, ..small().tables };
    let scale = run(&Setting { tables: narrow, ..small() });

    assert_nothing_lost(&scale);
    assert!(0 < scale.throttled["deliveries"] && 0 < scale.deliveries_cut_off, "\n{scale}");
    assert!(1.0 < scale.hottest_table.share && 100.0 < scale.begun_s, "\n{scale}");
}

#[test]
fn dead_lettered_message_is_recovered_by_the_sweep() {
    let narrow = Tables { write_units: 200.0, ..small().tables };
    let scale = run(&Setting { tables: narrow, receives: 1, ..small() });

    assert!(0 < scale.put_aside, "\n{scale}");
    assert_nothing_lost(&scale);
}

#[test]
fn keys_that_share_partitions_are_hotter() {
    let shared = Tables { partitions: Partitions::Shared, ..small().tables };
    let (alone, shared) = (run(&small()), run(&Setting { tables: shared, ..small() }));

    assert_nothing_lost(&shared);
    assert!(alone.hottest_partition.share < shared.hottest_partition.share, "\n{alone}\n{shared}");
}

#[test]
fn growing_event_source_and_few_environments_delay_posts() {
    let late = |source, environments| {
        let scale = run(&Setting { source, environments, batch: 2, ..small() });
        assert_nothing_lost(&scale);
        scale.late_p99_ms
    };

    let ready = late(EventSource::Ready { pollers: 200 }, 400);
    let standard = late(EventSource::Standard, 400);
    let few = late(EventSource::Ready { pollers: 200 }, 50);
    assert!(ready + 1_000 < standard && ready + 1_000 < few, "{ready} {standard} {few}");
}

#[test]
fn cut_off_tick_is_completed_by_the_next() {
    let slow = Setting { sends_at_once: 1, shards_at_once: 1, ..small() };
    let scale = run(&Setting { tick_limit_ms: 15_000, ..slow });

    assert_nothing_lost(&scale);
    assert!(0 < scale.ticks_cut_off && 10_000 < scale.messages, "\n{scale}");
}

#[test]
fn shards_and_calls_at_the_same_time_make_a_tick_shorter() {
    let took = |shards_at_once, sends_at_once| {
        let scale = run(&Setting { sends_at_once, shards_at_once, ..small() });
        assert_nothing_lost(&scale);
        scale.longest_tick_s
    };

    // A thousand calls of 10 to 30 ms.
    let (one, shards, calls) = (took(1, 1), took(4, 1), took(1, 10));
    assert!((19.0..23.0).contains(&one), "{one}");
    assert!(shards < one / 3.0 && calls < one / 5.0, "{one} {shards} {calls}");
}

/// A tick with one unfinished shard.
fn at_the_last_shard(setting: &Setting) -> scale_run::ScaleRun<'_> {
    let mut run = scale_run::ScaleRun::new(setting);
    run.now = 0;
    run.tick();
    for _ in 1..setting.due_shards {
        run.end_shard(1);
    }
    run
}

#[test]
fn failing_overdue_posts_do_not_delay_planning() {
    let setting = small();
    let [mut well, mut overdue_failed, mut failed] = [(); 3].map(|()| at_the_last_shard(&setting));

    well.end_shard(1);
    overdue_failed.skip_overdue(1);
    failed.end_tick(1);

    let planned = [well, overdue_failed, failed].map(|it| (it.publisher.planned_until, it.tally.ticks_cut_off));
    assert_eq!(planned, [(Some(180_000), 0), (Some(180_000), 1), (None, 1)]);
}

#[test]
fn unmovable_overdue_posts_are_rolled_up_eventually() {
    let narrow = Tables { write_units: 100.0, ..small().tables };
    let scale = run(&Setting { tables: narrow, receives: 1, moves_at_once: 100, ..small() });

    assert_nothing_lost(&scale);
    assert!(0 < scale.ticks_cut_off && 0 < scale.put_aside, "\n{scale}");
}

#[test]
fn slow_platform_does_not_delay_its_batch() {
    let scale = run(&small());

    // Ten of the ten thousand calls take 15 s, and share their batches with
    // hundreds of others, which must not wait for them.
    assert!(scale.public_p99_ms < 4_000 && scale.drained_but_slow_s < scale.drained_s, "\n{scale}");
}

#[test]
fn user_with_slow_servers_does_not_delay_others() {
    let scale = run(&Setting::attacked());

    assert_nothing_lost(&scale);
    assert!(scale.others_late_p99_ms <= 1_000, "\n{scale}");
}

#[test]
fn without_fairness_slow_servers_delay_all_users() {
    let late = |fair_queue, share| {
        let scale = run(&Setting { fair_queue, share, ..Setting::attacked() });
        assert_nothing_lost(&scale);
        scale.others_late_p99_ms
    };
    let share = Setting::attacked().share;

    let (neither, queue_alone) = (late(false, None), late(true, None));
    assert!(60_000 < neither, "{neither}");
    // The queue prefers the other users, but all environments are in use.
    assert!(10_000 < queue_alone, "{queue_alone}");
    // A share alone keeps environments free, but the other users wait in the queue.
    assert!(1_000 < late(false, share), "{}", late(false, share));
}

#[test]
fn fairness_costs_nothing_without_bursts() {
    let units = |share| run(&Setting { share, ..small() }).write_units_per_post;

    assert!((units(small().share) - units(None)).abs() < 0.01, "{}", units(small().share));
}

#[test]
fn figures_depend_only_on_the_seed() {
    let seeded = |seed| run(&Setting { seed, ..small() });

    assert_eq!(seeded(7), seeded(7));
    assert_ne!(seeded(7), seeded(8));
}

#[test]
fn busiest_user_has_the_configured_posts() {
    let setting = small();
    let posts = posts::make(&setting, &mut chance::Random::new(1));
    let mut counts = vec![0; setting.users as usize];
    for post in &posts {
        counts[post.keys.user as usize] += 1;
    }

    assert_eq!(posts.len(), 10_000);
    assert_eq!(counts.iter().max(), Some(&50));
    assert!(counts.iter().all(|it| 10 < *it), "{counts:?}");
}

#[test]
fn report_has_one_column_per_setting() {
    let report = Report::run(&[("one", small()), ("two", Setting { due_shards: 8, ..small() })]);

    let shown = report.to_string();
    assert_eq!(shown.lines().next().map(|it| it.split_whitespace().rev().take(2).collect()), Some(vec!["two", "one"]));
    assert!(shown.contains("last post public, s"), "{shown}");
    assert_eq!(report.ready(), Some(&run(&small())));
}

#[test]
fn copied_numbers_match_code_and_template() {
    use setting::copied::*;
    let queue = "libs/cloud/src/queue.rs";
    let plan = "libs/publishing/src/plan.rs";
    let deliver = "libs/publishing/src/deliver.rs";
    let template = "template.yaml";
    let lines = [
        (queue, format!("const LEAD_TIME: TimeDelta = TimeDelta::seconds({EARLY_S});")),
        (queue, format!("const MAX_DELAY_S: u16 = {};", limits::MAX_DELAY_S)),
        (queue, format!("const BATCH: usize = {};", limits::SEND_BATCH)),
        (queue, format!("const CONCURRENCY: usize = {SENDS_AT_ONCE};")),
        (plan, format!("const PAGE: i32 = {PAGE};")),
        (plan, format!("const MAX_OVERDUE_PAGES: usize = {MAX_OVERDUE_PAGES};")),
        (plan, format!("const SHARDS_AT_ONCE: usize = {SHARDS_AT_ONCE};")),
        (plan, format!("const MOVES_AT_ONCE: usize = {MOVES_AT_ONCE};")),
        (plan, format!("const MAX_IMMEDIATE_ROLL_UPS: usize = {FULL};")),
        (plan, format!("const DEFERRED_ROLL_UPS_PER_SECOND: u32 = {PUT_OFF_PER_SECOND};")),
        (plan, format!(".min({LONGEST_PUT_OFF_S})")),
        (deliver, format!("const MAX_WAIT: TimeDelta = TimeDelta::seconds({});", MAX_WAIT_MS / 1_000)),
        (deliver, format!("const AFTER_LEASE: TimeDelta = TimeDelta::seconds({});", AFTER_LEASE_MS / 1_000)),
        ("libs/scheduling/src/roll_up.rs", format!("const AT_ONCE: usize = {ROLL_UPS_AT_ONCE};")),
        (template, format!("ScheduleExpression: rate({} minute)", PERIOD_MS / 60_000)),
        (template, format!("Timeout: {}\n", TICK_LIMIT_MS / 1_000)),
        (template, format!("VisibilityTimeout: {}\n", VISIBILITY_MS / 1_000)),
        (template, format!("maxReceiveCount: {RECEIVES}\n")),
        (template, format!("AllowedValues: [{}, {LARGEST_BATCH}]\n", limits::RECEIVE_BATCH)),
        (template, format!("MaxValue: {MOST_ENVIRONMENTS}\n")),
        (template, format!("!If [CollectsBatches, {}, 0]", limits::BATCHING_WINDOW_MS / 1_000)),
    ];

    let repository = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    // Long numbers contain underscores.
    let without = |text: &str| text.replace('_', "");
    for (file, line) in lines {
        let text = std::fs::read_to_string(repository.join(file)).unwrap();
        assert!(without(&text).contains(&without(&line)), "{file} has no `{line}`: the model has to change with it");
    }
}
