//! Runs one journey on a real server and on the platform's fake: the server's responses are
//! recorded without account data, and compared with those of the fake.

mod comparison;
mod journey;
mod people;
mod scrub;

use std::{fs, path::PathBuf, sync::Arc};

use clap::Parser;
use domain::{clock::Clock, options::Options as PostOptions, testing::noon};
use fakes::all::start_all;
use fakes::conformance::{adapter_harness::Tunnel, fake_platform::FakePlatform};
use platforms::{
    AppCredentials, PlatformInfo, PlatformSettings,
    recorder::{Exchange, Recorder},
};
use serde_json::Value;

use self::{
    comparison::Comparison,
    journey::{Journey, ServerUnderTest, Step},
    people::{FakeOwner, PromptedOwner},
    scrub::Scrub,
};
use crate::{deployment::missing, ensure, error::Result, real_servers, report::say, template::ROOT};

/// Runs one journey on a real service and on its fake: connect an account, publish a text, an image
/// and a large video, look each of them up, delete them by hand, disconnect. Writes the scrubbed
/// responses that are new to `--recordings`, and prints the differences from the fake. Fails if the
/// journey fails.
///
/// It asks for the values that a user enters. `REAL_<FIELD>` in the environment, such as
/// `REAL_APP_PASSWORD`, sets them instead. Secrets of apps are in the file of `--platform-secrets`.
/// The posts are public: use a test account.
#[derive(Clone, Debug, Parser)]
#[command(name = "tests/real")]
pub struct Options {
    /// The platform, such as `bluesky`.
    pub platform: String,
    /// Start the real server that the tests install, and ask for nothing: `bluesky`, `ghost`, `matrix`
    /// and `wordpress`
    #[arg(long)]
    pub here: bool,
    /// Settings of platforms, as for `cargo dev`: `{"slack": {}}`.
    #[arg(long, value_name = "JSON", default_value = "{}")]
    pub platforms: String,
    /// A file with ids and secrets of apps, as for `cargo dev`: `{"slack": {"client_id": "…", "client_secret": "…"}}`.
    #[arg(long, value_name = "FILE")]
    pub platform_secrets: Option<PathBuf>,
    /// The origin of the redirect URI that is registered for the app,
    /// `ORIGIN/connect/callback/PLATFORM`
    #[arg(long, value_name = "URL", default_value = "http://127.0.0.1:3000")]
    pub origin: String,
    /// Options of the posts, such as `{"channel": "C0123456789"}`. The journey prints the values of
    /// required options
    #[arg(long, value_name = "JSON", default_value = "{}")]
    pub options: String,
    /// A public URL that leads to port 3001 of this machine, for platforms that fetch files.
    #[arg(long, value_name = "URL")]
    pub files_url: Option<String>,
    /// An MP4 that the platform can process. It is enlarged so that it is uploaded in parts
    #[arg(long, value_name = "FILE")]
    pub video: Option<PathBuf>,
    /// The folder for recordings, with one folder per platform
    #[arg(long, value_name = "FOLDER", default_value = "tests/recordings")]
    pub recordings: PathBuf,
}

pub struct Outcome {
    /// Differences in fields that the adapter reads: the fake lacks the field, or has another type.
    pub in_what_is_read: Vec<String>,
    /// Steps that failed on the real server.
    pub failed: Vec<String>,
}

pub async fn run(options: &Options) -> Result<Outcome> {
    let platform = platforms::platform_infos().iter().find(|it| it.name == options.platform);
    let platform = platform.ok_or_else(|| missing("a platform of this name"))?;
    let sources = AdapterSources::load(platform.name)?;
    let (mut scrub, mut fake_scrub) = (sources.scrub(), sources.scrub().for_fake());

    let (steps, source, real) = on_real_server(platform, options, &mut scrub).await?;
    let (fake_steps, fake) = on_fake(platform, options, &mut fake_scrub).await?;

    say(&format!("{:<16} {:<40} fake", "", source));
    let mut failed = Vec::new();
    for step in &steps {
        let fake_outcome = fake_steps.iter().find(|it| it.name == step.name);
        let describe = |it: &Result<String>| it.clone().unwrap_or_else(|it| format!("FAILED: {it}"));
        let fake_outcome = fake_outcome.map_or_else(|| "not played".to_owned(), |it| describe(&it.outcome));
        say(&format!("{:<16} {:<40} {fake_outcome}", step.name, describe(&step.outcome)));
        failed.extend(step.outcome.as_ref().err().map(|it| format!("{}: {it}", step.name)));
    }
    let folder = PathBuf::from(ROOT).join(&options.recordings).join(platform.name);
    fs::create_dir_all(&folder)?;
    let comparison = Comparison { scrub: &scrub, scrub_of_fake: &fake_scrub, read: &sources.adapter };
    for name in comparison.record(&real, &format!("own recording, {source}"), &folder)? {
        say(&format!("recorded {}", options.recordings.join(platform.name).join(name).display()));
    }
    let read_differences = comparison.print(&real, &fake);
    Ok(Outcome { in_what_is_read: read_differences, failed })
}

