//! A real Bluesky server on loopback, from `tests/bluesky`.

use std::net::SocketAddr;

use reqwest::{Client, Response};
use serde_json::Value;

use crate::{
    error::Result,
    fail,
    http_response::{list, text},
    server_process::{START_TIMEOUT, ServerProcess},
};
use steps::bluesky::BlueskyProgram;

/// The collection of posts.
pub(super) const POSTS: &str = "app.bsky.feed.post";

/// A client whose id is an https URL, as servers require, although it listens on loopback.
#[derive(Clone, Debug)]
pub struct ConfidentialClient {
    /// The origin of its id. A server refuses reserved names, such as those under `.test`,
    /// `.example`, `.localhost` or `example.com`.
    pub origin: String,
    /// The origin where it listens.
    pub target: String,
}

impl ConfidentialClient {
    pub(super) fn arguments(&self) -> [&str; 4] {
        ["--client-origin", &self.origin, "--client-target", &self.target]
    }
}

/// The account that a server has from the start; its e-mail address is confirmed.
#[derive(Clone, Debug)]
pub(super) struct BlueskyAccount {
    /// `did:plc:…`
    pub did: String,
    pub handle: String,
    pub password: String,
}

/// A running PDS with its PLC directory; both stop when this is dropped.
pub(super) struct BlueskyServer {
    pub(super) program: BlueskyProgram,
    pub(super) client: Option<ConfidentialClient>,
    _process: ServerProcess,
    pub(super) url: String,
    listens: SocketAddr,
    directory: String,
    pub(super) account: BlueskyAccount,
    http: Client,
}

impl BlueskyServer {
    /// Installs what is missing, and starts. Its public address is this port of this machine, where a proxy
    /// listens. The server must accept the confidential client.
    pub(super) async fn start(public_port: u16, client: Option<ConfidentialClient>) -> Result<Self> {
        let program = tokio::task::spawn_blocking(BlueskyProgram::installed).await??;
        let mut command = program.script("start.mjs");
        command.args(["--public-port", &public_port.to_string(), "--listen-port", "0"]);
        if let Some(client) = &client {
            command.args(client.arguments());
        }
        // In bytes; 5 MiB by default.
        command.env("PDS_BLOB_UPLOAD_LIMIT", (25 << 20).to_string());
        let mut process = ServerProcess::start_script(command)?;
        let facts = process.facts("the Bluesky server").await?;
        let fact = |name| text(&facts, name).map(ToOwned::to_owned);
        Ok(Self {
            program,
            client,
            _process: process,
            url: fact("pds")?,
            listens: text(&facts, "listens")?.parse()?,
            directory: fact("plc")?,
            account: BlueskyAccount { did: fact("did")?, handle: fact("handle")?, password: fact("password")? },
            http: Client::builder().no_proxy().timeout(START_TIMEOUT).build()?,
        })
    }

    /// The public URL, which is also the issuer of its tokens.
    pub(super) fn url(&self) -> &str {
        &self.url
    }

    /// The address where it listens; a proxy at its public port must forward to it.
    pub(super) fn listens(&self) -> SocketAddr {
        self.listens
    }

    /// The URL of the PLC directory of its accounts.
    pub(super) fn directory(&self) -> &str {
        &self.directory
    }

    pub(super) fn account(&self) -> &BlueskyAccount {
        &self.account
    }

    /// All posts of an account, each with `uri`, `cid` and `value`; the latest record key first.
    pub(super) async fn posts(&self, did: &str) -> Result<Vec<Value>> {
        let mut posts = Vec::new();
        let mut cursor = String::new();
        loop {
            let query = [("repo", did), ("collection", POSTS), ("limit", "100"), ("cursor", &cursor)];
            let query = if cursor.is_empty() { &query[..3] } else { &query };
            let page: Value =
                ensure_success(self.get("com.atproto.repo.listRecords", query).await?).await?.json().await?;
            posts.extend_from_slice(list(&page, "records")?);
            match page["cursor"].as_str() {
                Some(next) => next.clone_into(&mut cursor),
                None => return Ok(posts),
            }
        }
    }

    /// The bytes of a file, by the CID in a post.
    pub(super) async fn blob(&self, did: &str, cid: &str) -> Result<Vec<u8>> {
        let response = self.get("com.atproto.sync.getBlob", &[("did", did), ("cid", cid)]).await?;
        Ok(ensure_success(response).await?.bytes().await?.to_vec())
    }

    /// Calls a procedure without the proxy. `Value::Null` sends no body.
    pub(super) async fn call(&self, method: &str, token: Option<&str>, body: &Value) -> Result<Value> {
        let mut request = self.http.post(self.xrpc(method));
        if let Some(token) = token {
            request = request.bearer_auth(token);
        }
        if !body.is_null() {
            request = request.json(body);
        }
        let response = ensure_success(request.send().await?).await?;
        Ok(serde_json::from_slice(&response.bytes().await?).unwrap_or_default())
    }

    async fn get(&self, method: &str, query: &[(&str, &str)]) -> Result<Response> {
        Ok(self.http.get(self.xrpc(method)).query(query).send().await?)
    }

    /// The URL of a method, without any proxy.
    fn xrpc(&self, method: &str) -> String {
        format!("http://{}/xrpc/{method}", self.listens)
    }
}

async fn ensure_success(response: Response) -> Result<Response> {
    if response.status().is_success() {
        return Ok(response);
    }
    let (url, status) = (response.url().clone(), response.status());
    fail!("{url}: {status} {}", response.text().await.unwrap_or_default())
}
