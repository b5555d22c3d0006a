//! Measures the local stack, the deployed functions, and the memory that a large file needs.

mod binaries;
mod local;
mod machine;
mod percentile;
mod punctuality;
mod streaming;

use std::process::ExitCode;

use clap::{Parser, Subcommand};
use tests::program;

/// Measures the local stack, which it starts, or the functions.
///
/// Client and service share this machine: compare the requests per second with those of the bare
/// server in the same run.
#[derive(Parser)]
#[command(name = "bench", args_conflicts_with_subcommands = true)]
struct Bench {
    #[command(subcommand)]
    what: Option<Command>,
    #[command(flatten)]
    local: local::Options,
}

#[derive(Subcommand)]
enum Command {
    /// Size, start and latency of the deployed functions, compared with a function that does
    /// nothing. Fails if one exceeds its limit
    Binaries(binaries::Options),
    /// Lateness and memory of one machine with its data on a disk, also with a million stored posts
    Machine(machine::Options),
    /// The memory that a large video needs on its way from our store to a platform. Fails above its
    /// limit
    Streaming(streaming::Options),
}

#[tokio::main]
async fn main() -> ExitCode {
    let _ = rustls::crypto::ring::default_provider().install_default();
    let bench = Bench::parse();
    let measured = match &bench.what {
        Some(Command::Binaries(options)) => binaries::run(options).await,
        Some(Command::Machine(options)) => machine::run(options).await,
        Some(Command::Streaming(options)) => streaming::run(options).await,
        None => local::run(&bench.local).await,
    };
    program::done(measured)
}
