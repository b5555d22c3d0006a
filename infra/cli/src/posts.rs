//! `social posts …`.

use chrono::Utc;
use client::{Attempt, ListAttempts, ListPosts, NewPostMedia, PageMeta, Post, PostChanges, PostStatus};
use serde_json::Value;

use crate::arguments::{Edit, ListArguments, PostsCommand};
use crate::error::CliError;
use crate::output::{self, beginning, plain, plain_lines};
use crate::posting::options::PostOption;
use crate::posting::{entry_name, inspect_all, local, send, targets, text, time};
use crate::session::Session;

pub(crate) async fn run(session: &Session, command: PostsCommand) -> Result<(), CliError> {
    match command {
        PostsCommand::List(arguments) => list(session, arguments).await,
        PostsCommand::Show { id } => {
            let post = session.client.show_post(id).await?;
            if session.json { output::line(&post.json) } else { show(&post) }
        }
        PostsCommand::Attempts { id, page, per_page } => {
            let which = ListAttempts { per_page: Some(per_page), page: Some(page) };
            attempts(session, id, &which).await
        }
        PostsCommand::Edit(arguments) => edit(session, *arguments).await,
        PostsCommand::Cancel { id, if_match } => change(session, id, &PostChanges::unschedule(), if_match).await,
        PostsCommand::Delete { id, if_match } => {
            session.client.delete_post(id, if_match).await?;
            output::print_done(&format!("Post {id} is deleted"))
        }
    }
}

pub(crate) fn status(name: Option<&str>) -> Result<Option<PostStatus>, CliError> {
    let Some(name) = name else { return Ok(None) };
    match serde_json::from_value(Value::String(name.to_owned())) {
        Ok(PostStatus::Other(_)) | Err(_) => {
            let known = "draft, scheduled, publishing, published or failed";
            Err(CliError::Usage(format!("{name:?} isn't a status; use {known}")))
        }
        Ok(status) => Ok(Some(status)),
    }
}

async fn list(session: &Session, arguments: ListArguments) -> Result<(), CliError> {
    let query = ListPosts {
        external_id: arguments.external_id,
        label: arguments.label,
        per_page: Some(arguments.per_page),
        page: Some(arguments.page),
        sort: Some(arguments.sort),
        direction: Some(arguments.direction),
        ..ListPosts::by_status(status(arguments.status.as_deref())?)
    };
    let posts = session.client.list_posts(&query).await?;
    if session.json {
        return output::line(&posts.json);
    }
    let row = |it: &Post| {
        let at = it.scheduled_at.map(|it| local(it.0)).unwrap_or_default();
        let accounts: Vec<_> = it.platforms.iter().map(entry_name).collect();
        let accounts = beginning(&accounts.join(", "), 30);
        vec![it.id.to_string(), it.status.as_str().to_owned(), at, accounts, beginning(&it.content, 40)]
    };
    output::table(&["ID", "STATUS", "AT", "TO", "TEXT"], &posts.data.iter().map(row).collect::<Vec<_>>())?;
    notice_of_pages(posts.meta, "posts");
    Ok(())
}

fn notice_of_pages(meta: PageMeta, what: &str) {
    if 1 < meta.last_page {
        let next = if meta.current_page < meta.last_page {
            format!("; next page: --page {}", meta.current_page + 1)
        } else {
            String::new()
        };
        output::notice(&format!("page {} of {}, {} {what}{next}", meta.current_page, meta.last_page, meta.total));
    }
}

async fn attempts(session: &Session, id: u64, which: &ListAttempts) -> Result<(), CliError> {
    let attempts = session.client.list_attempts(id, which).await?;
    if session.json {
        return output::line(&attempts.json);
    }
    let row = |it: &Attempt| {
        let status = it.http_status.map(|it| it.to_string()).unwrap_or_default();
        let took = format!("{} ms", it.duration_ms);
        let [provider, step, outcome] = [&it.provider, &it.step, &it.outcome].map(Clone::clone);
        vec![local(it.at.0), provider, step, outcome, status, took, it.message.clone().unwrap_or_default()]
    };
    let rows: Vec<_> = attempts.data.iter().map(row).collect();
    output::table(&["AT", "PLATFORM", "STEP", "OUTCOME", "HTTP", "TOOK", "MESSAGE"], &rows)?;
    notice_of_pages(attempts.meta, "attempts");
    Ok(())
}

