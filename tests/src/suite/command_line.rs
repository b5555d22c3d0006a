//! `social`, the command line.

mod imports;
mod profile_export;
mod social;

use std::{
    fs,
    io::{BufRead, BufReader},
    os::unix::fs::PermissionsExt,
    time::Duration,
};

use serde_json::json;
use standardwebhooks::Webhook;
use tokio::net::TcpListener;

use self::social::{CommandResult, SocialCommand, ended};
use super::faults::MEADOW;
use crate::{
    checks,
    deployment::{Deployment, User, fresh, targets, unique_email},
    ensure,
    error::{Result, TestError, same},
    http_response::{integer, list, text},
    moment, picture,
    runner::Check,
    webhook_receiver::received,
};

pub(super) fn checks() -> Vec<Check> {
    let mut all = checks!(
        "cli",
        [
            user_signs_in_by_code_and_signs_out,
            login_for_drafts_limits_an_assistant_to_drafts,
            token_is_stored_in_the_keyring_if_available,
            token_is_sent_to_its_deployment_only,
            post_is_published_with_its_image,
            draft_from_stdin_is_changed_scheduled_cancelled_and_deleted,
            thread_is_published_shown_and_changed,
            times_are_parsed_as_written,
            dry_run_stores_nothing,
            accounts_are_selected_by_name_and_disconnected,
            account_is_connected,
            json_output_is_the_api_response,
            exit_code_shows_the_result,
            request_without_response_is_made_once,
            completions_and_manual_pages_are_written,
        ]
    );
    all.extend(imports::checks());
    all.extend(profile_export::checks());
    all.extend(checks!("cli", MEADOW.0, [watched_post_fails_and_is_retried]));
    all
}

/// Checks with a webhook endpoint on this machine.
pub(super) fn local_checks() -> Vec<Check> {
    checks!("cli", [webhook_events_are_forwarded])
}

async fn user_signs_in_by_code_and_signs_out(deployment: &Deployment) -> Result {
    let social = SocialCommand::at(deployment.origin())?;
    let email = unique_email();
    let ran = signs_in(deployment, &social, &email, &["login", "--no-browser"]).await?;
    ensure!(ran.code == 0 && ran.out.contains(&email), "login ended with {ran:?}");

    let file = social.folder().join("social").join("profiles.json");
    same(fs::metadata(&file)?.permissions().mode() & 0o777, 0o600, "mode of the file with the token")?;
    let status = social.done(&["status"]).await?;
    ensure!(status.contains(&email) && status.contains("profiles.json"), "status is {status:?}");

    social.done(&["logout"]).await?;
    social.fails(3, "not signed in", &["status"]).await?;
    let saved = fs::read_to_string(&file)?;
    ensure!(!saved.contains("sp_"), "the token is still in the file");
    ensure!(saved.contains(deployment.origin()), "the next login needs --url again: {saved}");
    Ok(())
}

/// Runs `login`, and approves the request in a browser.
async fn signs_in(
    deployment: &Deployment,
    social: &SocialCommand,
    email: &str,
    command: &[&str],
) -> Result<CommandResult> {
    let mut child = social.start(command)?;
    let stderr = child.stderr.take().ok_or_else(|| TestError::new("no standard error"))?;
    let (line, stderr) = tokio::task::spawn_blocking(move || {
        let mut stderr = BufReader::new(stderr);
        let mut line = String::new();
        stderr.read_line(&mut line).map(|_| (line, stderr))
    })
    .await??;
    let address = line.trim().strip_prefix("Open ").ok_or_else(|| TestError::new(format!("it printed {line:?}")))?;
    let mut browser = deployment.browser()?;
    let page = deployment.sign_in(&mut browser, address, email).await?;
    let page = browser.press(&page, "Continue", &[]).await?;
    browser.press(&page, "Approve", &[]).await?;
    let ran = ended(child).await;
    drop(stderr);
    ran
}

