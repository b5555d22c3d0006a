//! `social-server`, the service on one machine, as a process with the settings of an operator.

mod backups;
mod image;
mod operation;

use std::{
    fs,
    net::SocketAddr,
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
    process::{Child, Command, Output, Stdio},
    time::{Duration, Instant},
};

use domain::clock::Clock;
use fakes::conformance::fake_platform::FakePlatform;
use fakes::mastodon::Server as Mastodon;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::{
    client::http_client,
    deployment::{Deployment, User, targets},
    ensure,
    error::{Result, TestError},
    fail,
    harness::{Ready, SANDBOX_CLIENT, binary, free_port, resident_mb},
    http_response::integer,
    moment,
    platforms::{connecting::connect, scenes::Scenes},
    program::Common,
    report::Report,
};

pub(crate) const FIRST_USER: &str = "owner@example.com";

const METRICS_TOKEN: &str = "a token of the metrics with enough characters";

/// What an operator has: a folder, settings, and a Mastodon server in the same network.
pub struct Machine {
    /// The files of the container image; `None` for the program that was built here.
    root: Option<PathBuf>,
    folder: TempDir,
    mastodon: Mastodon,
    port: u16,
    /// In addition to the usual ones.
    settings: Vec<(&'static str, String)>,
}

/// Killed when this is dropped.
pub struct Service {
    child: Child,
    log: PathBuf,
    /// From the start of the process until it was ready.
    pub started_in: Duration,
}

impl Machine {
    pub async fn new() -> Result<Self> {
        Self::with_root(None).await
    }

    async fn with_root(root: Option<PathBuf>) -> Result<Self> {
        let mastodon = Mastodon::start(Clock::System).await;
        let port = free_port()?;
        let folder = match &root {
            Some(root) => TempDir::new_in(root.join("data"))?,
            None => TempDir::new()?,
        };
        Ok(Self { root, folder, mastodon, port, settings: Vec::new() })
    }

    /// Accounts are on the sandbox platform at this origin.
    #[must_use]
    pub fn with_sandbox(self, origin: &str) -> Self {
        let platforms = json!({ "sandbox": { "url": format!("{origin}/sandbox") } });
        let (id, secret) = SANDBOX_CLIENT;
        let secrets = json!({ "sandbox": { "client_id": id, "client_secret": secret } });
        self.with_settings(vec![("PLATFORMS", platforms.to_string()), ("PLATFORM_SECRETS", secrets.to_string())])
    }

