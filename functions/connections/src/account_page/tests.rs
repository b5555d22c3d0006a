//! A person looks after their accounts without a program.

use crate::testing::{Answer, Browser, Harness};

const HERE: &str = "/account/connections";

/// Presses a button of the page in this browser.
async fn press(world: &Harness, browser: &Browser, action: &str, form: &str) -> Answer {
    world.submit_in(browser, action, &format!("csrf={}&{form}", browser.csrf)).await
}

fn disconnect(id: u64) -> String {
    format!("{HERE}/{id}/disconnect")
}

#[tokio::test]
async fn accounts_are_shown_with_their_state_to_their_user_alone() {
    let world = Harness::new().await;
    assert!(world.visit(HERE).await.html.contains("No account is connected."));
    let (one, _) = (world.connect("1").await, world.connect("2").await);
    world.lose_grant(one).await;

    let page = world.visit(HERE).await;

    assert_eq!(page.status, 200, "{}", page.html);
    let (broken, good) = page.html.split_once("@user2").unwrap();
    assert!(broken.contains("@user1") && broken.contains("Has to be connected again"), "{}", page.html);
    assert!(broken.contains("One account has to be connected again"), "{}", page.html);
    assert!(good.contains(">Connected<") && !good.contains("Has to be connected again"), "{}", page.html);
    assert!(broken.contains(">Reconnect<"), "{}", page.html);
    let others = world.visit_in(world.browser_of_another(), HERE).await;
    assert!(others.html.contains("No account is connected."), "{}", others.html);
    let signed_out = world.visit_in(&Browser::default(), HERE).await;
    assert_eq!(signed_out.location.as_deref(), Some("/sign-in?next=/account/connections"));
}

#[tokio::test]
async fn an_account_whose_grant_is_gone_is_connected_again_from_the_page() {
    let world = Harness::new().await;
    let id = world.connect("7").await;
    world.lose_grant(id).await;

    let departed = press(&world, world.browser(), "/account/connections/connect", "platform=plain").await;
    let there = departed.leads_on.unwrap();
    let state = there.strip_prefix("https://plain.example/authorize?state=").unwrap();
    world.visit(&format!("/connect/callback/plain?state={state}&code=7")).await;

    let end = world.visit(&format!("/connect/{state}")).await;
    assert!(end.html.contains("href=\"/account/connections\""), "{}", end.html);
    let page = world.visit(HERE).await.html;
    assert!(page.contains(">Connected<") && !page.contains("Has to be connected again"), "{page}");
    assert!(page.contains(&disconnect(id)), "it is the same connection: {page}");
}

#[tokio::test]
async fn a_platform_that_asks_first_does_so_on_our_page() {
    let world = Harness::new().await;
    let asked = press(&world, world.browser(), "/account/connections/connect", "platform=asking").await;
    assert_eq!(asked.status, 303);
    assert!(asked.location.unwrap().starts_with("/connect/"));
    let unknown = press(&world, world.browser(), "/account/connections/connect", "platform=myspace").await;
    assert_eq!(unknown.status, 422);
}

#[tokio::test]
async fn a_plan_without_room_is_told_on_a_page() {
    let world = Harness::with_plan(serde_json::json!({"default": {"max_connections": 1}})).await;
    world.connect("7").await;
    let refused = press(&world, world.browser(), "/account/connections/connect", "platform=plain").await;
    assert_eq!(refused.status, 403);
    assert!(refused.html.contains("max_connections"), "{}", refused.html);
}

#[tokio::test]
async fn an_account_is_disconnected_by_its_user_and_by_nobody_else() {
    let world = Harness::new().await;
    let id = world.connect("7").await;

    let others = press(&world, world.browser_of_another(), &disconnect(id), "").await;
    assert_eq!(others.status, 404);
    let forged = world.submit_in(world.browser(), &disconnect(id), "csrf=AAAA").await;
    assert_eq!(forged.status, 403);
    let without = world.submit_in(world.browser(), &disconnect(id), "x=1").await;
    assert_eq!(without.status, 422);
    let signed_out = world.submit_in(&Browser::default(), &disconnect(id), "csrf=AAAA").await;
    assert_eq!(signed_out.status, 401);
    assert!(world.platform.revoked().is_empty());

    let done = press(&world, world.browser(), &disconnect(id), "").await;
    assert_eq!(done.location.as_deref(), Some("/account/connections?disconnected=true"));
    assert_eq!(world.platform.revoked(), ["access-7"]);
    let again = press(&world, world.browser(), &disconnect(id), "").await;
    assert_eq!(again.status, 404);
    assert!(world.visit(&done.location.unwrap()).await.html.contains("The account is disconnected."));
}
