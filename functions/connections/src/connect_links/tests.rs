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

/// The browser with the cookie and the hidden field of a page.
fn with_cookie(page: &TestResponse) -> Browser {
    let cookie = page.set_cookie.as_deref().unwrap_or_default().split(';').next().unwrap().to_owned();
    let csrf = page.html.split("name=\"csrf\" value=\"").nth(1).map(|it| it.split('"').next().unwrap().to_owned());
    Browser { cookie, csrf: csrf.unwrap_or_default() }
}

/// A new browser opens a link and continues; also returns the path of the page with the accounts.
async fn open(harness: &Harness, link: &Link) -> (Browser, String) {
    let first = harness.visit_in(&Browser::default(), &link.path).await;
    assert_eq!(first.status, 200, "{}", first.html);
    let browser = with_cookie(&first);
    let opened = harness.submit_in(&browser, &link.path, &format!("csrf={}", browser.csrf)).await;
    (browser, opened.location.unwrap())
}

/// Posts a form of the page with the accounts.
async fn press(harness: &Harness, browser: &Browser, accounts: &str, button: &str, fields: &str) -> TestResponse {
    let path = accounts.replace("/accounts", &format!("/{button}"));
    harness.submit_in(browser, &path, &format!("csrf={}&{fields}", browser.csrf)).await
}

/// Connects an account; returns the path of the page to which the platform's callback leads.
async fn connect(harness: &Harness, browser: &Browser, accounts: &str, code: &str) -> String {
    let left = press(harness, browser, accounts, "connect", "platform=plain").await;
    let state = left.refresh_url.unwrap().split_once("state=").unwrap().1.to_owned();
    let callback = format!("/connect/callback/plain?state={state}&code={code}");
    let returned = harness.visit_in(browser, &callback).await.location.unwrap();
    harness.visit_in(browser, &returned).await.location.unwrap_or(returned)
}

#[tokio::test]
async fn customer_connects_accounts_and_returns_to_the_product() {
    let harness = Harness::new().await;
    let link = a_link(&harness, json!({})).await;
    let first = harness.visit_in(&Browser::default(), &link.path).await;
    assert!(first.html.contains(&harness.recipient()), "{}", first.html);
    let (browser, accounts) = open(&harness, &link).await;
    assert!(!accounts.contains(link.path.rsplit('/').next().unwrap()), "the secret stays on the first page");

    for code in ["7", "8"] {
        assert_eq!(connect(&harness, &browser, &accounts, code).await, accounts);
    }
    let page = harness.visit_in(&browser, &accounts).await;
    assert!(page.html.contains("@user7") && page.html.contains("@user8"), "{}", page.html);
    let done = press(&harness, &browser, &accounts, "end", "").await;
    assert_eq!(done.location.as_deref(), Some(accounts.as_str()));

    let end = harness.visit_in(&browser, &accounts).await.refresh_url;
    let expected = format!("https://product.example/done?tab=1&connect_link={}&status=completed", link.id);
    assert_eq!(end, Some(expected));
    let connections = harness.get(&format!("/api/v1/connections?profile_id={}", link.profile)).await.body;
    assert_eq!(connections["data"].as_array().unwrap().len(), 2);
    let late = press(&harness, &browser, &accounts, "connect", "platform=plain").await;
    assert!(late.refresh_url.unwrap().starts_with("https://product.example/"), "an ended link connects nothing");
}

#[tokio::test]
async fn link_without_an_account_is_cancelled() {
    let harness = Harness::new().await;
    let link = a_link(&harness, json!({})).await;
    let (browser, accounts) = open(&harness, &link).await;
    let left = press(&harness, &browser, &accounts, "connect", "platform=plain").await;
    let state = left.refresh_url.unwrap().split_once("state=").unwrap().1.to_owned();
    let denied = format!("/connect/callback/plain?state={state}&error=access_denied");
    let returned = harness.visit_in(&browser, &denied).await.location.unwrap();
    let page = harness.visit_in(&browser, &returned).await;
    assert!(page.html.contains("Access was denied") && page.html.contains(&accounts), "{}", page.html);

    press(&harness, &browser, &accounts, "end", "").await;

    let end = harness.visit_in(&browser, &accounts).await.refresh_url.unwrap();
    assert!(end.ends_with("&status=cancelled"), "{end}");
}

