//! Figures: of the local stack, of the functions as they are deployed, and of
//! what a large file costs.

mod binaries;
mod local;
mod percentile;
mod streaming;

use std::process::ExitCode;

use clap::{Parser, Subcommand};
use tests::program;

/// Figures of the local stack, which is started for it; or of the functions.
///
/// Client and service share this machine, so the requests per second are to be
/// read beside those of the bare server in the same run.
#[derive(Parser)]
#[command(name = "bench", args_conflicts_with_subcommands = true)]
struct Bench {
    #[command(subcommand)]
    what: Option<What>,
    #[command(flatten)]
    local: local::Options,
}

#[derive(Subcommand)]
enum What {
    /// Size, start and latency of the functions as they are deployed, beside
    /// a function that does nothing. Fails when one is above its limit.
    Binaries(binaries::Options),
    /// The memory that a large video takes from our store to a platform. Fails
    /// above its limit.
    Streaming(streaming::Options),
}

#[tokio::main]
async fn main() -> ExitCode {
    let _ = rustls::crypto::ring::default_provider().install_default();
    let bench = Bench::parse();
    let measured = match &bench.what {
        Some(What::Binaries(options)) => binaries::run(options).await,
        Some(What::Streaming(options)) => streaming::run(options).await,
        None => local::run(&bench.local).await,
    };
    program::done(measured)
}