fn show(post: &Post) -> Result<(), CliError> {
    let at = post.scheduled_at.map(|it| format!(", for {}", local(it.0))).unwrap_or_default();
    output::line(&format!("Post {}: {}{at}, revision {}", post.id, plain(post.status.as_str()), post.revision))?;
    if let Some(external_id) = &post.external_id {
        output::line(&format!("External id: {}", plain(external_id)))?;
    }
    if !post.labels.is_empty() {
        output::line(&format!("Labels: {}", plain(&post.labels.join(", "))))?;
    }
    output::line(&format!("\n{}\n", plain_lines(&post.content)))?;
    for medium in &post.media {
        let alt_text = medium.alt_text.as_deref().map_or_else(|| "no alt text".to_owned(), plain);
        output::line(&format!("  {} ({alt_text})", plain(&medium.mime_type)))?;
    }
    for entry in &post.platforms {
        let details = [entry.platform_post_url.as_deref(), entry.error_message.as_deref()];
        let details: Vec<_> = details.into_iter().flatten().map(plain).collect();
        output::line(
            format!("  {}: {}  {}", entry_name(entry), plain(entry.status.as_str()), details.join("  ")).trim_end(),
        )?;
    }
    Ok(())
}

async fn edit(session: &Session, arguments: Edit) -> Result<(), CliError> {
    let at = arguments.at.as_deref().map(|it| time(it, false)).transpose()?;
    let options = PostOption::read_all(&arguments.options)?;
    let files = inspect_all(&arguments.media, arguments.alt.len())?;
    let content = arguments.text.as_deref().map(|it| text(Some(it))).transpose()?;
    let platforms = if arguments.to.is_empty() { None } else { Some(targets(session, &arguments.to, &options).await?) };
    let key = format!("edit {} {}", arguments.id, Utc::now().timestamp_millis());
    let media: Option<Vec<NewPostMedia>> = match (files.is_empty(), arguments.no_media) {
        (true, false) => None,
        _ => Some(send(&session.client, &files, &arguments.alt, &key).await?),
    };
    let tags = tag_changes(arguments.external_id, arguments.labels);
    let changes = PostChanges { content, platforms, media, scheduled_at: at.map(Some), ..tags };
    if changes == PostChanges::default() {
        return Err(CliError::Usage("nothing to change; add an option, see `social posts edit --help`".to_owned()));
    }
    change(session, arguments.id, &changes, arguments.if_match).await
}

/// The changes of the external id and the labels. An empty id removes the current one, a single empty
/// label all current ones.
fn tag_changes(external_id: Option<String>, labels: Vec<String>) -> PostChanges {
    let external_id = external_id.map(|it| Some(it).filter(|it| !it.is_empty()));
    let labels = match labels.as_slice() {
        [] => None,
        [only] if only.is_empty() => Some(Vec::new()),
        _ => Some(labels),
    };
    PostChanges { external_id, labels, ..PostChanges::default() }
}

async fn change(session: &Session, id: u64, changes: &PostChanges, revision: Option<u64>) -> Result<(), CliError> {
    let post = session.client.change_post(id, changes, revision).await?;
    if session.json {
        return output::print_done(&post.json);
    }
    let at = post.scheduled_at.map(|it| format!(" for {}", local(it.0))).unwrap_or_default();
    let status = match post.status.as_str() {
        "draft" => "is a draft".to_owned(),
        "publishing" => "is being published".to_owned(),
        "failed" => "has failed".to_owned(),
        other => format!("is {}", plain(other)),
    };
    output::print_done(&format!("Post {id} {status}{at}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn absent_option_changes_nothing_and_empty_one_removes() {
        let external_id = |text: Option<&str>| tag_changes(text.map(str::to_owned), Vec::new()).external_id;
        assert_eq!(external_id(None), None);
        assert_eq!(external_id(Some("")), Some(None));
        assert_eq!(external_id(Some("order-4711")), Some(Some("order-4711".to_owned())));

        let labels = |texts: &[&str]| tag_changes(None, texts.iter().map(|it| (*it).to_owned()).collect()).labels;
        assert_eq!(labels(&[]), None);
        assert_eq!(labels(&[""]), Some(Vec::new()));
        assert_eq!(labels(&["spring", "offer"]), Some(vec!["spring".to_owned(), "offer".to_owned()]));
    }
}
