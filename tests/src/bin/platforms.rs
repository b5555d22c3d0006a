//! Platforms other than the sandbox, connected to the local stack: stand-ins
//! for several at once, a server that keeps no keys, a real Bluesky server, and a Mastodon server by others.

use std::{path::PathBuf, process::ExitCode};

use clap::Parser;
use tests::{
    fault::Result,
    platforms::{bluesky, keyless, mastodon, several},
    report::{Report, say},
};

/// Connects accounts of other platforms and publishes to them.
#[derive(Parser)]
#[command(name = "platforms")]
struct Options {
    /// Only this part: several, keyless, bluesky, mastodon.
    #[arg(long)]
    only: Option<String>,
    /// Write the results here.
    #[arg(long)]
    json: Option<PathBuf>,
}

#[tokio::main]
async fn main() -> ExitCode {
    let _ = rustls::crypto::ring::default_provider().install_default();
    match run(Options::parse()).await {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(fault) => {
            say(&format!("{fault}\n\n0 passed, 1 failed"));
            ExitCode::FAILURE
        }
    }
}

async fn run(options: Options) -> Result<bool> {
    let wanted = |part: &str| options.only.as_deref().is_none_or(|it| it == part);
    let (mut report, mut beside) = (Report::default(), Report::default());
    let one_after_the_other = async {
        if wanted("several") {
            several::run(&mut report).await?;
        }
        if wanted("bluesky") {
            bluesky::run(&mut report).await?;
        }
        if wanted("mastodon") {
            mastodon::run(&mut report).await?;
        }
        Ok(())
    };
    // It waits for two minutes and computes for one second.
    let keyless = async {
        if wanted("keyless") {
            keyless::run(&mut beside).await?;
        }
        Ok::<_, tests::fault::Fault>(())
    };
    tokio::try_join!(one_after_the_other, keyless)?;
    report.extend(beside);
    report.finish(options.json.as_deref())
}
