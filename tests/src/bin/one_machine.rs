use std::{path::PathBuf, process::ExitCode};

use clap::Parser;
use tests::{one_machine, program::Common, report::Report};

/// Starts, stops, backs up and restores the service on one machine. Its parts are operation and backups.
#[derive(Parser)]
#[command(name = "one_machine")]
struct Options {
    /// Run this container image in place of the program
    #[arg(long, value_name = "FILE")]
    image: Option<PathBuf>,
    #[command(flatten)]
    common: Common,
}

#[tokio::main]
async fn main() -> ExitCode {
    let _ = rustls::crypto::ring::default_provider().install_default();
    let options = Options::parse();
    let mut report = Report::default();
    match &options.image {
        Some(image) => one_machine::run_image(image, &mut report).await,
        None => one_machine::run(&options.common, &mut report).await,
    }
    options.common.end(Ok(report))
}
