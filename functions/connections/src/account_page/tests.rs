//! A user manages connections in the browser.

use crate::testing::{Browser, Harness, TestResponse};

const HERE: &str = "/account/connections";

async fn submit(harness: &Harness, browser: &Browser, action: &str, form: &str) -> TestResponse {
    harness.submit_in(browser, action, &format!("csrf={}&{form}", browser.csrf)).await
}

fn disconnect(id: u64) -> String {
    format!("{HERE}/{id}/disconnect")
}

#[tokio::test]
async fn page_shows_own_accounts_with_their_state() {
    let harness = Harness::new().await;
    assert!(harness.visit(HERE).await.html.contains("No account is connected."));
    let (one, _) = (harness.connect("1").await, harness.connect("2").await);
    harness.lose_grant(one).await;

    let page = harness.visit(HERE).await;

    assert_eq!(page.status, 200, "{}", page.html);
    let (broken, good) = page.html.split_once("@user2").unwrap();
    assert!(broken.contains("@user1") && broken.contains("Reconnect needed"), "{}", page.html);
    assert!(broken.contains("Reconnect 1 account."), "{}", page.html);
    assert!(good.contains(">Connected<") && !good.contains("Reconnect needed"), "{}", page.html);
    assert!(broken.contains(">Reconnect<"), "{}", page.html);
    let others = harness.visit_in(harness.browser_of_another(), HERE).await;
    assert!(others.html.contains("No account is connected."), "{}", others.html);
    let signed_out = harness.visit_in(&Browser::default(), HERE).await;
    assert_eq!(signed_out.location.as_deref(), Some("/sign-in?next=/account/connections"));
}

#[tokio::test]
async fn account_with_a_lost_grant_is_reconnected_from_the_page() {
    let harness = Harness::new().await;
    let id = harness.connect("7").await;
    harness.lose_grant(id).await;

    let redirect = submit(&harness, harness.browser(), "/account/connections/connect", "platform=plain").await;
    let there = redirect.refresh_url.unwrap();
    let state = there.strip_prefix("https://plain.example/authorize?state=").unwrap();
    harness.visit(&format!("/connect/callback/plain?state={state}&code=7")).await;

    let end = harness.visit(&format!("/connect/{state}")).await;
    assert!(end.html.contains("href=\"/account/connections\""), "{}", end.html);
    let page = harness.visit(HERE).await.html;
    assert!(page.contains(">Connected<") && !page.contains("Reconnect needed"), "{page}");
    assert!(page.contains(&disconnect(id)), "it is the same connection: {page}");
}

#[tokio::test]
async fn account_of_a_customer_is_reconnected_for_that_customer() {
    let harness = Harness::new().await;
    let body = serde_json::json!({ "name": "The Harbor", "external_id": "c-<1>" });
    let profile = harness.send_json("POST", "/api/v1/profiles", &body).await.body["id"].as_u64().unwrap();
    let id = harness.connect_for(profile, "7").await;
    harness.lose_grant(id).await;
    let page = harness.visit(HERE).await.html;
    assert!(page.contains("Customer: <bdi>c-&#60;1&#62;</bdi>"), "{page}");
    assert!(page.contains(&format!("name=\"profile\" value=\"{profile}\"")), "{page}");

    let form = format!("platform=plain&profile={profile}");
    let redirect = submit(&harness, harness.browser(), "/account/connections/connect", &form).await;
    let there = redirect.refresh_url.unwrap();
    let state = there.strip_prefix("https://plain.example/authorize?state=").unwrap();
    harness.visit(&format!("/connect/callback/plain?state={state}&code=7")).await;

    let page = harness.visit(HERE).await.html;
    assert!(!page.contains("Reconnect needed") && page.contains(&disconnect(id)), "{page}");
    let theirs = submit(&harness, harness.browser_of_another(), "/account/connections/connect", &form).await;
    assert_eq!(theirs.status, 403, "{}", theirs.html);
}

#[tokio::test]
async fn platform_with_fields_leads_to_our_form() {
    let harness = Harness::new().await;
    let asked = submit(&harness, harness.browser(), "/account/connections/connect", "platform=asking").await;
    assert_eq!(asked.status, 303);
    assert!(asked.location.unwrap().starts_with("/connect/"));
    let unknown = submit(&harness, harness.browser(), "/account/connections/connect", "platform=myspace").await;
    assert_eq!(unknown.status, 422);
}

