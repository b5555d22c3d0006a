//! `social import` and `export`: each line is posted once, even if it is interrupted.

use std::{collections::BTreeMap, fs, time::Duration};

use serde_json::{Value, json};

use super::social::{SocialCommand, ended};
use crate::{
    checks,
    deployment::{Deployment, User, fresh, targets},
    ensure,
    error::{Result, TestError, same},
    http_response::{integer, list, text},
    moment, picture,
    report::say,
    runner::Check,
};

pub(super) fn checks() -> Vec<Check> {
    checks!(
        "cli",
        [
            import_posts_each_line_once,
            import_reports_a_bad_line_and_continues,
            killed_import_posts_each_line_once,
            import_of_an_export_creates_copies_in_the_same_account,
            import_of_an_export_into_another_account_runs_once,
            thread_survives_export_and_import,
        ]
    )
}

async fn count_posts(user: &User<'_>) -> Result<i64> {
    integer(&user.api.get("/posts").await?.ok(200)?["meta"], "total")
}

async fn import_posts_each_line_once(deployment: &Deployment) -> Result {
    let mut user = deployment.new_user().await?;
    let account = user.connect(0).await?;
    let social = SocialCommand::for_user(&user)?;
    social.file("boat.png", picture::png(64, 48, [30, 120, 90]))?;
    let later = moment::written(moment::now() + Duration::from_hours(48));
    let to = format!("sandbox/{}", text(&account, "username")?);
    let table = format!(
        "content,to,at,media,alt,options\nfirst,{to},{later},boat.png,A boat,language=en\nsame,,,,,\nsame,,,,,\n"
    );
    social.file("posts.csv", &table)?;

    let ran = social.run(&["import", "posts.csv"]).await?;
    ensure!(ran.code == 0 && ran.err.contains("3 created, 0 skipped"), "the first import ended with {ran:?}");
    same(count_posts(&user).await?, 3, "posts")?;
    let scheduled = user.api.get("/posts?status=scheduled").await?.ok(200)?;
    let first = &list(&scheduled, "data")?[0];
    same(&first["media"][0]["alt_text"], &json!("A boat"), "alt text")?;
    same(&first["scheduled_at"], &json!(later), "time")?;

    let second_run = social.run(&["import", "posts.csv"]).await?;
    ensure!(
        second_run.code == 0 && second_run.err.contains("0 created, 3 skipped"),
        "the second ended with {second_run:?}"
    );
    // Moved to another folder, with one more line at the top.
    fs::create_dir(social.folder().join("moved"))?;
    for name in ["posts.csv.report.jsonl", "boat.png"] {
        fs::rename(social.folder().join(name), social.folder().join("moved").join(name))?;
    }
    social.file("moved/posts.csv", table.replacen('\n', "\nanother,,,,,\n", 1))?;
    let moved = social.run(&["import", "moved/posts.csv"]).await?;
    ensure!(moved.code == 0 && moved.err.contains("1 created, 3 skipped"), "the moved one ended with {moved:?}");
    // Without a report, the service recognizes the lines by their keys, and the image too.
    fs::remove_file(social.folder().join("moved/posts.csv.report.jsonl"))?;
    let blind = social.run(&["import", "moved/posts.csv"]).await?;
    ensure!(blind.code == 0, "without a report it ended with {blind:?}");
    same(count_posts(&user).await?, 4, "posts")
}

async fn import_reports_a_bad_line_and_continues(deployment: &Deployment) -> Result {
    let mut user = deployment.new_user().await?;
    user.connect(0).await?;
    let social = SocialCommand::for_user(&user)?;
    let long = "x".repeat(600);
    let lines = [
        json!({ "content": "one" }).to_string(),
        json!({ "content": "two", "at": "tomorrow 9:00", "to": "sandbox" }).to_string(),
        "{".to_owned(),
        json!({ "content": "four", "to": "elsewhere" }).to_string(),
        json!({ "content": long, "to": "sandbox", "at": "2031-01-01T09:00:00Z" }).to_string(),
        json!({ "content": "six", "schedule_at": "2031-01-01T09:00:00Z" }).to_string(),
        json!({ "content": "seven" }).to_string(),
    ];
    let file = social.file("posts.jsonl", lines.join("\n"))?;

    let ran = social.run(&["import", "posts.jsonl"]).await?;

    same(ran.code, 4, "exit code")?;
    for message in [
        "posts.jsonl:2: at: ",
        "posts.jsonl:3: ",
        "posts.jsonl:4: to: ",
        "posts.jsonl:5: content: ",
        "posts.jsonl:6: schedule_at: ",
    ] {
        ensure!(ran.err.contains(message), "it does not say {message:?}: {}", ran.err);
    }
    same(count_posts(&user).await?, 2, "posts")?;
    // When the line is corrected, it is posted, and no other.
    fs::write(file, lines.join("\n").replace(&long, "short"))?;
    let ran = social.run(&["import", "posts.jsonl", "--json"]).await?;
    let message: Vec<Value> = ran.out.lines().map(serde_json::from_str).collect::<std::result::Result<_, _>>()?;
    same(message.iter().filter(|it| it["state"] == "posted").count(), 1, "lines that were posted")?;
    same(count_posts(&user).await?, 3, "posts")
}

