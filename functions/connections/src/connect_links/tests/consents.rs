//! Links that ask for the consents of a post.

use domain::id::ConnectionId;
use domain::post::{Post, PostStatus};
use domain::scope::Scope;
use domain::testing::noon;

use super::*;

struct Asked {
    harness: Harness,
    link: Link,
    post: u64,
    /// The accounts of the post.
    accounts: Vec<u64>,
}

/// A link for the draft of a profile with two accounts that need a consent and one that needs none.
async fn asked() -> Asked {
    let harness = Harness::new().await;
    let profile = a_profile(&harness).await;
    let mut accounts = Vec::new();
    for code in ["7~consent", "8", "9~consent"] {
        accounts.push(harness.connect_for(profile, code).await);
    }
    let options = [("visibility", "SELF_ONLY".into()), ("brand_content", true.into())];
    let post = harness.draft_for(&accounts, 60_000, &options).await;
    let link = a_link_of(&harness, profile, json!({ "post_id": post })).await;
    Asked { harness, link, post, accounts }
}

impl Asked {
    /// The posts function stores the consent for an account.
    async fn agree(&self, account: u64) {
        let account = ConnectionId::new(account).unwrap();
        let consent = |post: &mut Post| {
            let target = post.targets.iter_mut().find(|it| it.connection_id == account).unwrap();
            target.consented_at = Some(noon());
        };
        self.harness.change_post(self.post, consent).await;
    }

    /// Where the browser returns to the product.
    async fn returned(&self, browser: &Browser, page: &str) -> String {
        let next = self.harness.visit_in(browser, page).await;
        let url = match next.location {
            Some(end) => self.harness.visit_in(browser, &end).await.refresh_url,
            None => next.refresh_url,
        };
        url.unwrap_or_default()
    }

    async fn end(&self, browser: &Browser, page: &str) -> TestResponse {
        self.harness.submit_in(browser, &page.replace("/consent", "/end"), &format!("csrf={}", browser.csrf)).await
    }

    fn product(&self, status: &str) -> String {
        format!("https://product.example/done?tab=1&connect_link={}&status={status}", self.link.id)
    }
}

#[tokio::test]
async fn customer_is_asked_for_each_account_and_returns_to_the_product() {
    let asked = asked().await;
    let harness = &asked.harness;
    let first = harness.visit_in(&Browser::default(), &asked.link.path).await;
    assert!(first.html.contains("Agree to a post") && first.html.contains(&harness.recipient()), "{}", first.html);
    let (browser, page) = open(harness, &asked.link).await;
    assert!(page.ends_with("/consent") && !page.contains(asked.link.path.rsplit('/').next().unwrap()), "{page}");

    for account in [asked.accounts[0], asked.accounts[2]] {
        let shown = harness.visit_in(&browser, &page).await;
        let (form, files) = (format!("action=\"{page}/{account}\""), page.replace("/consent", "/files/"));
        assert_eq!((shown.status, shown.cache_control.as_deref()), (200, Some("no-store")));
        for part in [&form, &files, &harness.recipient(), &browser.csrf] {
            assert!(shown.html.contains(part.as_str()), "{part}: {}", shown.html);
        }
        for absent in [" checked", " selected", "/account", "Sign out", "name=\"do\""] {
            assert!(!shown.html.contains(absent), "{absent}: {}", shown.html);
        }
        asked.agree(account).await;
    }

    assert_eq!(asked.returned(&browser, &page).await, asked.product("completed"));
    harness.change_post(asked.post, |post| post.targets[0].consented_at = None).await;
    assert_eq!(asked.returned(&browser, &page).await, asked.product("completed"), "the result stays");
}

#[tokio::test]
async fn form_that_was_refused_keeps_what_the_customer_chose() {
    let asked = asked().await;
    let (browser, page) = open(&asked.harness, &asked.link).await;

    let shown = asked.harness.visit_in(&browser, &format!("{page}?problem=private_brand")).await;

    for kept in ["selected>self_only", "name=\"brand_content\" checked", "role=\"alert\""] {
        assert!(shown.html.contains(kept), "{kept}: {}", shown.html);
    }
}

