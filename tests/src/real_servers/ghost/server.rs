//! A real Ghost on loopback, and what its owner sees.

use std::net::SocketAddr;

use reqwest::{Client, Method, StatusCode};
use serde_json::{Value, json};
use steps::ghost::GhostProgram;

use crate::{
    error::Result,
    fail,
    http_response::{list, text},
    server_process::{START_TIMEOUT, ServerProcess},
};

/// A running site; it stops when this is dropped.
pub struct GhostServer {
    process: ServerProcess,
    listens: SocketAddr,
    /// The public URL, at which a proxy listens.
    origin: String,
    /// The session of the owner.
    cookie: String,
    /// The integration that the site has from the start.
    pub integration: Integration,
    http: Client,
}

#[derive(Clone, Debug)]
pub struct Integration {
    pub id: String,
    pub key: String,
}

impl GhostServer {
    /// Installs Ghost if it is missing, and starts a new site. Its public address is this port of this machine, where
    /// a proxy listens. With `now`, it checks tokens as if it were that time.
    pub async fn start(public_port: u16, now: Option<&str>) -> Result<Self> {
        let program = tokio::task::spawn_blocking(GhostProgram::installed).await??;
        let mut command = program.start();
        command.arg(public_port.to_string()).args(now);
        let mut process = ServerProcess::start_script(command)?;
        let facts = process.facts("Ghost").await?;
        let integration = &facts["integration"];
        Ok(Self {
            integration: Integration {
                id: text(integration, "id")?.to_owned(),
                key: text(integration, "key")?.to_owned(),
            },
            process,
            listens: text(&facts, "listens")?.parse()?,
            origin: format!("http://127.0.0.1:{public_port}"),
            cookie: text(&facts, "cookie")?.to_owned(),
            http: Client::builder().no_proxy().timeout(START_TIMEOUT).build()?,
        })
    }

    /// The address where it listens; a proxy at the public address must forward to it.
    pub fn listens(&self) -> SocketAddr {
        self.listens
    }

    /// A new integration, which the owner adds.
    pub async fn add_integration(&self, name: &str) -> Result<Integration> {
        let body = json!({ "integrations": [{ "name": name }] });
        let added = self.call(Method::POST, "integrations/?include=api_keys", &body).await?;
        let integration = &added["integrations"][0];
        let keys = list(integration, "api_keys")?;
        let Some(key) = keys.iter().find(|it| it["type"] == "admin") else { fail!("no key in {integration}") };
        Ok(Integration { id: text(integration, "id")?.to_owned(), key: text(key, "secret")?.to_owned() })
    }

    pub async fn delete_integration(&self, id: &str) -> Result {
        self.call(Method::DELETE, &format!("integrations/{id}/"), &Value::Null).await.map(drop)
    }

    /// Posts of any status as HTML, oldest first.
    pub async fn posts(&self) -> Result<Vec<Value>> {
        let mut posts = Vec::new();
        for page in 1.. {
            let path = format!("posts/?formats=html&include=tags,email&order=id%20asc&limit=100&page={page}");
            let listed = self.call(Method::GET, &path, &Value::Null).await?;
            posts.extend(list(&listed, "posts")?.iter().cloned());
            if listed["meta"]["pagination"]["next"].is_null() {
                break;
            }
        }
        Ok(posts)
    }

    pub async fn delete_posts(&self) -> Result {
        self.call(Method::DELETE, "posts/?filter=status:[draft,published,scheduled,sent]", &Value::Null).await.map(drop)
    }

    /// Calls the Admin API as the owner. `Value::Null` sends no body.
    pub async fn call(&self, method: Method, path: &str, body: &Value) -> Result<Value> {
        let url = format!("http://{}/ghost/api/admin/{path}", self.listens);
        let request = self.http.request(method, &url).header("origin", &self.origin).header("cookie", &self.cookie);
        let response = if body.is_null() { request } else { request.json(body) }.send().await?;
        let status = response.status();
        let body = response.text().await?;
        if !status.is_success() {
            fail!("{path}: {status} {body}; the log ends with:\n{}", self.log());
        }
        Ok(if body.is_empty() { Value::Null } else { serde_json::from_str(&body)? })
    }

    /// A file or a page at a public URL.
    pub async fn bytes(&self, url: &str) -> Result<(StatusCode, Vec<u8>)> {
        let url = url::Url::parse(url)?;
        let path = &url[url::Position::BeforePath..];
        let response = self.http.get(format!("http://{}{path}", self.listens)).send().await?;
        Ok((response.status(), response.bytes().await?.to_vec()))
    }

    fn log(&self) -> String {
        let log = self.process.log();
        let lines: Vec<_> = log.lines().collect();
        lines[lines.len().saturating_sub(20)..].join("\n")
    }
}