async fn login_for_drafts_limits_an_assistant_to_drafts(deployment: &Deployment) -> Result {
    let social = SocialCommand::at(deployment.origin())?;
    let hello = json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
        "protocolVersion": "2025-11-25",
        "capabilities": {},
        "clientInfo": { "name": "planner", "version": "1.0.0" },
    } });
    let hello = format!("{hello}\n");
    let ran = signs_in(deployment, &social, &unique_email(), &["login", "--no-browser", "--drafts"]).await?;
    same(ran.code, 0, "the exit code of login")?;

    let drafts = "user:read, connections:read, posts:read, posts:draft, media:write";
    let status = social.done(&["status"]).await?;
    ensure!(status.trim_end().ends_with(&format!("for {drafts}")), "status is {status:?}");
    social.fails(4, "connections:write", &["connect", "sandbox", "--no-browser"]).await?;
    for command in [&["mcp", "--drafts"][..], &["mcp"]] {
        let ran = social.reading(&hello, command).await?;
        ensure!(ran.out.contains("protocolVersion") && ran.err.contains(drafts), "{command:?}: {ran:?}");
        ensure!(!ran.err.contains("login --drafts"), "{command:?} advises what is done: {ran:?}");
    }

    // A login with all scopes is refused, or reported.
    let mut user = deployment.new_user().await?;
    let full = SocialCommand::for_user(&user)?;
    let ran = full.fails(2, "posts:write", &["mcp", "--drafts"]).await?;
    ensure!(ran.out.is_empty() && ran.err.contains("login --drafts"), "the refusal: {ran:?}");
    let ran = full.reading(&hello, &["mcp"]).await?;
    let is_said = ran.err.contains("posts:write") && ran.err.contains("login --drafts");
    ensure!(ran.out.contains("protocolVersion") && is_said, "mcp does not report its scopes: {ran:?}");
    // A token whose scopes cannot be read is refused, too.
    let email = user.email.clone();
    let silent = deployment.grant(&mut user.browser, &email, &["posts:read"]).await?;
    let silent = full.token(Some(silent.token()));
    silent.fails(2, "user:read", &["mcp", "--drafts"]).await?;
    Ok(())
}

async fn token_is_stored_in_the_keyring_if_available(deployment: &Deployment) -> Result {
    let user = deployment.new_user().await?;
    let programs = tempfile::TempDir::new()?;
    // Like `secret-tool` of libsecret: the secret arrives on standard input.
    let tool = programs.path().join("secret-tool");
    let script = "#!/bin/sh\nf=\"$(dirname \"$0\")/kept\"\ncase \"$1\" in store) cat > \"$f\";; lookup) cat \"$f\";; \
                  clear) rm -f \"$f\";; esac\n";
    fs::write(&tool, script)?;
    fs::set_permissions(&tool, fs::Permissions::from_mode(0o755))?;
    let social = SocialCommand::at(deployment.origin())?.programs(programs.path());

    let ran = social.reading(user.api.token(), &["login", "--with-token"]).await?;
    ensure!(ran.code == 0 && !ran.err.contains("No keyring"), "login ended with {ran:?}");

    let file = fs::read_to_string(social.folder().join("social").join("profiles.json"))?;
    ensure!(!file.contains("sp_"), "the token is in the file, too");
    same(fs::read_to_string(programs.path().join("kept"))?, user.api.token().to_owned(), "content of the keyring")?;
    ensure!(social.done(&["status"]).await?.contains("the keyring"), "status does not say where the token is");
    social.done(&["logout"]).await?;
    ensure!(!programs.path().join("kept").exists(), "the keyring still has the token");
    Ok(())
}

async fn token_is_sent_to_its_deployment_only(deployment: &Deployment) -> Result {
    let user = deployment.new_user().await?;
    let social = SocialCommand::at(deployment.origin())?;
    let ran = social.reading(user.api.token(), &["login", "--with-token"]).await?;
    ensure!(ran.code == 0 && ran.err.contains("profiles.json"), "login says nothing of the file: {ran:?}");
    social.fails(3, "not signed in at http://localhost:1", &["--url", "http://localhost:1", "status"]).await?;
    social.fails(2, "use https://", &["--url", "http://social.example", "status"]).await?;
    Ok(())
}

