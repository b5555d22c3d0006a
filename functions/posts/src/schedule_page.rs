//! `/account/posts/{post}/schedule`: shows a draft exactly as it will be published, and the form
//! that schedules it.

use std::collections::{BTreeMap, BTreeSet};

use api::page::{AccountPage, Page, PageForm, PageResult};
use api::{ClientIp, Segments, SignedIn};
use askama::Template;
use axum::extract::State;
use axum::response::Redirect;
use chrono::{DateTime, NaiveDateTime, Utc};
use domain::id::MediaId;
use domain::media::{AltText, Attachment};
use domain::options::OptionValue;
use domain::post::{Accounts, Changes, IfMatch, Post, PostStatus, SegmentKind, Target};
use domain::schedule::{InvalidSchedule, parse_schedule, show};
use serde::Deserialize;

use crate::App;
use crate::posts_forms::{changed, find, found, unchanged_page};
use crate::response::links;

/// The formats in which browsers send a `datetime-local` field.
const LOCAL_TIMES: [&str; 3] = ["%Y-%m-%dT%H:%M", "%Y-%m-%dT%H:%M:%S", "%Y-%m-%dT%H:%M:%S%.f"];

#[derive(Deserialize)]
pub(crate) struct ScheduleForm {
    csrf: String,
    /// The revision that the page showed.
    revision: u64,
    when: PublishTime,
    /// In UTC, as the label says.
    #[serde(default)]
    at: String,
}

/// Which button was pressed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
enum PublishTime {
    At,
    Now,
}

#[derive(Template)]
#[template(path = "schedule.html")]
struct SchedulePage<'a> {
    csrf: &'a str,
    id: String,
    revision: u64,
    targets: Vec<TargetCard<'a>>,
}

/// What will be published to one account.
struct TargetCard<'a> {
    platform: &'a str,
    name: Option<String>,
    /// What to do before the draft can be scheduled.
    advice: Option<&'static str>,
    options: Vec<(&'a str, String)>,
    /// The post and the replies of its thread.
    posts: Vec<PostCard<'a>>,
}

struct PostCard<'a> {
    /// Empty for files alone.
    text: &'a str,
    files: Vec<FileRow<'a>>,
}

struct FileRow<'a> {
    mime_type: &'static str,
    link: &'a str,
    alt_text: Option<&'a str>,
}

pub(crate) async fn show_schedule(
    State(app): State<App>,
    session: SignedIn,
    Segments(post): Segments<String>,
) -> PageResult<Page> {
    let post = find(&app, &session, &post).await?;
    check_draft(&post)?;
    let connection_ids: BTreeSet<_> = post.targets.iter().map(|it| it.connection_id).collect();
    let context = app.api.store.load_post_context(session.user, connection_ids, [], None, app.api.clock.now()).await?;
    let links = links(app.scheduling.bucket.clone(), post.user_id, post.files().cloned().collect()).await;
    let page = SchedulePage {
        csrf: session.csrf(),
        id: post.post_id.to_string(),
        revision: post.revision,
        targets: post.targets.iter().map(|it| TargetCard::new(&post, it, &context.accounts, &links)).collect(),
    };
    Ok(Page::render("Schedule a post", &page)?.signed_in(&session).with_account_navigation(AccountPage::Posts))
}

/// Schedules a draft as the page showed it.
pub(crate) async fn schedule(
    State(app): State<App>,
    session: SignedIn,
    address: ClientIp,
    Segments(post): Segments<String>,
    PageForm(form): PageForm<ScheduleForm>,
) -> PageResult<Redirect> {
    let post = found(&app, &session, &form.csrf, &post).await?;
    check_draft(&post)?;
    let now = app.api.clock.now();
    let at = match form.when {
        PublishTime::Now => now,
        PublishTime::At => parse_time(&form.at, now).map_err(|error| match error {
            InvalidSchedule::NotAnInstant | InvalidSchedule::NotATime => unchanged_page(
                "Enter a date and a time",
                "Nothing was scheduled. Enter a date and a time, or publish the post now.",
            ),
            error => unchanged_page("Nothing was changed", &format!("The time {error}.")),
        })?,
    };
    let change = Changes {
        scheduled_at: Some(Some(at)),
        if_match: Some(IfMatch::revision(form.revision)),
        ..Changes::default()
    };
    changed(&app, &session, address, post, change).await?;
    Ok(Redirect::to("/account/posts?done=scheduled"))
}

fn check_draft(post: &Post) -> PageResult<()> {
    if post.status == PostStatus::Draft {
        return Ok(());
    }
    let text = format!("The post is {}, and only a draft can be scheduled here.", post.status.as_str());
    Err(unchanged_page("This post is not a draft", &text))
}

