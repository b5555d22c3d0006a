//! An operator starts, watches and stops the service.

use std::{
    fs,
    os::unix::fs::PermissionsExt,
    path::Path,
    process::{Child, Command},
    time::Duration,
};

use super::{METRICS_TOKEN, Machine, account, post};
use crate::{
    deployment::{fresh, missing, targets},
    ensure,
    error::{Result, same},
    harness::free_port,
    http_response::text,
    moment,
    platforms::scenes::{Figures, Scenes},
    tools::AIOSMTPD,
};

pub(super) async fn run(scenes: &mut Scenes<'_>) {
    scenes.measure("the first user signs in with the printed link and publishes", first_post()).await;
    scenes.play("connections are encrypted with a certificate that is renewed", own_certificate()).await;
    scenes.play("a sign-in link arrives by e-mail", link_by_mail()).await;
    scenes.play("every wrong setting is printed", wrong_settings()).await;
    scenes.play("a post that is due during a stop is published once after it", stop_and_start()).await;
    scenes.play("a second process on the same folder is refused", second_process()).await;
    scenes.play("health and doctor say what is wrong", health_and_doctor()).await;
}

async fn first_post() -> Result<Figures> {
    let machine = Machine::new().await?;
    let data = machine.data("data");
    let service = machine.start(&data).await?;
    let deployment = machine.deployment().await?;
    let link = service.first_link()?;
    let user = machine.user(&deployment, &link).await?;
    let again = deployment.browser()?.open(&link).await?;
    same(again.status.as_u16(), 400, "the status of a used link")?;
    let account = account(&machine, &user).await?;
    let (content, picture) = (fresh("first"), user.picture().await?);
    let body = serde_json::json!({
        "content": content, "platforms": targets(&[&account])?, "media": [picture], "scheduled_at": moment::in_seconds(2),
    });
    let id = crate::http_response::integer(&user.create(&body).await?, "id")?;
    let published = user.reaches(id, "published", 30).await?;
    same(machine.public(&content), 1, "public posts")?;
    ensure!(!text(&published["platforms"][0], "platform_post_id")?.is_empty(), "{published}");

    let metrics = |token: &'static str| {
        let url = format!("{}/metrics", machine.origin());
        deployment.http().get(url).header("authorization", format!("Bearer {token}")).send()
    };
    same(metrics("another").await?.status().as_u16(), 401, "metrics with another token")?;
    let shown = metrics(METRICS_TOKEN).await?.text().await?;
    for line in
        ["social_published_total{platform=\"mastodon\"} 1", "social_lateness_seconds_count{platform=\"mastodon\"} 1"]
    {
        ensure!(shown.lines().any(|it| it == line), "{line} is not in the metrics:\n{shown}");
    }
    for line in service.log()?.lines().filter(|it| !it.is_empty() && it.starts_with('{')) {
        let _: serde_json::Value = serde_json::from_str(line)?;
    }
    Ok(vec![("ms from start to ready", i64::try_from(service.started_in.as_millis())?)])
}

/// The API, the pages and uploads work without a proxy, and a renewed certificate is used without a restart.
async fn own_certificate() -> Result {
    let machine = Machine::new().await?;
    let (certificate, key) = (machine.data("certificate.pem"), machine.data("key.pem"));
    let issue = || -> Result<Vec<u8>> {
        let issued = rcgen::generate_simple_self_signed(["localhost".to_owned()])?;
        fs::write(&certificate, issued.cert.pem())?;
        fs::write(&key, issued.key_pair.serialize_pem())?;
        Ok(issued.cert.der().to_vec())
    };
    let first = issue()?;
    let setting = |path: &Path| path.display().to_string();
    let machine = machine.with_settings(vec![("TLS_CERTIFICATE", setting(&certificate)), ("TLS_KEY", setting(&key))]);
    let data = machine.data("data");
    let service = machine.start(&data).await?;
    machine.run(&data, &["health"])?;
    let deployment = machine.deployment().await?;
    let user = machine.user(&deployment, &service.first_link()?).await?;
    user.picture().await?;

    let shown = async || -> Result<Vec<u8>> {
        let client = reqwest::Client::builder().tls_danger_accept_invalid_certs(true).tls_info(true).build()?;
        let response = client.get(format!("{}/health", machine.origin())).send().await?;
        let info = response.extensions().get::<reqwest::tls::TlsInfo>();
        Ok(info.and_then(|it| it.peer_certificate()).unwrap_or_default().to_vec())
    };
    ensure!(shown().await? == first, "the first certificate is not shown");
    let renewed = issue()?;
    moment::eventually(Duration::from_secs(30), "the renewed certificate", || async {
        Ok((shown().await? == renewed).then_some(()))
    })
    .await
}

