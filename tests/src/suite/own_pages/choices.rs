//! The page with the values of an option, to which the form of a post links.

use serde_json::json;

use super::{CONNECTIONS, POSTS, ensure_not_shown, ensure_shown, open};
use crate::{
    checks,
    deployment::{Deployment, fresh},
    error::{Result, same},
    http_response::integer,
    runner::Check,
    suite::pages::check_page,
};

pub(super) fn checks() -> Vec<Check> {
    checks!("own pages", [board_is_chosen_from_the_list_of_the_platform])
}

async fn board_is_chosen_from_the_list_of_the_platform(deployment: &Deployment) -> Result {
    let (mut user, mut other) = (deployment.new_user().await?, deployment.new_user().await?);
    let connection = user.connect(0).await?;
    let id = integer(&connection, "id")?;
    let path = format!("{CONNECTIONS}/{id}/choices/board");
    let form = open(&mut user, &format!("{POSTS}/new")).await?;
    ensure_shown(&form, &format!("href=\"{path}\" target=\"_blank\" rel=\"noopener\""))?;

    let page = open(&mut user, &path).await?;
    check_page(&page, true)?;
    ensure_shown(&page, "Tides and weather")?;
    let found = user.browser.press(&page, "Search", &[("query", "TIDE")]).await?;
    check_page(&found, true)?;
    ensure_shown(&found, "<code>tides</code>")?;
    let none = user.browser.press(&found, "Search", &[("query", "<nothing>")]).await?;
    ensure_shown(&none, "No value contains this text.")?;
    ensure_not_shown(&none, "<nothing>")?;
    let long = user.browser.open(&format!("{}{path}?query={}", deployment.origin(), "a".repeat(201))).await?;
    same(long.status.as_u16(), 422, "status of a query that is too long")?;
    let signed_out = deployment.browser()?.open(&format!("{}{path}", deployment.origin())).await?;
    ensure_not_shown(&signed_out, "tides")?;
    for path in [&path, &path.replace("board", "language")] {
        let page = other.browser.open(&format!("{}{path}", deployment.origin())).await?;
        same(page.status.as_u16(), 404, "the values for another user")?;
    }

    let (account, content) = (format!("to.{id}"), fresh("on a board"));
    let board = format!("{account}.options.board");
    let fill = [("content", content.as_str()), (account.as_str(), "on"), (board.as_str(), "tides")];
    user.browser.press(&form, "Save draft", &fill).await?;
    let posts = user.api.get("/posts?status=draft").await?.ok(200)?;
    same(&posts["data"][0]["platforms"][0]["options"], &json!({ "board": "tides" }), "the options")
}
