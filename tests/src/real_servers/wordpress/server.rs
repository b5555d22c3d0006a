//! A real WordPress on loopback, and what its administrator sees.

use std::{
    fs,
    net::SocketAddr,
    path::PathBuf,
    process::Command,
    sync::atomic::{AtomicUsize, Ordering},
};

use reqwest::{Client, Method, RequestBuilder, Response, StatusCode};
use serde_json::Value;
use steps::wordpress::WordpressProgram;
use tempfile::TempDir;

use crate::{
    browser::Browser,
    ensure,
    error::Result,
    fail,
    harness::free_port,
    http_response::{integer, text},
    server_process::{self, START_TIMEOUT, ServerProcess},
};

/// The author of the site, with password.
pub const AUTHOR: (&str, &str) = ("keeper", "lighthouse");

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UrlLayout {
    /// At the top of its host, with permalinks.
    Permalinks,
    /// Below a path, without permalinks.
    Plain,
}

/// A running site; it stops when this is dropped.
pub struct WordpressServer {
    process: ServerProcess,
    addresses: UrlLayout,
    listens: SocketAddr,
    author: i64,
    passwords_created: AtomicUsize,
    administrator: (String, String),
    http: Client,
}

impl UrlLayout {
    fn base(self) -> &'static str {
        match self {
            Self::Permalinks => "",
            Self::Plain => "/blog",
        }
    }

    fn permalinks(self) -> &'static str {
        match self {
            Self::Permalinks => "/%postname%/",
            Self::Plain => "",
        }
    }
}

impl WordpressServer {
    /// Installs WordPress if it is missing, and starts it. Its public address is this port of this
    /// machine, where a proxy listens.
    pub async fn start(public_port: u16, addresses: UrlLayout) -> Result<Self> {
        let program = tokio::task::spawn_blocking(WordpressProgram::installed).await??;
        // PHP's server cannot choose a free port.
        let listens = SocketAddr::from(([127, 0, 0, 1], free_port()?));
        let folder = TempDir::new()?;
        let top = folder.path().join("top");
        let site: PathBuf = match addresses {
            UrlLayout::Permalinks => top.clone(),
            UrlLayout::Plain => {
                fs::create_dir(&top)?;
                top.join("blog")
            }
        };
        let (program, site) =
            tokio::task::spawn_blocking(move || program.copy_to(&site).map(|()| (program, site))).await??;
        let php = || {
            let mut php = Command::new("php");
            php.args(["-d", "sendmail_path=/bin/true", "-d", "display_errors=0"])
                .args(["-d", "upload_max_filesize=20M", "-d", "post_max_size=64M"])
                .env("WP_URL", format!("http://127.0.0.1:{public_port}{}", addresses.base()))
                .env("WP_PERMALINKS", addresses.permalinks())
                .current_dir(&site);
            php
        };
        let mut prepare = php();
        prepare.arg(program.prepare_script());
        let facts: Value = serde_json::from_str(&server_process::run(prepare).await?)?;
        let mut server = php();
        server.args(["-S", &listens.to_string(), "-t"]).arg(&top);
        let mut process = ServerProcess::start(server, folder)?;
        let administrator = (text(&facts, "administrator")?.to_owned(), text(&facts, "password")?.to_owned());
        let http = Client::builder().no_proxy().timeout(START_TIMEOUT).build()?;
        let author = integer(&facts, "keeper")?;
        let types = format!("http://{listens}{}/index.php?rest_route=/wp/v2/types", addresses.base());
        process.ready("WordPress", || async { http.get(&types).send().await.ok().map(drop) }).await?;
        let passwords_created = AtomicUsize::new(0);
        Ok(Self { process, addresses, listens, author, passwords_created, administrator, http })
    }

    /// The address where it listens; a proxy at the public address must forward to it.
    pub fn listens(&self) -> SocketAddr {
        self.listens
    }

