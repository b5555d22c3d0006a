//! Kills the local stack repeatedly while it writes and publishes.

use std::{
    path::Path,
    sync::atomic::{AtomicBool, AtomicU32, Ordering},
    time::{Duration, Instant},
};

use futures::future::join_all;
use serde_json::{Value, json};

use crate::{
    client::Api,
    deployment::{Deployment, User, fresh, targets},
    ensure,
    error::{Result, TestError, same},
    harness::{Harness, LIFTED, binary},
    http_response::integer,
    moment,
    report::{Line, Report, say},
};

/// What a successful response has promised.
struct AcceptedPost {
    id: i64,
    words: String,
    /// `None` when the request that schedules the post got no response.
    scheduled: Option<bool>,
}

/// Kills the local stack `rounds` times, then checks the stored posts.
pub async fn run(rounds: u32, report: &mut Report) {
    let started = Instant::now();
    let error = run_rounds(rounds).await.err();
    let name = format!("crash: {rounds} times kill -9 lose nothing and publish nothing twice");
    report.add(Line { name, took: started.elapsed(), error });
}

async fn run_rounds(rounds: u32) -> Result {
    let data = tempfile::TempDir::new()?;
    let port = free_port()?;
    let mut harness = start(data.path(), port).await?;
    let deployment = Deployment::new(harness.ready().clone()).await?;
    let mut user = deployment.new_user().await?;
    let (a, b) = (user.connect(0).await?, user.connect(1).await?);
    let picture = user.picture().await?;

    let mut promises = Vec::new();
    let mut unanswered = 0;
    for round in 0..rounds {
        let alive = Duration::from_millis(300 + u64::from(round * 467 % 1900));
        let stop = AtomicBool::new(false);
        let kill = async {
            tokio::time::sleep(alive).await;
            // The kill hits every request that is in flight now.
            stop.store(true, Ordering::Relaxed);
            harness.kill()
        };
        let (written, killed) = futures::join!(write_posts_until(&stop, &user, [&a, &b], &picture), kill);
        killed?;
        unanswered += written.iter().filter(|it| it.is_none()).count();
        promises.extend(written.into_iter().flatten());
        harness = start(data.path(), port).await?;
    }
    say(&format!("     {} acknowledged writes and {unanswered} without a response in {rounds} runs", promises.len()));
    ensure!(rounds < promises.len().try_into().unwrap_or(u32::MAX), "too little was written to prove anything");

    check_posts(&user, &promises).await?;
    check_timeline(&deployment, &promises)
        .await
        .map_err(|it| TestError::new(format!("{it}\n{}", last_lines(&harness.log()))))
}

fn last_lines(log: &str) -> String {
    let lines: Vec<_> = log.lines().collect();
    lines[lines.len().saturating_sub(30)..].join("\n")
}

async fn start(data: &Path, port: u16) -> Result<Harness> {
    let (data, port) = (data.to_string_lossy().into_owned(), port.to_string());
    let mut arguments = vec!["--data", &data, "--port", &port];
    arguments.extend(LIFTED);
    Harness::start_with(&binary("local")?, &arguments).await
}

fn free_port() -> Result<u16> {
    Ok(std::net::TcpListener::bind("127.0.0.1:0")?.local_addr()?.port())
}

/// Writes posts until `stop`; `None` for each that got no response.
async fn write_posts_until(
    stop: &AtomicBool,
    user: &User<'_>,
    on: [&Value; 2],
    picture: &str,
) -> Vec<Option<AcceptedPost>> {
    let number = AtomicU32::new(0);
    let writers = (0..4).map(|_| async {
        let mut done = Vec::new();
        while !stop.load(Ordering::Relaxed) {
            let number = number.fetch_add(1, Ordering::Relaxed);
            done.push(write_post(&user.api, on, picture, number).await.ok());
        }
        done
    });
    join_all(writers).await.into_iter().flatten().collect()
}

async fn write_post(api: &Api, [a, b]: [&Value; 2], picture: &str, number: u32) -> Result<AcceptedPost> {
    let content = fresh(&format!("crash {number}"));
    let scheduled = !number.is_multiple_of(4);
    let on = targets(&[a, b][..if number.is_multiple_of(5) { 2 } else { 1 }])?;
    // Due before, around and after the kill.
    let due = chrono::TimeDelta::milliseconds(i64::from(number * 331 % 2500) - 300);
    let time = scheduled.then(|| moment::written(moment::now() + due));
    let media = if number.is_multiple_of(7) { vec![picture] } else { vec![] };
    let body = json!({ "content": content, "platforms": on, "scheduled_at": time, "media": media });
    let post = api.post("/posts", &body).await?.ok(201)?;
    let mut promise = AcceptedPost { id: integer(&post, "id")?, words: content, scheduled: Some(scheduled) };
    if number % 8 == 4 {
        // An update schedules the draft, so that there is a second acknowledged write.
        let time = moment::in_seconds(1);
        let path = format!("/posts/{}", promise.id);
        let response = api.patch(&path, &json!({ "scheduled_at": time })).await;
        // Without a response it is unknown whether it was written.
        promise.scheduled = response.ok().map(|it| it.status == 200);
    }
    Ok(promise)
}

async fn check_posts(user: &User<'_>, promises: &[AcceptedPost]) -> Result {
    // A delivery whose process died is processed again when its lease expires.
    let patience = Instant::now() + Duration::from_mins(7);
    for promise in promises {
        loop {
            let post = user.show(promise.id).await?;
            same(&post["content"], &json!(promise.words), "content after the crashes")?;
            let expected = if promise.scheduled == Some(false) { "draft" } else { "published" };
            if post["status"] == expected || promise.scheduled.is_none() && post["status"] == "draft" {
                break;
            }
            ensure!(post["status"] != "failed" && Instant::now() < patience, "should be {expected}: {post}");
            tokio::time::sleep(Duration::from_millis(300)).await;
        }
    }
    let scheduled = user.api.get("/posts?status=draft&per_page=100").await?.ok(200)?;
    let drafts = promises.iter().filter(|it| it.scheduled == Some(false)).count();
    let total = integer(&scheduled["meta"], "total")?;
    ensure!(i64::try_from(drafts)? <= total, "{drafts} drafts were acknowledged, {total} are stored");
    Ok(())
}

async fn check_timeline(deployment: &Deployment, promises: &[AcceptedPost]) -> Result {
    tokio::time::sleep(Duration::from_secs(5)).await;
    let all = deployment.all_posts().await?;
    for promise in promises {
        let shown: Vec<_> = all.iter().filter(|it| it["text"] == promise.words.as_str()).collect();
        let mut accounts: Vec<_> = shown.iter().map(|it| it["account"].as_str()).collect();
        accounts.sort_unstable();
        accounts.dedup();
        same(accounts.len(), shown.len(), &format!("entries of {} per account", promise.words))?;
        if let Some(scheduled) = promise.scheduled {
            same(!shown.is_empty(), scheduled, &format!("{} is on the timeline", promise.words))?;
        }
    }
    // Nothing is public twice, whether its request got a response or not.
    let mut entries: Vec<_> = all.iter().map(|it| (it["account"].to_string(), it["text"].to_string())).collect();
    let before = entries.len();
    entries.sort();
    entries.dedup();
    same(entries.len(), before, "different entries on the timeline")
}