#[tokio::test]
async fn link_belongs_to_the_first_browser_that_continues() {
    let harness = Harness::new().await;
    let link = a_link(&harness, json!({})).await;
    let preview = harness.visit_in(&Browser::default(), &link.path).await;
    let late = with_cookie(&preview);
    let (browser, accounts) = open(&harness, &link).await;

    let owner = harness.browser();
    for other in [&Browser::default(), &late, owner] {
        let csrf = if other.csrf.is_empty() { late.csrf.as_str() } else { other.csrf.as_str() };
        for path in [&link.path, &accounts] {
            let page = harness.visit_in(other, path).await;
            assert_eq!((page.status, page.html.contains(&accounts)), (403, false), "{}", page.html);
        }
        let opened = harness.submit_in(other, &link.path, &format!("csrf={csrf}")).await;
        assert_eq!((opened.status, opened.location), (403, None));
        for button in ["connect", "end"] {
            let pressed = press(&harness, other, &accounts, button, "platform=plain").await;
            assert_eq!((pressed.status, pressed.refresh_url), (403, None), "{button}: {}", pressed.html);
        }
    }
    let left = press(&harness, &browser, &accounts, "connect", "platform=plain").await;
    let state = left.refresh_url.unwrap().split_once("state=").unwrap().1.to_owned();
    for other in [&late, owner] {
        let stolen = harness.visit_in(other, &format!("/connect/callback/plain?state={state}&code=7")).await;
        assert_eq!((stolen.status, harness.platform.completed()), (403, 0), "{}", stolen.html);
    }
    let again = harness.visit_in(&browser, &link.path).await;
    assert_eq!(again.location.as_deref(), Some(accounts.as_str()), "the same browser opens the link once more");
}

#[tokio::test]
async fn expired_link_connects_nothing_and_leads_back() {
    let harness = Harness::new().await;
    let link = a_link(&harness, json!({ "expires_in": 60 })).await;
    let (browser, accounts) = open(&harness, &link).await;
    connect(&harness, &browser, &accounts, "7").await;
    let left = press(&harness, &browser, &accounts, "connect", "platform=plain").await;
    harness.clock.advance(chrono::TimeDelta::seconds(60));

    let state = left.refresh_url.unwrap().split_once("state=").unwrap().1.to_owned();
    let late = harness.visit_in(&browser, &format!("/connect/callback/plain?state={state}&code=8")).await;
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
    let left = press(&harness, &browser, &accounts, "connect", "platform=plain").await;
    press(&harness, &browser, &accounts, "end", "").await;

    let state = left.refresh_url.unwrap().split_once("state=").unwrap().1.to_owned();
    harness.visit_in(&browser, &format!("/connect/callback/plain?state={state}&code=7")).await;

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
        let left = press(&harness, &browser, &accounts, "connect", "platform=plain").await;
        let state = left.refresh_url.unwrap().split_once("state=").unwrap().1.to_owned();
        opened.push((browser, accounts, format!("/connect/callback/plain?state={state}&code=7")));
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
    let left = press(&harness, &browser, &accounts, "connect", "platform=plain").await;
    let state = left.refresh_url.unwrap().split_once("state=").unwrap().1.to_owned();
    connect(&harness, &browser, &accounts, "7").await;

    let returned = harness.visit_in(&browser, &format!("/connect/callback/plain?state={state}&code=8")).await;
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
async fn form_of_another_site_changes_nothing() {
    let harness = Harness::new().await;
    let link = a_link(&harness, json!({})).await;
    let (browser, accounts) = open(&harness, &link).await;
    let forged = Browser { csrf: "guessed".to_owned(), ..browser.clone() };
    let other = a_link(&harness, json!({})).await;
    assert_eq!(harness.submit_in(&forged, &other.path, "csrf=guessed").await.status, 403);
    assert_eq!(
        harness.submit_in(&Browser::default(), &other.path, &format!("csrf={}", browser.csrf)).await.status,
        403
    );
    for button in ["connect", "end"] {
        assert_eq!(press(&harness, &forged, &accounts, button, "platform=plain").await.status, 403);
    }
    assert_eq!(harness.visit_in(&browser, &accounts).await.refresh_url, None);
}

#[tokio::test]
async fn invalid_link_has_an_error_for_each_field() {
    let harness = Harness::new().await;
    let profile = a_profile(&harness).await;
    let valid = json!({ "profile_id": profile, "return_url": "https://product.example/" });
    for (field, value) in [
        ("profile_id", Value::Null),
        ("profile_id", json!(1)),
        ("profile_id", json!("1")),
        ("return_url", Value::Null),
        ("return_url", json!("https://evil.example/")),
        ("return_url", json!("javascript:alert(1)")),
        ("expires_in", json!(59)),
        ("expires_in", json!(604_801)),
        ("platforms.0", json!(["myspace"])),
        ("platforms", json!([])),
        ("brand", json!("Acme")),
    ] {
        let mut body = valid.clone();
        body[field.split('.').next().unwrap()] = value;
        let refused = harness.send_json("POST", LINKS, &body).await;
        assert_eq!((refused.status, refused.body["errors"][field].is_array()), (422, true), "{body}: {}", refused.html);
    }
}

#[tokio::test]
async fn limited_token_creates_links_for_its_profile_only() {
    let harness = Harness::new().await;
    let (profile, other) = (a_profile(&harness).await, a_profile(&harness).await);
    let token = harness.limited_token(profile).await;
    for (id, status) in [(profile, 201), (other, 422)] {
        let body = json!({ "profile_id": id, "return_url": "https://product.example/" });
        assert_eq!(harness.send_json_with(&token, "POST", LINKS, &body).await.status, status);
    }
}