    #[must_use]
    pub fn with_settings(self, settings: Vec<(&'static str, String)>) -> Self {
        Self { settings, ..self }
    }

    fn origin(&self) -> String {
        let is_encrypted = self.settings.iter().any(|(name, _)| *name == "TLS_KEY");
        format!("{}://localhost:{}", if is_encrypted { "https" } else { "http" }, self.port)
    }

    pub fn data(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub fn command(&self, data: &Path, arguments: &[&str]) -> Result<Command> {
        let private: Vec<_> = self.mastodon.addresses().iter().map(SocketAddr::to_string).collect();
        let (mut command, data) = match &self.root {
            Some(root) => {
                // Another user enters the folder as the root of a namespace.
                let mut chroot = Command::new("unshare");
                if fs::metadata("/proc/self")?.uid() != 0 {
                    chroot.arg("--map-root-user");
                }
                chroot.arg("--root").arg(root).arg("/social-server");
                (chroot, Path::new("/").join(data.strip_prefix(root).unwrap_or(data)))
            }
            None => (Command::new(binary("social-server")?), data.to_owned()),
        };
        command
            .args(arguments)
            .current_dir(self.folder.path())
            .env("DATA", data)
            .env("ORIGIN", self.origin())
            .env("LISTEN", format!("127.0.0.1:{}", self.port))
            .env("PRIVATE_ADDRESSES", private.join(","))
            .env("METRICS_TOKEN", METRICS_TOKEN)
            .env("REQUESTS_PER_MINUTE", "100000000")
            .env("MEDIA_PER_MINUTE", "100000000")
            .envs(self.settings.iter().map(|(name, value)| (name, value)))
            .stdin(Stdio::null());
        Ok(command)
    }

    pub fn output(&self, data: &Path, arguments: &[&str]) -> Result<Output> {
        Ok(self.command(data, arguments)?.output()?)
    }

    /// The command has to succeed.
    pub fn run(&self, data: &Path, arguments: &[&str]) -> Result<String> {
        let output = self.output(data, arguments)?;
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).trim().to_owned();
        ensure!(output.status.success(), "{arguments:?}: {}\n{}", output.status, text(&output.stderr));
        Ok(text(&output.stdout))
    }

    pub async fn start(&self, data: &Path) -> Result<Service> {
        let log = self.folder.path().join("log");
        let started = Instant::now();
        let child = self.command(data, &[])?.stderr(fs::File::create(&log)?).spawn()?;
        let mut service = Service { child, log, started_in: Duration::ZERO };
        let http = http_client(true)?;
        loop {
            let ready = http.get(format!("{}/ready", self.origin())).send().await;
            if ready.is_ok_and(|it| it.status().is_success()) {
                service.started_in = started.elapsed();
                return Ok(service);
            }
            let ended = service.child.try_wait()?;
            if ended.is_some() || Duration::from_mins(1) < started.elapsed() {
                fail!("social-server is not ready ({ended:?}):\n{}", service.log()?);
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    }

    pub async fn deployment(&self) -> Result<Deployment> {
        let origin = self.origin();
        let base_url = format!("{origin}/api/v1");
        Deployment::new(Ready { origin, base_url, token: String::new(), stores: Value::Null }).await
    }

    /// Signs in with a link, and gets a token by the device flow.
    pub async fn user<'a>(&self, deployment: &'a Deployment, link: &str) -> Result<User<'a>> {
        let mut browser = deployment.browser()?;
        let page = browser.open(link).await?;
        let fields: &[_] = if page.form_with_field("email").is_some() { &[("email", FIRST_USER)] } else { &[] };
        let page = browser.press(&page, "Sign in", fields).await?;
        ensure!(page.url.path() == "/account", "{}", page.test_error("the link did not sign in"));
        let api = deployment.grant(&mut browser, FIRST_USER, &[]).await?;
        User::from_token(deployment, api, browser).await
    }

    /// How often the text is public.
    fn public(&self, text: &str) -> usize {
        self.mastodon.public_posts().iter().filter(|it| it.text == text).count()
    }
}

impl Service {
    fn log(&self) -> Result<String> {
        Ok(fs::read_to_string(&self.log)?)
    }

    pub fn resident_mb(&self) -> Result<u64> {
        resident_mb(self.child.id())
    }

    /// Printed once.
    pub fn first_link(&self) -> Result<String> {
        let log = self.log()?;
        let link = log.split_whitespace().find(|it| it.contains("/sign-in/link?token="));
        link.map(str::to_owned).ok_or_else(|| TestError::new(format!("no sign-in link was printed:\n{log}")))
    }

    /// Sends SIGTERM. Returns the time until the process has ended.
    pub async fn terminate(mut self) -> Result<Duration> {
        let asked = Instant::now();
        let sent = Command::new("kill").arg(self.child.id().to_string()).status()?;
        ensure!(sent.success(), "kill: {sent}");
        loop {
            if let Some(status) = self.child.try_wait()? {
                ensure!(status.success(), "after SIGTERM: {status}\n{}", self.log()?);
                return Ok(asked.elapsed());
            }
            ensure!(asked.elapsed() < Duration::from_secs(30), "still running 30 s after SIGTERM");
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

async fn account(machine: &Machine, user: &User<'_>) -> Result<Value> {
    connect(user, &machine.mastodon).await
}

async fn post(user: &User<'_>, connection: &Value, content: &str, due_in_ms: i64) -> Result<i64> {
    let due = moment::now() + chrono::TimeDelta::milliseconds(due_in_ms);
    let body =
        json!({ "content": content, "platforms": targets(&[connection])?, "scheduled_at": moment::written(due) });
    integer(&user.create(&body).await?, "id")
}

pub async fn run_image(image: &Path, report: &mut Report) {
    image::run(image, &mut Scenes { part: "image", report }).await;
}

/// Only the parts that `common` names.
pub async fn run(common: &Common, report: &mut Report) {
    let mut scenes = Scenes { part: "one machine", report };
    if common.wants("operation") {
        operation::run(&mut scenes).await;
    }
    if common.wants("backups") {
        backups::run(&mut scenes).await;
    }
}