async fn killed_import_posts_each_line_once(deployment: &Deployment) -> Result {
    const LINES: usize = 60;
    let mut user = deployment.new_user().await?;
    user.connect(0).await?;
    let social = SocialCommand::for_user(&user)?;
    social.file("boat.png", picture::png(64, 48, [30, 120, 90]))?;
    let later = moment::written(moment::now() + Duration::from_hours(48));
    let start = fresh("line");
    let line = |at: usize| {
        let media = if at.is_multiple_of(5) { "boat.png" } else { "" };
        format!("{start} {at},sandbox,{later},{media}\n")
    };
    social.file("posts.csv", format!("content,to,at,media\n{}", (0..LINES).map(line).collect::<String>()))?;

    let mut kills = 0;
    let ran = loop {
        let mut child = social.start(&["import", "posts.csv"])?;
        if kills == 40 {
            break ended(child).await?;
        }
        // At a different moment each time.
        tokio::time::sleep(Duration::from_millis(40 + kills * 67 % 230)).await;
        if child.try_wait()?.is_some() {
            break ended(child).await?;
        }
        child.kill()?;
        child.wait()?;
        kills += 1;
    };

    ensure!(ran.code == 0, "the last run ended with {ran:?}");
    let mut found: BTreeMap<String, usize> = BTreeMap::new();
    for page in 1..=2 {
        let posts = user.api.get(&format!("/posts?per_page=100&page={page}")).await?.ok(200)?;
        for post in list(&posts, "data")? {
            *found.entry(text(post, "content")?.to_owned()).or_default() += 1;
        }
    }
    let twice: Vec<_> = found.iter().filter(|it| *it.1 != 1).collect();
    ensure!(twice.is_empty(), "posted more than once: {twice:?}");
    same(found.len(), LINES, "lines that are posted")?;
    ensure!(3 < kills, "it was killed {kills} times only");
    say(&format!("     {LINES} lines imported, killed {kills} times"));
    Ok(())
}

async fn import_of_an_export_creates_copies_in_the_same_account(deployment: &Deployment) -> Result {
    let mut user = deployment.new_user().await?;
    let account = user.connect(0).await?;
    let later = moment::written(moment::now() + Duration::from_hours(48));
    let to = json!([{ "connected_account_id": account["id"], "options": { "language": "en" } }]);
    user.create(&json!({
        "content": "with, a \"comma\"\nand | a line", "platforms": to, "scheduled_at": later,
        "external_id": "order 4711", "labels": ["spring", "a | b"],
    }))
    .await?;
    let draft = integer(&user.create(&json!({ "content": "a draft" })).await?, "id")?;
    let social = SocialCommand::for_user(&user)?;

    for (name, count) in [("all.csv", 2), ("all.jsonl", 4)] {
        social.done(&["export", name]).await?;
        for command in [["import", name, "--dry-run"].as_slice(), &["import", name], &["import", name]] {
            let ran = social.run(command).await?;
            let message = format!("exist already: {count} (--copies");
            ensure!(ran.code == 0 && ran.err.contains(&message), "{command:?} ended with {ran:?}");
            same(count_posts(&user).await?, count, "posts")?;
        }
        for message in [format!("{count} created, 0 skipped"), format!("0 created, {count} skipped")] {
            let ran = social.run(&["import", name, "--copies"]).await?;
            ensure!(ran.code == 0 && ran.err.contains(&message), "the import of copies ended with {ran:?}");
            same(count_posts(&user).await?, 2 * count, "posts")?;
        }
    }
    let posts = user.api.get("/posts?status=scheduled").await?.ok(200)?;
    for post in list(&posts, "data")? {
        same(&post["content"], &json!("with, a \"comma\"\nand | a line"), "text")?;
        same(&post["scheduled_at"], &json!(later), "time")?;
        same(&post["platforms"][0]["options"], &json!({ "language": "en" }), "options")?;
        same(&post["external_id"], &json!("order 4711"), "external id")?;
        same(&post["labels"], &json!(["spring", "a | b"]), "labels")?;
    }
    let drafts = social.done(&["export", "--status", "draft", "--format", "csv"]).await?;
    same(drafts.lines().count(), 5, "lines of the export")?;
    // A deleted post is created again, and an id that a spreadsheet has rounded is refused.
    user.api.delete(&format!("/posts/{draft}")).await?.is(204)?;
    let ran = social.run(&["import", "all.csv", "--report", "another"]).await?;
    ensure!(ran.code == 0 && ran.err.contains("1 created, 0 skipped"), "it ended with {ran:?}");
    social.file("rounded.csv", "content,id\na draft,3.73429E+14\n")?;
    social.fails(4, "rounded.csv:2: id: ", &["import", "rounded.csv"]).await?;
    Ok(())
}