async fn on_real_server(
    platform: &'static PlatformInfo,
    options: &Options,
    scrub: &mut Scrub,
) -> Result<(Vec<Step>, String, Vec<Exchange>)> {
    if options.here {
        let (name, server) = real_servers::start(platform.name).await?;
        let (steps, exchanges) = with_owner(platform, server, Clock::System, options, scrub).await?;
        return Ok((steps, name.to_owned(), exchanges));
    }
    let mut settings: PlatformSettings = serde_json::from_str(&options.platforms)?;
    let apps: Option<std::collections::BTreeMap<String, AppCredentials>> = match &options.platform_secrets {
        // The error is not printed: it could quote a secret.
        Some(path) => {
            let apps = serde_json::from_slice(&fs::read(path)?).ok();
            ensure!(apps.is_some(), "{} is not as cargo dev wants it", path.display());
            apps
        }
        None => None,
    };
    let config = ServerUnderTest {
        platform,
        settings: settings.remove(platform.name).unwrap_or_else(|| Value::Object([].into_iter().collect())),
        app: apps.and_then(|mut it| it.remove(platform.name)),
        addresses: Vec::new(),
        clock: Clock::System,
        options: serde_json::from_str::<PostOptions>(&options.options)?,
        origin: options.origin.clone(),
        tunnel: Tunnel { port: if options.files_url.is_some() { 3001 } else { 0 }, url: options.files_url.clone() },
        video: options.video.as_ref().map(fs::read).transpose()?,
        person: &PromptedOwner,
    };
    let (steps, exchanges) = play(config, scrub).await?;
    Ok((steps, platform.title.to_owned(), exchanges))
}

async fn on_fake(
    platform: &'static PlatformInfo,
    options: &Options,
    scrub: &mut Scrub,
) -> Result<(Vec<Step>, Vec<Exchange>)> {
    let clock = Clock::manual(noon());
    let fakes = start_all(&clock).await;
    let fake = fakes.into_iter().find(|it| it.name() == platform.name).ok_or_else(|| missing("its fake"))?;
    fake.register_redirect_uri(&format!("{}/connect/callback/{}", options.origin, platform.name));
    with_owner(platform, fake, clock, options, scrub).await
}

/// Plays the journey on a server of this machine, whose user allows everything.
async fn with_owner(
    platform: &'static PlatformInfo,
    server: Arc<dyn FakePlatform>,
    clock: Clock,
    options: &Options,
    scrub: &mut Scrub,
) -> Result<(Vec<Step>, Vec<Exchange>)> {
    let config = ServerUnderTest {
        platform,
        settings: server.settings(),
        app: server.app_credentials(),
        addresses: server.addresses(),
        clock,
        options: server.options(),
        origin: options.origin.clone(),
        tunnel: Tunnel::default(),
        video: None,
        person: &FakeOwner(server),
    };
    play(config, scrub).await
}

async fn play(config: ServerUnderTest<'_>, scrub: &mut Scrub) -> Result<(Vec<Step>, Vec<Exchange>)> {
    let recorder = Recorder::default();
    let steps = recorder.record(Journey::new(config, scrub)?.play()).await;
    Ok((steps, recorder.exchanges()))
}

/// The source of the adapters, which shows which fields they read.
struct AdapterSources {
    all: String,
    adapter: String,
}

impl AdapterSources {
    fn scrub(&self) -> Scrub {
        Scrub::new(&self.all, &self.adapter)
    }

    fn load(platform: &str) -> Result<Self> {
        let folder = PathBuf::from(ROOT).join("libs/platforms/src");
        let mut sources = Self { all: String::new(), adapter: String::new() };
        let is_of_meta = matches!(platform, "facebook" | "instagram" | "threads");
        let mut folders = vec![folder.clone()];
        while let Some(next) = folders.pop() {
            for entry in fs::read_dir(next)? {
                let path = entry?.path();
                if path.is_dir() {
                    folders.push(path);
                    continue;
                }
                let source = fs::read_to_string(&path)?;
                let module = path.strip_prefix(&folder)?.components().next();
                let module = module.map(|it| it.as_os_str().to_string_lossy().trim_end_matches(".rs").to_owned());
                let module = module.unwrap_or_default();
                if module == platform || module == "oauth2" || is_of_meta && module == "meta" {
                    sources.adapter.push_str(&source);
                }
                sources.all.push_str(&source);
            }
        }
        Ok(sources)
    }
}
