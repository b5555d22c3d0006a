//! `social profiles export`: the accounts, posts, attempts and files of one profile, in a tar archive.
//!
//! `FILE.partial` keeps downloaded files until the archive is complete, so that an interrupted
//! export continues. The lists are read again on each run: posts change, and their links to files
//! expire.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{BufWriter, Write};
use std::path::Path;

use client::{ApiResponse, Client, ListAttempts, ListConnections, ListProfiles, Profile, RetryPolicy};
use indicatif::{HumanBytes, ProgressBar};
use serde::Deserialize;
use serde_json::{Value, json};

use super::archive::Partial;
use super::files::PostFile;
use crate::error::CliError;
use crate::export::for_each_page;
use crate::import::LIMITS;
use crate::output::{self, is_interactive, notice};
use crate::session::Session;

const LISTS: [&str; 4] = ["profile.json", "connections.jsonl", "posts.jsonl", "attempts.jsonl"];

/// `profile` is an id or an external id.
pub(super) async fn run(session: &Session, profile: &str, archive: &Path) -> Result<(), CliError> {
    if archive.symlink_metadata().is_ok() {
        let why = format!("{} exists; choose another name, or remove the file", archive.display());
        return Err(CliError::Usage(why));
    }
    // Each post takes a request for its attempts.
    let client = session.client.clone().with_retry_policy(RetryPolicy { limits: LIMITS, ..RetryPolicy::default() });
    let profile = find(&client, profile).await?;
    let partial = Partial::open(archive, profile.id)?;
    let summary = match export(&client, &profile, partial, archive).await {
        Ok(summary) => summary,
        Err(failure) => {
            notice("To continue, run the same command again: it keeps the files that are complete");
            return Err(failure);
        }
    };
    let words = format!("Profile {} is exported to {}: {summary}", profile.id, archive.display());
    output::print_done(if session.json { &profile.json } else { &words })
}

/// The id of one profile may be the external id of another; such a text names neither.
async fn find(client: &Client, text: &str) -> Result<ApiResponse<Profile>, CliError> {
    let filter = ListProfiles { external_id: Some(text.to_owned()), ..ListProfiles::default() };
    let listed = client.list_profiles(&filter).await?.value.data;
    // Compared here too, because an empty filter finds all profiles.
    let with_external_id = listed.iter().find(|it| it.external_id.as_deref() == Some(text)).map(|it| it.id);
    let mut found = None;
    for id in text.parse().into_iter().chain(with_external_id) {
        match client.show_profile(id).await {
            Err(error) if error.status() == Some(404) => {}
            shown => {
                let shown = shown?;
                if found.as_ref().is_some_and(|it: &ApiResponse<Profile>| it.id != shown.id) {
                    let why = format!(
                        "{text:?} is the id of one profile and the external id of another; name it by its other id"
                    );
                    return Err(CliError::Usage(why));
                }
                found = Some(shown);
            }
        }
    }
    found.ok_or_else(|| CliError::Refused(format!("There is no profile {text}")))
}

async fn export(
    client: &Client,
    profile: &ApiResponse<Profile>,
    partial: Partial,
    archive: &Path,
) -> Result<String, CliError> {
    fs::write(partial.path("profile.json"), &profile.json)?;
    let filter = ListConnections { profile_id: Some(profile.id), ..ListConnections::default() };
    let connections = entries(&client.list_connections(&filter).await?.json)?;
    let mut lines = BufWriter::new(File::create(partial.path("connections.jsonl"))?);
    connections.iter().try_for_each(|it| writeln!(lines, "{it}"))?;
    lines.flush()?;

    let (mut posts, mut files) = (Vec::new(), BTreeMap::new());
    let mut lines = BufWriter::new(File::create(partial.path("posts.jsonl"))?);
    for_each_page(client, Some(profile.id), |page| {
        entries(&page.json)?.iter().try_for_each(|it| writeln!(lines, "{it}"))?;
        posts.extend(page.data.iter().map(|it| it.id));
        files.extend(page.data.iter().flat_map(PostFile::all).map(|it| (it.id, it)));
        Ok(())
    })
    .await?;
    lines.flush()?;

    for file in files.values() {
        file.fetch(client, &partial.path(&file.name)).await?;
    }

    let bar = if is_interactive() { ProgressBar::new(posts.len() as u64) } else { ProgressBar::hidden() };
    let mut lines = BufWriter::new(File::create(partial.path("attempts.jsonl"))?);
    for post in &posts {
        attempts(client, *post, &mut lines).await?;
        bar.inc(1);
    }
    lines.flush()?;
    bar.finish_and_clear();

    let names = LISTS.into_iter().chain(files.values().map(|it| &*it.name));
    let size = HumanBytes(partial.pack(names, archive)?);
    let (posts, connections, files) = (posts.len(), connections.len(), files.len());
    Ok(format!("posts: {posts}, connections: {connections}, files: {files}, size: {size}"))
}

/// Writes the id of the post with each attempt; nothing if the post was deleted since the list was
/// read.
async fn attempts(client: &Client, post: u64, lines: &mut impl Write) -> Result<(), CliError> {
    let mut page = 1;
    loop {
        let which = ListAttempts { per_page: Some(100), page: Some(page) };
        let attempts = match client.list_attempts(post, &which).await {
            Err(error) if error.status() == Some(404) => return Ok(()),
            listed => listed?,
        };
        for mut attempt in entries(&attempts.json)? {
            attempt["post_id"] = json!(post);
            writeln!(lines, "{attempt}")?;
        }
        if attempts.meta.last_page <= page {
            return Ok(());
        }
        page += 1;
    }
}

/// With fields that this version does not know.
fn entries(json: &str) -> Result<Vec<Value>, CliError> {
    #[derive(Deserialize)]
    struct List {
        data: Vec<Value>,
    }
    let list: List = serde_json::from_str(json).map_err(|error| CliError::Failed(error.to_string()))?;
    Ok(list.data)
}
