//! An independent server with Mastodon's API: its process, its account, its API without our proxy,
//! and its injected errors.

use std::{net::SocketAddr, process::Command};

use reqwest::{Client, RequestBuilder, Response, StatusCode};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::{
    ensure,
    error::Result,
    fail,
    harness::free_port,
    http_response::{list, text},
    server_process::{PATIENCE, ServerProcess},
    tools::MASTODON_MOCK,
};

/// The account that exists from the start.
pub(super) const ACCOUNT: &str = "testuser";

/// The label of the button that continues as this account.
pub(super) const ACCOUNT_BUTTON: &str = "Test User (@testuser)";

/// A token of the account that exists from the start and is given to no client.
const OWN_TOKEN: &str = "mock_token";

/// Path of the publish call.
pub(super) const STATUSES: &str = "/api/v1/statuses";

/// Path of the call that uploads a file.
pub(super) const MEDIA: &str = "/api/v2/media";

/// A running server; it stops when this is dropped.
pub(super) struct MastodonServer {
    process: ServerProcess,
    listens: SocketAddr,
    account_id: String,
    http: Client,
}

impl MastodonServer {
    /// Installs the server if it is missing, and starts it. Its public address is this port of this
    /// machine, where a proxy listens.
    pub(super) async fn start(public_port: u16) -> Result<Self> {
        let program = tokio::task::spawn_blocking(|| MASTODON_MOCK.program()).await??;
        // The server cannot choose a free port.
        let listens = SocketAddr::from(([127, 0, 0, 1], free_port()?));
        let folder = TempDir::new()?;
        let mut command = Command::new(program);
        command
            .args(["serve", "--in-memory", "--port", &listens.port().to_string()])
            .args(["--domain", &format!("127.0.0.1:{public_port}")])
            // Everything that the server stores is removed with this folder, where it finds no
            // settings either.
            .env("TMPDIR", folder.path())
            .current_dir(folder.path());
        let process = ServerProcess::start(command, folder)?;
        let http = Client::builder().no_proxy().timeout(PATIENCE).build()?;
        let mut server = Self { process, listens, account_id: String::new(), http };
        let account = server.http.get(server.url("/api/v1/accounts/verify_credentials"));
        let poll = || async { send(account.try_clone()?).await.ok() };
        let account: Value = server.process.ready("the Mastodon server", poll).await?.json().await?;
        text(&account, "id")?.clone_into(&mut server.account_id);
        Ok(server)
    }

    /// The address where it listens; a proxy at the public address must forward to it.
    pub(super) fn listens(&self) -> SocketAddr {
        self.listens
    }

    /// The account's statuses whose HTML contains `part`, newest first; only the latest 40 are
    /// searched.
    pub(super) async fn statuses(&self, part: &str) -> Result<Vec<Value>> {
        let url = self.url(&format!("/api/v1/accounts/{}/statuses?limit=40", self.account_id));
        let mut all: Vec<Value> = send(self.http.get(url)).await?.json().await?;
        all.retain(|it| it["content"].as_str().is_some_and(|it| it.contains(part)));
        Ok(all)
    }

    pub(super) async fn status(&self, id: &str) -> Result<Value> {
        Ok(send(self.http.get(self.url(&format!("{STATUSES}/{id}")))).await?.json().await?)
    }

    /// The ids of the statuses that this one continues, the first one first.
    pub(super) async fn ancestors(&self, id: &str) -> Result<Vec<String>> {
        let context: Value = send(self.http.get(self.url(&format!("{STATUSES}/{id}/context")))).await?.json().await?;
        list(&context, "ancestors")?.iter().map(|it| Ok(text(it, "id")?.to_owned())).collect()
    }

    /// The text of a status as it was sent.
    pub(super) async fn source(&self, id: &str) -> Result<String> {
        let source: Value = send(self.http.get(self.url(&format!("{STATUSES}/{id}/source")))).await?.json().await?;
        Ok(text(&source, "text")?.to_owned())
    }

    /// The files of a status in order: the type and bytes of each.
    pub(super) async fn files(&self, status: &Value) -> Result<Vec<(String, Vec<u8>)>> {
        let mut files = Vec::new();
        for file in list(status, "media_attachments")? {
            let path = url::Url::parse(text(file, "url")?)?.path().to_owned();
            let bytes = send(self.http.get(self.url(&path))).await?.bytes().await?;
            files.push((text(file, "type")?.to_owned(), bytes.to_vec()));
        }
        Ok(files)
    }

    /// The next POST to this path has this effect instead of its own. Several orders for one path
    /// take effect one after the other.
    pub(super) async fn arm(&self, path: &str, effect: &Value) -> Result {
        let order = json!({ "match": { "methods": ["POST"], "path": path }, "effect": effect, "count": 1 });
        send(self.http.post(self.url("/api/v1/_mock/faults")).json(&order)).await?;
        Ok(())
    }

    /// The number of orders that have not taken effect.
    pub(super) async fn armed(&self) -> Result<usize> {
        let armed: Vec<Value> = send(self.http.get(self.url("/api/v1/_mock/faults"))).await?.json().await?;
        Ok(armed.len())
    }

    /// The token that the account has granted last.
    pub(super) async fn granted_token(&self) -> Result<String> {
        let users: Value = send(self.http.get(self.url("/api/v1/_mock/dev_users"))).await?.json().await?;
        let user = users.as_array().and_then(|it| it.iter().find(|it| it["username"] == ACCOUNT));
        let Some(user) = user else { fail!("{ACCOUNT} is not among {users}") };
        let token = text(user, "access_token")?;
        ensure!(token != OWN_TOKEN, "{ACCOUNT} has granted nothing");
        Ok(token.to_owned())
    }

    /// Revokes this token, as the user does.
    pub(super) async fn take_back(&self, token: &str) -> Result {
        send(self.http.post(self.url("/oauth/revoke")).form(&[("token", token)])).await?;
        Ok(())
    }

    /// Whether this token is still valid.
    pub(super) async fn knows(&self, token: &str) -> Result<bool> {
        let url = self.url("/api/v1/accounts/verify_credentials");
        let status = self.http.get(url).bearer_auth(token).send().await?.status();
        ensure!(status.is_success() || status == StatusCode::UNAUTHORIZED, "a token got {status}");
        Ok(status.is_success())
    }

    /// The URL of a path, without any proxy.
    fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.listens)
    }
}

/// Sends a request with the account's own token; the response must be a success.
async fn send(request: RequestBuilder) -> Result<Response> {
    let response = request.bearer_auth(OWN_TOKEN).send().await?;
    if response.status().is_success() {
        return Ok(response);
    }
    let (url, status) = (response.url().clone(), response.status());
    fail!("{url}: {status} {}", response.text().await.unwrap_or_default())
}