/// Parses the value of a `datetime-local` field, which has no offset, as UTC.
fn parse_time(raw: &str, now: DateTime<Utc>) -> Result<DateTime<Utc>, InvalidSchedule> {
    let parsed = LOCAL_TIMES.iter().find_map(|it| NaiveDateTime::parse_from_str(raw, it).ok());
    parse_schedule(&show(parsed.ok_or(InvalidSchedule::NotAnInstant)?.and_utc()), now)
}

impl<'a> TargetCard<'a> {
    fn new(post: &'a Post, target: &'a Target, accounts: &'a Accounts, links: &'a BTreeMap<MediaId, String>) -> Self {
        let account = accounts.get(&target.connection_id);
        let advice = match account {
            None => Some("This account is no longer connected. Connect it again, or remove it from the post."),
            Some(it) if it.needs_reconnection => Some("Reconnect this account before you schedule the post."),
            Some(_) => None,
        };
        let file = |it: &'a Attachment| FileRow {
            mime_type: it.mime_type.as_str(),
            link: links.get(&it.media_id).map_or("", String::as_str),
            alt_text: it.alt_text.as_ref().map(AltText::as_str),
        };
        // The first comment is shown among the options.
        let posts = post.segments(target).into_iter().filter(|it| it.kind != SegmentKind::Comment);
        Self {
            platform: account.map_or(target.provider.as_str(), |it| it.rules.title.as_str()),
            name: account.and_then(|it| it.profile.handle()).or_else(|| target.username.clone()),
            advice,
            options: target.options.iter().map(|(name, value)| (name, option_text(value))).collect(),
            posts: posts.map(|it| PostCard { text: it.text, files: it.media.iter().map(file).collect() }).collect(),
        }
    }
}

fn option_text(value: &OptionValue) -> String {
    match value {
        OptionValue::Flag(true) => "yes".to_owned(),
        OptionValue::Flag(false) => "no".to_owned(),
        OptionValue::Number(number) => number.to_string(),
        OptionValue::Text(text) => text.clone(),
        OptionValue::List(entries) => entries.join(", "),
    }
}

#[cfg(test)]
mod tests {
    use chrono::TimeDelta;
    use domain::media::AltText;
    use domain::post::SegmentContent;
    use domain::testing::{a_connection, a_post, a_user, accounts, an_attachment, noon, text};

    use super::*;

    #[test]
    fn page_shows_everything_that_is_published_to_an_account() {
        let user = a_user();
        let connections = [a_connection(&user), a_connection(&user)];
        let mut post = a_post(&user, None, &connections);
        post.text = text(&format!("{}the end", "long ".repeat(2_000)));
        post.media = vec![Attachment { alt_text: AltText::parse("A boat").ok(), ..an_attachment(1) }];
        post.targets[1].text = Some(text("A text of its own"));
        post.targets[1].media = Some(Vec::new());
        post.targets[1].options = [("first_comment".to_owned(), OptionValue::from("And <more>"))].into_iter().collect();
        let reply = SegmentContent { text: text("And a reply"), media: Vec::new() };
        post.targets[1].thread = Some(vec![reply]);
        let links = BTreeMap::from([(post.media[0].media_id, "https://files.example/boat".to_owned())]);
        let accounts = accounts(&connections);
        let targets = post.targets.iter().map(|it| TargetCard::new(&post, it, &accounts, &links)).collect();

        let page = SchedulePage { csrf: "token", id: "7".to_owned(), revision: 3, targets }.render().unwrap();

        let shown = ["the end", "A boat", "https://files.example/boat", "A text of its own", "And a reply"];
        for shown in shown.into_iter().chain(["first_comment", "And &#60;more&#62;", r#"name="revision" value="3""#]) {
            assert!(page.contains(shown), "{shown}: {page}");
        }
    }

    #[test]
    fn form_time_is_utc_and_within_the_limits_of_a_post() {
        let tomorrow = noon() + TimeDelta::days(1);
        for raw in ["2026-11-22T12:00", "2026-11-22T12:00:00", "2026-11-22T12:00:00.000"] {
            assert_eq!(parse_time(raw, noon()), Ok(tomorrow), "{raw}");
        }
        for raw in ["", "tomorrow", "2026-11-22", "now"] {
            assert_eq!(parse_time(raw, noon()), Err(InvalidSchedule::NotAnInstant), "{raw}");
        }
        assert_eq!(parse_time("2026-11-21T11:00", noon()), Err(InvalidSchedule::Past));
        assert_eq!(parse_time("2036-11-21T11:00", noon()), Err(InvalidSchedule::TooFar));
    }
}
