//! The local stack: speed, punctuality, memory, and cost in store calls.

mod punctuality;
mod speed;
mod store_calls;

use std::{fs, path::PathBuf, time::Duration};

use clap::Args;
use serde_json::{Value, json};
use tests::{
    deployment::Deployment,
    error::Result,
    harness::{Harness, LIFTED},
    report::say,
};

use punctuality::punctuality;
use speed::speed;
use store_calls::{large_account, store_calls};

/// Measures the local stack
#[derive(Args)]
pub(crate) struct Options {
    /// Seconds for each figure of requests per second
    #[arg(long, default_value_t = 5)]
    seconds: u64,
    /// Posts that are due in the same second
    #[arg(long, default_value_t = 1000)]
    due: u64,
    /// Posts that are due one after the other within a minute
    #[arg(long, default_value_t = 600)]
    spread: u64,
    /// Posts of the large account; 0 skips it
    #[arg(long, default_value_t = 100_000)]
    large: u64,
    /// Write the figures to this file
    #[arg(long)]
    json: Option<PathBuf>,
}

pub(crate) async fn run(options: &Options) -> Result {
    let local = Harness::start(&LIFTED).await?;
    let deployment = Deployment::new(local.ready().clone()).await?;
    let start = json!({ "ready_ms": millis(local.start_duration()), "resident_mb": resident_mb(&local)? });
    say(&format!("Ready after {} ms with {} MB.\n", start["ready_ms"], start["resident_mb"]));

    let speed = speed(&deployment, options.seconds).await?;
    let together = punctuality(&deployment, options.due, 1).await?;
    let spread = punctuality(&deployment, options.spread, 60).await?;
    let end = resident_mb(&local)?;
    say(&format!("\nMemory at the end: {end} MB.\n"));
    drop(local);

    // Recording every store call takes time, so this happens in another process than the
    // measurements.
    let mut arguments = vec!["--meter"];
    arguments.extend(LIFTED);
    let metered = Harness::start(&arguments).await?;
    let deployment = Deployment::new(metered.ready().clone()).await?;
    let cost = store_calls(&deployment).await?;
    let large = if options.large > 0 { large_account(&deployment, options.large).await? } else { Value::Null };

    let figures = json!({
        "start": start,
        "store_calls": cost,
        "requests_per_second": speed,
        "due_together": together,
        "due_over_a_minute": spread,
        "large_account": large,
        "resident_mb_at_the_end": end,
    });
    if let Some(file) = &options.json {
        fs::write(file, format!("{figures:#}\n"))?;
    }
    Ok(())
}

fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

fn resident_mb(local: &Harness) -> Result<u64> {
    let status = fs::read_to_string(format!("/proc/{}/status", local.id()))?;
    let line = status.lines().find(|it| it.starts_with("VmRSS:")).unwrap_or_default();
    let kilobytes: u64 = line.split_whitespace().nth(1).unwrap_or_default().parse()?;
    Ok(kilobytes / 1024)
}