async fn post_is_published_with_its_image(deployment: &Deployment) -> Result {
    let mut user = deployment.new_user().await?;
    let account = user.connect(0).await?;
    let social = SocialCommand::for_user(&user)?;
    social.file("harbour.png", picture::png(64, 48, [30, 120, 90]))?;
    let content = fresh("from a terminal");
    let to = format!("sandbox/{}", text(&account, "username")?);

    let command =
        ["post", &content, "--to", &to, "--media", "harbour.png", "--alt", "A boat", "--option", "sandbox:language=en"];
    let post = social.json(&command).await?;
    let post = user.reaches(integer(&post, "id")?, "published", 30).await?;

    same(&post["platforms"][0]["options"], &json!({ "language": "en" }), "options")?;
    let shown = deployment.appears(&content, 10).await?;
    same(&shown["media"][0]["alt_text"], &json!("A boat"), "alt text")?;
    let id = post["id"].to_string();
    let shown = social.done(&["posts", "show", &id]).await?;
    ensure!(shown.contains("published") && shown.contains(&to), "posts show says {shown:?}");
    let listed = social.done(&["posts", "list", "--status", "published"]).await?;
    ensure!(listed.contains(&id), "posts list says {listed:?}");
    let attempts = social.done(&["posts", "attempts", &id]).await?;
    ensure!(attempts.contains("publish") && attempts.contains("accepted"), "posts attempts says {attempts:?}");
    let attempts = social.json(&["posts", "attempts", &id, "--per-page", "1"]).await?;
    same(&attempts["data"][0]["step"], &json!("publish"), "the newest attempt")?;
    Ok(())
}

async fn watched_post_fails_and_is_retried(deployment: &Deployment) -> Result {
    let mut user = deployment.new_user().await?;
    let account = user.connect(MEADOW.1).await?;
    let social = SocialCommand::for_user(&user)?;
    deployment.arm(&json!({ "account": text(&account, "username")?, "kind": "refuse", "count": 1 })).await?;

    let ran = social.fails(4, "social posts retry", &["post", "Hello", "--to", "sandbox", "--watch"]).await?;
    ensure!(ran.out.contains(": failed"), "the failed post is not shown: {ran:?}");
    let id = integer(&list(&social.json(&["posts", "list"]).await?, "data")?[0], "id")?.to_string();
    let published = social.json(&["posts", "retry", &id, "--watch"]).await?;

    same(&published["status"], &json!("published"), "status after the retry")?;
    let shown = social.done(&["posts", "show", &id, "--watch"]).await?;
    ensure!(shown.contains(": published") && !shown.contains('\u{1b}'), "posts show says {shown:?}");
    social.fails(2, "only a failed post can be retried", &["posts", "retry", &id]).await?;
    Ok(())
}

async fn draft_from_stdin_is_changed_scheduled_cancelled_and_deleted(deployment: &Deployment) -> Result {
    let mut user = deployment.new_user().await?;
    user.connect(0).await?;
    let social = SocialCommand::for_user(&user)?;

    let created = social.reading("two\nlines\n", &["post", "--draft", "--json"]).await?;
    let created: serde_json::Value = serde_json::from_str(&created.out)?;
    same(&created["content"], &json!("two\nlines"), "text")?;
    let (id, number) = (created["id"].to_string(), integer(&created, "id")?);

    let changed =
        social.json(&["posts", "edit", &id, "--text", "another", "--to", "sandbox", "--at", "in 2 hours"]).await?;
    same((&changed["content"], &changed["status"]), (&json!("another"), &json!("scheduled")), "after the change")?;
    social.fails(2, "nothing to change", &["posts", "edit", &id]).await?;
    social.done(&["posts", "cancel", &id]).await?;
    same(&user.show(number).await?["status"], &json!("draft"), "after cancelling")?;
    let tags = ["--external-id", "order 4711", "--label", "spring", "--label", "offer"];
    let changed = social.json(&[["posts", "edit", &id].as_slice(), &tags].concat()).await?;
    same(&changed["external_id"], &json!("order 4711"), "external id")?;
    same(&changed["labels"], &json!(["spring", "offer"]), "labels")?;
    let shown = social.done(&["posts", "show", &id]).await?;
    ensure!(shown.contains("External id: order 4711\nLabels: spring, offer\n"), "posts show says {shown:?}");
    for (filter, value, count) in [
        ("--external-id", "order 4711", 1),
        ("--external-id", "order", 0),
        ("--label", "offer", 1),
        ("--label", "off", 0),
    ] {
        let listed = social.json(&["posts", "list", filter, value]).await?;
        same(integer(&listed["meta"], "total")?, count, &format!("posts with {filter} {value}"))?;
    }
    social.fails(2, "a value is required", &["posts", "list", "--label", ""]).await?;
    let changed = social.json(&["posts", "edit", &id, "--external-id", "", "--label", ""]).await?;
    same((&changed["external_id"], &changed["labels"]), (&json!(null), &json!([])), "after the removal")?;
    social.done(&["posts", "delete", &id]).await?;
    user.api.get(&format!("/posts/{id}")).await?.is(404)?;
    social.fails(4, &format!("There is no post {id}"), &["posts", "delete", &id]).await?;
    Ok(())
}

