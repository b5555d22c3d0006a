use std::process::ExitCode;

use clap::Parser;
use tests::{
    durability::{self, Settings},
    program::Common,
};

/// Checks that on one machine nothing acknowledged is lost and nothing is published twice.
///
/// A library in C, compiled by `cc`, is loaded into the local stack. It records every change of the
/// data folder, so that the folder can be built as a power cut would leave it at any moment, and it
/// injects faults. It prints a table of what was cut, acknowledged and found.
#[derive(Parser)]
#[command(name = "durability")]
struct Options {
    /// Number of power cuts; each is tried with the unsynced changes kept, lost and torn
    #[arg(long, default_value_t = 40)]
    cuts: usize,
    /// Chooses the cuts and the torn sectors
    #[arg(long, default_value_t = 1)]
    seed: u64,
    #[command(flatten)]
    common: Common,
}

#[tokio::main]
async fn main() -> ExitCode {
    let _ = rustls::crypto::ring::default_provider().install_default();
    let Options { cuts, seed, common } = Options::parse();
    common.end(Box::pin(durability::run(&Settings { cuts, seed }, &common)).await)
}
