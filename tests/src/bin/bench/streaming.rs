//! The memory that a large video needs on its way from our store to a platform.

use std::{
    fs,
    path::PathBuf,
    time::{Duration, Instant},
};

use clap::Args;
use domain::clock::Clock;
use fakes::conformance::fake_platform::FakePlatform;
use fakes::mastodon::{Flavor, Server};
use futures::stream;
use serde_json::{Value, json};
use tests::{
    deployment::{Deployment, fresh, targets},
    ensure,
    error::Result,
    harness::{Harness, LIFTED},
    http_response::{integer, text},
    moment,
    platforms::connecting::connect,
    report::say,
};

/// Limit of the growth of the process.
const LIMIT_MB: u64 = 64;

const PIECE: usize = 1 << 16;

/// Publishes a large video from our store to a Mastodon server
#[derive(Args)]
pub(crate) struct Options {
    /// Size of the video in megabytes
    #[arg(long, default_value_t = 1024)]
    megabytes: u64,
    /// Write the figures to this file
    #[arg(long)]
    json: Option<PathBuf>,
}

/// Measures the memory of the whole local stack, the store included.
pub(crate) async fn run(options: &Options) -> Result {
    let server = Server::start_as(Flavor::Roomy, Clock::System).await;
    let settings = json!({ "mastodon": server.settings() }).to_string();
    let addresses: Vec<_> = server.addresses().iter().map(ToString::to_string).collect();
    let mut arguments = vec!["--platforms", settings.as_str()];
    arguments.extend(addresses.iter().flat_map(|it| ["--allow-fetch-from", it.as_str()]));
    arguments.extend(LIFTED);
    let local = Harness::start(&arguments).await?;
    let deployment = Deployment::new(local.ready().clone()).await?;
    let user = deployment.new_user().await?;
    let connection = connect(&user, &server).await?;

    let size = options.megabytes << 20;
    let target = user.api.post("/media", &json!({ "mime_type": "video/mp4" })).await?.ok(201)?;
    upload(&deployment, &target, size).await?;
    let content = fresh("streamed");
    let body = json!({
        "content": content,
        "platforms": targets(&[&connection])?,
        "media": [text(&target, "path")?],
        "scheduled_at": moment::in_seconds(0),
    });
    reset_peak_memory(&local)?;
    let before = memory_mb(&local, "VmHWM:")?;
    let started = Instant::now();
    let id = integer(&user.create(&body).await?, "id")?;
    user.reaches(id, "published", 600).await?;
    let took = started.elapsed();
    let peak = memory_mb(&local, "VmHWM:")?;

    let public = server.public_posts();
    let arrived = public.iter().find(|it| it.text == content).map_or(0, |it| it.media[0].bytes.len() as u64);
    ensure!(arrived == size, "{arrived} of {size} bytes arrived");
    let figures = json!({
        "megabytes": options.megabytes,
        "seconds": took.as_secs_f64(),
        "resident_mb_before": before,
        "resident_mb_peak": peak,
        "limit_mb": LIMIT_MB,
    });
    say(&format!(
        "{} MB from the store to a platform in {:.1} s: at most {peak} MB resident, {before} MB before.",
        options.megabytes,
        took.as_secs_f64()
    ));
    if let Some(file) = &options.json {
        fs::write(file, format!("{figures:#}\n"))?;
    }
    let grown = peak.saturating_sub(before);
    ensure!(grown <= LIMIT_MB, "it grew by {grown} MB of {LIMIT_MB}");
    Ok(())
}

/// Sends a file with a video's signature in pieces.
async fn upload(deployment: &Deployment, target: &Value, size: u64) -> Result {
    let mut first = vec![0; PIECE];
    first[..16].copy_from_slice(b"\0\0\0\x10ftypisom\0\0\x02\0");
    let pieces = usize::try_from(size)? / PIECE;
    let pieces = (0..pieces).map(move |it| if it == 0 { first.clone() } else { vec![it.to_le_bytes()[0]; PIECE] });
    let body = reqwest::Body::wrap_stream(stream::iter(pieces.map(Ok::<_, std::io::Error>)));
    let mut request = deployment.http().put(text(target, "upload_url")?).timeout(Duration::from_mins(10));
    for (name, value) in target["upload_headers"].as_object().into_iter().flatten() {
        request = request.header(name, value.as_str().unwrap_or_default());
    }
    let response = request.header("content-length", size).body(body).send().await?;
    ensure!(response.status().is_success(), "the store responded {}: {}", response.status(), response.text().await?);
    Ok(())
}

/// See proc(5), `clear_refs`.
fn reset_peak_memory(local: &Harness) -> Result {
    fs::write(format!("/proc/{}/clear_refs", local.id()), "5")?;
    Ok(())
}

fn memory_mb(local: &Harness, name: &str) -> Result<u64> {
    let status = fs::read_to_string(format!("/proc/{}/status", local.id()))?;
    let line = status.lines().find(|it| it.starts_with(name)).unwrap_or_default();
    let kilobytes: u64 = line.split_whitespace().nth(1).unwrap_or_default().parse()?;
    Ok(kilobytes / 1024)
}
