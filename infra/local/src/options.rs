//! The options of `cargo dev`.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::path::PathBuf;

use clap::Parser;
use connections::{ConnectLinkSettings, Guests, ReturnOrigins};
use platforms::{AppCredentials, PlatformSettings};
use serde_json::json;

use crate::error::LocalError;

/// Run the whole service in one process: API, pages and a sandbox platform.
#[derive(Clone, Debug, Parser)]
#[command(name = "cargo dev", version)]
#[allow(clippy::struct_excessive_bools, reason = "each is a switch of the command line")]
pub struct Options {
    /// The port to listen on; 0 takes a free one.
    #[arg(long, default_value_t = 3000)]
    pub port: u16,
    /// Do not open the start page in a browser.
    #[arg(long)]
    pub no_open: bool,
    /// Also listen on this address, so that containers can reach this machine: its address on
    /// their network, such as 172.17.0.1.
    #[arg(long, value_name = "ADDRESS")]
    pub listen: Option<IpAddr>,
    /// Let functions in other processes call the database at this port; 0 takes
    /// a free one. They sign their calls with the keys that are then printed.
    #[arg(long, value_name = "PORT")]
    pub dynamodb_port: Option<u16>,
    /// The public URL of the service, such as that of a tunnel. It is used in redirect
    /// URIs. Open pages there; sign in on this machine.
    #[arg(long, value_name = "URL")]
    pub origin: Option<String>,
    /// The port to which the tunnel of --origin points; by default the port after --port. It serves only what would be
    /// deployed.
    #[arg(long, value_name = "PORT", requires = "origin")]
    pub origin_port: Option<u16>,
    /// The folder for all data.
    #[arg(long, default_value = ".local")]
    pub data: PathBuf,
    /// Delete all data when the process ends.
    #[arg(long)]
    pub ephemeral: bool,
    /// When ready, write origin, `base_url`, token and user to this JSON file.
    #[arg(long)]
    pub ready_file: Option<PathBuf>,
    /// Requests per minute of one user or one IP address. The default of a deployment is 60.
    #[arg(long, default_value_t = 600)]
    pub requests_per_minute: u32,
    /// Uploads per minute of one user.
    #[arg(long, default_value_t = 30)]
    pub media_per_minute: u32,
    /// Concurrent calls to one host that users name.
    #[arg(long, default_value_t = 10)]
    pub calls_per_host: u32,
    /// Platforms to enable, or settings to change, in addition to the platforms that need
    /// no registration: `{"bluesky": {"plc": "http://localhost:2582"}}`.
    #[arg(long, value_name = "JSON", default_value = "{}")]
    pub platforms: String,
    /// A JSON file with the client ids and secrets of this service at platforms:
    /// `{"slack": {"client_id": "…", "client_secret": "…"}}`.
    #[arg(long, value_name = "FILE")]
    pub platform_secrets: Option<PathBuf>,
    /// Permit calls to this non-public address, for files, platforms and webhooks that
    /// users name; repeatable.
    #[arg(long, value_name = "ADDRESS:PORT")]
    pub allow_fetch_from: Vec<std::net::SocketAddr>,
    /// Start a fake of every platform, with pages that show what was published there. No
    /// account is needed. Deletes all data when the process ends, like --ephemeral.
    #[arg(long)]
    pub fakes: bool,
    /// Let guests, who are not signed in, connect their accounts for the user who sent
    /// them the link.
    #[arg(long)]
    pub allow_guests: bool,
    /// The origins of products, separated by commas, to which the customer with a connect link returns; by default that
    /// of this service.
    #[arg(long, value_name = "ORIGINS")]
    pub return_origins: Option<String>,
    /// The brand on the pages of connect links: `{"name": "Acme", "logo": "https://…", "color": "#256660"}`.
    #[arg(long, value_name = "JSON", default_value = "{}")]
    pub brand: String,
    /// Write the store calls of each function to this file.
    #[arg(long, value_name = "FILE")]
    pub log_calls: Option<PathBuf>,
    /// Record each store call for `GET /dev/store-calls`.
    #[arg(long)]
    pub meter: bool,
}

impl Options {
    pub(crate) fn guests(&self) -> Guests {
        if self.allow_guests { Guests::Permitted } else { Guests::Denied }
    }

    pub(crate) fn connect_links(&self, origin: &str) -> Result<ConnectLinkSettings, LocalError> {
        let return_origins = self.return_origins.as_deref().unwrap_or(origin);
        Ok(ConnectLinkSettings {
            brand: serde_json::from_str(&self.brand).map_err(LocalError::Brand)?,
            return_origins: ReturnOrigins::parse(return_origins)?,
        })
    }

    /// Not for programs that wait for the ready file.
    pub fn needs_browser(&self) -> bool {
        !self.no_open && self.ready_file.is_none()
    }

    /// Grants of fakes end with the process.
    pub(crate) fn has_no_data_folder(&self) -> bool {
        self.ephemeral || self.fakes
    }

    /// `--platforms` overrides fakes, and fakes override the defaults.
    pub(crate) fn platform_settings(
        &self,
        origin: &str,
        fakes: PlatformSettings,
    ) -> Result<PlatformSettings, LocalError> {
        let sandbox = json!({ "url": format!("{origin}/sandbox") });
        let mut settings = platforms::default_settings();
        settings.insert("sandbox".to_owned(), sandbox);
        settings.extend(fakes);
        let configured: PlatformSettings = serde_json::from_str(&self.platforms).map_err(LocalError::Platforms)?;
        settings.extend(configured);
        Ok(settings)
    }

    pub(crate) fn apps(&self) -> Result<BTreeMap<String, AppCredentials>, LocalError> {
        let Some(path) = &self.platform_secrets else { return Ok(BTreeMap::new()) };
        // The error has no details: they could quote a secret.
        let read = std::fs::read(path).ok().and_then(|it| serde_json::from_slice(&it).ok());
        read.ok_or_else(|| LocalError::PlatformSecrets(path.clone()))
    }
}
