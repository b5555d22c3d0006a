//! Attacks the service, and prints what was tried, expected and seen.

use std::{fs, path::PathBuf, process::ExitCode, sync::Arc};

use clap::Parser;
use serde_json::json;
use tests::{
    attacks::{self, AttackTargets, Outcome},
    ensure,
    error::Result,
    program::ended,
    report::say,
};

/// Attacks the local stack in every way that the service defends against, and prints a table.
/// Attacks on the template are in tests/deployed.
#[derive(Parser)]
#[command(name = "attacks")]
struct Options {
    /// Run only the attacks with this number
    #[arg(long, value_name = "N")]
    only: Option<u8>,
    /// Write the results to this file
    #[arg(long)]
    json: Option<PathBuf>,
}

#[tokio::main]
async fn main() -> ExitCode {
    let _ = rustls::crypto::ring::default_provider().install_default();
    ended(run(&Options::parse()).await)
}

async fn run(options: &Options) -> Result<bool> {
    let chosen: Vec<_> =
        attacks::attacks().into_iter().filter(|it| options.only.is_none_or(|only| only == it.number)).collect();
    ensure!(!chosen.is_empty(), "no attack has the number {}", options.only.unwrap_or_default());
    let deployments = Arc::new(AttackTargets::start().await?);
    let outcomes = attacks::run(deployments, chosen).await;
    attacks::print(&outcomes);
    let failed = outcomes.iter().filter(|it| !it.held()).count();
    let passed = outcomes.len() - failed;
    if let Some(file) = &options.json {
        let list: Vec<_> = outcomes.iter().map(Outcome::json).collect();
        fs::write(file, format!("{:#}\n", json!({ "passed": passed, "failed": failed, "attacks": list })))?;
    }
    say(&format!("\n{passed} passed, {failed} failed"));
    Ok(failed == 0)
}