async fn thread_is_published_shown_and_changed(deployment: &Deployment) -> Result {
    let mut user = deployment.new_user().await?;
    user.connect(0).await?;
    let social = SocialCommand::for_user(&user)?;
    let (one, two, three) = (fresh("one"), fresh("two"), fresh("three"));
    social.file("thread.txt", format!("{one}\n---\n{two}\n\nstill two\n---\n{three}\n"))?;
    social.file("gap.txt", format!("{one}\n---\n---\n{three}\n"))?;
    let replies = |texts: &[&str]| texts.iter().map(|it| json!({ "content": it, "media": [] })).collect::<Vec<_>>();

    let posted = social.json(&["post", &one, "--to", "sandbox", "--next", &two, "--next", &three]).await?;
    same(&posted["thread"], &json!(replies(&[&two, &three])), "replies of --next")?;
    let id = integer(&posted, "id")?;
    user.reaches(id, "published", 60).await?;
    let shown = social.done(&["posts", "show", &id.to_string()]).await?;
    for expected in [&format!("Reply 1\n\n{two}\n"), "    post: published  ", "    reply 2: published  "] {
        ensure!(shown.contains(expected), "posts show does not say {expected:?}: {shown}");
    }
    let listed = social.done(&["posts", "list"]).await?;
    ensure!(listed.contains("THREAD") && listed.contains("3/3 public"), "posts list says {listed:?}");

    let draft = social.json(&["post", "--draft", "--thread", "thread.txt"]).await?;
    same(&draft["content"], &json!(one), "text of --thread")?;
    same(&draft["thread"], &json!(replies(&[&format!("{two}\n\nstill two"), &three])), "replies of --thread")?;
    let id = draft["id"].to_string();
    for (arguments, expected) in [
        (["--text", "another"].as_slice(), 2),
        (&["--next", "four"], 1),
        (&["--thread", "thread.txt"], 2),
        (&["--no-thread"], 0),
    ] {
        let changed = social.json(&[&["posts", "edit", &id], arguments].concat()).await?;
        same(list(&changed, "thread")?.len(), expected, &format!("replies after {arguments:?}"))?;
    }

    social.fails(2, "cannot be used with", &["post", "x", "--draft", "--thread", "thread.txt"]).await?;
    social.fails(2, "gap.txt: reply 1 is empty", &["post", "--draft", "--thread", "gap.txt"]).await?;
    social.fails(2, "give each --next a text", &["post", "x", "--draft", "--next", " "]).await?;
    Ok(())
}

async fn times_are_parsed_as_written(deployment: &Deployment) -> Result {
    let mut user = deployment.new_user().await?;
    user.connect(0).await?;
    let social = SocialCommand::for_user(&user)?;
    let year = moment::now().format("%Y").to_string().parse::<i32>()? + 1;
    let at = |text: &str| ["post", "later", "--to", "all", "--at", text].map(ToOwned::to_owned);
    for (text, expected) in [
        (format!("{year}-12-24 18:00 Europe/Berlin"), format!("{year}-12-24T17:00:00.000Z")),
        (format!("{year}-07-01T18:00:00+02:00"), format!("{year}-07-01T16:00:00.000Z")),
    ] {
        let command = at(&text);
        let post = social.json(&command.each_ref().map(String::as_str)).await?;
        same(&post["scheduled_at"], &json!(expected), &text)?;
    }
    for (text, expected) in
        [("soon", "isn't a time I"), ("tomorrow", "without a time"), ("9:00 Europe/Berlun", "isn't a time zone")]
    {
        let command = at(text);
        social.fails(2, expected, &command.each_ref().map(String::as_str)).await?;
    }
    Ok(())
}

async fn dry_run_stores_nothing(deployment: &Deployment) -> Result {
    let mut user = deployment.new_user().await?;
    user.connect(0).await?;
    let social = SocialCommand::for_user(&user)?;

    social.done(&["post", "Hello", "--to", "sandbox", "--dry-run"]).await?;
    let long = "x".repeat(600);
    social.fails(4, "at most 500", &["post", &long, "--to", "sandbox", "--dry-run"]).await?;

    same(integer(&user.api.get("/posts").await?.ok(200)?["meta"], "total")?, 0, "posts")
}