#[tokio::test]
async fn customer_who_cancels_has_not_agreed() {
    let asked = asked().await;
    let (browser, page) = open(&asked.harness, &asked.link).await;
    asked.agree(asked.accounts[0]).await;

    let ended = asked.end(&browser, &page).await;

    assert_eq!(ended.location.as_deref(), Some(page.as_str()));
    assert_eq!(asked.returned(&browser, &page).await, asked.product("cancelled"));
    asked.agree(asked.accounts[2]).await;
    assert_eq!(asked.returned(&browser, &page).await, asked.product("cancelled"), "the link has ended");
}

#[tokio::test]
async fn customer_learns_that_the_post_waits_no_longer() {
    for change in ["deleted", "scheduled", "without the accounts", "disconnected"] {
        let asked = asked().await;
        let (browser, page) = open(&asked.harness, &asked.link).await;
        match change {
            "deleted" => asked.harness.delete_post(asked.post).await,
            "scheduled" => asked.harness.change_post(asked.post, |post| post.status = PostStatus::Scheduled).await,
            "without the accounts" => {
                asked.agree(asked.accounts[0]).await;
                asked.harness.change_post(asked.post, |post| drop(post.targets.drain(1..))).await;
            }
            _ => {
                asked.harness.disconnect(asked.accounts[0]).await;
                asked.harness.disconnect(asked.accounts[2]).await;
            }
        }

        let shown = asked.harness.visit_in(&browser, &page).await;

        assert_eq!((shown.status, shown.html.contains("consent/")), (410, false), "{}", shown.html);
        assert!(shown.html.contains("no longer waiting") && shown.html.contains(">Return<"), "{}", shown.html);
        asked.end(&browser, &page).await;
        assert_eq!(asked.returned(&browser, &page).await, asked.product("cancelled"));
    }
}

#[tokio::test]
async fn post_of_another_profile_is_not_shown() {
    let asked = asked().await;
    let (browser, page) = open(&asked.harness, &asked.link).await;
    asked.harness.change_post(asked.post, |post| post.of_profile = None).await;

    let shown = asked.harness.visit_in(&browser, &page).await;

    assert_eq!((shown.status, shown.html.contains("consent/")), (410, false), "{}", shown.html);
}

#[tokio::test]
async fn post_that_is_scheduled_after_all_consents_is_completed() {
    let asked = asked().await;
    let (browser, page) = open(&asked.harness, &asked.link).await;
    for account in [asked.accounts[0], asked.accounts[2]] {
        asked.agree(account).await;
    }
    asked.harness.change_post(asked.post, |post| post.status = PostStatus::Scheduled).await;

    assert_eq!(asked.returned(&browser, &page).await, asked.product("completed"));
}

#[tokio::test]
async fn expired_link_asks_for_nothing_and_leads_back() {
    let asked = asked().await;
    let (browser, page) = open(&asked.harness, &asked.link).await;
    asked.agree(asked.accounts[0]).await;
    asked.harness.clock.advance(chrono::TimeDelta::hours(1));

    let shown = asked.harness.visit_in(&browser, &page).await;

    assert_eq!((shown.status, shown.html.contains("consent/")), (410, false), "{}", shown.html);
    asked.end(&browser, &page).await;
    assert_eq!(asked.returned(&browser, &page).await, asked.product("cancelled"));
}

#[tokio::test]
async fn link_that_expires_after_the_last_consent_is_completed() {
    let asked = asked().await;
    let (browser, page) = open(&asked.harness, &asked.link).await;
    for account in [asked.accounts[0], asked.accounts[2]] {
        asked.agree(account).await;
    }
    asked.harness.clock.advance(chrono::TimeDelta::hours(1));

    assert_eq!(asked.returned(&browser, &page).await, asked.product("completed"));
}

#[tokio::test]
async fn other_browsers_and_customers_of_a_disabled_user_see_nothing() {
    let asked = asked().await;
    let (browser, page) = open(&asked.harness, &asked.link).await;
    for other in [&Browser::default(), asked.harness.browser()] {
        let shown = asked.harness.visit_in(other, &page).await;
        assert_eq!((shown.status, shown.html.contains("textarea")), (403, false), "{}", shown.html);
    }
    let forged = Browser { csrf: "guessed".to_owned(), ..browser.clone() };
    assert_eq!(asked.end(&forged, &page).await.status, 403);
    asked.harness.disable_user().await;
    assert_eq!(asked.harness.visit_in(&browser, &page).await.status, 404);
}

