//! Kills the local stack repeatedly while it writes and publishes.

use std::{
    sync::atomic::{AtomicBool, AtomicU32, Ordering},
    time::{Duration, Instant},
};

use futures::future::join_all;
use serde_json::Value;

use crate::{
    deployment::{Deployment, User},
    ensure,
    error::{Result, TestError},
    harness::{Harness, free_port},
    promises::{self, PromisedPost, count_acknowledged},
    report::{Line, Report, say},
};

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
    let mut harness = Harness::start_on(data.path(), port, &[]).await?;
    let deployment = Deployment::new(harness.ready().clone()).await?;
    let mut user = deployment.new_user().await?;
    let (a, b) = (user.connect(0).await?, user.connect(1).await?);
    let picture = user.picture().await?;

    let mut promised = Vec::new();
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
        promised.extend(written.into_iter().flatten());
        harness = Harness::start_on(data.path(), port, &[]).await?;
    }
    let acknowledged = count_acknowledged(&promised);
    say(&format!("     {acknowledged} acknowledged writes and {unanswered} without a response in {rounds} runs"));
    ensure!(rounds < promised.len().try_into().unwrap_or(u32::MAX), "too little was written to prove anything");

    check_posts(&user, &promised).await.map_err(|it| TestError::new(format!("{it}\n{}", last_lines(&harness.log()))))
}

fn last_lines(log: &str) -> String {
    let lines: Vec<_> = log.lines().collect();
    lines[lines.len().saturating_sub(30)..].join("\n")
}

/// Writes posts until `stop`; `None` for each that got no response.
async fn write_posts_until(
    stop: &AtomicBool,
    user: &User<'_>,
    on: [&Value; 2],
    picture: &str,
) -> Vec<Option<PromisedPost>> {
    let number = AtomicU32::new(0);
    let writers = (0..4).map(|_| async {
        let mut done = Vec::new();
        while !stop.load(Ordering::Relaxed) {
            let number = number.fetch_add(1, Ordering::Relaxed);
            done.push(promises::write_post(&user.api, on, picture, number, &|| 0).await.ok());
        }
        done
    });
    join_all(writers).await.into_iter().flatten().collect()
}

async fn check_posts(user: &User<'_>, promised: &[PromisedPost]) -> Result {
    // A delivery whose process died is processed again when its lease expires.
    promises::wait_for_publishing(user, Duration::from_mins(7)).await?;
    // A second publish call would follow soon.
    tokio::time::sleep(Duration::from_secs(5)).await;
    promises::find_broken(user, promised, 0).await?.check()
}
