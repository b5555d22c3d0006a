//! The figures of docs/scale.md: what the load computation and the price list give.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use simulation::scale::limits::MAX_IN_FLIGHT;
use simulation::scale::{self, Figures, Load, POSTS_A_DAY, Parameters, Profile, REQUESTS_A_DAY, with_separators};
use tests::monthly_cost::{MonthlyCost, Traffic};
use tests::template::{ROOT, Template};

use crate::read;

const DAYS: f64 = 30.0;

/// Between the lines that mark its place.
fn with_table(text: &str, name: &str, table: &str) -> String {
    let (begin, end) = (format!("<!-- computed: {name} -->\n"), "<!-- end -->\n");
    let (before, rest) = text.split_once(&begin).unwrap_or_else(|| panic!("no place for {name}"));
    let (_, after) = rest.split_once(end).unwrap();
    format!("{before}{begin}\n{table}\n{end}{after}")
}

/// Costs of a month by service, without what is free, for each number of users.
fn costs() -> String {
    let template = Template::read().unwrap();
    let rows = [1e3, 1e5, 1e7].map(|users| {
        let [posts, requests] = [POSTS_A_DAY, REQUESTS_A_DAY].map(|a_day| users * f64::from(a_day) * DAYS);
        let traffic = Traffic { posts, requests };
        MonthlyCost::with_traffic(&template, traffic).unwrap().rows()
    });
    let mut table = "| | 1,000 users | 100,000 | 10,000,000 |\n| --- | ---: | ---: | ---: |\n".to_owned();
    for index in 0..rows[0].len() {
        let cells = rows.each_ref().map(|it| amount(it[index].dollars)).join(" | ");
        writeln!(table, "| {} | {cells} |", rows[0][index].name).unwrap();
    }
    table
}

fn amount(dollars: f64) -> String {
    if dollars < 100.0 { format!("{dollars:.2}") } else { with_separators(dollars) }
}

#[test]
fn scale_document_has_the_computed_tables() {
    let written = read("docs/scale.md");
    let computed = with_table(&written, "load", &scale::table(&Profile::measured()));
    let computed = with_table(&computed, "cost", &costs());

    if std::env::var_os("UPDATE").is_some() {
        fs::write(Path::new(ROOT).join("docs/scale.md"), &computed).unwrap();
    }
    assert!(
        read("docs/scale.md") == computed,
        "docs/scale.md is not up to date: UPDATE=1 cargo test -p tests --test guards scale writes it"
    );
}

#[test]
fn scale_document_states_the_figures_of_a_million_posts() {
    let figures = Figures::compute(Load::MILLION, Parameters::LARGEST, &Profile::measured());
    let noisy = Parameters::default().noisy_user();
    let document = read("docs/scale.md").split_whitespace().collect::<Vec<_>>().join(" ");
    let stated = [
        format!("{:.0} environments", figures.environments.ceil()),
        format!("{:.0} pollers", figures.pollers),
        format!("{:.0} % of the messages in flight", 100.0 * figures.in_flight / MAX_IN_FLIGHT),
        format!("{:.0} % of the quota of `deliveries`", 100.0 * figures.hottest_table.share()),
        format!("{:.0} % of the limit of a due shard", 100.0 * figures.hottest_partition.share()),
        format!("last call begins {:.0} s after the first second", figures.begun_s),
        format!("from idle after {:.0} s", figures.begun_from_idle_s),
        format!("tick that plans them takes at most {:.0} s", figures.plan_s),
        format!("at most {} of {} environments", noisy.environments, Parameters::default().delivery_concurrency),
        format!("at most {:.0} s late", noisy.others_late_s),
    ];
    for text in stated {
        assert!(document.contains(&text), "docs/scale.md does not state: {text}");
    }
}