/// The e-mail passes a real SMTP server.
async fn link_by_mail() -> Result {
    let machine = Machine::new().await?;
    let (mails, port) = (machine.data("mails"), free_port()?);
    let mut server = Command::new(AIOSMTPD.program()?);
    server.args(["--nosetuid", "--listen", &format!("127.0.0.1:{port}"), "--class", "aiosmtpd.handlers.Mailbox"]);
    let _server = Running(server.arg(&mails).spawn()?);
    moment::eventually(Duration::from_secs(30), "the start of the SMTP server", || async {
        Ok(std::net::TcpStream::connect(("127.0.0.1", port)).ok())
    })
    .await?;
    let settings = vec![
        ("SMTP_URL", format!("smtp://127.0.0.1:{port}")),
        ("SMTP_FROM", "Social <social@example.com>".to_owned()),
        ("SIGN_UP_ALLOWED", "example.com".to_owned()),
    ];
    let machine = machine.with_settings(settings);
    let _service = machine.start(&machine.data("data")).await?;
    let deployment = machine.deployment().await?;
    let mut browser = deployment.browser()?;
    let page = browser.open(&format!("{}/sign-in", machine.origin())).await?;
    browser.press(&page, "Send the link", &[("email", "ada@example.com")]).await?;
    let mail = moment::eventually(Duration::from_secs(30), "an e-mail", || async {
        let arrived = fs::read_dir(mails.join("new")).into_iter().flatten().next().transpose()?;
        Ok(arrived.map(|it| fs::read_to_string(it.path())).transpose()?)
    })
    .await?;
    // Long lines are broken, as RFC 2045 says.
    let mail = mail.replace("=\n", "").replace("=3D", "=");
    ensure!(mail.contains("Subject: Your sign-in link") && mail.contains("ada@example.com"), "{mail}");
    let link = mail.split_whitespace().find(|it| it.contains("/sign-in/link?token="));
    let page = browser.open(link.ok_or_else(|| missing("the link"))?).await?;
    let page = browser.press(&page, "Sign in", &[]).await?;
    ensure!(page.html.contains("ada@example.com"), "{}", page.test_error("the link did not sign in"));
    Ok(())
}

/// Killed when this is dropped.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

async fn wrong_settings() -> Result {
    let machine = Machine::new().await?;
    let mut command = machine.command(&machine.data("data"), &[])?;
    let output = command
        .env("ORIGIN", "http://social.example")
        .env("LISTEN", "everywhere")
        .env("PLATFORM_SECRETS_FILE", "/does/not/exist")
        .output()?;
    let printed = String::from_utf8_lossy(&output.stderr).into_owned();
    same(output.status.code(), Some(2), "the exit code")?;
    ensure!(printed.contains("PLATFORM_SECRETS_FILE (/does/not/exist)"), "{printed}");
    let output = command.env_remove("PLATFORM_SECRETS_FILE").output()?;
    let printed = String::from_utf8_lossy(&output.stderr).into_owned();
    for part in ["ORIGIN", "https://", "LISTEN"] {
        ensure!(printed.contains(part), "{part} is not in {printed}");
    }
    ensure!(!machine.data("data").exists(), "a folder was created");
    Ok(())
}

async fn stop_and_start() -> Result {
    let machine = Machine::new().await?;
    let data = machine.data("data");
    let service = machine.start(&data).await?;
    let deployment = machine.deployment().await?;
    let user = machine.user(&deployment, &service.first_link()?).await?;
    let account = account(&machine, &user).await?;
    let (content, later) = (fresh("stop"), fresh("after"));
    let first = post(&user, &account, &content, 1_500).await?;
    let second = post(&user, &account, &later, 8_000).await?;
    let stopped = service.terminate().await?;
    ensure!(stopped < Duration::from_secs(30), "stopping took {stopped:?}");

    let service = machine.start(&data).await?;
    user.reaches(first, "published", 120).await?;
    user.reaches(second, "published", 120).await?;
    same((machine.public(&content), machine.public(&later)), (1, 1), "public posts")?;
    ensure!(!service.log()?.contains("/sign-in/link"), "a link is printed at the first start only");
    Ok(())
}

async fn second_process() -> Result {
    let machine = Machine::new().await?;
    let data = machine.data("data");
    let _service = machine.start(&data).await?;
    let output = machine.command(&data, &[])?.env("LISTEN", "127.0.0.1:0").output()?;
    let printed = String::from_utf8_lossy(&output.stderr).into_owned();
    ensure!(!output.status.success() && printed.contains("another process uses"), "{printed}");
    Ok(())
}

async fn health_and_doctor() -> Result {
    let machine = Machine::new().await?;
    let data = machine.data("data");
    ensure!(!machine.output(&data, &["health"])?.status.success(), "healthy without a process");
    // Neither creates a folder, which would lose the link of the first user.
    for arguments in [["sign-in-link", "one@example.com"].as_slice(), &["backup", "-"], &["doctor"]] {
        let output = machine.output(&data, arguments)?;
        ensure!(!output.status.success() && !data.exists(), "{arguments:?} created {}", data.display());
    }
    let _service = machine.start(&data).await?;
    machine.run(&data, &["health"])?;
    let mut doctor = machine.command(&data, &["doctor"])?;
    // No platform is reached from here, so none is asked.
    let output = doctor.env("PLATFORMS", r#"{"mastodon": {}}"#).output()?;
    let printed = String::from_utf8_lossy(&output.stdout).into_owned();
    for line in [
        "ok    configuration: valid",
        "ok    disk: ",
        "ok    permissions: ",
        "ok    origin: ",
        "is in use by the running service",
    ] {
        ensure!(printed.contains(line), "{line} is not in\n{printed}");
    }
    ensure!(output.status.success(), "{printed}");
    fs::set_permissions(&data, fs::Permissions::from_mode(0o755))?;
    let sandbox = r#"{"sandbox": {"url": "http://localhost:9/sandbox"}}"#;
    let output = doctor.env("ORIGIN", "http://localhost:9").env("PLATFORMS", sandbox).output()?;
    let printed = String::from_utf8_lossy(&output.stdout).into_owned();
    for line in ["FAIL  origin: http://localhost:9", "FAIL  permissions: ", "FAIL  sandbox app: "] {
        ensure!(printed.contains(line), "{line} is not in\n{printed}");
    }
    ensure!(!output.status.success(), "{printed}");
    Ok(())
}
