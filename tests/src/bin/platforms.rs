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
#[derive(Parser)]
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
    let [mut report, mut owned] = [Report::default(), Report::default()];
    // All of them mostly wait, so they run concurrently.
    let social = async {
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
        Ok(())
    };
    let own_stack_scenes = async {
        if options.wants("matrix") {
            matrix::run(&mut owned).await?;
        }
        if options.wants("wordpress") {
            wordpress::run(&mut owned).await?;
        }
        if options.wants("ghost") {
            ghost::run(&mut owned).await?;
        }
        Ok::<_, tests::error::TestError>(())
    };
    tokio::try_join!(social, own_stack_scenes)?;
    report.extend(owned);
    // Afterwards, because two parts may not install the same server at the same time.
    if options.wants("real") {
        real::run_all(&mut report).await?;
    }
    Ok(report)
}