#[tokio::test]
async fn account_with_a_lost_grant_cannot_be_agreed_to() {
    let asked = asked().await;
    let (browser, page) = open(&asked.harness, &asked.link).await;
    asked.harness.lose_grant(asked.accounts[0]).await;

    let shown = asked.harness.visit_in(&browser, &page).await;

    assert!(shown.html.contains("Sandbox no longer accepts this account. Ask "), "{}", shown.html);
    assert!(!shown.html.contains("textarea") && shown.html.contains(">Cancel<"), "{}", shown.html);
}

#[tokio::test]
async fn link_has_one_purpose() {
    let asked = asked().await;
    let harness = &asked.harness;
    let (browser, consents) = open(harness, &asked.link).await;
    let accounts = consents.replace("/consent", "/accounts");
    assert_eq!(harness.visit_in(&browser, &accounts).await.location.as_deref(), Some(consents.as_str()));
    let pressed = press(harness, &browser, &accounts, "connect", "platform=plain").await;
    assert_eq!((pressed.location.as_deref(), pressed.refresh_url), (Some(consents.as_str()), None));

    let other = a_link(harness, json!({})).await;
    let (browser, accounts) = open(harness, &other).await;
    let consents = accounts.replace("/accounts", "/consent");
    assert_eq!(harness.visit_in(&browser, &consents).await.location, Some(accounts));
}

#[tokio::test]
async fn link_is_only_for_a_post_of_its_profile_that_needs_a_consent() {
    let asked = asked().await;
    let (harness, profile) = (&asked.harness, asked.link.profile);
    let other = a_profile(harness).await;
    let own = harness.connect("7~consent").await;
    let without_consent = harness.draft(asked.accounts[1], 1_000, &[]).await;
    let scheduled = harness.draft(asked.accounts[0], 1_000, &[]).await;
    harness.change_post(scheduled, |post| post.status = PostStatus::Scheduled).await;
    let gone = harness.connect_for(profile, "10").await;
    let with_gone = harness.draft_for(&[gone, asked.accounts[0]], 1_000, &[]).await;
    harness.disconnect(gone).await;
    let lost = harness.connect_for(profile, "11~consent").await;
    let with_lost = harness.draft_for(&[lost], 1_000, &[]).await;
    harness.lose_grant(lost).await;

    for (profile, post, reason) in [
        (profile, json!(1), "is not a post of this profile"),
        (profile, json!("1"), "must be a whole number"),
        (other, json!(asked.post), "is not a post of this profile"),
        (profile, json!(harness.draft(own, 1_000, &[]).await), "is not a post of this profile"),
        (profile, json!(scheduled), "is scheduled; only a draft or a failed post"),
        (profile, json!(without_consent), "needs no consent"),
        (profile, json!(with_gone), "has an account that is no longer connected"),
        (profile, json!(with_lost), "has an account with needs_reconnection"),
    ] {
        let body = json!({ "profile_id": profile, "return_url": "https://product.example/", "post_id": post });
        let refused = harness.send_json("POST", LINKS, &body).await;
        let message = refused.body["errors"]["post_id"][0].as_str().unwrap_or_default();
        assert!(refused.status == 422 && message.contains(reason), "{body}: {}", refused.html);
    }
    let mut body = json!({ "profile_id": profile, "return_url": "https://product.example/", "post_id": asked.post });
    for (scopes, status) in [
        (vec![Scope::ConnectionsWrite, Scope::PostsRead, Scope::PostsDraft], 403),
        (vec![Scope::ConnectionsWrite, Scope::PostsWrite], 201),
    ] {
        let token = harness.token_with(&scopes).await;
        assert_eq!(harness.send_json_with(&token, "POST", LINKS, &body).await.status, status, "{scopes:?}");
    }
    let limited = harness.limited_token(other).await;
    assert_eq!(harness.send_json_with(&limited, "POST", LINKS, &body).await.status, 422);
    body["platforms"] = json!(["plain"]);
    let refused = harness.send_json("POST", LINKS, &body).await;
    assert_eq!((refused.status, refused.body["errors"]["platforms"].is_array()), (422, true), "{}", refused.html);
}
