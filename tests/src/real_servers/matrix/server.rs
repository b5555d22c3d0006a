//! Synapse: its process, its user, and what it has stored, read without the proxy.

use std::{
    fs,
    net::SocketAddr,
    path::{Path, PathBuf},
    process::Command,
    sync::{Mutex, PoisonError},
};

use reqwest::{Client, Method, StatusCode};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::{
    ensure,
    error::Result,
    harness::free_port,
    http_response::{list, text},
    server_process::{self, START_TIMEOUT, ServerProcess},
    tools::SYNAPSE,
};

pub const USER: &str = "@keeper:localhost";

pub const PASSWORD: &str = "eight bells, all's well";

/// A running homeserver; it stops when this is dropped.
pub struct Synapse {
    process: ServerProcess,
    listens: SocketAddr,
    http: Client,
    /// Access token of the user's own device.
    token: Mutex<String>,
}

#[derive(Clone, Copy, Debug)]
pub struct SynapseSettings {
    /// Such as `20s`.
    pub access_token_lifetime: &'static str,
    /// Whether messages are limited as by default.
    pub limits_messages: bool,
}

impl Synapse {
    /// Installs Synapse if it is missing, and starts it.
    pub async fn start(settings: SynapseSettings) -> Result<Self> {
        let program = tokio::task::spawn_blocking(|| SYNAPSE.program()).await??;
        let listens = SocketAddr::from(([127, 0, 0, 1], free_port()?));
        let folder = TempDir::new()?;
        let settings = configuration(folder.path(), listens, settings)?;
        let command = || {
            let mut command = Command::new(&program);
            command.arg("--config-path").arg(&settings).current_dir(folder.path());
            command
        };
        let mut generate_keys = command();
        generate_keys.arg("--generate-keys");
        server_process::run(generate_keys).await?;
        let process = ServerProcess::start(command(), folder)?;
        let http = Client::builder().no_proxy().timeout(START_TIMEOUT).build()?;
        let mut server = Self { process, listens, http, token: Mutex::default() };
        let versions = server.http.get(server.url("/_matrix/client/versions"));
        let poll = || async {
            let response = versions.try_clone()?.send().await;
            response.is_ok_and(|it| it.status().is_success()).then_some(())
        };
        server.process.ready("Synapse", poll).await?;
        let mut register = Command::new(program.with_file_name("register_new_matrix_user"));
        let name = USER.trim_start_matches('@').split(':').next().unwrap_or_default();
        register.args(["-u", name, "-p", PASSWORD, "--no-admin", "-k", SHARED_SECRET, &server.url("")]);
        server_process::run(register).await?;
        server.set_token(server.log_in().await?);
        server
            .send(Method::PUT, &format!("profile/{USER}/displayname"), &json!({ "displayname": "The keeper" }))
            .await?;
        Ok(server)
    }

    /// The address where it listens; a proxy must forward to it.
    pub fn listens(&self) -> SocketAddr {
        self.listens
    }

    /// Creates a room as the user; returns its id.
    pub async fn room(&self, name: &str, state: Value) -> Result<String> {
        let room = json!({ "name": name, "preset": "private_chat", "initial_state": state });
        Ok(text(&self.send(Method::POST, "createRoom", &room).await?, "room_id")?.to_owned())
    }

    /// The messages of a room, oldest first.
    pub async fn messages(&self, room: &str) -> Result<Vec<Value>> {
        let mut messages = Vec::new();
        let mut from = String::new();
        loop {
            let page = self.get(&format!("rooms/{room}/messages?dir=f&limit=100{from}")).await?;
            messages.extend(list(&page, "chunk")?.iter().filter(|it| it["type"] == "m.room.message").cloned());
            match page["end"].as_str() {
                Some(end) => from = format!("&from={end}"),
                None => return Ok(messages),
            }
        }
    }

    pub async fn say(&self, room: &str, transaction: &str, text: &str) -> Result {
        let content = json!({ "msgtype": "m.text", "body": text });
        self.send(Method::PUT, &format!("rooms/{room}/send/m.room.message/{transaction}"), &content).await?;
        Ok(())
    }

    /// The messages of a thread as the homeserver lists them, oldest first, without its first event.
    pub async fn thread(&self, room: &str, first_event: &str) -> Result<Vec<Value>> {
        let path = format!("/_matrix/client/v1/rooms/{room}/relations/{first_event}/m.thread?dir=f&limit=100");
        let page = self.send_request(self.http.get(self.url(&path))).await?;
        Ok(list(&page, "chunk")?.to_vec())
    }

