mod consents;

use serde_json::{Value, json};

use crate::testing::{Browser, Harness, TestResponse};

const LINKS: &str = "/api/v1/connect-links";

struct Link {
    id: u64,
    /// The path of the page that the customer opens.
    path: String,
    profile: u64,
}

async fn a_profile(harness: &Harness) -> u64 {
    let created = harness.send_json("POST", "/api/v1/profiles", &json!({ "name": "The Harbor" })).await;
    created.body["id"].as_u64().unwrap()
}

async fn a_link(harness: &Harness, fields: Value) -> Link {
    a_link_of(harness, a_profile(harness).await, fields).await
}

async fn a_link_of(harness: &Harness, profile: u64, fields: Value) -> Link {
    let mut body = json!({ "profile_id": profile, "return_url": "https://product.example/done?tab=1" });
    body.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
    let created = harness.send_json("POST", LINKS, &body).await;
    assert_eq!(created.status, 201, "{}", created.html);
    let path = created.body["url"].as_str().unwrap().strip_prefix("https://social.example").unwrap().to_owned();
    Link { id: created.body["id"].as_u64().unwrap(), path, profile }
}

/// A new browser opens a link and continues; also returns the path of the page with the accounts.
async fn open(harness: &Harness, link: &Link) -> (Browser, String) {
    let first = harness.visit_in(&Browser::default(), &link.path).await;
    assert_eq!(first.status, 200, "{}", first.html);
    let browser = Browser::of(&first);
    let opened = harness.submit_in(&browser, &link.path, &format!("csrf={}", browser.csrf)).await;
    (browser, opened.location.unwrap())
}

/// Posts a form of the page with the accounts.
async fn press(harness: &Harness, browser: &Browser, accounts: &str, button: &str, fields: &str) -> TestResponse {
    let path = accounts.replace("/accounts", &format!("/{button}"));
    harness.submit_in(browser, &path, &format!("csrf={}&{fields}", browser.csrf)).await
}

/// Goes to the platform; returns the path of its callback, to which a code is appended.
async fn leave(harness: &Harness, browser: &Browser, accounts: &str) -> String {
    let left = press(harness, browser, accounts, "connect", "platform=plain").await;
    let state = left.refresh_url.unwrap().split_once("state=").unwrap().1.to_owned();
    format!("/connect/callback/plain?state={state}&code=")
}

/// Connects an account; returns the path of the page to which the platform's callback leads.
async fn connect(harness: &Harness, browser: &Browser, accounts: &str, code: &str) -> String {
    let callback = leave(harness, browser, accounts).await;
    let returned = harness.visit_in(browser, &format!("{callback}{code}")).await.location.unwrap();
    harness.visit_in(browser, &returned).await.location.unwrap_or(returned)
}

#[tokio::test]
async fn expired_link_connects_nothing_and_leads_back() {
    let harness = Harness::new().await;
    let link = a_link(&harness, json!({ "expires_in": 60 })).await;
    let (browser, accounts) = open(&harness, &link).await;
    connect(&harness, &browser, &accounts, "7").await;
    let callback = leave(&harness, &browser, &accounts).await;
    harness.clock.advance(chrono::TimeDelta::seconds(60));

    let late = harness.visit_in(&browser, &format!("{callback}8")).await;
    assert_eq!(late.location.as_deref(), Some(accounts.as_str()), "a flow ends with its link");
    let page = harness.visit_in(&browser, &accounts).await;
    assert_eq!((page.status, page.html.contains("value=\"plain\"")), (410, false), "{}", page.html);
    let pressed = press(&harness, &browser, &accounts, "connect", "platform=plain").await;
    assert_eq!((pressed.status, pressed.refresh_url), (410, None));
    assert_eq!(harness.platform.completed(), 1);
    let done = press(&harness, &browser, &accounts, "end", "").await;
    let end = harness.visit_in(&browser, &done.location.unwrap()).await.refresh_url.unwrap();
    assert!(end.ends_with("&status=completed"), "{end}");

    let unopened = a_link(&harness, json!({ "expires_in": 60 })).await;
    harness.clock.advance(chrono::TimeDelta::seconds(60));
    assert_eq!(harness.visit_in(&Browser::default(), &unopened.path).await.status, 410);
    harness.clock.advance(chrono::TimeDelta::days(1));
    assert_eq!(harness.visit_in(&browser, &link.path).await.status, 404);
}

