//! `social post`.

pub(crate) mod options;
pub(crate) mod thread;

use std::io::{self, IsTerminal, Read};
use std::path::Path;

use chrono::{DateTime, Utc};
use client::{
    Client, Connection, DescribedMedia, Error, IdempotencyKey, ListConnections, NewPost, NewPostMedia, NewPostPlatform,
    Post, PostTime,
};

use self::options::PostOption;
use self::thread::{Thread, replies};
use crate::account;
use crate::arguments;
use crate::error::CliError;
use crate::files::{Medium, hex};
use crate::output::{self, notice, plain, plain_lines};
use crate::session::Session;
use crate::when::{self, Zone};

/// For a text from standard input; 65,000 characters are less.
const MAX_TEXT: u64 = 1024 * 1024;

/// Returns the id of a post whose publication the person waits for.
pub(crate) async fn post(session: &Session, arguments: arguments::Post) -> Result<Option<u64>, CliError> {
    if arguments.to.is_empty() && !arguments.draft {
        return Err(CliError::Usage("name an account with --to, or save a draft with --draft".to_owned()));
    }
    // All local checks run before anything is sent.
    let replies = replies(arguments.next)?;
    let Thread { content, replies } = match &arguments.thread {
        Some(file) => Thread::read(file)?,
        None => Thread { content: text(arguments.text.as_deref())?, replies },
    };
    let at = arguments.at.as_deref().map(|it| time(it, arguments.key.is_some())).transpose()?;
    let options = PostOption::read_all(&arguments.options)?;
    let files = inspect_all(&arguments.media, arguments.alt.len())?;
    let key = key(arguments.key.as_deref())?;

    let platforms = targets(session, &arguments.to, &options).await?;
    let media = send(&session.client, &files, &arguments.alt, key.as_str()).await?;
    let scheduled_at = at.or((!arguments.draft).then_some(PostTime::Now));
    let post = NewPost {
        platforms: Some(platforms),
        scheduled_at,
        media: Some(media),
        thread: (!replies.is_empty()).then_some(replies),
        external_id: arguments.external_id,
        labels: (!arguments.labels.is_empty()).then_some(arguments.labels),
        ..NewPost::new(content)
    };
    if arguments.dry_run {
        return dry_run(session, &post).await.map(|()| None);
    }
    match session.client.create_post(&post, Some(&key)).await {
        Ok(response) if arguments.watch => Ok(Some(response.id)),
        Ok(response) if session.json => output::print_done(&response.json).map(|()| None),
        Ok(response) => output::print_done(&made(&response, scheduled_at == Some(PostTime::Now))).map(|()| None),
        Err(error @ (Error::Unknown(_) | Error::Unreadable(_))) => {
            let time = at.map(|it| format!(" --at {it}")).unwrap_or_default();
            let again = format!("run the same command with --key {key}{time}; it creates the post only once");
            Err(CliError::Unknown(format!("{error}\n{again}")))
        }
        Err(error) => Err(error.into()),
    }
}

/// With a key, only a time that stays the same in a second run.
pub(crate) fn time(text: &str, has_key: bool) -> Result<PostTime, CliError> {
    if text.trim().eq_ignore_ascii_case("now") {
        return Ok(PostTime::Now);
    }
    let read = if has_key { when::parse_fixed(text, &Zone::Here) } else { when::parse(text, Utc::now(), &Zone::Here) };
    read.map(PostTime::from).map_err(|it| CliError::Usage(it.to_string()))
}

pub(crate) fn made(post: &Post, at_once: bool) -> String {
    let accounts: Vec<_> = post.platforms.iter().map(entry_name).collect();
    let to = if accounts.is_empty() { String::new() } else { format!(" to {}", accounts.join(", ")) };
    match post.scheduled_at {
        None if to.is_empty() => format!("Post {} is a draft", post.id),
        None => format!(
            "Post {} is a draft for{}; schedule it with `social posts edit {} --at TIME`",
            post.id,
            &to[3..],
            post.id
        ),
        Some(_) if at_once => format!("Post {} is being published{to}; see `social posts show {}`", post.id, post.id),
        Some(at) => format!("Post {} is scheduled for {}{to}", post.id, local(at.0)),
    }
}

pub(crate) fn entry_name(entry: &client::PostPlatform) -> String {
    match &entry.username {
        Some(username) => plain(&format!("{}/{username}", entry.provider)),
        None => plain(&format!("{}/{}", entry.provider, entry.connected_account_id)),
    }
}

