//! `social-server doctor`: checks what the service needs from its machine, before or while it runs.

use std::io::{ErrorKind, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::time::Duration;

use chrono::{DateTime, TimeDelta, Utc};
use nix::sys::statvfs::{FsFlags, statvfs};
use platforms::PlatformInfo;
use reqwest::Client;
use reqwest::header::DATE;

use crate::config::Config;
use crate::data_folder::DATABASE;
use crate::error::ServerError;

const TIMEOUT: Duration = Duration::from_secs(10);

/// Posts go out on the second, and signatures of some platforms expire.
const MAX_CLOCK_ERROR: TimeDelta = TimeDelta::seconds(2);

/// Below this, uploads and the database soon fail.
const MIN_FREE_BYTES: u64 = 1024 * 1024 * 1024;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    pub name: String,
    /// The finding, or the action to take.
    pub result: Result<String, String>,
}

/// Does not open data that another process uses.
pub async fn examine(mut config: Config) -> Vec<Finding> {
    let valid = format!("valid; {} platforms are enabled", config.service.platforms.len());
    let mut findings = vec![finding("configuration", Ok(valid))];
    let data = config.place.data.clone();
    findings.push(finding("sign-in", Ok(sign_in(&config))));
    findings.push(finding("disk", disk(&data)));
    findings.push(finding("permissions", permissions(&data)));
    findings.extend(credentials(&config));
    if let Some(mailer) = &config.mailer {
        findings.push(finding(
            "e-mail",
            match mailer.check().await {
                Ok(true) => Ok("the SMTP server responds".to_owned()),
                Ok(false) => Err("the SMTP server does not respond; check SMTP_URL".to_owned()),
                Err(error) => Err(format!("{error}; check SMTP_URL")),
            },
        ));
    }
    match Client::builder().timeout(TIMEOUT).redirect(reqwest::redirect::Policy::none()).build() {
        Ok(client) => findings.extend(network(&client, &config).await),
        Err(error) => findings.push(finding("network", Err(error.to_string()))),
    }
    findings.push(finding(
        "data folder",
        match config.place.open_if_exists() {
            Ok(None) => Ok(format!("{} is created at the first start", data.display())),
            Ok(Some(_)) => Ok(format!("{} is usable", data.display())),
            Err(ServerError::InUse(_)) => Ok(format!("{} is in use by the running service", data.display())),
            Err(error) => Err(error.to_string()),
        },
    ));
    findings
}

/// Returns whether all checks passed.
pub fn print(findings: &[Finding], output: &mut impl Write) -> std::io::Result<bool> {
    for Finding { name, result } in findings {
        match result {
            Ok(text) => writeln!(output, "ok    {name}: {text}")?,
            Err(text) => writeln!(output, "FAIL  {name}: {text}")?,
        }
    }
    Ok(findings.iter().all(|it| it.result.is_ok()))
}

fn finding(name: impl Into<String>, result: Result<String, String>) -> Finding {
    Finding { name: name.into(), result }
}

fn sign_in(config: &Config) -> String {
    match (&config.oidc, &config.mailer) {
        (Some(oidc), _) => format!("at {}", oidc.issuer),
        (None, Some(_)) => "with links by e-mail".to_owned(),
        (None, None) => "with links of `social-server sign-in-link EMAIL`".to_owned(),
    }
}

fn disk(data: &Path) -> Result<String, String> {
    // The folder may not exist yet.
    let folder = data.ancestors().find(|it| it.exists()).unwrap_or(Path::new("."));
    let system = statvfs(folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    let free = system.blocks_available() * system.fragment_size();
    let text = format!("{} MB are free", free / 1_000_000);
    if system.flags().contains(FsFlags::ST_RDONLY) {
        return Err(format!("{} is read-only", folder.display()));
    }
    if free < MIN_FREE_BYTES { Err(format!("only {text}; free some space")) } else { Ok(text) }
}

/// Credentials are in the folder: other users of the machine must not read it.
fn permissions(data: &Path) -> Result<String, String> {
    for path in [data.to_owned(), data.join("sealing.key"), data.join(DATABASE)] {
        let mode = match std::fs::metadata(&path) {
            Ok(found) => found.permissions().mode() & 0o777,
            Err(error) if error.kind() == ErrorKind::NotFound => continue,
            Err(error) => return Err(format!("{}: {error}; run as the user of the service", path.display())),
        };
        if mode & 0o077 != 0 {
            return Err(format!("{0} has mode {mode:o}; run `chmod go= {0}`", path.display()));
        }
    }
    Ok("only the user of the service can read its data".to_owned())
}

fn credentials(config: &Config) -> Vec<Finding> {
    let result = |name: &str| match config.apps.get(name) {
        Some(_) => Ok("client id and secret are set".to_owned()),
        None => Err("the client id and secret are missing; add them to PLATFORM_SECRETS".to_owned()),
    };
    let registered = enabled_platforms(config).filter(|it| it.needs_app);
    registered.map(|it| finding(format!("{} app", it.name), result(it.name))).collect()
}

fn enabled_platforms(config: &Config) -> impl Iterator<Item = &'static PlatformInfo> {
    platforms::platform_infos().iter().filter(|it| config.service.platforms.contains_key(it.name))
}

async fn network(client: &Client, config: &Config) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut server_time = None;
    for PlatformInfo { name, host, .. } in enabled_platforms(config) {
        let Some(host) = host else { continue };
        // Any response shows that name, connection and certificate are right.
        let reached = client.head(format!("https://{host}/")).send().await;
        let result = match reached {
            Ok(response) => {
                let date = response.headers().get(DATE).and_then(|it| it.to_str().ok());
                server_time = server_time.or(date.and_then(|it| DateTime::parse_from_rfc2822(it).ok()));
                Ok(format!("{host} responds"))
            }
            Err(error) if error.is_timeout() => Err(format!("{host} does not respond; check the firewall")),
            Err(error) => Err(format!("{host} cannot be reached ({}); check DNS and firewall", cause(&error))),
        };
        findings.push(finding(*name, result));
    }
    if let Some(at) = server_time {
        findings.push(finding("clock", clock_error(Utc::now() - at.to_utc())));
    }
    let ready = client.get(format!("{}/health", config.service.origin)).send().await;
    findings.push(finding(
        "origin",
        match ready {
            Ok(response) if response.status().is_success() => {
                Ok(format!("{} leads to this service", config.service.origin))
            }
            Ok(response) => {
                Err(format!("{} responds with {}; check the proxy", config.service.origin, response.status()))
            }
            Err(error) => Err(format!(
                "{} does not respond ({}); start the service, check DNS and proxy",
                config.service.origin,
                cause(&error)
            )),
        },
    ));
    findings
}

fn clock_error(error: TimeDelta) -> Result<String, String> {
    // The header has whole seconds.
    let seconds = error.num_seconds();
    let text = format!("differs from a platform's by {} s", seconds.abs());
    if MAX_CLOCK_ERROR < error.abs() {
        return Err(format!("{text}; synchronize it, for example with systemd-timesyncd"));
    }
    Ok(text)
}

/// The innermost error, which says what failed.
fn cause(error: &dyn std::error::Error) -> String {
    let mut error = error;
    while let Some(source) = error.source() {
        error = source;
    }
    error.to_string()
}
