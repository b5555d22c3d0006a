//! `social profiles export`: all data of one customer, also after an interruption.

use std::{collections::BTreeMap, fs, io::Read};

use serde_json::{Value, json};

use super::social::SocialCommand;
use crate::{
    checks,
    deployment::{Deployment, User, fresh, targets},
    ensure,
    error::{Result, same},
    http_response::{integer, list, text},
    picture,
    runner::Check,
};

pub(super) fn checks() -> Vec<Check> {
    checks!("cli", [profile_is_exported_completely_after_an_interruption])
}

async fn profile_is_exported_completely_after_an_interruption(deployment: &Deployment) -> Result {
    let mut user = deployment.new_user().await?;
    let external_id = format!("customer-{}", user.id);
    let profile =
        user.api.post("/profiles", &json!({ "name": "The Harbor", "external_id": external_id })).await?.ok(201)?;
    let id = integer(&profile, "id")?;
    // The external id of this profile is the id of the other one.
    let other = json!({ "name": "The Pier", "external_id": id.to_string() });
    let other = integer(&user.api.post("/profiles", &other).await?.ok(201)?, "id")?;
    let (account, of_other) = (user.connect_for(id, 0).await?, user.connect_for(other, 1).await?);
    let pictures = [[30, 120, 90], [200, 20, 20], [0, 0, 0]].map(|color| picture::png(64, 48, color));
    let mut paths = Vec::new();
    for picture in &pictures {
        paths.push(user.upload("image/png", picture).await?);
    }
    let names = paths.iter().map(|it| format!("files/{}", it.rsplit('/').next().unwrap_or_default()));
    let names: Vec<_> = names.collect();
    let to = targets(&[&account])?;
    let published = json!({ "content": fresh("one"), "platforms": to, "media": [paths[0]], "scheduled_at": "now" });
    let published = integer(&user.create(&published).await?, "id")?;
    user.reaches(published, "published", 30).await?;
    let reply = json!([{ "content": "a reply", "media": [paths[0], paths[1]] }]);
    let entry = json!([{ "connected_account_id": account["id"], "thread": reply }]);
    user.create(&json!({ "content": "two", "platforms": entry })).await?;
    user.create(&json!({ "content": "of the other", "platforms": targets(&[&of_other])?, "media": [paths[2]] }))
        .await?;
    let social = SocialCommand::for_user(&user)?;
    let archive = social.folder().join("harbor.tar");

    // A folder with the name of the second download interrupts the export.
    let partial = social.folder().join("harbor.tar.partial");
    let obstacle = partial.join(id.to_string()).join(format!("{}.part", names[1]));
    fs::create_dir_all(&obstacle)?;
    let command = ["profiles", "export", &external_id, "harbor.tar"];
    social.fails(1, "run the same command again", &command).await?;
    ensure!(!archive.exists(), "an incomplete archive has the name of the complete one");
    let first = partial.join(id.to_string()).join(&names[0]);
    same(fs::read(&first)?, pictures[0].clone(), "the first file")?;
    // The next run keeps this file, and downloads only the second one.
    fs::write(&first, "kept")?;
    fs::remove_dir(&obstacle)?;
    let printed = social.done(&command).await?;
    ensure!(printed.contains("posts: 2, connections: 1, files: 2, size: "), "the summary is {printed:?}");
    let resumed = contents(&fs::read(&archive)?)?;
    same(&resumed[&names[0]], &b"kept".to_vec(), "the file of the first run")?;
    same(&resumed[&names[1]], &pictures[1], "the file of the second run")?;
    ensure!(!partial.exists(), "the folder is left");
    social.fails(2, "harbor.tar exists", &command).await?;
    same(contents(&fs::read(&archive)?)?, resumed, "the archive after the refusal")?;
    for (unclear, code) in [(id.to_string().as_str(), 2), ("customer", 4), ("", 4)] {
        social.fails(code, "profile", &["profiles", "export", unclear, "another.tar"]).await?;
    }

    // A token that is limited to the profile exports the same.
    let email = user.email.clone();
    let limited = deployment.limited_grant(&mut user.browser, &email, id).await?;
    let social = social.token(Some(limited.token()));
    let printed = social.json(&["profiles", "export", &id.to_string(), "limited.tar"]).await?;
    same(&printed, &profile, "the output as JSON")?;
    let exported = contents(&fs::read(social.folder().join("limited.tar"))?)?;
    let lists = ["attempts.jsonl", "connections.jsonl", "posts.jsonl", "profile.json"].map(ToOwned::to_owned);
    let mut expected: Vec<_> = lists.into_iter().chain(names[..2].iter().cloned()).collect();
    expected.sort();
    same(exported.keys().cloned().collect(), expected, "names in the archive")?;
    same(serde_json::from_slice(&exported["profile.json"])?, profile, "the profile")?;
    for (name, picture) in names.iter().zip(&pictures[..2]) {
        same(&exported[name], picture, name)?;
    }
    compare_lists(&user, id, &exported).await
}

/// Compares each line of the lists with the API, except links to files: they differ in each response.
async fn compare_lists(user: &User<'_>, profile: i64, exported: &BTreeMap<String, Vec<u8>>) -> Result {
    let lines = |name: &str| -> Result<Vec<Value>> {
        exported[name].split_inclusive(|it| *it == b'\n').map(|it| Ok(serde_json::from_slice(it)?)).collect()
    };
    let connections = user.api.get(&format!("/connections?profile_id={profile}")).await?.ok(200)?;
    same(lines("connections.jsonl")?, list(&connections, "data")?.to_vec(), "connections")?;
    let posts = user.api.get(&format!("/posts?profile_id={profile}&direction=asc")).await?.ok(200)?;
    let posts = list(&posts, "data")?;
    let without_links = |all: &[Value]| all.iter().cloned().map(without_links).collect::<Vec<_>>();
    same(without_links(&lines("posts.jsonl")?), without_links(posts), "posts")?;
    let mut attempts = Vec::new();
    for post in posts {
        let id = integer(post, "id")?;
        let of_post = user.api.get(&format!("/posts/{id}/attempts")).await?.ok(200)?;
        for mut attempt in list(&of_post, "data")?.to_vec() {
            attempt["post_id"] = json!(id);
            attempts.push(attempt);
        }
        for media in list(post, "media")? {
            let bytes = user.deployment.http().get(text(media, "url")?).send().await?.bytes().await?;
            same(&exported[&format!("files/{}.png", media["id"])], &bytes.to_vec(), "a file of the API")?;
        }
    }
    ensure!(!attempts.is_empty(), "the published post has no attempts");
    same(lines("attempts.jsonl")?, attempts, "attempts")?;
    Ok(())
}

fn without_links(value: Value) -> Value {
    match value {
        Value::Object(fields) => {
            fields.into_iter().filter(|it| it.0 != "url").map(|(name, it)| (name, without_links(it))).collect()
        }
        Value::Array(values) => values.into_iter().map(without_links).collect(),
        other => other,
    }
}

/// The files of an archive by name.
fn contents(archive: &[u8]) -> Result<BTreeMap<String, Vec<u8>>> {
    let mut files = BTreeMap::new();
    for entry in tar::Archive::new(archive).entries()? {
        let mut entry = entry?;
        let (name, mut bytes) = (entry.path()?.to_string_lossy().into_owned(), Vec::new());
        entry.read_to_end(&mut bytes)?;
        files.insert(name, bytes);
    }
    Ok(files)
}
