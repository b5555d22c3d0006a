//! Runs `tests/real` with the real servers that the tests install.

use clap::Parser;

use super::scenes::Scenes;
use crate::{
    ensure,
    error::Result,
    real::{Options, run},
    report::Report,
};

pub async fn run_all(report: &mut Report) -> Result {
    let mut scenes = Scenes { part: "real", report };
    for platform in ["bluesky", "ghost", "matrix", "wordpress"] {
        scenes.play(&format!("the journey on {platform} and its fake"), journey(platform)).await;
    }
    Ok(())
}

async fn journey(platform: &str) -> Result {
    let options = Options::try_parse_from(["real", platform, "--here", "--recordings", "target/real"])?;
    let outcome = run(&options).await?;
    ensure!(outcome.failed.is_empty(), "{}", outcome.failed.join("\n"));
    ensure!(
        outcome.in_what_is_read.is_empty(),
        "the fake differs in fields that the adapter reads:\n{}",
        outcome.in_what_is_read.join("\n")
    );
    Ok(())
}
