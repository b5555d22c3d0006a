//! What the documents say that an idle deployment costs, and what the template and the code do.

use simulation::IdleRun;
use simulation::scale::with_separators;
use tests::monthly_cost::{MonthlyCost, Row, SCHEDULED_RUNS, Traffic};
use tests::template::Template;

use crate::{Names, read};

fn rows() -> Vec<Row> {
    MonthlyCost::from_template(&Template::read().unwrap()).unwrap().rows()
}

/// As the table shows it.
fn amount(dollars: f64) -> String {
    let text = format!("{dollars:.2}");
    if text == "0.00" { "0".to_owned() } else { text }
}

#[test]
fn guide_has_the_computed_cost() {
    let guide = read("docs/deploying.md");
    let section = guide.split_once("\n## What it costs\n").unwrap().1.split_once("\n## ").unwrap().0;
    let table: Vec<Vec<_>> = section
        .lines()
        .filter_map(|it| it.strip_prefix("| ")?.strip_suffix(" |"))
        .map(|it| it.split(" | ").map(|cell| cell.trim_matches('*')).collect())
        .collect();

    let idle = rows();
    let traffic = Traffic { posts: 1_000.0, requests: 0.0 };
    let used = MonthlyCost::with_traffic(&Template::read().unwrap(), traffic).unwrap().rows();
    for (row, used) in idle.iter().zip(used) {
        let is_about = |it: &&Vec<&str>| {
            it[0].trim_start_matches(|it: char| it.is_ascii_digit() || it == ' ').starts_with(row.name)
        };
        let Some(stated) = table.iter().find(is_about) else { panic!("the table has no row {}", row.name) };
        let computed = [amount(row.dollars), amount(row.dollars_beyond_free)];
        assert_eq!(stated[1..3], computed, "{}: tests/cost prints the amounts", row.name);
        let added = used.dollars - row.dollars;
        let digits = if row.name == "total" { 3 } else { 4 };
        let added = if added < 0.000_01 { "–".to_owned() } else { format!("{added:.digits$}") };
        assert_eq!(stated[3], added, "{}: of 1,000 posts", row.name);
    }
}

#[test]
fn readme_and_guide_quote_the_computed_total() {
    let rows = rows();
    let total = rows.last().unwrap();
    let quoted = format!("{:.2} US dollars a month", total.dollars);
    for (file, count) in [("README.md", 3), ("docs/deploying.md", 1)] {
        let text = read(file).split_whitespace().collect::<Vec<_>>().join(" ");
        assert_eq!(text.matches(&quoted).count(), count, "{file}: {quoted}");
    }
}

#[test]
fn guide_states_the_computed_usage() {
    let cost = MonthlyCost::from_template(&Template::read().unwrap()).unwrap();
    let units = |row: &str, unit: &str| {
        let found = cost.units().iter().find(|(price, _)| (price.row, price.unit) == (row, unit));
        with_separators(found.unwrap().1)
    };
    let guide = read("docs/deploying.md").split_whitespace().collect::<Vec<_>>().join(" ");
    let stated = [
        format!("({} GB-s)", units("Lambda", "GB-s")),
        format!("{} and {} units", units("DynamoDB", "read units"), units("DynamoDB", "write units")),
        format!("every 20 seconds: {} requests", units("SQS", "requests")),
        format!("tables that are read: {} requests", units("KMS", "requests")),
        format!("| {} alarms at", units("alarms", "alarms")),
    ];
    for text in stated {
        assert!(guide.contains(&text), "docs/deploying.md does not state: {text}");
    }
}

#[test]
fn scheduled_runs_consume_what_is_counted() {
    let template = Template::read().unwrap();
    let due_shards = template.json()["Parameters"]["DueShards"]["Default"].as_u64().unwrap();

    let measured = IdleRun::measured(due_shards.try_into().unwrap());

    let counted = SCHEDULED_RUNS.map(|it| IdleRun {
        function: it.function,
        read_units: it.read_units,
        write_units: it.write_units,
        tables: it.tables.iter().map(|it| (*it).to_owned()).collect::<Names>(),
    });
    assert_eq!(measured, counted);
}
