//! The buttons of `/account/posts`: cancel and try again. They change a post like `PATCH
//! /posts/{post}`.

use api::page::{PageError, PageForm, PageResult};
use api::{ClientIp, Segments, SignedIn};
use axum::extract::State;
use axum::response::Redirect;
use domain::id::PostId;
use domain::post::{Authority, Changes, IfMatch, Post, PostStatus};
use http::StatusCode;
use scheduling::Changed;
use serde::Deserialize;

use crate::App;
use crate::error::PostsError;

#[derive(Deserialize)]
pub(crate) struct PostForm {
    csrf: String,
}

#[derive(Deserialize)]
pub(crate) struct RevisionForm {
    csrf: String,
    /// The revision that the page showed.
    revision: u64,
}

/// Makes a post that is not published yet a draft again.
pub(crate) async fn cancel(
    State(app): State<App>,
    session: SignedIn,
    address: ClientIp,
    Segments(post): Segments<String>,
    PageForm(form): PageForm<PostForm>,
) -> PageResult<Redirect> {
    let post = found(&app, &session, &form.csrf, &post).await?;
    let change = Changes { scheduled_at: Some(None), ..Changes::default() };
    changed(&app, &session, address, post, change).await?;
    Ok(Redirect::to("/account/posts?done=cancelled"))
}

/// Only a post that is not public anywhere.
pub(crate) async fn delete(
    State(app): State<App>,
    session: SignedIn,
    address: ClientIp,
    Segments(post): Segments<String>,
    PageForm(form): PageForm<RevisionForm>,
) -> PageResult<Redirect> {
    let post = found(&app, &session, &form.csrf, &post).await?;
    let condition = IfMatch::revision(form.revision);
    let deleted = app.scheduling.delete_post(session.user, post, Authority::default(), Some(&condition)).await;
    let deleted = deleted.map_err(PostsError::from)?;
    check_changed(&session, address, deleted)?;
    Ok(Redirect::to("/account/posts?done=deleted"))
}

/// Publishes the post now, to the accounts where it failed.
pub(crate) async fn try_again(
    State(app): State<App>,
    session: SignedIn,
    address: ClientIp,
    Segments(post): Segments<String>,
    PageForm(form): PageForm<RevisionForm>,
) -> PageResult<Redirect> {
    let post = found(&app, &session, &form.csrf, &post).await?;
    // The page may be old. It must not publish a post that was scheduled for another day since, or
    // one that failed again and may be public.
    if post.status != PostStatus::Failed {
        return Err(PostsError::Stale.into());
    }
    let change = Changes {
        scheduled_at: Some(Some(app.api.clock.now())),
        if_match: Some(IfMatch::revision(form.revision)),
        ..Changes::default()
    };
    changed(&app, &session, address, post, change).await?;
    Ok(Redirect::to("/account/posts?done=tried_again"))
}

async fn found(app: &App, session: &SignedIn, csrf: &str, post: &str) -> PageResult<Post> {
    session.check(csrf)?;
    find(app, session, post).await
}

pub(crate) async fn find(app: &App, session: &SignedIn, post: &str) -> PageResult<Post> {
    let id = PostId::parse(post).ok_or(PostsError::NotFound)?;
    app.api.store.post(session.user, id).await?.ok_or_else(|| PostsError::NotFound.into())
}

async fn changed(app: &App, session: &SignedIn, address: ClientIp, post: Post, change: Changes) -> PageResult<()> {
    check_changed(
        session,
        address,
        app.scheduling.change_post(session.user, post, change).await.map_err(PostsError::from)?,
    )
}

fn check_changed(session: &SignedIn, address: ClientIp, changed: Changed) -> PageResult<()> {
    match changed {
        Changed::Done(_) => Ok(()),
        // A signed-in user may write all posts of the account.
        Changed::NotThere | Changed::DraftsOnly => Err(PostsError::NotFound.into()),
        // A form that schedules a draft names its revision.
        Changed::Stale | Changed::NeedsRevision => Err(PostsError::Stale.into()),
        Changed::NotInPlan(why) => {
            session.audit_plan_refusal(address, &why);
            Err(PageError::new(StatusCode::FORBIDDEN, "Your plan does not allow it", why).with_link(HERE, BACK))
        }
        Changed::Invalid(faults) => {
            let sentences: Vec<_> = faults.iter().map(|(field, message)| to_sentence(field, message)).collect();
            Err(unchanged_page("Nothing was changed", &sentences.join(" ")))
        }
    }
}

/// For people, who do not know the names of fields.
pub(crate) fn to_sentence(field: &str, message: &str) -> String {
    let text = match message.strip_prefix(field) {
        Some(rest) => format!("{}{rest}", subject(field)),
        None => message.to_owned(),
    };
    let mut chars = text.trim().chars();
    let first: String = chars.next().map(|it| it.to_uppercase().to_string()).unwrap_or_default();
    format!("{first}{}.", chars.as_str().trim_end_matches('.'))
}

/// A field of a request as pages call it.
fn subject(field: &str) -> String {
    let number = |it: &str| it.parse::<usize>().map_or_else(|_| it.to_owned(), |it| (it + 1).to_string());
    match field.split('.').collect::<Vec<_>>().as_slice() {
        ["platforms", _, "connected_account_id"] => "an account".to_owned(),
        ["platforms", _, "options", name, ..] => name.replace('_', " "),
        ["platforms", _, rest @ ..] if !rest.is_empty() => subject(&rest.join(".")),
        ["thread", index, rest @ ..] if !rest.is_empty() => {
            format!("{} of reply {}", subject(&rest.join(".")), number(index))
        }
        ["content"] => "the text".to_owned(),
        ["media"] => "the list of files".to_owned(),
        ["media", index] | ["media", index, "path"] => format!("file {}", number(index)),
        ["media", index, "alt_text"] => format!("the alt text of file {}", number(index)),
        ["thread", index] => format!("reply {}", number(index)),
        ["labels", index] => format!("label {}", number(index)),
        ["scheduled_at"] => "the time".to_owned(),
        ["external_id"] => "the ID".to_owned(),
        ["status"] => "the post".to_owned(),
        _ => field.replace('_', " "),
    }
}

const HERE: &str = "/account/posts";
const BACK: &str = "Go to your posts";

fn unchanged_page(title: &str, text: &str) -> PageError {
    PageError::new(StatusCode::UNPROCESSABLE_ENTITY, title, text).with_link(HERE, BACK)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn page_error_has_no_field_names() {
        for (field, message, expected) in [
            (
                "thread.0.media.1.alt_text",
                "thread.0.media.1.alt_text is missing",
                "The alt text of file 2 of reply 1 is missing.",
            ),
            ("platforms.3.content", "platforms.3.content is required", "The text is required."),
            (
                "platforms.3.options.first_comment",
                "platforms.3.options.first_comment may not be blank",
                "First comment may not be blank.",
            ),
            (
                "platforms.0.connected_account_id",
                "platforms.0.connected_account_id needs reconnection; connect the account again first",
                "An account needs reconnection; connect the account again first.",
            ),
            (
                "status",
                "status is publishing; only drafts can be changed",
                "The post is publishing; only drafts can be changed.",
            ),
            (
                "platforms.0.content",
                "Bluesky accepts at most 300 characters; this text has 301",
                "Bluesky accepts at most 300 characters; this text has 301.",
            ),
        ] {
            assert_eq!(to_sentence(field, message), expected);
        }
    }
}
