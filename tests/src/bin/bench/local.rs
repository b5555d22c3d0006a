//! The local stack: speed, and cost in store calls.

mod speed;
mod store_calls;

use std::{fs, path::PathBuf, time::Duration};

use clap::Args;
use serde_json::{Value, json};
use tests::{
    deployment::Deployment,
    error::Result,
    harness::{Harness, LIFTED, resident_mb},
    report::say,
};

use speed::speed;
use store_calls::{large_account, store_calls};

/// Measures the local stack
#[derive(Args)]
pub(crate) struct Options {
    /// Seconds for each figure of requests per second
    #[arg(long, default_value_t = 5)]
    seconds: u64,
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
    let start = json!({ "ready_ms": millis(local.start_duration()), "resident_mb": resident_mb(local.id())? });
    say(&format!("Ready after {} ms with {} MB.\n", start["ready_ms"], start["resident_mb"]));

    let speed = speed(&deployment, options.seconds).await?;
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
        "large_account": large,
    });
    if let Some(file) = &options.json {
        fs::write(file, format!("{figures:#}\n"))?;
    }
    Ok(())
}

fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}
