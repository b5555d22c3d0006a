//! What `cargo dev` can be told.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::path::PathBuf;

use clap::Parser;
use connections::Guests;
use platforms::{AppCredentials, PlatformSettings};
use serde_json::json;

use crate::error::LocalError;

/// Runs the whole service in this process: API, pages, sandbox platform.
#[derive(Clone, Debug, Parser)]
#[command(name = "cargo dev", version)]
#[allow(clippy::struct_excessive_bools, reason = "each is a switch of the command line")]
pub struct Options {
    /// The port to listen on; 0 takes a free one.
    #[arg(long, default_value_t = 3000)]
    pub port: u16,
    /// Listen at this address beside 127.0.0.1, for containers: that of the
    /// machine on their network, such as 172.17.0.1.
    #[arg(long, value_name = "ADDRESS")]
    pub listen: Option<IpAddr>,
    /// Let functions in other processes call the database at this port; 0 takes
    /// a free one. They sign with the keys that are printed then.
    #[arg(long, value_name = "PORT")]
    pub dynamodb_port: Option<u16>,
    /// Where the service is reached from outside, such as by a tunnel: what
    /// platforms are told. Open pages there; sign in on this machine.
    #[arg(long, value_name = "URL")]
    pub origin: Option<String>,
    /// The port to which the tunnel of --origin leads; the port after --port if it is not given. It serves what would be
    /// deployed, and nothing else.
    #[arg(long, value_name = "PORT", requires = "origin")]
    pub origin_port: Option<u16>,
    /// Where data are kept.
    #[arg(long, default_value = ".local")]
    pub data: PathBuf,
    /// Keep nothing: all data are gone when the process ends.
    #[arg(long)]
    pub ephemeral: bool,
    /// Write a JSON file with origin, `base_url`, token and user when ready.
    #[arg(long)]
    pub ready_file: Option<PathBuf>,
    /// How many requests a user or an address may make in a minute.
    #[arg(long, default_value_t = 60)]
    pub requests_per_minute: u32,
    /// How many uploads a user may ask for in a minute.
    #[arg(long, default_value_t = 30)]
    pub media_per_minute: u32,
    /// How many calls requests may make to one host that users name, at a time.
    #[arg(long, default_value_t = 10)]
    pub calls_per_host: u32,
    /// Other platforms, or others of their settings, than those that need nothing
    /// registered, as they are: `{"bluesky": {"plc": "http://localhost:2582"}}`.
    #[arg(long, value_name = "JSON", default_value = "{}")]
    pub platforms: String,
    /// A file with this service's ids and secrets at platforms:
    /// `{"slack": {"client_id": "…", "client_secret": "…"}}`.
    #[arg(long, value_name = "FILE")]
    pub platform_secrets: Option<PathBuf>,
    /// An address and port that may be called although it is not public, for
    /// files and platforms that users name; may be given several times.
    #[arg(long, value_name = "ADDRESS:PORT")]
    pub allow_fetch_from: Vec<std::net::SocketAddr>,
    /// Start an imitation of every platform, at which no account is needed, with pages
    /// of what arrived there. Keeps nothing, like --ephemeral.
    #[arg(long)]
    pub fakes: bool,
    /// Let people who do not sign in connect their accounts for a user who sends
    /// them the link.
    #[arg(long)]
    pub guest_hand_offs: bool,
    /// Write here what functions ask of their stores.
    #[arg(long, value_name = "FILE")]
    pub log_calls: Option<PathBuf>,
    /// Record each call of the store for `GET /dev/store-calls`.
    #[arg(long)]
    pub meter: bool,
}

impl Options {
    /// Who may go on with a connect flow.
    pub(crate) fn guests(&self) -> Guests {
        if self.guest_hand_offs { Guests::Permitted } else { Guests::Denied }
    }

    /// Whether data are to be gone when the process ends: what fakes granted is.
    pub(crate) fn keeps_nothing(&self) -> bool {
        self.ephemeral || self.fakes
    }

    /// The platforms of the local stack, those of fakes before its own, with what
    /// was said of them.
    pub(crate) fn platform_settings(
        &self,
        origin: &str,
        fakes: PlatformSettings,
    ) -> Result<PlatformSettings, LocalError> {
        let sandbox = json!({ "url": format!("{origin}/sandbox") });
        let nothing = ["bluesky", "discord", "mastodon", "matrix", "telegram", "wordpress"];
        let nothing = nothing.map(|name| (name.to_owned(), json!({})));
        let mut settings: PlatformSettings = nothing.into();
        settings.insert("sandbox".to_owned(), sandbox);
        settings.extend(fakes);
        let said: PlatformSettings = serde_json::from_str(&self.platforms).map_err(LocalError::Platforms)?;
        settings.extend(said);
        Ok(settings)
    }

    /// Our ids and secrets at platforms, by the platforms' names.
    pub(crate) fn apps(&self) -> Result<BTreeMap<String, AppCredentials>, LocalError> {
        let Some(path) = &self.platform_secrets else { return Ok(BTreeMap::new()) };
        // What is wrong is not said: it could be quoted from a secret.
        let read = std::fs::read(path).ok().and_then(|it| serde_json::from_slice(&it).ok());
        read.ok_or_else(|| LocalError::PlatformSecrets(path.clone()))
    }
}
