//! `social posts …`.

mod watch;

use chrono::Utc;
use client::{
    ApiResponse, Attempt, ListAttempts, ListPosts, NewPostMedia, NewThreadEntry, PageMeta, Post, PostChanges,
    PostMedia, PostPlatform, PostSegment, PostStatus, PostTime, TargetStatus,
};
use serde_json::Value;

use crate::arguments::{Edit, ListArguments, PostsCommand};
use crate::error::CliError;
use crate::output::{self, beginning, plain, plain_lines};
use crate::posting::options::PostOption;
use crate::posting::thread::{Thread, replies};
use crate::posting::{entry_name, inspect_all, local, send, targets, text, time};
use crate::session::Session;

pub(crate) use self::watch::watch_publication;

pub(crate) async fn run(session: &Session, command: PostsCommand) -> Result<(), CliError> {
    match command {
        PostsCommand::List(arguments) => list(session, arguments).await,
        PostsCommand::Show { id, watch: true } => watch::watch(session, id).await,
        PostsCommand::Show { id, watch: false } => {
            let post = session.client.show_post(id).await.map_err(CliError::about("post", id))?;
            output::line(&if session.json { post.json } else { describe(&post.value, output::paint) })
        }
        PostsCommand::Attempts { id, page, per_page } => {
            let which = ListAttempts { per_page: Some(per_page), page: Some(page) };
            attempts(session, id, &which).await
        }
        PostsCommand::Edit(arguments) => edit(session, *arguments).await,
        PostsCommand::Cancel { id, if_match } => change(session, id, &PostChanges::unschedule(), if_match).await,
        PostsCommand::Delete { id, if_match } => {
            session.client.delete_post(id, if_match).await.map_err(CliError::about("post", id))?;
            output::print_done(&format!("Post {id} is deleted"))
        }
        PostsCommand::Retry { id, at, if_match, watch: waits } => {
            let at = at.as_deref().map(|it| time(it, false)).transpose()?;
            let post = retry(session, id, at.unwrap_or(PostTime::Now), if_match).await?;
            if waits { watch_publication(session, id).await } else { print_changed(session, &post) }
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
    let (names, rows) = rows(&posts.data);
    output::table(&names, &rows)?;
    notice_of_pages(posts.meta, "posts");
    Ok(())
}

/// Only a list with a thread has the column THREAD.
fn rows(posts: &[Post]) -> (Vec<&'static str>, Vec<Vec<String>>) {
    let has_thread = posts.iter().any(|it| !thread_state(it).is_empty());
    let row = |it: &Post| {
        let at = it.scheduled_at.map(|it| local(it.0)).unwrap_or_default();
        let accounts: Vec<_> = it.platforms.iter().map(entry_name).collect();
        let mut row = vec![it.id.to_string(), it.status.as_str().to_owned(), at, beginning(&accounts.join(", "), 30)];
        row.extend(has_thread.then(|| beginning(&thread_state(it), 30)));
        row.push(beginning(it.content.as_deref().unwrap_or_default(), 40));
        row
    };
    let names = ["ID", "STATUS", "AT", "TO"].into_iter().chain(has_thread.then_some("THREAD")).chain(["TEXT"]);
    (names.collect(), posts.iter().map(row).collect())
}

/// `1/3, 3/3 public`: public segments of each account. Empty without replies and comments.
fn thread_state(post: &Post) -> String {
    let is_public = |it: &&PostSegment| it.status == TargetStatus::Published;
    let public = |it: &PostPlatform| format!("{}/{}", it.segments.iter().filter(is_public).count(), it.segments.len());
    match post.thread.len() {
        _ if post.platforms.iter().any(|it| 1 < it.segments.len()) => {
            format!("{} public", post.platforms.iter().map(public).collect::<Vec<_>>().join(", "))
        }
        0 => String::new(),
        1 => "1 reply".to_owned(),
        count => format!("{count} replies"),
    }
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

pub(crate) async fn attempts(session: &Session, id: u64, which: &ListAttempts) -> Result<(), CliError> {
    let attempts = session.client.list_attempts(id, which).await.map_err(CliError::about("post", id))?;
    if session.json {
        return output::line(&attempts.json);
    }
    let row = |it: &Attempt| {
        let status = it.http_status.map(|it| it.to_string()).unwrap_or_default();
        let took = format!("{} ms", it.duration_ms);
        let [provider, step, outcome] = [&it.provider, &it.step, &it.outcome].map(Clone::clone);
        let (segment, message) = (it.segment.to_string(), it.message.clone().unwrap_or_default());
        vec![local(it.at.0), provider, segment, step, outcome, status, took, message]
    };
    let rows: Vec<_> = attempts.data.iter().map(row).collect();
    output::table(&["AT", "PLATFORM", "SEGMENT", "STEP", "OUTCOME", "HTTP", "TOOK", "MESSAGE"], &rows)?;
    notice_of_pages(attempts.meta, "attempts");
    Ok(())
}

/// `paint` colors the status words.
pub(crate) fn describe(post: &Post, paint: fn(&str) -> String) -> String {
    let at = post.scheduled_at.map(|it| format!(", for {}", local(it.0))).unwrap_or_default();
    let status = paint(&plain(post.status.as_str()));
    let mut lines = vec![format!("Post {}: {status}{at}, revision {}", post.id, post.revision)];
    lines.extend(post.external_id.as_deref().map(|it| format!("External id: {}", plain(it))));
    if !post.labels.is_empty() {
        lines.push(format!("Labels: {}", plain(&post.labels.join(", "))));
    }
    lines.push(post.content.as_deref().map(|it| format!("\n{}\n", plain_lines(it))).unwrap_or_default());
    lines.extend(post.media.iter().map(describe_file));
    for (number, reply) in (1..).zip(&post.thread) {
        // One blank line before it: a text ends with one, a file does not.
        lines.extend(lines.last().is_none_or(|it| !it.ends_with('\n')).then(String::new));
        lines.push(format!("Reply {number}\n"));
        lines.extend(reply.content.as_deref().map(|it| format!("{}\n", plain_lines(it))));
        lines.extend(reply.media.iter().map(describe_file));
    }
    for entry in &post.platforms {
        let hint = entry.handed_over.then_some("finish it in the app of the platform");
        let details = [hint, entry.platform_post_url.as_deref(), entry.error_message.as_deref()];
        let status = if entry.handed_over { "handed over" } else { entry.status.as_str() };
        lines.push(described(&entry_name(entry), &paint(&plain(status)), &details, "  "));
        // Without replies and comments, the state of the only segment is that of the entry.
        if 1 < entry.segments.len() {
            lines
                .extend(entry.segments.iter().enumerate().map(|(index, it)| describe_segment(index, it, entry, paint)));
        }
    }
    lines.join("\n")
}

fn describe_file(file: &PostMedia) -> String {
    let alt_text = file.alt_text.as_deref().map_or_else(|| "no alt text".to_owned(), plain);
    format!("  {} ({alt_text})", plain(&file.mime_type))
}

/// A segment with the start of its text, which can differ from that of the post.
fn describe_segment(index: usize, segment: &PostSegment, entry: &PostPlatform, paint: fn(&str) -> String) -> String {
    let name = if segment.kind == "reply" { format!("reply {index}") } else { segment.kind.clone() };
    let text = segment.content.as_deref().map(|it| beginning(it, 40));
    // The entry shows the reason of the segment at which it stopped.
    let error = segment.error_message.as_deref().filter(|it| Some(*it) != entry.error_message.as_deref());
    let details = [text.as_deref(), segment.platform_post_url.as_deref(), error];
    described(&name, &paint(&plain(segment.status.as_str())), &details, "    ")
}

fn described(name: &str, status: &str, details: &[Option<&str>], indent: &str) -> String {
    let details: Vec<_> = details.iter().flatten().map(|it| plain(it)).collect();
    let line = format!("{indent}{}: {}  {}", plain(name), status, details.join("  "));
    line.trim_end().to_owned()
}

async fn edit(session: &Session, arguments: Edit) -> Result<(), CliError> {
    let at = arguments.at.as_deref().map(|it| time(it, false)).transpose()?;
    let options = PostOption::read_all(&arguments.options)?;
    let files = inspect_all(&arguments.media, arguments.alt.len())?;
    let replies = thread_change(arguments.next, arguments.no_thread)?;
    let (content, thread) = match &arguments.thread {
        Some(file) => {
            let thread = Thread::read(file)?;
            (Some(thread.content), Some(thread.replies))
        }
        None => (arguments.text.as_deref().map(|it| text(Some(it))).transpose()?, replies),
    };
    let platforms = if arguments.to.is_empty() { None } else { Some(targets(session, &arguments.to, &options).await?) };
    let key = format!("edit {} {}", arguments.id, Utc::now().timestamp_millis());
    let media: Option<Vec<NewPostMedia>> = match (files.is_empty(), arguments.no_media) {
        (true, false) => None,
        _ => Some(send(&session.client, &files, &arguments.alt, &key).await?),
    };
    let tags = tag_changes(arguments.external_id, arguments.labels);
    let changes = PostChanges { content, platforms, media, thread, scheduled_at: at.map(Some), ..tags };
    if changes == PostChanges::default() {
        return Err(CliError::Usage("nothing to change; add an option, see `social posts edit --help`".to_owned()));
    }
    change(session, arguments.id, &changes, arguments.if_match).await
}

/// The complete list; `None` if the replies stay as they are.
fn thread_change(next: Vec<String>, remove: bool) -> Result<Option<Vec<NewThreadEntry>>, CliError> {
    let replies = replies(next)?;
    Ok((remove || !replies.is_empty()).then_some(replies))
}

/// An empty id removes the current one, a single empty label all current ones.
fn tag_changes(external_id: Option<String>, labels: Vec<String>) -> PostChanges {
    let external_id = external_id.map(|it| Some(it).filter(|it| !it.is_empty()));
    let labels = match labels.as_slice() {
        [] => None,
        [only] if only.is_empty() => Some(Vec::new()),
        _ => Some(labels),
    };
    PostChanges { external_id, labels, ..PostChanges::default() }
}

/// Retries exactly the revision that was read, because a time would also schedule a draft.
async fn retry(session: &Session, id: u64, at: PostTime, revision: Option<u64>) -> Result<ApiResponse<Post>, CliError> {
    let before = session.client.show_post(id).await.map_err(CliError::about("post", id))?;
    if before.status != PostStatus::Failed {
        let status = plain(before.status.as_str());
        return Err(CliError::Usage(format!("only a failed post can be retried; post {id} is {status}")));
    }
    let changes = PostChanges::schedule(at);
    let revision = revision.unwrap_or(before.revision);
    session.client.change_post(id, &changes, Some(revision)).await.map_err(CliError::about("post", id))
}

async fn change(session: &Session, id: u64, changes: &PostChanges, revision: Option<u64>) -> Result<(), CliError> {
    let post = session.client.change_post(id, changes, revision).await.map_err(CliError::about("post", id))?;
    print_changed(session, &post)
}

fn print_changed(session: &Session, post: &ApiResponse<Post>) -> Result<(), CliError> {
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
    output::print_done(&format!("Post {} {status}{at}", post.id))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a panic here is the failing assertion")]

    use serde_json::json;

    use super::*;

    fn post(thread: &Value, platforms: &Value) -> Post {
        serde_json::from_value(json!({
            "id": 7, "revision": 2, "content": "Hello", "status": "failed", "scheduled_at": null,
            "created_at": "2026-11-21T09:00:00.000Z", "updated_at": "2026-11-21T09:00:00.000Z",
            "creator": { "id": 1, "name": "Demo User" }, "platforms": platforms, "media": [], "thread": thread,
            "external_id": null, "labels": [],
        }))
        .unwrap()
    }

    fn a_thread() -> Value {
        let file = json!({
            "id": 3, "url": "https://files.example/3", "file_type": "image", "mime_type": "image/png",
            "alt_text": "A boat",
        });
        json!([{ "content": "two\u{1b}", "media": [] }, { "content": null, "media": [file] }])
    }

    fn target(segments: &Value) -> Value {
        json!({
            "id": 1, "connected_account_id": 5, "provider": "sandbox", "username": "harbour", "content": "Hello",
            "options": {}, "status": "failed", "published_at": null, "platform_post_id": null,
            "platform_post_url": "https://a.example/1", "error_message": "1 of 3 is public", "segments": segments,
        })
    }

    fn segment(kind: &str, content: Option<&str>, status: &str, url: Option<&str>, error: Option<&str>) -> Value {
        json!({
            "kind": kind, "content": content, "media": [], "status": status, "published_at": null,
            "platform_post_id": null, "platform_post_url": url, "error_message": error,
        })
    }

    fn a_failed_target() -> Value {
        target(&json!([
            segment("post", Some("Hello"), "published", Some("https://a.example/1"), None),
            segment("reply", Some("two"), "failed", None, Some("1 of 3 is public")),
            segment("reply", None, "pending", None, None),
            segment("comment", Some("more"), "failed", None, Some("It was refused")),
        ]))
    }

    #[test]
    fn shown_thread_has_replies_and_the_state_of_each_segment() {
        let shown = describe(&post(&a_thread(), &json!([a_failed_target()])), str::to_owned);

        let expected = "Post 7: failed, revision 2

Hello

Reply 1

two\u{20}

Reply 2

  image/png (A boat)
  sandbox/harbour: failed  https://a.example/1  1 of 3 is public
    post: published  Hello  https://a.example/1
    reply 1: failed  two
    reply 2: pending
    comment: failed  more  It was refused";
        assert_eq!(shown, expected);
    }

    #[test]
    fn shown_post_without_replies_has_no_segments() {
        let only = json!([segment("post", Some("Hello"), "published", Some("https://a.example/1"), None)]);
        let shown = describe(&post(&json!([]), &json!([target(&only)])), str::to_owned);
        let expected = "Post 7: failed, revision 2

Hello

  sandbox/harbour: failed  https://a.example/1  1 of 3 is public";
        assert_eq!(shown, expected);
    }

    #[test]
    fn list_with_a_thread_shows_how_much_of_it_is_public() {
        let alone = post(&json!([]), &json!([]));
        let (names, _) = rows(std::slice::from_ref(&alone));
        assert_eq!(names, ["ID", "STATUS", "AT", "TO", "TEXT"]);

        let (names, rows) =
            rows(&[alone, post(&a_thread(), &json!([])), post(&a_thread(), &json!([a_failed_target()]))]);
        assert_eq!(names, ["ID", "STATUS", "AT", "TO", "THREAD", "TEXT"]);
        assert_eq!(rows.iter().map(|it| it[4].as_str()).collect::<Vec<_>>(), ["", "2 replies", "1/4 public"]);
    }

    #[test]
    fn replies_change_only_if_they_are_named() {
        let change = |next: &[&str], remove| {
            let next = next.iter().map(|it| (*it).to_owned()).collect();
            thread_change(next, remove).unwrap().map(|it| it.len())
        };
        assert_eq!([change(&[], false), change(&[], true), change(&["two"], false)], [None, Some(0), Some(1)]);
    }

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
