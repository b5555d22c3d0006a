//! An independent server with Mastodon's API: its process, its account, its API without our proxy,
//! and its injected errors.

use std::{net::SocketAddr, process::Command};

use reqwest::{Client, RequestBuilder, Response};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::{
    error::Result,
    fail,
    harness::free_port,
    http_response::text,
    server_process::{START_TIMEOUT, ServerProcess},
    tools::MASTODON_MOCK,
};

/// The account that exists from the start.
pub const ACCOUNT: &str = "testuser";

/// The label of the button that continues as this account.
pub(super) const ACCOUNT_BUTTON: &str = "Test User (@testuser)";

/// A token of the account that exists from the start and is given to no client.
const OWN_TOKEN: &str = "mock_token";

pub const STATUSES: &str = "/api/v1/statuses";

pub const MEDIA: &str = "/api/v2/media";

/// A running server; it stops when this is dropped.
pub struct MastodonServer {
    process: ServerProcess,
    listens: SocketAddr,
    account_id: String,
    http: Client,
}

impl MastodonServer {
    /// Installs the server if it is missing, and starts it. Its public address is this port of this
    /// machine, where a proxy listens.
    pub async fn start(public_port: u16) -> Result<Self> {
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
        let http = Client::builder().no_proxy().timeout(START_TIMEOUT).build()?;
        let mut server = Self { process, listens, account_id: String::new(), http };
        let account = server.http.get(server.url("/api/v1/accounts/verify_credentials"));
        let poll = || async { send(account.try_clone()?).await.ok() };
        let account: Value = server.process.ready("the Mastodon server", poll).await?.json().await?;
        text(&account, "id")?.clone_into(&mut server.account_id);
        Ok(server)
    }

    /// The address where it listens; a proxy at the public address must forward to it.
    pub fn listens(&self) -> SocketAddr {
        self.listens
    }

    /// The account's latest 40 statuses, newest first.
    pub async fn statuses(&self) -> Result<Vec<Value>> {
        let url = self.url(&format!("/api/v1/accounts/{}/statuses?limit=40", self.account_id));
        Ok(send(self.http.get(url)).await?.json().await?)
    }

    pub async fn status(&self, id: &str) -> Result<Value> {
        Ok(send(self.http.get(self.url(&format!("{STATUSES}/{id}")))).await?.json().await?)
    }

    /// The text of a status as it was sent.
    pub async fn source(&self, id: &str) -> Result<String> {
        let source: Value = send(self.http.get(self.url(&format!("{STATUSES}/{id}/source")))).await?.json().await?;
        Ok(text(&source, "text")?.to_owned())
    }

    pub async fn file(&self, attachment: &Value) -> Result<Vec<u8>> {
        let path = url::Url::parse(text(attachment, "url")?)?.path().to_owned();
        Ok(send(self.http.get(self.url(&path))).await?.bytes().await?.to_vec())
    }

    /// The next POST to this path has this effect instead of its own. Several orders for one path
    /// take effect one after the other.
    pub async fn arm(&self, path: &str, effect: &Value) -> Result {
        let order = json!({ "match": { "methods": ["POST"], "path": path }, "effect": effect, "count": 1 });
        send(self.http.post(self.url("/api/v1/_mock/faults")).json(&order)).await?;
        Ok(())
    }

    /// The number of orders that have not taken effect.
    pub async fn armed(&self) -> Result<usize> {
        let armed: Vec<Value> = send(self.http.get(self.url("/api/v1/_mock/faults"))).await?.json().await?;
        Ok(armed.len())
    }

    /// The token that the account has granted last; `None` if it is revoked, or if there is none.
    pub async fn granted_token(&self) -> Result<Option<String>> {
        let users: Value = send(self.http.get(self.url("/api/v1/_mock/dev_users"))).await?.json().await?;
        let user = users.as_array().and_then(|it| it.iter().find(|it| it["username"] == ACCOUNT));
        let Some(user) = user else { fail!("{ACCOUNT} is not among {users}") };
        let token = text(user, "access_token")?;
        Ok((token != OWN_TOKEN).then(|| token.to_owned()))
    }

    /// Revokes this token, as the user does.
    pub async fn take_back(&self, token: &str) -> Result {
        send(self.http.post(self.url("/oauth/revoke")).form(&[("token", token)])).await?;
        Ok(())
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
