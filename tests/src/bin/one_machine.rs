//! The service on one machine: `social-server` as its operator runs it.

use std::process::ExitCode;

use clap::Parser;
use tests::{one_machine, program::Common, report::Report};

/// Starts, stops, backs up and restores the service on one machine.
#[derive(Parser)]
#[command(name = "one_machine")]
struct Options {
    #[command(flatten)]
    common: Common,
}

#[tokio::main]
async fn main() -> ExitCode {
    let _ = rustls::crypto::ring::default_provider().install_default();
    let options = Options::parse();
    let mut report = Report::default();
    one_machine::run(&mut report).await;
    options.common.end(Ok(report))
}
