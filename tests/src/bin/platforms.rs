//! Platforms other than the sandbox, connected to the local stack: fakes of all at once, a real
//! Bluesky server, a real Matrix homeserver, an independent server with Mastodon's API, a real
//! Ghost and a real WordPress.

use std::process::ExitCode;

use clap::Parser;
use tests::{
    error::Result,
    platforms::{bluesky, conformance, ghost, mastodon, matrix, real, several, wordpress},
    program::Common,
    report::Report,
};

/// Connects accounts of other platforms and publishes to them. Its parts are several, bluesky,
/// conformance, ghost, mastodon, matrix, wordpress and real.
#[derive(Clone, Parser)]
#[command(name = "platforms")]
struct Options {
    #[command(flatten)]
    common: Common,
    /// Leave out parts whose name begins with this
    #[arg(long, value_name = "PART")]
    without: Option<String>,
}

impl Options {
    fn wants(&self, part: &str) -> bool {
        self.common.wants(part) && self.without.as_deref().is_none_or(|it| !part.starts_with(it))
    }
}

#[tokio::main]
async fn main() -> ExitCode {
    let _ = rustls::crypto::ring::default_provider().install_default();
    let options = Options::parse();
    options.common.end(Box::pin(run(&options)).await)
}

async fn run(options: &Options) -> Result<Report> {
    // Both mostly wait. As two tasks, neither delays the other's responses by computing.
    let own_stacks = tokio::spawn(Box::pin(run_own_stacks(options.clone())));
    let mut report = run_shared_stack(options).await?;
    report.extend(own_stacks.await??);
    // Afterwards, because two parts may not install the same server at the same time.
    if options.wants("real") {
        real::run_all(&mut report).await?;
    }
    Ok(report)
}

async fn run_shared_stack(options: &Options) -> Result<Report> {
    let mut report = Report::default();
    if options.wants("several") {
        several::run(&mut report).await?;
    }
    if options.wants("bluesky") {
        bluesky::run(&mut report).await?;
    }
    conformance::run(&mut report, |part| options.wants(part)).await?;
    if options.wants("mastodon") {
        mastodon::run(&mut report).await?;
    }
    Ok(report)
}

async fn run_own_stacks(options: Options) -> Result<Report> {
    let mut report = Report::default();
    if options.wants("matrix") {
        matrix::run(&mut report).await?;
    }
    if options.wants("wordpress") {
        wordpress::run(&mut report).await?;
    }
    if options.wants("ghost") {
        ghost::run(&mut report).await?;
    }
    Ok(report)
}