async fn accounts_are_selected_by_name_and_disconnected(deployment: &Deployment) -> Result {
    let mut user = deployment.new_user().await?;
    let (a, b) = (user.connect(0).await?, user.connect(1).await?);
    let social = SocialCommand::for_user(&user)?;

    let listed = social.done(&["connections"]).await?;
    ensure!(listed.contains(text(&a, "username")?) && listed.contains(text(&b, "username")?), "it lists {listed:?}");
    social.fails(2, "matches several accounts", &["post", "x", "--to", "sandbox"]).await?;
    social.fails(2, "not found", &["post", "x", "--to", "elsewhere"]).await?;
    let shown = social.done(&["connections", "show", text(&a, "username")?]).await?;
    ensure!(shown.contains("max_text"), "it shows {shown:?}");
    social.done(&["connections", "disconnect", &a["id"].to_string()]).await?;
    let remaining = social.json(&["connections"]).await?;
    same(list(&remaining, "data")?.len(), 1, "accounts")?;
    ensure!(social.done(&["platforms"]).await?.contains("sandbox"), "platforms does not list the sandbox");
    Ok(())
}

async fn account_is_connected(deployment: &Deployment) -> Result {
    let mut user = deployment.new_user().await?;
    let social = SocialCommand::for_user(&user)?;
    let mut child = social.start(&["connect", "sandbox", "--no-browser"])?;
    let stderr = child.stderr.take().ok_or_else(|| TestError::new("no standard error"))?;
    let line = tokio::task::spawn_blocking(move || {
        let mut line = String::new();
        BufReader::new(stderr).read_line(&mut line).map(|_| line)
    })
    .await??;
    let address = line.trim().strip_prefix("Open ").ok_or_else(|| TestError::new(format!("it printed {line:?}")))?;
    user.consent(&json!({ "authorization_url": address }), 0, "Allow").await?;

    let ran = ended(child).await?;
    ensure!(ran.code == 0 && ran.out.starts_with("Connected sandbox/"), "connect ended with {ran:?}");
    social.fails(4, "There is no platform", &["connect", "elsewhere"]).await?;
    Ok(())
}

async fn json_output_is_the_api_response(deployment: &Deployment) -> Result {
    let user = deployment.new_user().await?;
    let social = SocialCommand::for_user(&user)?;
    for (command, path) in [
        (["posts", "list"].as_slice(), "/posts"),
        (&["connections"], "/connections"),
        (&["platforms"], "/platforms"),
        (&["status"], "/user"),
        (&["webhooks", "list"], "/webhooks"),
        (&["webhooks", "key"], "/webhooks/key"),
    ] {
        let response = user.api.get(path).await?.is(200)?.text;
        same(social.done(&[command, &["--json"]].concat()).await?.trim_end(), response.as_str(), path)?;
    }
    Ok(())
}

async fn exit_code_shows_the_result(deployment: &Deployment) -> Result {
    let user = deployment.new_user().await?;
    let social = SocialCommand::for_user(&user)?;
    social.fails(2, "name an account with --to", &["post", "x"]).await?;
    social.fails(2, "isn't an option", &["post", "x", "--draft", "--option", "language"]).await?;
    social.fails(2, "use .jpg", &["post", "x", "--draft", "--media", "notes.txt"]).await?;
    social.fails(2, "unrecognized", &["publish"]).await?;
    social.fails(4, "content", &["post", " ", "--draft"]).await?;
    social.fails(4, "There is no post 1", &["posts", "show", "1"]).await?;
    social.fails(4, "There is no webhook 1", &["webhooks", "test", "1"]).await?;
    social.fails(2, "isn't the id of a post", &["posts", "show", "abc"]).await?;
    let nobody = SocialCommand::at("http://127.0.0.1:9")?.token(Some("sp_x"));
    nobody.fails(1, "nothing was changed", &["post", "x", "--draft"]).await?;
    let stranger = SocialCommand::at(deployment.origin())?.token(Some("sp_x"));
    stranger.fails(3, "social login", &["status"]).await?;
    SocialCommand::at(deployment.origin())?.fails(3, "social login", &["posts", "list"]).await?;
    let reader = deployment.new_user_with(&["posts:read"]).await?;
    SocialCommand::for_user(&reader)?.fails(4, "posts:write", &["post", "x", "--draft"]).await?;
    Ok(())
}