async fn import_of_an_export_into_another_account_runs_once(deployment: &Deployment) -> Result {
    let (mut from, mut into) = (deployment.new_user().await?, deployment.new_user().await?);
    let account = from.connect(0).await?;
    into.connect(0).await?;
    let later = moment::written(moment::now() + Duration::from_hours(48));
    let to = targets(&[&account])?;
    from.create(&json!({ "content": "to come", "platforms": to, "scheduled_at": later })).await?;
    from.create(&json!({ "content": "a draft" })).await?;
    let public = from.schedule(&fresh("public"), &[&account], 0).await?;
    from.reaches(public, "published", 30).await?;
    let (source, copy) = (SocialCommand::for_user(&from)?, SocialCommand::for_user(&into)?);

    for (name, expected) in [
        ("first.jsonl", "2 created, 0 skipped"),
        // Another export of the same posts.
        ("second.jsonl", "0 created, 2 skipped"),
        ("third.csv", "0 created, 2 skipped"),
    ] {
        source.done(&["export", name]).await?;
        copy.file(name, fs::read(source.folder().join(name))?)?;
        let ran = copy.run(&["import", name, "--report", "report.jsonl"]).await?;
        ensure!(ran.code == 0 && ran.err.contains(expected), "the import of {name} ended with {ran:?}");
        ensure!(ran.err.contains("public already: 1 (--copies"), "it does not list the public posts: {ran:?}");
        same(count_posts(&into).await?, 2, "posts of the other account")?;
    }
    // Without the report, the service recognizes the lines for a day.
    let ran = copy.run(&["import", "first.jsonl", "--report", "lost.jsonl"]).await?;
    ensure!(ran.code == 0, "without the report it ended with {ran:?}");
    same(count_posts(&into).await?, 2, "posts of the other account")
}

async fn thread_survives_export_and_import(deployment: &Deployment) -> Result {
    let mut user = deployment.new_user().await?;
    let account = user.connect(0).await?;
    let later = moment::written(moment::now() + Duration::from_hours(48));
    let replies = json!([{ "content": "two, \"2\"\n---\nand | more" }, { "content": "three" }]);
    let body = json!({
        "content": "one", "platforms": targets(&[&account])?, "scheduled_at": later, "thread": replies,
    });
    user.create(&body).await?;
    let social = SocialCommand::for_user(&user)?;

    for (name, lines) in [("thread.csv", 1), ("thread.jsonl", 2)] {
        social.done(&["export", name]).await?;
        let checked = social.run(&["import", name, "--copies", "--dry-run"]).await?;
        ensure!(
            checked.code == 0 && checked.err.contains(&format!("{lines} valid")),
            "the check ended with {checked:?}"
        );
        let ran = social.run(&["import", name, "--copies"]).await?;
        ensure!(ran.code == 0 && ran.err.contains(&format!("{lines} created")), "the import ended with {ran:?}");
        same(count_posts(&user).await?, 2 * lines, "posts")?;
    }
    let posts = user.api.get("/posts").await?.ok(200)?;
    for post in list(&posts, "data")? {
        let contents: Vec<_> = list(post, "thread")?.iter().map(|it| it["content"].clone()).collect();
        same(contents, vec![replies[0]["content"].clone(), json!("three")], "replies")?;
    }

    social.file("boat.png", picture::png(64, 48, [30, 120, 90]))?;
    let reply = json!({ "media": ["boat.png"], "alt": ["A | boat"] });
    let with_file = json!({ "content": "four", "to": "sandbox", "thread": ["five", reply] });
    social.file("files.jsonl", with_file.to_string())?;
    for command in [["import", "files.jsonl", "--dry-run"].as_slice(), &["import", "files.jsonl"]] {
        social.done(command).await?;
    }
    social.file("texts.csv", "content,thread\nsix,\"seven\n---\neight\"\nnine,\"ten\n---\n\"\n")?;
    let ran = social.fails(4, "thread: reply 2: is empty", &["import", "texts.csv"]).await?;
    ensure!(ran.err.contains("1 created"), "the import ended with {ran:?}");
    let drafts = user.api.get("/posts?status=draft").await?.ok(200)?;
    let [texts, files] = list(&drafts, "data")? else {
        return Err(TestError::new(format!("the drafts are {drafts}")));
    };
    same(list(texts, "thread")?.len(), 2, "replies of a cell with lines of ---")?;
    same(&files["thread"][1]["content"], &json!(null), "text of a reply with a file alone")?;
    same(&files["thread"][1]["media"][0]["alt_text"], &json!("A | boat"), "alt text of a reply")
}
