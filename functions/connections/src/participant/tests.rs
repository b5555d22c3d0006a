//! Which visitors may continue a connect flow, and the responses to the others.

use serde_json::json;

use crate::testing::{Browser, Harness, StartedTestFlow, TestResponse};

/// The guest's browser after it has opened the page.
async fn guest(harness: &Harness, begun: &StartedTestFlow) -> (Browser, TestResponse) {
    let page = harness.visit_in(&Browser::default(), &format!("/connect/{}", begun.token)).await;
    (Browser::of(&page), page)
}

fn callback(begun: &StartedTestFlow) -> String {
    format!("/connect/callback/{}?state={}&code=7", begun.platform, begun.token)
}

#[tokio::test]
async fn signed_out_visitor_signs_in_and_returns() {
    let harness = Harness::new().await;
    let begun = harness.begin("plain").await;
    let signed_out = Browser::default();

    let page = harness.visit_in(&signed_out, &format!("/connect/{}", begun.token)).await;
    let came = harness.visit_in(&signed_out, &callback(&begun)).await;
    let sent = harness.send_in(&signed_out, &begun, "cancel=1").await;

    assert_eq!(page.location, Some(format!("/sign-in?next=/connect/{}", begun.token)));
    let back = format!("/sign-in?next=/connect/callback/plain%3Fstate%3D{}%26code%3D7", begun.token);
    assert_eq!(came.location, Some(back));
    assert_eq!(sent.status, 401);
    assert_eq!(
        (harness.poll(&begun).await.body["status"].as_str(), harness.platform.completed()),
        (Some("pending"), 0)
    );
    harness.callback(&begun, "7").await;
    assert_eq!(harness.poll(&begun).await.body["status"], "completed");
}

#[tokio::test]
async fn another_user_sees_the_owner_and_changes_nothing() {
    let harness = Harness::new().await;
    let begun = harness.begin("asking").await;
    let (theirs, path) = (harness.browser_of_another(), format!("/connect/{}", begun.token));

    let seen = [
        harness.visit_in(theirs, &path).await,
        harness.send_in(theirs, &begun, "server=good.example&password=7").await,
        harness.send_in(theirs, &begun, "cancel=1").await,
        harness.visit_in(theirs, &callback(&begun)).await,
    ];

    for response in seen {
        assert_eq!(response.status, 403);
        assert!(response.html.contains("another user") && response.html.contains("Sign out"), "{}", response.html);
        assert!(response.html.contains(&harness.recipient()) && !response.html.contains("name=\"server\""));
        assert!(response.html.contains("/sign-in?anew=true"), "{}", response.html);
    }
    assert_eq!(
        (harness.poll(&begun).await.body["status"].as_str(), harness.platform.completed()),
        (Some("pending"), 0)
    );
}

#[tokio::test]
async fn form_without_the_sessions_csrf_token_changes_nothing() {
    let harness = Harness::new().await;
    let begun = harness.begin("asking").await;
    let forged = Browser { csrf: harness.browser_of_another().csrf.clone(), ..harness.browser().clone() };

    for browser in [forged, Browser { csrf: String::new(), ..harness.browser().clone() }] {
        assert_eq!(harness.send_in(&browser, &begun, "cancel=1").await.status, 403);
    }

    assert_eq!(harness.poll(&begun).await.body["status"], "pending");
}

#[tokio::test]
async fn every_page_names_the_recipient() {
    let harness = Harness::new().await;
    let names = |response: TestResponse| assert!(response.html.contains(&harness.recipient()), "{}", response.html);
    let asking = harness.begin("asking").await;
    names(harness.page(&asking).await);
    names(harness.send(&asking, "server=wrong").await);
    names(harness.send(&asking, "server=good.example").await);
    names(harness.page(&asking).await);
    harness.visit(&format!("/connect/callback/asking?state={}&code=7,8", asking.token)).await;
    names(harness.page(&asking).await);
    harness.send(&asking, "account.8=on").await;
    names(harness.page(&asking).await);
    let cancelled = harness.begin("asking").await;
    harness.send(&cancelled, "cancel=1").await;
    names(harness.page(&cancelled).await);
    let late = harness.begin("asking").await;
    harness.clock.advance(chrono::TimeDelta::seconds(600));
    names(harness.page(&late).await);
}

