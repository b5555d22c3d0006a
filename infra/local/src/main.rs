//! `cargo dev`: the whole service in one process.

use std::fs::OpenOptions;
use std::io::{IsTerminal, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::process::ExitCode;

use clap::Parser;
use local::{Options, Running, start};
use secrecy::ExposeSecret;
use serde_json::json;
use tracing_subscriber::EnvFilter;

#[tokio::main]
async fn main() -> ExitCode {
    let options = Options::parse();
    let filter = EnvFilter::try_from_env("LOG_LEVEL").unwrap_or_else(|_| EnvFilter::new("warn,dynoxide=error"));
    tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(std::io::stderr)
        .with_ansi(std::io::stderr().is_terminal())
        .init();
    // Once for all clients of this process; nothing else installs one.
    cloud::aws::install_tls();

    let running = match start(&options).await {
        Ok(running) => running,
        Err(error) => {
            let _ = writeln!(std::io::stderr(), "cargo dev: {error}");
            return ExitCode::FAILURE;
        }
    };
    if let Err(error) = announce(&options, &running) {
        let _ = writeln!(std::io::stderr(), "cargo dev: {error}");
        return ExitCode::FAILURE;
    }
    // Nothing is to be saved at the end: data are on disk before each answer.
    let _ = tokio::signal::ctrl_c().await;
    ExitCode::SUCCESS
}

fn announce(options: &Options, running: &Running) -> std::io::Result<()> {
    let Running { origin, tunnel, base_url, token, user, stores, .. } = running;
    if let Some(path) = &options.ready_file {
        let ready = json!({
            "origin": origin,
            "tunnel": tunnel,
            "base_url": base_url,
            "token": token,
            "user": { "id": user.user_id.to_string(), "name": user.name, "email": user.email },
            "stores": stores.as_ref().map(|it| json!({
                "dynamodb": it.dynamodb,
                "access_key": it.access_key,
                "secret": it.secret.expose_secret(),
            })),
        });
        // Written elsewhere and renamed, so that whoever waits for the file never
        // reads half of it.
        let part = path.with_extension("part");
        let mut file = OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&part)?;
        file.write_all(ready.to_string().as_bytes())?;
        std::fs::rename(part, path)?;
    }
    // GNU's program and BSD's are told it differently.
    let in_ten_seconds = if cfg!(target_os = "macos") { "date -u -v+10S" } else { "date -u -d '+10 seconds'" };
    let text = format!(
        "\
The service is ready.

  API        {base_url}
  Docs       {origin}/docs
  Account    {origin}/account
  Timeline   {origin}/sandbox
  Faults     {origin}/sandbox/switches
  Deliveries {origin}/sandbox/deliveries

A token of the demo user:

  {token}

Publish a post in ten seconds. The first line prints a link: open it, choose an
account, press Allow, and sign in as demo@example.com. Then run the other two.

  T={token}; curl -s -X POST -H \"Authorization: Bearer $T\" {base_url}/connections/connect/sandbox
  C=$(curl -s -H \"Authorization: Bearer $T\" {base_url}/connections | grep -o '\"id\":[0-9]*' | head -1 | cut -d: -f2)
  curl -s -X POST -H \"Authorization: Bearer $T\" -H 'content-type: application/json' {base_url}/posts -d \"{{\\\"content\\\":\\\"Hello\\\",\\\"platforms\\\":[{{\\\"connected_account_id\\\":$C}}],\\\"scheduled_at\\\":\\\"$({in_ten_seconds} +%Y-%m-%dT%H:%M:%SZ)\\\"}}\"

The post appears at {origin}/sandbox. End with Ctrl-C.
"
    );
    let mut out = std::io::stdout();
    out.write_all(text.as_bytes())?;
    if options.fakes {
        writeln!(out, "\nImitations of platforms, and what to type to connect them: {origin}/fakes")?;
    }
    if let (Some(outside), Some(tunnel)) = (&options.origin, tunnel) {
        write!(
            out,
            "\nFrom outside it is {outside}: let the tunnel lead to {tunnel}, and never to {origin}. Sign in there\n\
             with a browser of this machine: the sign-in page, the sandbox, and what else is not deployed, are served\n\
             to this machine alone.\n"
        )?;
    }
    if let Some(it) = stores {
        let (address, key, secret) = (&it.dynamodb, it.access_key, it.secret.expose_secret());
        write!(
            out,
            "\nThe database listens at {address}. Functions in other processes sign with:\n\n  \
             export AWS_ACCESS_KEY_ID={key} AWS_SECRET_ACCESS_KEY={secret}\n"
        )?;
    }
    Ok(())
}