#[tokio::test]
async fn reached_plan_limit_gets_403_with_the_limit() {
    let harness = Harness::with_plan(serde_json::json!({"default": {"max_connections": 1}})).await;
    harness.connect("7").await;
    let refused = submit(&harness, harness.browser(), "/account/connections/connect", "platform=plain").await;
    assert_eq!(refused.status, 403);
    assert!(refused.html.contains("max_connections"), "{}", refused.html);
}

#[tokio::test]
async fn only_its_user_disconnects_an_account() {
    let harness = Harness::new().await;
    let id = harness.connect("7").await;

    let others = submit(&harness, harness.browser_of_another(), &disconnect(id), "").await;
    assert_eq!(others.status, 404);
    let forged = harness.submit_in(harness.browser(), &disconnect(id), "csrf=AAAA").await;
    assert_eq!(forged.status, 403);
    let without = harness.submit_in(harness.browser(), &disconnect(id), "x=1").await;
    assert_eq!(without.status, 422);
    let signed_out = harness.submit_in(&Browser::default(), &disconnect(id), "csrf=AAAA").await;
    assert_eq!(signed_out.status, 401);
    assert!(harness.platform.revoked().is_empty());

    let done = submit(&harness, harness.browser(), &disconnect(id), "").await;
    assert_eq!(done.location.as_deref(), Some("/account/connections?disconnected=true"));
    assert_eq!(harness.platform.revoked(), ["access-7"]);
    let again = submit(&harness, harness.browser(), &disconnect(id), "").await;
    assert_eq!(again.status, 404);
    assert!(harness.visit(&done.location.unwrap()).await.html.contains("The account is disconnected."));
}

#[tokio::test]
async fn accounts_of_a_platform_are_below_its_title() {
    let harness = Harness::new().await;
    let begun = harness.begin("asking").await;
    harness.send(&begun, "server=good.example&password=3").await;
    harness.connect("1").await;
    harness.connect("2").await;

    let page = harness.visit(HERE).await.html;

    let (asking, plain) = page.split_once("</span> plain</h3>").unwrap();
    assert!(asking.contains("</span> asking</h3>") && asking.contains("@user3"), "{page}");
    assert!(!asking.contains("@user1") && plain.contains("@user1") && plain.contains("@user2"), "{page}");
}

#[tokio::test]
async fn more_than_eight_accounts_can_be_searched() {
    let harness = Harness::new().await;
    for account in 1..=8 {
        harness.connect(&account.to_string()).await;
    }
    assert!(!harness.visit(HERE).await.html.contains("name=\"q\""));
    let lost = harness.connect("9").await;
    harness.lose_grant(lost).await;
    assert!(harness.visit(HERE).await.html.contains("name=\"q\""));

    let found = harness.visit(&format!("{HERE}?q=User+7")).await.html;
    assert!(found.contains("@user7") && !found.contains("@user8"), "{found}");
    assert!(found.contains("value=\"User 7\"") && found.contains("Show all 9"), "{found}");
    assert!(found.contains("Reconnect 1 account."), "also when the search hides it: {found}");
    let by_platform = harness.visit(&format!("{HERE}?q=plain")).await.html;
    assert!(by_platform.contains("@user1") && by_platform.contains("@user9"), "{by_platform}");
    let none = harness.visit(&format!("{HERE}?q=%3Cb%3E")).await.html;
    assert!(none.contains("No account matches.") && !none.contains("<b>"), "{none}");
}

#[tokio::test]
async fn platforms_that_are_not_set_up_name_what_the_operator_has_to_do() {
    let harness = Harness::new().await;

    let page = harness.visit(HERE).await.html;

    let (offered, missing) = page.split_once("<summary>Not set up here</summary>").unwrap();
    assert!(offered.contains("name=\"platform\" value=\"plain\""), "{page}");
    assert!(missing.contains("docs/platforms/pinterest.md") && missing.contains("The platform reviews it"), "{page}");
    assert!(!page.contains("docs/platforms/sandbox.md") && !missing.contains("<button"), "{page}");
}
