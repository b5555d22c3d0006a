//! The search form above the posts, and the calendar.

use serde_json::json;

use super::{POSTS, ensure_not_shown, ensure_shown, open};
use crate::{
    checks,
    deployment::{Deployment, fresh, targets},
    error::{Result, same},
    http_response::integer,
    runner::Check,
    suite::pages::check_page,
};

pub(super) fn checks() -> Vec<Check> {
    checks!("own pages", [posts_are_searched, calendar_has_the_posts_of_a_month_and_a_week])
}

async fn posts_are_searched(deployment: &Deployment) -> Result {
    let mut user = deployment.new_user().await?;
    let (one, other) = (user.connect(0).await?, user.connect(1).await?);
    let (spring, autumn) = (fresh("Sale in spring"), fresh("Sale in autumn"));
    let body = json!({ "content": spring, "platforms": targets(&[&one])?, "scheduled_at": "2028-03-01T09:00:00Z", "labels": ["offer"] });
    user.create(&body).await?;
    let body = json!({ "content": autumn, "platforms": targets(&[&other])?, "scheduled_at": "2028-09-01T09:00:00Z" });
    user.create(&body).await?;

    let page = open(&mut user, POSTS).await?;
    check_page(&page, true)?;
    let account = integer(&other, "id")?.to_string();
    let spring_only = [("q", "IN-SPRING"), ("label", "offer")];
    for (fields, found, missing) in [
        (&spring_only[..1], &spring, &autumn),
        (&spring_only[1..], &spring, &autumn),
        (&[("account", account.as_str())][..], &autumn, &spring),
    ] {
        let page = user.browser.press(&page, "Search", fields).await?;
        check_page(&page, true)?;
        ensure_shown(&page, found)?;
        ensure_not_shown(&page, missing)?;
    }
    let nothing = user.browser.press(&page, "Search", &[("q", "spring"), ("account", &account)]).await?;
    ensure_shown(&nothing, "No post with this status matches.")
}

async fn calendar_has_the_posts_of_a_month_and_a_week(deployment: &Deployment) -> Result {
    let mut user = deployment.new_user().await?;
    let connection = user.connect(0).await?;
    let (first, last) = (fresh("first of the month"), fresh("last of the month"));
    for (content, at) in [(&first, "2028-02-01T09:00:00Z"), (&last, "2028-02-29T23:30:00Z")] {
        let body = json!({ "content": content, "platforms": targets(&[&connection])?, "scheduled_at": at });
        user.create(&body).await?;
    }

    let month = open(&mut user, "/account/posts/calendar?on=2028-02-10").await?;
    check_page(&month, true)?;
    for shown in ["February 2028", &first, &last, "23:30"] {
        ensure_shown(&month, shown)?;
    }
    let week = open(&mut user, "/account/posts/calendar?view=week&on=2028-02-01").await?;
    check_page(&week, true)?;
    ensure_shown(&week, "Week of 31 January 2028")?;
    ensure_shown(&week, &first)?;
    ensure_not_shown(&week, &last)?;
    // In Berlin, half past eleven is tomorrow.
    let account = open(&mut user, "/account").await?;
    user.browser.press(&account, "Save", &[("zone", "Europe/Berlin")]).await?;
    let march = open(&mut user, "/account/posts/calendar?view=week&on=2028-03-01").await?;
    ensure_shown(&march, "00:30")?;
    let wrong = format!("{}/account/posts/calendar?on=tomorrow", deployment.origin());
    let wrong = user.browser.open(&wrong).await?;
    same(wrong.status.as_u16(), 400, "status of an invalid date")
}