    /// The path of the site on its host.
    pub fn base(&self) -> &'static str {
        self.addresses.base()
    }

    /// Signs the author in on the site's page.
    pub async fn sign_in(&self, browser: &mut Browser, home: &str) -> Result {
        let page = browser.open(&format!("{home}/wp-login.php")).await?;
        let page = browser.press(&page, "Log In", &[("log", AUTHOR.0), ("pwd", AUTHOR.1)]).await?;
        ensure!(
            page.status.is_success() && page.html.contains("wp-admin"),
            "{}",
            page.test_error("no user is signed in")
        );
        Ok(())
    }

    /// Posts of any status with this text, as editors see them.
    pub async fn posts(&self, search: &str) -> Result<Vec<Value>> {
        let statuses = "publish,future,draft,pending,private";
        self.list("wp/v2/posts", &[("search", search), ("status", statuses), ("context", "edit")]).await
    }

    /// The number of files in the media library.
    pub async fn library(&self) -> Result<usize> {
        Ok(self.list("wp/v2/media", &[("per_page", "100")]).await?.len())
    }

    pub async fn bytes(&self, address: &str) -> Result<(StatusCode, Vec<u8>)> {
        let url = url::Url::parse(address)?;
        let path = &url[url::Position::BeforePath..];
        let response = self.http.get(format!("http://{}{path}", self.listens)).send().await?;
        Ok((response.status(), response.bytes().await?.to_vec()))
    }

    pub fn author(&self) -> i64 {
        self.author
    }

    pub async fn passwords(&self) -> Result<Vec<Value>> {
        self.list(&format!("wp/v2/users/{}/application-passwords", self.author), &[]).await
    }

    pub async fn revoke(&self) -> Result {
        let path = format!("wp/v2/users/{}/application-passwords", self.author);
        let response = self.request_as_administrator(Method::DELETE, &path, &[]).send().await?;
        ensure!(response.status().is_success(), "deleting passwords: {}", response.status());
        Ok(())
    }

    /// Creates an application password of the author, with a name of its own.
    pub async fn create_password(&self) -> Result<String> {
        let name = format!("by hand, {}", self.passwords_created.fetch_add(1, Ordering::SeqCst));
        let path = format!("wp/v2/users/{}/application-passwords", self.author);
        let response = self.request_as_administrator(Method::POST, &path, &[("name", &name)]).send().await?;
        let created = self.parse(&path, response).await?;
        Ok(text(&created, "password")?.to_owned())
    }

    /// Calls the REST API as the administrator. `Value::Null` sends no body.
    pub async fn call(&self, method: Method, path: &str, body: &Value) -> Result<Value> {
        let request = self.request_as_administrator(method, path, &[]);
        let response = if body.is_null() { request } else { request.json(body) }.send().await?;
        self.parse(path, response).await
    }

    pub async fn list(&self, path: &str, query: &[(&str, &str)]) -> Result<Vec<Value>> {
        let response = self.request_as_administrator(Method::GET, path, query).send().await?;
        Ok(serde_json::from_value(self.parse(path, response).await?)?)
    }

    /// Reads a successful response. An error has the last lines of the log, because PHP writes its
    /// own errors only there.
    async fn parse(&self, path: &str, response: Response) -> Result<Value> {
        let status = response.status();
        let body = response.text().await?;
        match serde_json::from_str(&body) {
            Ok(parsed) if status.is_success() => Ok(parsed),
            _ => {
                let log = self.process.log();
                let lines: Vec<_> = log.lines().rev().take(10).collect();
                fail!("{path}: {status} {body:?}; the log, last line first:\n{}", lines.join("\n"))
            }
        }
    }

    fn request_as_administrator(&self, method: Method, path: &str, query: &[(&str, &str)]) -> RequestBuilder {
        let (user, password) = &self.administrator;
        let url = format!("http://{}{}/index.php", self.listens, self.base());
        let request = self.http.request(method, url).query(&[("rest_route", format!("/{path}"))]).query(query);
        request.basic_auth(user, Some(password))
    }
}