#[tokio::test]
async fn guest_sees_the_recipient_and_completes_in_one_browser() {
    let harness = Harness::with_guests().await;
    let response = harness.post("/api/v1/connections/connect/plain").await;
    let begun = StartedTestFlow { platform: "plain", token: response.body["state_token"].as_str().unwrap().to_owned() };
    let ours = format!("https://social.example/connect/{}", begun.token);
    assert_eq!(response.body["authorization_url"], ours, "a guest is asked first");

    let (guest, page) = guest(&harness, &begun).await;
    let permitted = format!(
        "{} sees the name and the picture of the account, and gets this access: publish posts",
        harness.recipient()
    );
    assert!(page.html.contains(&permitted), "{}", page.html);
    let sent = harness.send_in(&guest, &begun, "").await;
    assert_eq!(sent.refresh_url, Some(format!("https://plain.example/authorize?state={}", begun.token)));

    for browser in [&Browser::default(), harness.browser(), harness.browser_of_another()] {
        assert_eq!(harness.visit_in(browser, &callback(&begun)).await.status, 403);
    }
    assert_eq!(harness.platform.completed(), 0);
    assert_eq!(harness.visit_in(&guest, &callback(&begun)).await.status, 303);
    assert_eq!(harness.poll(&begun).await.body["connection"]["username"], "user7");
    let ended = harness.visit_in(&guest, &format!("/connect/{}", begun.token)).await;
    assert!(ended.html.contains("is connected") && ended.html.contains(&harness.recipient()), "{}", ended.html);
    let other = harness.visit_in(&Browser::default(), &format!("/connect/{}", begun.token)).await;
    assert!(other.status == 403 && !other.html.contains("user7"), "{}", other.html);
}

#[tokio::test]
async fn guest_must_submit_our_form_first() {
    let harness = Harness::with_guests().await;
    let begun = harness.begin("plain").await;
    let (guest, _) = guest(&harness, &begun).await;

    let forged = [Browser::default(), Browser { csrf: String::new(), ..guest.clone() }];
    for browser in forged {
        assert_eq!(harness.send_in(&browser, &begun, "").await.status, 403);
    }
    assert_eq!(harness.visit_in(&guest, &callback(&begun)).await.status, 303, "the flow awaits no callback");

    assert_eq!(harness.poll(&begun).await.body, json!({"status": "pending", "expires_in": 600}));
}

#[tokio::test]
async fn second_guest_cannot_take_over() {
    let harness = Harness::with_guests().await;
    let begun = harness.begin("plain").await;
    let (first, _) = guest(&harness, &begun).await;
    let (second, _) = guest(&harness, &begun).await;

    assert_eq!(harness.send_in(&first, &begun, "").await.status, 200);
    assert_eq!(harness.send_in(&second, &begun, "").await.status, 403);
    assert_eq!(harness.send_in(&second, &begun, "cancel=1").await.status, 403);

    // The owner may continue without the guest.
    assert_eq!(harness.send(&begun, "").await.status, 200);
    assert_eq!(harness.visit_in(&first, &callback(&begun)).await.status, 303);
    assert_eq!(harness.platform.completed(), 0);
    harness.callback(&begun, "7").await;
    assert_eq!(harness.poll(&begun).await.body["status"], "completed");
}

#[tokio::test]
async fn form_of_another_guests_page_is_rejected() {
    let harness = Harness::with_guests().await;
    let begun = harness.begin("plain").await;
    let (first, _) = guest(&harness, &begun).await;
    let (second, _) = guest(&harness, &begun).await;

    let forged = Browser { csrf: second.csrf, ..first };
    assert_eq!(harness.send_in(&forged, &begun, "").await.status, 403);
}

#[tokio::test]
async fn named_server_that_learns_the_link_cannot_take_over() {
    let harness = Harness::with_guests().await;
    // The server learns it when the person is sent to it, or when it is asked
    // before that and refuses.
    for answers in ["server=good.example", "server=wrong"] {
        for by_owner in [true, false] {
            let begun = harness.begin("asking").await;
            let (guest, _) = guest(&harness, &begun).await;
            let honest = if by_owner { harness.browser() } else { &guest };
            harness.send_in(honest, &begun, answers).await;

            let (hostile, page) = self::guest(&harness, &begun).await;
            let sent = harness.send_in(&hostile, &begun, "server=good.example&password=7").await;

            assert!(!page.html.contains(&harness.recipient()), "{}", page.html);
            assert!([401, 403].contains(&sent.status), "{}", sent.status);
            assert_eq!(harness.poll(&begun).await.body["status"], "pending");
            harness.send_in(honest, &begun, "server=good.example&password=7").await;
            assert_eq!(harness.poll(&begun).await.body["status"], "completed");
        }
    }
}

#[tokio::test]
async fn guest_connects_nothing_for_a_disabled_user() {
    let harness = Harness::with_guests().await;
    let begun = harness.begin("plain").await;
    let (guest, _) = guest(&harness, &begun).await;
    harness.send_in(&guest, &begun, "").await;

    harness.disable_user().await;

    assert_eq!(harness.visit_in(&guest, &callback(&begun)).await.status, 404);
    assert_eq!(harness.platform.completed(), 0);
}
