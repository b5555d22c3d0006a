//! `cargo dev`: the whole service in one process.

use std::fs::OpenOptions;
use std::io::{IsTerminal, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::process::{Command, ExitCode, Stdio};

use clap::Parser;
use local::{Options, Running, start};
use secrecy::ExposeSecret;
use serde_json::json;
use tracing_subscriber::EnvFilter;

#[tokio::main]
async fn main() -> ExitCode {
    let options = Options::parse();
    let filter =
        EnvFilter::try_from_env("LOG_LEVEL").unwrap_or_else(|_| EnvFilter::new("warn,request=info,dynoxide=error"));
    tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(std::io::stderr)
        .with_ansi(std::io::stderr().is_terminal())
        .init();
    // Once for all clients of this process; no other code installs a TLS provider.
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
    if options.needs_browser() && std::io::stdout().is_terminal() {
        open_browser(&running.origin);
    }
    // Nothing is saved at the end: all data are on disk before a response is sent.
    let _ = tokio::signal::ctrl_c().await;
    ExitCode::SUCCESS
}

/// Does nothing without a desktop. A failure is no error: the terminal shows the URL.
fn open_browser(origin: &str) {
    let has_desktop = ["DISPLAY", "WAYLAND_DISPLAY"].iter().any(|it| std::env::var_os(it).is_some());
    let program = match (cfg!(target_os = "macos"), has_desktop) {
        (true, _) => "open",
        (false, true) => "xdg-open",
        (false, false) => return,
    };
    let opened = Command::new(program).arg(origin).stdout(Stdio::null()).stderr(Stdio::null()).spawn();
    if let Err(error) = opened {
        tracing::debug!(%error, program, "the start page was not opened");
    }
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
        // Written to another file and renamed, so that a waiting program never reads a partial
        // file.
        let part = path.with_extension("part");
        let mut file = OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&part)?;
        file.write_all(ready.to_string().as_bytes())?;
        std::fs::rename(part, path)?;
    }
    // GNU and BSD have different options.
    let in_ten_seconds = if cfg!(target_os = "macos") { "date -u -v+10S" } else { "date -u -d '+10 seconds'" };
    let text = format!(
        "\
The service is ready. Start here:

  {origin}/

  API        {base_url}
  Docs       {origin}/docs
  Account    {origin}/account
  Timeline   {origin}/sandbox
  Faults     {origin}/sandbox/switches

An access token of the demo user:

  {token}

Publish a post in ten seconds. The first command prints a link: open it, choose an
account, press Allow, and sign in as demo@example.com. Then run the other two.

  T={token}; curl -s -X POST -H \"Authorization: Bearer $T\" {base_url}/connections/connect/sandbox
  C=$(curl -s -H \"Authorization: Bearer $T\" {base_url}/connections | grep -o '\"id\":[0-9]*' | head -1 | cut -d: -f2)
  curl -s -X POST -H \"Authorization: Bearer $T\" -H 'content-type: application/json' {base_url}/posts -d \"{{\\\"content\\\":\\\"Hello\\\",\\\"platforms\\\":[{{\\\"connected_account_id\\\":$C}}],\\\"scheduled_at\\\":\\\"$({in_ten_seconds} +%Y-%m-%dT%H:%M:%SZ)\\\"}}\"

The post appears at {origin}/sandbox. Press Ctrl-C to stop.
"
    );
    let mut out = std::io::stdout();
    out.write_all(text.as_bytes())?;
    if options.fakes {
        writeln!(out, "\nFakes of platforms, with the values to connect them: {origin}/fakes")?;
    }
    if let (Some(outside), Some(tunnel)) = (&options.origin, tunnel) {
        write!(
            out,
            "\nThe public address is {outside}. Point the tunnel to {tunnel}, never to {origin}. Sign in\n\
             with a browser on this machine: only this machine can open the sign-in page, the sandbox and\n\
             the other pages that a deployment does not have.\n"
        )?;
    }
    if let Some(it) = stores {
        let (address, key, secret) = (&it.dynamodb, it.access_key, it.secret.expose_secret());
        write!(
            out,
            "\nThe database listens at {address}. Functions in other processes sign their calls with:\n\n  \
             export AWS_ACCESS_KEY_ID={key} AWS_SECRET_ACCESS_KEY={secret}\n"
        )?;
    }
    Ok(())
}