async fn request_without_response_is_made_once(deployment: &Deployment) -> Result {
    let user = deployment.new_user().await?;
    // Accepts every connection and closes it.
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let silent = SocialCommand::at(&format!("http://{}", listener.local_addr()?))?.token(Some(user.api.token()));
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let _ = tokio::io::AsyncReadExt::read(&mut stream, &mut [0; 4096]).await;
        }
    });

    let ran = silent.fails(5, "run the same command with --key", &["post", "x", "--draft"]).await?;

    let after = ran.err.split("--key ").nth(1).unwrap_or_default();
    let key = after.split([':', ';']).next().unwrap_or_default().trim();
    let social = SocialCommand::for_user(&user)?;
    let again = ["post", "x", "--draft", "--key", key];
    let (first, second) = (social.json(&again).await?, social.json(&again).await?);
    same(&first["id"], &second["id"], "the post of the same key")?;
    social.fails(4, "idempotency-key", &["post", "y", "--draft", "--key", key]).await?;
    Ok(())
}

async fn completions_and_manual_pages_are_written(deployment: &Deployment) -> Result {
    let social = SocialCommand::at(deployment.origin())?;
    for shell in ["bash", "zsh", "fish"] {
        ensure!(social.done(&["completions", shell]).await?.contains("webhooks"), "{shell} completes nothing");
    }
    social.done(&["man", "pages"]).await?;
    let page = fs::read_to_string(social.folder().join("pages").join("social-import.1"))?;
    ensure!(page.contains("report"), "the page of import says nothing of the report");
    Ok(())
}

async fn webhook_events_are_forwarded(deployment: &Deployment) -> Result {
    let files = deployment.files().ok_or_else(|| TestError::new("there is no server of the tests"))?;
    let mut user = deployment.new_user().await?;
    let connection = user.connect(0).await?;
    let social = SocialCommand::for_user(&user)?;
    let (there, here) = (fresh("there"), fresh("here"));
    let endpoint = format!("http://{files}/webhooks/{there}/accepts");
    let webhook = social.json(&["webhooks", "create", &endpoint, "--event", "post.published"]).await?;
    let (secret, id) = (text(&webhook, "secret")?, webhook["id"].to_string());
    ensure!(
        social.done(&["webhooks", "list"]).await?.contains("unverified"),
        "the list does not say that it is unverified"
    );
    social.done(&["webhooks", "test", &id]).await?;
    moment::eventually(Duration::from_secs(20), "that the webhook is enabled", || async {
        Ok(social.done(&["webhooks", "show", &id]).await?.contains("enabled").then_some(()))
    })
    .await?;
    publish_post(&user, &connection, "before").await?;

    let forward = format!("http://{files}/webhooks/{here}/accepts");
    let mut child = social.start(&["listen", "--forward", &forward, "--every", "1", "--secret", secret])?;
    let stderr = child.stderr.take().ok_or_else(|| TestError::new("no standard error"))?;
    tokio::task::spawn_blocking(move || BufReader::new(stderr).read_line(&mut String::new())).await??;
    let post = publish_post(&user, &connection, "after").await?;
    let forwarded = moment::eventually(Duration::from_secs(20), "a forwarded message", || async {
        Ok(received(&here).into_iter().next())
    })
    .await;
    child.kill()?;
    let _ = child.wait();

    let forwarded = forwarded?;
    let verifier = Webhook::new(secret).map_err(|it| TestError::new(it.to_string()))?;
    verifier.verify(forwarded.body.as_bytes(), &forwarded.headers).map_err(|it| TestError::new(it.to_string()))?;
    let payload: serde_json::Value = serde_json::from_str(&forwarded.body)?;
    same(&payload["data"]["post_id"], &json!(post), "the post, which is not the one before")?;
    let listed = social.done(&["webhooks", "deliveries", &webhook["id"].to_string()]).await?;
    ensure!(listed.contains("post.published"), "deliveries lists {listed:?}");
    social.done(&["webhooks", "delete", &webhook["id"].to_string()]).await?;
    Ok(())
}

async fn publish_post(user: &User<'_>, connection: &serde_json::Value, content: &str) -> Result<i64> {
    let body = json!({
        "content": fresh(content), "platforms": targets(&[connection])?, "scheduled_at": moment::in_seconds(0),
    });
    let id = integer(&user.create(&body).await?, "id")?;
    user.reaches(id, "published", 30).await?;
    Ok(id)
}
