//! Runs the journey on a real service and on its fake.

use std::process::ExitCode;

use clap::Parser;
use tests::{
    program::ended,
    real::{Options, run},
};

#[tokio::main]
async fn main() -> ExitCode {
    let _ = rustls::crypto::ring::default_provider().install_default();
    let options = Options::parse();
    ended(Box::pin(run(&options)).await.map(|it| it.failed.is_empty()))
}
