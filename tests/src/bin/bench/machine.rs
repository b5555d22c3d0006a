//! `social-server` on a disk: lateness, memory, and what a million stored posts cost.

use std::{
    collections::HashMap,
    fs,
    path::{Path, PathBuf},
    time::Instant,
};

use aws_sdk_dynamodb::types::AttributeValue;
use clap::Args;
use reqwest::Method;
use serde_json::{Value, json};
use server::Stores;
use storage::{Item, Store, Table};
use tests::{
    deployment::User,
    error::Result,
    harness::{Harness, LIFTED},
    one_machine::{Machine, Service},
    report::say,
};

use crate::{percentile::percentile, punctuality::punctuality};

/// Measures `social-server` with its data on a disk
#[derive(Args)]
pub(crate) struct Options {
    /// Posts that are due in the same second
    #[arg(long, default_value_t = 1000)]
    due: u64,
    /// Posts that are due one after the other within a minute
    #[arg(long, default_value_t = 600)]
    spread: u64,
    /// Published posts of one user that are stored afterwards
    #[arg(long, default_value_t = 1_000_000)]
    stored: u64,
    /// Write the figures to this file
    #[arg(long)]
    json: Option<PathBuf>,
}

pub(crate) async fn run(options: &Options) -> Result {
    let sandbox = Harness::start(&LIFTED).await?;
    let machine = Machine::new().await?.with_sandbox(&sandbox.ready().origin);
    let data = machine.data("data");
    let service = machine.start(&data).await?;
    let empty = json!({ "ready_ms": millis(&service), "resident_mb": service.resident_mb()? });
    let deployment = machine.deployment().await?.with_sandbox(sandbox.ready().origin.clone());
    let mut user = machine.user(&deployment, &service.first_link()?).await?;
    let connection = user.connect(0).await?;
    let together = punctuality(&user, &connection, options.due, 1).await?;
    let after_posts = service.resident_mb()?;
    let spread = punctuality(&user, &connection, options.spread, 60).await?;
    let few = list_latency(&user).await?;
    service.terminate().await?;

    let started = Instant::now();
    store_copies(&data, options.stored).await?;
    say(&format!("stored {} posts in {:.0} s", options.stored, started.elapsed().as_secs_f64()));
    let service = machine.start(&data).await?;
    let full = json!({ "ready_ms": millis(&service), "resident_mb": service.resident_mb()? });
    let many = list_latency(&user).await?;
    let late = punctuality(&user, &connection, options.spread, 60).await?;
    let figures = json!({
        "due_together": together,
        "due_over_a_minute": spread,
        "resident_mb_after_posts": after_posts,
        "empty": { "start": empty, "list": few },
        "full": {
            "posts": options.stored, "start": full, "list": many, "due_over_a_minute": late,
            "resident_mb_at_the_end": service.resident_mb()?,
            "database_mb": fs::metadata(data.join("dynamodb.sqlite"))?.len() / 1_000_000,
        },
    });
    say(&format!("{figures:#}"));
    if let Some(file) = &options.json {
        fs::write(file, format!("{figures:#}\n"))?;
    }
    Ok(())
}

fn millis(service: &Service) -> u64 {
    u64::try_from(service.started_in.as_millis()).unwrap_or(u64::MAX)
}

/// Measures the first page of posts, that of one status, and the hundredth page.
async fn list_latency(user: &User<'_>) -> Result<Value> {
    let mut figures = Vec::new();
    for path in ["/posts", "/posts?status=published", "/posts?page=100"] {
        let mut times = Vec::new();
        for _ in 0..50 {
            let started = Instant::now();
            user.api.call(Method::GET, path).send().await?.is(200)?;
            times.push(i64::try_from(started.elapsed().as_micros())?);
        }
        times.sort_unstable();
        let [p50, p99] = [50, 99].map(|it| percentile(&times, it));
        figures.push(json!({ "what": format!("GET {path}"), "p50_us": p50, "p99_us": p99 }));
    }
    Ok(Value::Array(figures))
}

/// Copies have other ids; deliveries and attempts are copied, too.
async fn store_copies(data: &Path, count: u64) -> Result {
    let store = Stores::offline(data).await?;
    let originals = published(&store).await?;
    let mut copies = 0..count;
    while !copies.is_empty() {
        let mut items_by_table: HashMap<Table, Vec<Item>> = HashMap::new();
        for ((original, items), number) in originals.iter().zip(&mut copies) {
            // Ids begin with a time: the copies are older.
            let copy = original - 1_000 * (1 + number);
            for (table, item) in items {
                items_by_table.entry(*table).or_default().push(with_other_id(
                    item,
                    &original.to_string(),
                    &copy.to_string(),
                ));
            }
        }
        for (table, items) in items_by_table {
            store.put_items(table, &items).await?;
        }
    }
    Ok(())
}

/// A hundred posts, each with its items in other tables.
async fn published(store: &Store) -> Result<Vec<(u64, Vec<(Table, Item)>)>> {
    let mut by_post: HashMap<u64, Vec<(Table, Item)>> = HashMap::new();
    let number = |item: &Item, name: &str| item.get(name).and_then(|it| it.as_n().ok()?.parse::<u64>().ok());
    for item in store.item_page(Table::Posts, None).await?.items {
        if let Some(id) = number(&item, "post_id").filter(|it| *it != 0) {
            by_post.insert(id, vec![(Table::Posts, item)]);
        }
    }
    let mut start = None;
    loop {
        let page = store.item_page(Table::Deliveries, start).await?;
        for item in page.items {
            if let Some(items) = number(&item, "post_id").and_then(|it| by_post.get_mut(&it)) {
                items.push((Table::Deliveries, item));
            }
        }
        start = page.next;
        if start.is_none() {
            break;
        }
    }
    let complete = by_post.into_iter().filter(|(_, items)| items.len() == 2).take(100);
    Ok(complete.collect())
}

fn with_other_id(item: &Item, old: &str, new: &str) -> Item {
    item.iter().map(|(name, value)| (name.clone(), replaced(value, old, new))).collect()
}

fn replaced(value: &AttributeValue, old: &str, new: &str) -> AttributeValue {
    match value {
        AttributeValue::S(text) => AttributeValue::S(text.replace(old, new)),
        AttributeValue::N(number) if number == old => AttributeValue::N(new.to_owned()),
        AttributeValue::L(values) => AttributeValue::L(values.iter().map(|it| replaced(it, old, new)).collect()),
        AttributeValue::M(values) => AttributeValue::M(with_other_id(values, old, new)),
        other => other.clone(),
    }
}
