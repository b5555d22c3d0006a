//! A real Bluesky server on loopback, from `tests/bluesky`, and the user who operates it in a
//! browser.

mod person;

use std::net::SocketAddr;

use reqwest::{Client, Response, StatusCode};
use serde_json::Value;

pub use self::person::{Decision, Redirected, RedirectedPage, SignIn};
use crate::{
    error::Result,
    fail,
    http_response::{list, text},
    server_process::{PATIENCE, ServerProcess},
};
use steps::bluesky::BlueskyProgram;

/// The collection of posts.
pub const POSTS: &str = "app.bsky.feed.post";

#[derive(Clone, Debug, Default)]
pub struct BlueskySettings {
    /// The port of its public URL, if a proxy listens there.
    pub public_port: Option<u16>,
    /// A confidential client that the server must accept.
    pub client: Option<ConfidentialClient>,
    /// Variables of the PDS, such as `PDS_BLOB_UPLOAD_LIMIT` (bytes, 5 MiB by default) and
    /// `PDS_RATE_LIMITS_ENABLED` (`true`).
    pub variables: Vec<(&'static str, String)>,
}

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
    fn arguments(&self) -> [&str; 4] {
        ["--client-origin", &self.origin, "--client-target", &self.target]
    }
}

/// The account that a server has from the start; its e-mail address is confirmed.
#[derive(Clone, Debug)]
pub struct BlueskyAccount {
    /// The DID, `did:plc:…`.
    pub did: String,
    pub handle: String,
    pub password: String,
    /// App password of the account.
    pub app_password: String,
}

/// A running PDS with its PLC directory; both stop when this is dropped.
pub struct BlueskyServer {
    program: BlueskyProgram,
    settings: BlueskySettings,
    process: ServerProcess,
    url: String,
    listens: SocketAddr,
    directory: String,
    account: BlueskyAccount,
    http: Client,
}

impl BlueskyServer {
    /// Installs what is missing, and starts.
    pub async fn start(settings: BlueskySettings) -> Result<Self> {
        let program = tokio::task::spawn_blocking(BlueskyProgram::installed).await??;
        let mut command = program.script("start.mjs");
        if let Some(port) = settings.public_port {
            command.args(["--public-port", &port.to_string(), "--listen-port", "0"]);
        }
        if let Some(client) = &settings.client {
            command.args(client.arguments());
        }
        command.envs(settings.variables.iter().map(|(name, value)| (name, value)));
        let mut process = ServerProcess::start_script(command)?;
        let facts = process.facts("the Bluesky server").await?;
        let fact = |name| text(&facts, name).map(ToOwned::to_owned);
        Ok(Self {
            program,
            settings,
            process,
            url: fact("pds")?,
            listens: text(&facts, "listens")?.parse()?,
            directory: fact("plc")?,
            account: BlueskyAccount {
                did: fact("did")?,
                handle: fact("handle")?,
                password: fact("password")?,
                app_password: fact("app_password")?,
            },
            http: Client::builder().no_proxy().timeout(PATIENCE).build()?,
        })
    }

    /// The public URL, which is also the issuer of its tokens.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// The address where it listens; a proxy at its public port must forward to it.
    pub fn listens(&self) -> SocketAddr {
        self.listens
    }

    /// The URL of the PLC directory of its accounts.
    pub fn directory(&self) -> &str {
        &self.directory
    }

    pub fn account(&self) -> &BlueskyAccount {
        &self.account
    }

    pub fn log(&self) -> String {
        self.process.log()
    }

    /// All posts of the account, each with `uri`, `cid` and `value`; the latest record key first.
    pub async fn posts(&self) -> Result<Vec<Value>> {
        self.posts_of(self.did()).await
    }

    /// Like [`BlueskyServer::posts`], of another account.
    pub async fn posts_of(&self, did: &str) -> Result<Vec<Value>> {
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

    /// The post with this record key, with `uri`, `cid` and `value`.
    pub async fn post(&self, key: &str) -> Result<Option<Value>> {
        let query = [("repo", self.did()), ("collection", POSTS), ("rkey", key)];
        let response = self.get("com.atproto.repo.getRecord", &query).await?;
        if response.status() == StatusCode::BAD_REQUEST {
            let refusal: Value = response.json().await?;
            return if refusal["error"] == "RecordNotFound" { Ok(None) } else { fail!("the post {key}: {refusal}") };
        }
        Ok(Some(ensure_success(response).await?.json().await?))
    }

    /// The bytes of a file, by the CID in a post.
    pub async fn blob(&self, cid: &str) -> Result<Vec<u8>> {
        self.blob_of(self.did(), cid).await
    }

    /// Like [`BlueskyServer::blob`], of another account.
    pub async fn blob_of(&self, did: &str, cid: &str) -> Result<Vec<u8>> {
        let response = self.get("com.atproto.sync.getBlob", &[("did", did), ("cid", cid)]).await?;
        Ok(ensure_success(response).await?.bytes().await?.to_vec())
    }

    /// Calls a procedure without the proxy. `Value::Null` sends no body.
    pub async fn call(&self, method: &str, token: Option<&str>, body: &Value) -> Result<Value> {
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

    fn did(&self) -> &str {
        &self.account.did
    }
}

async fn ensure_success(response: Response) -> Result<Response> {
    if response.status().is_success() {
        return Ok(response);
    }
    let (url, status) = (response.url().clone(), response.status());
    fail!("{url}: {status} {}", response.text().await.unwrap_or_default())
}