    pub async fn file(&self, message: &Value) -> Result<Vec<u8>> {
        let uri = text(&message["content"], "url")?.trim_start_matches("mxc://").to_owned();
        let url = self.url(&format!("/_matrix/client/v1/media/download/{uri}"));
        let answer = self.http.get(url).bearer_auth(self.token()).send().await?;
        ensure!(answer.status().is_success(), "{uri}: {}", answer.status());
        Ok(answer.bytes().await?.to_vec())
    }

    /// The names of the user's devices, except their own.
    pub async fn devices(&self) -> Result<Vec<String>> {
        let devices = self.get("devices").await?;
        let names = list(&devices, "devices")?.iter().filter_map(|it| it["display_name"].as_str());
        Ok(names.filter(|it| *it != OWN).map(ToOwned::to_owned).collect())
    }

    /// Logs out all devices of the user, and continues with a new one.
    pub async fn log_all_out(&self) -> Result {
        self.send(Method::POST, "logout/all", &json!({})).await?;
        self.set_token(String::new());
        self.set_token(self.log_in().await?);
        Ok(())
    }

    fn token(&self) -> String {
        self.token.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn set_token(&self, token: String) {
        *self.token.lock().unwrap_or_else(PoisonError::into_inner) = token;
    }

    async fn log_in(&self) -> Result<String> {
        let body = json!({
            "type": "m.login.password", "identifier": { "type": "m.id.user", "user": USER }, "password": PASSWORD,
            "initial_device_display_name": OWN,
        });
        Ok(text(&self.send(Method::POST, "login", &body).await?, "access_token")?.to_owned())
    }

    async fn get(&self, path: &str) -> Result<Value> {
        self.send_request(self.http.get(self.url(&format!("/_matrix/client/v3/{path}")))).await
    }

    async fn send(&self, method: Method, path: &str, body: &Value) -> Result<Value> {
        self.send_request(self.http.request(method, self.url(&format!("/_matrix/client/v3/{path}"))).json(body)).await
    }

    async fn send_request(&self, request: reqwest::RequestBuilder) -> Result<Value> {
        let token = self.token();
        let request = if token.is_empty() { request } else { request.bearer_auth(token) };
        let response = request.send().await?;
        let (url, status): (_, StatusCode) = (response.url().clone(), response.status());
        let body: Value = response.json().await?;
        ensure!(status.is_success(), "{url}: {status} {body}");
        Ok(body)
    }

    /// The URL of a path, without any proxy.
    pub fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.listens)
    }
}

const OWN: &str = "The keeper's own";

const SHARED_SECRET: &str = "loopback";

/// The configuration file, by which users may sign in and create rooms often.
fn configuration(folder: &Path, listens: SocketAddr, settings: SynapseSettings) -> Result<PathBuf> {
    let at = |name: &str| folder.join(name).display().to_string();
    let often = json!({ "per_second": 1000, "burst_count": 1000 });
    let mut configuration = json!({
        "server_name": "localhost",
        "pid_file": at("pid"),
        "listeners": [{
            "port": listens.port(), "type": "http", "bind_addresses": [listens.ip().to_string()],
            "resources": [{ "names": ["client", "media"], "compress": false }],
        }],
        "database": { "name": "sqlite3", "args": { "database": at("database") } },
        "log_config": at("logging.yaml"),
        "media_store_path": at("media"),
        "signing_key_path": at("signing.key"),
        "registration_shared_secret": SHARED_SECRET,
        "macaroon_secret_key": SHARED_SECRET,
        "form_secret": SHARED_SECRET,
        "report_stats": false,
        "trusted_key_servers": [],
        "suppress_key_server_warning": true,
        "federation_domain_whitelist": [],
        "refreshable_access_token_lifetime": settings.access_token_lifetime,
        "rc_login": { "address": &often, "account": &often },
        "rc_room_creation": &often,
    });
    if !settings.limits_messages {
        configuration["rc_message"] = often;
    }
    let logging = json!({ "version": 1, "root": { "level": "WARNING" }, "disable_existing_loggers": false });
    fs::write(folder.join("logging.yaml"), logging.to_string())?;
    let path = folder.join("homeserver.yaml");
    fs::write(&path, configuration.to_string())?;
    Ok(path)
}
