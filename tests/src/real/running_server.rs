//! Real servers that the tests install: Bluesky's PDS, Ghost, Synapse and WordPress. They need no user
//! input.

use std::{
    net::{Ipv6Addr, SocketAddr},
    path::Path,
};

use async_trait::async_trait;
use domain::{delivery::Published, options::Options};
use platforms::{CallbackUrls, Field, FieldValues, Instructions};
use serde_json::{Value, json};
use url::Url;

use super::journey::AccountOwner;
use crate::{
    bluesky_server::{BlueskyServer, BlueskySettings, Decision, SignIn},
    error::Result,
    fail,
    ghost_server::GhostServer,
    lossy_proxy::ProxyPort,
    matrix_server::{PASSWORD, Synapse, SynapseSettings, USER},
    template::ROOT,
    wordpress_server::{AUTHOR, UrlLayout, WordpressServer},
};

/// A running server; it ends when this is dropped.
pub(super) struct RunningServer {
    server: Server,
    /// The name in recordings.
    pub(super) name: &'static str,
    pub(super) settings: Value,
    pub(super) addresses: Vec<SocketAddr>,
    pub(super) options: Options,
    pub(super) max_video_bytes: u64,
    answers: Vec<(&'static str, String)>,
}

enum Server {
    Bluesky(Box<BlueskyServer>),
    Ghost(#[expect(dead_code, reason = "it ends when it is dropped")] GhostServer),
    Matrix(#[expect(dead_code, reason = "it ends when it is dropped")] Synapse),
    Wordpress(#[expect(dead_code, reason = "it ends when it is dropped")] WordpressServer),
}

impl RunningServer {
    /// Installs what is missing, and starts the server.
    pub(super) async fn start(platform: &str) -> Result<Self> {
        match platform {
            "bluesky" => Self::bluesky().await,
            "ghost" => Self::ghost().await,
            "matrix" => Self::matrix().await,
            "wordpress" => Self::wordpress().await,
            _ => fail!("the tests install no server of {platform}; run it without --here"),
        }
    }

    async fn bluesky() -> Result<Self> {
        let variables = vec![("PDS_BLOB_UPLOAD_LIMIT", (25 << 20).to_string())];
        let server = BlueskyServer::start(BlueskySettings { variables, ..BlueskySettings::default() }).await?;
        let url = server.url();
        let port = Url::parse(url)?.port().unwrap_or(80);
        let addresses = vec![SocketAddr::from(([127, 0, 0, 1], port)), SocketAddr::from((Ipv6Addr::LOCALHOST, port))];
        Ok(Self {
            name: "@atproto/pds 0.5.35",
            settings: json!({ "plc": server.directory(), "resolver": url, "appview": url }),
            addresses,
            options: Options::default(),
            max_video_bytes: u64::MAX,
            answers: vec![("handle", server.account().handle.clone()), ("app_password", String::new())],
            server: Server::Bluesky(Box::new(server)),
        })
    }

    async fn ghost() -> Result<Self> {
        let proxy_port = ProxyPort::take().await?;
        let server = GhostServer::start(proxy_port.number(), None).await?;
        let proxy = proxy_port.forward_to(server.listens());
        let site = format!("http://{}", proxy.address());
        Ok(Self {
            name: "Ghost 6.65.0",
            settings: json!({}),
            addresses: vec![proxy.address()],
            options: Options::default(),
            max_video_bytes: u64::MAX,
            answers: vec![("site", site), ("admin_api_key", server.integration.key.clone())],
            server: Server::Ghost(server),
        })
    }

    async fn matrix() -> Result<Self> {
        let server = Synapse::start(SynapseSettings::default()).await?;
        let room = server.room("Harbour", json!([])).await?;
        let homeserver = server.url("");
        Ok(Self {
            name: "Synapse 1.163.2",
            settings: json!({}),
            addresses: vec![server.listens()],
            options: serde_json::from_value(json!({ "room": room }))?,
            max_video_bytes: u64::MAX,
            answers: vec![("user", USER.to_owned()), ("password", PASSWORD.to_owned()), ("homeserver", homeserver)],
            server: Server::Matrix(server),
        })
    }

    async fn wordpress() -> Result<Self> {
        let proxy_port = ProxyPort::take().await?;
        let server = WordpressServer::start(proxy_port.number(), UrlLayout::Permalinks).await?;
        let proxy = proxy_port.forward_to(server.listens());
        let password = server.create_password().await?;
        let site = format!("http://{}", proxy.address());
        let answers = vec![("site", site), ("username", AUTHOR.0.to_owned()), ("application_password", password)];
        Ok(Self {
            name: "WordPress 6.5",
            settings: json!({}),
            addresses: vec![proxy.address()],
            options: Options::default(),
            // `upload_max_filesize` of the tests is 2 MiB.
            max_video_bytes: (2 << 20) - 1024,
            answers,
            server: Server::Wordpress(server),
        })
    }
}

#[async_trait]
impl AccountOwner for RunningServer {
    async fn field_values(&self, _: &[Field], _: &CallbackUrls) -> Result<FieldValues> {
        Ok(self.answers.iter().map(|(name, it)| ((*name).to_owned(), it.as_str().into())).collect())
    }

    async fn approve(&self, page: &str) -> Result<Url> {
        let Server::Bluesky(server) = &self.server else { fail!("no user is signed in at {page}") };
        let sign_in = SignIn {
            url: page.to_owned(),
            email: String::new(),
            fill: Vec::new(),
            decision: Decision::Authorize,
            screenshots: Path::new(ROOT).join("target/screenshots/real"),
        };
        Ok(Url::parse(&server.sign_in(sign_in).await?.to)?)
    }

    async fn read(&self, _: &Instructions) -> Result {
        Ok(())
    }

    async fn delete(&self, _: &[Published]) -> Result<bool> {
        Ok(false)
    }
}
