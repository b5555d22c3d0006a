use std::time::{Duration, Instant};

use futures::{StreamExt, stream};
use serde_json::{Value, json};
use tests::{
    deployment::{User, fresh, targets},
    ensure,
    error::Result,
    http_response::text,
    moment,
    report::say,
};

use crate::percentile::percentile;

/// `count` posts are due, evenly spread over `seconds`.
pub(crate) async fn punctuality(user: &User<'_>, connection: &Value, count: u64, seconds: u64) -> Result<Value> {
    let (start, on) = (fresh("due"), targets(&[connection])?);
    // Enough time to write all posts before the first is due.
    let ahead = 20 + i64::try_from(count / 100)?;
    let first = moment::now() + chrono::TimeDelta::seconds(ahead);
    let due = |number: u64| first + chrono::TimeDelta::seconds(i64::try_from(number * seconds / count).unwrap_or(0));
    let bodies: Vec<_> = (0..count)
        .map(|number| {
            let content = format!("{start} {number}");
            json!({ "content": content, "platforms": on, "scheduled_at": moment::written(due(number)) })
        })
        .collect();
    let mut written = stream::iter(&bodies).map(|body| user.create(body)).buffer_unordered(16);
    while let Some(post) = written.next().await {
        post?;
    }
    ensure!(moment::now() < first, "writing {count} posts took longer than {ahead} s");

    let deadline = Instant::now() + Duration::from_mins(5);
    let entries = loop {
        let all = user.deployment.all_posts().await?;
        let is_ours = |it: &Value| it["text"].as_str().is_some_and(|it| it.starts_with(&start));
        let is_ours: Vec<_> = all.into_iter().filter(is_ours).collect();
        if count <= is_ours.len() as u64 || deadline < Instant::now() {
            break is_ours;
        }
        tokio::time::sleep(Duration::from_millis(500)).await;
    };
    let mut texts: Vec<_> = entries.iter().map(|it| it["text"].to_string()).collect();
    texts.sort();
    texts.dedup();
    let mut late = Vec::new();
    for entry in &entries {
        let received: chrono::DateTime<chrono::Utc> = text(entry, "received_at")?.parse()?;
        let number = text(entry, "text")?.rsplit(' ').next().unwrap_or_default().parse()?;
        late.push((received - due(number)).num_milliseconds());
    }
    late.sort_unstable();
    let figures = json!({
        "posts": count,
        "within_s": seconds,
        "on_the_timeline": entries.len(),
        "different": texts.len(),
        "earliest_ms": late.first(),
        "p50_ms": percentile(&late, 50),
        "p99_ms": percentile(&late, 99),
        "latest_ms": late.last(),
    });
    say(&format!("\n{count} posts due within {seconds} s: {figures}"));
    ensure!(
        entries.len() as u64 == count && texts.len() as u64 == count,
        "not every post is on the timeline exactly once"
    );
    Ok(figures)
}