#[tokio::test]
async fn flow_that_is_open_when_the_customer_ends_the_link_connects_nothing() {
    let harness = Harness::new().await;
    let link = a_link(&harness, json!({})).await;
    let (browser, accounts) = open(&harness, &link).await;
    let callback = leave(&harness, &browser, &accounts).await;
    press(&harness, &browser, &accounts, "end", "").await;

    harness.visit_in(&browser, &format!("{callback}7")).await;

    assert_eq!(harness.platform.completed(), 0);
    let end = harness.visit_in(&browser, &accounts).await.refresh_url.unwrap();
    assert!(end.ends_with("&status=cancelled"), "{end}");
}

#[tokio::test]
async fn link_ends_with_its_profile_and_with_the_access_of_its_user() {
    let harness = Harness::new().await;
    let links = [a_link(&harness, json!({})).await, a_link(&harness, json!({})).await];
    let mut opened = Vec::new();
    for link in &links {
        let (browser, accounts) = open(&harness, link).await;
        let callback = leave(&harness, &browser, &accounts).await;
        opened.push((browser, accounts, format!("{callback}7")));
    }
    assert_eq!(harness.delete(&format!("/api/v1/profiles/{}", links[0].profile)).await.status, 204);
    let check = async |index: usize| {
        let (browser, accounts, callback) = &opened[index];
        for path in [&links[index].path, accounts, callback] {
            assert_eq!(harness.visit_in(browser, path).await.status, 404, "{path}");
        }
        assert_eq!(press(&harness, browser, accounts, "connect", "platform=plain").await.status, 404);
    };
    check(0).await;
    assert_eq!(harness.visit_in(&opened[1].0, &opened[1].1).await.status, 200);
    harness.disable_user().await;
    check(1).await;
    assert_eq!(harness.platform.completed(), 0);
}

#[tokio::test]
async fn customer_learns_that_the_limit_is_reached_without_the_details_of_the_plan() {
    let harness = Harness::with_plan(json!({ "default": { "max_connections": 1 } })).await;
    let link = a_link(&harness, json!({})).await;
    let (browser, accounts) = open(&harness, &link).await;
    let callback = leave(&harness, &browser, &accounts).await;
    connect(&harness, &browser, &accounts, "7").await;

    let returned = harness.visit_in(&browser, &format!("{callback}8")).await;
    let ended = harness.visit_in(&browser, &returned.location.unwrap()).await;
    let refused = press(&harness, &browser, &accounts, "connect", "platform=plain").await;

    assert!(ended.html.contains("The limit of connected accounts is reached."), "{}", ended.html);
    assert!(refused.html.contains(&format!("Ask {}", harness.recipient())), "{}", refused.html);
    for page in [ended, refused] {
        assert!(!page.html.contains("max_connections"), "{}", page.html);
    }
}

#[tokio::test]
async fn link_offers_only_its_platforms() {
    let harness = Harness::new().await;
    let link = a_link(&harness, json!({ "platforms": ["asking"] })).await;
    let (browser, accounts) = open(&harness, &link).await;
    let page = harness.visit_in(&browser, &accounts).await;
    assert!(page.html.contains("value=\"asking\"") && !page.html.contains("value=\"plain\""), "{}", page.html);

    let other = press(&harness, &browser, &accounts, "connect", "platform=plain").await;
    assert!(other.refresh_url.is_none() && other.html.contains("Choose one of the platforms"), "{}", other.html);
    let asked = press(&harness, &browser, &accounts, "connect", "platform=asking").await.location.unwrap();
    let form = harness.visit_in(&browser, &asked).await;
    assert!(form.html.contains(&harness.recipient()) && form.html.contains("name=\"server\""), "{}", form.html);
}

#[tokio::test]
async fn error_page_of_a_link_shows_the_brand() {
    let harness = Harness::new().await;
    let link = a_link(&harness, json!({})).await;
    let (_, accounts) = open(&harness, &link).await;

    for (path, status) in [("/connect-links/unknown", 404), (accounts.as_str(), 403)] {
        let page = harness.visit_in(&Browser::default(), path).await;
        assert_eq!(page.status, status, "{}", page.html);
        assert!(page.html.contains("class=\"branded\""), "{}", page.html);
    }
}