/// Includes the offset.
pub(crate) fn local(at: DateTime<Utc>) -> String {
    at.with_timezone(&chrono::Local).format("%Y-%m-%d %H:%M:%S %:z").to_string()
}

async fn dry_run(session: &Session, post: &NewPost) -> Result<(), CliError> {
    let response = session.client.validate_post(post).await?;
    if session.json {
        return output::line(&response.json);
    }
    for warning in &response.warnings {
        notice(&format!("warning: {}", plain_lines(&warning.message)));
    }
    output::line("The post is valid; nothing was created")
}

/// Reads standard input without an argument, or if it is `-`.
pub(crate) fn text(argument: Option<&str>) -> Result<String, CliError> {
    if let Some(text) = argument.filter(|it| *it != "-") {
        return Ok(text.to_owned());
    }
    if io::stdin().is_terminal() {
        notice("Type the text, then press Ctrl-D.");
    }
    let mut text = String::new();
    io::stdin().take(MAX_TEXT).read_to_string(&mut text)?;
    Ok(text.trim_end().to_owned())
}

pub(crate) fn key(argument: Option<&str>) -> Result<IdempotencyKey, CliError> {
    let key = if let Some(key) = argument {
        IdempotencyKey::parse(key)
    } else {
        let mut bytes = [0; 16];
        getrandom::fill(&mut bytes).map_err(|it| CliError::Failed(it.to_string()))?;
        IdempotencyKey::parse(format!("social-{}", hex(&bytes)))
    };
    key.map_err(|it| CliError::Usage(it.to_string()))
}

pub(crate) fn inspect_all(inputs: &[String], alt_text_count: usize) -> Result<Vec<Medium>, CliError> {
    if inputs.len() < alt_text_count {
        return Err(CliError::Usage("more --alt than --media: each alt text belongs to a file".to_owned()));
    }
    inputs.iter().map(|it| Medium::inspect(it, Path::new(""))).collect()
}

pub(crate) async fn send(
    client: &Client,
    files: &[Medium],
    alt: &[String],
    key: &str,
) -> Result<Vec<NewPostMedia>, CliError> {
    let mut media = Vec::with_capacity(files.len());
    for (at, file) in files.iter().enumerate() {
        // A file that occurs twice is uploaded twice, so the key contains its position.
        let path = file.send(client, &format!("{key} {at}")).await?;
        let alt_text = alt.get(at).filter(|it| !it.trim().is_empty()).cloned();
        media.push(match alt_text {
            Some(_) => NewPostMedia::Described(DescribedMedia { path, alt_text }),
            None => NewPostMedia::Path(path),
        });
    }
    Ok(media)
}

pub(crate) async fn targets(
    session: &Session,
    queries: &[String],
    options: &[PostOption],
) -> Result<Vec<NewPostPlatform>, CliError> {
    if queries.is_empty() {
        return Ok(Vec::new());
    }
    let accounts = session.client.list_connections(&ListConnections::default()).await?;
    entries(&accounts.data, queries, options)
}

pub(crate) fn entries(
    accounts: &[Connection],
    queries: &[String],
    options: &[PostOption],
) -> Result<Vec<NewPostPlatform>, CliError> {
    let found = account::find_all(accounts, queries)?;
    if let Some(unused) = options.iter().find(|it| !found.iter().any(|account| it.is_for(&account.provider))) {
        return Err(CliError::Usage(if found.is_empty() {
            "options need an account to publish to".to_owned()
        } else {
            format!("an option is for {}, but the post has no account there", unused.platform())
        }));
    }
    let entry = |account: &&Connection| {
        let options = options::for_platform(options, &account.provider);
        NewPostPlatform { connected_account_id: account.id, options, ..NewPostPlatform::default() }
    };
    Ok(found.iter().map(entry).collect())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a panic here is the failing assertion")]

    use super::*;

    #[test]
    fn repeated_command_with_a_key_sends_the_same_body() {
        assert_eq!(time("now", true).unwrap(), PostTime::Now);
        assert!(time("in 2 hours", false).is_ok() && time("tomorrow 9:00", false).is_ok());
        assert_eq!(time("in 2 hours", true).unwrap_err().code(), 2);
        assert!(time("2026-12-24T18:00:00+01:00", true).is_ok());
    }
}
