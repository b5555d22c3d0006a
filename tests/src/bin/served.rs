//! Checks what the local stack serves with independent programs: its API document with schemathesis
//! and TypeScript, its pages with a browser.

use std::{
    fs,
    process::{Command, ExitCode},
};

use clap::{Parser, ValueEnum};
use serde_json::json;
use tests::{
    error::{Result, TestError},
    file_server,
    harness::{Harness, LIFTED, Ready, free_port},
    program::done,
    template::ROOT,
    tools::{SCHEMATHESIS, install_browser_driver},
    typescript,
};

/// Starts the local stack and lets another program read what it serves
#[derive(Parser)]
#[command(name = "served")]
struct Options {
    /// The program that reads it
    reader: Reader,
}

#[derive(Clone, Copy, ValueEnum)]
enum Reader {
    /// Calls every operation of the API document
    Schemathesis,
    /// Makes a client in TypeScript from the API document, and runs the journey with it.
    Typescript,
    /// Runs the whole journey in Chromium; screenshots are in target/screenshots afterwards
    Browser,
}

const BRAND: &str = r##"{"name": "Acme Boats", "logo": "/assets/icon.svg", "color": "#7a2f8f"}"##;

#[tokio::main]
async fn main() -> ExitCode {
    let _ = rustls::crypto::ring::default_provider().install_default();
    done(run(Options::parse().reader).await)
}

async fn run(reader: Reader) -> Result {
    let mut arguments = LIFTED.to_vec();
    let files = file_server::start().await?.to_string();
    if matches!(reader, Reader::Browser) {
        // The file server hosts the client document of an app that asks for access.
        arguments.extend(["--fakes", "--allow-fetch-from", &files, "--brand", BRAND]);
    }
    let product = free_port()?;
    let (product, origin) = (format!("http://127.0.0.1:{product}/"), format!("127.0.0.1:{product}"));
    let return_origins = product.trim_end_matches('/');
    if matches!(reader, Reader::Typescript) {
        arguments.extend(["--allow-fetch-from", &origin, "--return-origins", return_origins]);
    }
    let local = Harness::start(&arguments).await?;
    let folder = tempfile::TempDir::new()?;
    let mut command = match reader {
        Reader::Schemathesis => schemathesis(local.ready())?,
        Reader::Typescript => return typescript::journey(local.ready(), &product).await,
        Reader::Browser => {
            install_browser_driver()?;
            let ready = local.ready();
            let ready_file = folder.path().join("ready.json");
            let known = json!({
                "origin": ready.origin,
                "base_url": ready.base_url,
                "token": ready.token,
                "client_id": format!("http://{files}/client.json"),
            });
            fs::write(&ready_file, known.to_string())?;
            let mut node = Command::new("node");
            node.arg("tests/browser/journey.mjs").arg("--ready-file").arg(ready_file);
            node.args(["--screenshots", "target/screenshots"]);
            node
        }
    };
    // Its output and its exit code become those of this program.
    let status = tokio::task::spawn_blocking(move || command.current_dir(ROOT).status()).await??;
    if status.success() { Ok(()) } else { Err(TestError::new(format!("the reader ended with {status}"))) }
}

fn schemathesis(ready: &Ready) -> Result<Command> {
    let mut command = Command::new(SCHEMATHESIS.program()?);
    command.args([
        "--config-file",
        "tests/schemathesis.toml",
        "run",
        "--no-color",
        "--checks=all",
        "--max-examples=25",
        "--seed=1",
        "--generation-database=none",
        "--continue-on-failure",
        "--request-timeout=40",
        "--suppress-health-check=all",
    ]);
    command.arg("-H").arg(format!("Authorization: Bearer {}", ready.token));
    command.arg(format!("{}/openapi.json", ready.base_url));
    Ok(command)
}
