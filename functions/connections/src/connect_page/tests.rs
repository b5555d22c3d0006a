use serde_json::json;

use super::sentence;
use crate::testing::{Harness, PlatformBehavior};

#[test]
fn reason_is_shown_as_a_sentence() {
    assert_eq!(sentence("you cancelled"), "You cancelled.");
    assert_eq!(sentence("Disconnect one first."), "Disconnect one first.");
}

#[tokio::test]
async fn required_fields_are_asked_before_the_platforms_page() {
    let harness = Harness::new().await;
    let begun = harness.begin("asking").await;
    let page = harness.page(&begun).await;
    assert_eq!(page.status, 200);
    assert!(page.html.contains("name=\"server\""), "{}", page.html);

    let wrong = harness.send(&begun, "server=wrong%3C").await;
    assert_eq!(wrong.status, 422);
    assert!(wrong.html.contains("there is no such server"), "{}", wrong.html);
    assert!(wrong.html.contains("value=\"wrong&#60;\""), "{}", wrong.html);
    assert_eq!(harness.send(&begun, "server=+").await.status, 422);

    let right = harness.send(&begun, "server=good.example").await;
    assert_eq!(right.status, 200);
    let expected = format!("https://good.example/authorize?state={}", begun.token);
    assert_eq!(right.refresh_url.as_deref(), Some(expected.as_str()));
    harness.visit(&format!("/connect/callback/asking?state={}&code=7", begun.token)).await;
    assert_eq!(harness.poll(&begun).await.body["connection"]["provider"], "asking");
    assert_eq!(harness.platform.memories(), ["good.example"]);
}

#[tokio::test]
async fn unreachable_platform_is_named_and_the_typed_values_stay() {
    let harness = Harness::new().await;
    let begun = harness.begin("asking").await;
    harness.platform.set_behavior(PlatformBehavior::Broken);

    let failed = harness.send(&begun, "server=good.example&password=secret").await;

    assert_eq!(failed.status, 422);
    assert!(failed.html.contains("returned an unexpected response"), "{}", failed.html);
    assert!(failed.html.contains("value=\"good.example\""), "{}", failed.html);
    assert!(!failed.html.contains("value=\"secret\""), "{}", failed.html);
    harness.platform.set_behavior(PlatformBehavior::Willing);
    assert_eq!(harness.send(&begun, "server=good.example").await.status, 200);
}

#[tokio::test]
async fn a_field_value_has_2048_bytes_at_most() {
    let harness = Harness::new().await;
    let begun = harness.begin("asking").await;

    let too_long = harness.send(&begun, &format!("server=good.example&password={}", "7".repeat(2049))).await;
    assert_eq!((too_long.status, harness.platform.asked()), (422, 0));
    let longest = harness.send(&begun, &format!("server=good.example&password={}", "7".repeat(2048))).await;
    assert_eq!((longest.status, harness.platform.asked()), (303, 1));
}

#[tokio::test]
async fn typed_secret_can_connect_at_once_and_is_never_sent_back() {
    let harness = Harness::new().await;
    let begun = harness.begin("asking").await;
    let wrong = harness.send(&begun, "server=&password=7").await;
    assert_eq!(wrong.status, 422);
    assert!(!wrong.html.contains("value=\"7\""), "{}", wrong.html);

    assert_eq!(harness.send(&begun, "server=good.example&password=7").await.status, 303);
    assert_eq!(harness.poll(&begun).await.body["connection"]["username"], "user7");

    let begun = harness.begin("asking").await;
    assert_eq!(harness.send(&begun, "server=good.example&password=8,9").await.status, 303);
    assert!(harness.page(&begun).await.html.contains("name=\"account.9\""));
    assert_eq!(harness.send(&begun, "account.9=on").await.status, 303);
    assert_eq!(harness.poll(&begun).await.body["connection"]["username"], "user9");
}

#[tokio::test]
async fn account_that_cannot_be_stored_ends_the_connect_flow() {
    let harness = Harness::new().await;
    let begun = harness.begin("asking").await;
    // More accounts than one stored item can hold.
    let letters = || 'a'..='z';
    let many: Vec<String> = letters().flat_map(|one| letters().map(move |other| format!("{one}{other}"))).collect();
    let sent = harness.send(&begun, &format!("server=good.example&password={}", many.join(","))).await;

    assert_eq!(sent.status, 303);
    assert_eq!(harness.poll(&begun).await.body, json!({"status": "failed"}));
    let page = harness.page(&begun).await;
    assert!(page.html.contains("Something went wrong on our side"), "{}", page.html);
}

#[tokio::test]
async fn only_selected_accounts_are_connected() {
    let harness = Harness::new().await;
    let begun = harness.begin("plain").await;
    harness.callback(&begun, "7,8,9").await;
    let page = harness.page(&begun).await;
    for account in ["7", "8", "9"] {
        assert!(page.html.contains(&format!("name=\"account.{account}\"")), "{}", page.html);
    }
    assert!(!page.html.contains("access-"), "no token is shown");
    assert_eq!(harness.poll(&begun).await.body["status"], "pending");

    for nothing in ["account.5=on", "account=7", "more=1"] {
        let asked_again = harness.send(&begun, nothing).await;
        assert_eq!(asked_again.status, 422, "{nothing} was not offered");
        assert!(asked_again.html.contains("Select at least one account"), "{}", asked_again.html);
    }
    assert_eq!(harness.poll(&begun).await.body["status"], "pending");
    let (one, two) = tokio::join!(harness.send(&begun, "account.8=on"), harness.send(&begun, "account.9=on"));
    let mut answered = [one.status, two.status];
    answered.sort_unstable();
    assert!(answered == [303, 303] || answered == [303, 409], "{answered:?}");

    let listed = harness.get("/api/v1/connections").await.body["data"].clone();
    assert_eq!(listed.as_array().unwrap().len(), 1, "{listed}");
    assert_eq!(harness.poll(&begun).await.body["connection"], listed[0]);
    assert!(harness.page(&begun).await.html.contains("You can close this page"));
}

#[tokio::test]
async fn several_accounts_are_connected_at_once() {
    let harness = Harness::new().await;
    for (form, names) in [("account.7=on&account.9=on", "@user7 and @user9"), ("all=1", "@user7, @user9 and @user8")] {
        let begun = harness.begin("plain").await;
        harness.callback(&begun, "7,8,9").await;

        assert_eq!(harness.send(&begun, form).await.status, 303);

        let page = harness.page(&begun).await;
        assert!(page.html.contains(&format!("{names} on Sandbox are connected.")), "{}", page.html);
        assert_eq!(harness.poll(&begun).await.body["connection"]["username"], "user7");
    }
    let listed = harness.get("/api/v1/connections").await.body["data"].clone();
    assert_eq!(listed.as_array().unwrap().len(), 3, "those that were connected have the new credentials: {listed}");
    assert_eq!(harness.events.names(), ["connection.created"; 3]);
}

#[tokio::test]
async fn new_grant_updates_all_accounts_that_it_covers() {
    let harness = Harness::new().await;
    let begun = harness.begin("plain").await;
    harness.callback(&begun, "7@one,8@one,9@one").await;
    harness.send(&begun, "all=1").await;
    let lost = async || {
        let listed = harness.get("/api/v1/connections?status=needs_reconnection").await.body["data"].clone();
        let names = listed.as_array().unwrap().iter().map(|it| it["username"].as_str().unwrap().to_owned());
        let mut names: Vec<_> = names.collect();
        names.sort();
        names
    };
    for connection in harness.get("/api/v1/connections").await.body["data"].as_array().unwrap() {
        harness.lose_grant(connection["id"].as_u64().unwrap()).await;
    }
    assert_eq!(lost().await, ["user7", "user8", "user9"]);

    let again = harness.begin("plain").await;
    harness.callback(&again, "6@one,7@one,8@one").await;
    assert_eq!(harness.send(&again, "account.8=on").await.status, 303);

    assert_eq!(lost().await, ["user9"], "which it does not cover any more");
    let listed = harness.get("/api/v1/connections").await.body["data"].clone();
    assert_eq!(listed.as_array().unwrap().len(), 3, "nothing that was not chosen is connected: {listed}");
    assert_eq!(harness.poll(&again).await.body["connection"]["username"], "user8");
}

#[tokio::test]
async fn accounts_beyond_the_plan_limit_are_left_out() {
    let harness = Harness::with_plan(json!({"default": {"max_connections": 2}})).await;
    let begun = harness.begin("plain").await;
    harness.callback(&begun, "7,8,9").await;

    assert_eq!(harness.send(&begun, "all=1").await.status, 303);

    let page = harness.page(&begun).await;
    assert!(page.html.contains("@user7 and @user8 on Sandbox are connected."), "{}", page.html);
    assert!(page.html.contains("Not connected: @user9."), "{}", page.html);
    assert_eq!(harness.poll(&begun).await.body["status"], "completed");
}

#[tokio::test]
async fn more_accounts_than_one_write_holds_are_rejected() {
    let harness = Harness::new().await;
    let begun = harness.begin("plain").await;
    let many: Vec<String> = (1..=25).map(|it| it.to_string()).collect();
    harness.callback(&begun, &many.join(",")).await;
    assert!(!harness.page(&begun).await.html.contains("name=\"all\""));

    let refused = harness.send(&begun, "all=1").await;
    assert_eq!(refused.status, 422);
    assert!(refused.html.contains("Select at most 24 accounts at a time; you selected 25."), "{}", refused.html);

    let form: Vec<String> = many[1..].iter().map(|it| format!("account.{it}=on")).collect();
    assert_eq!(harness.send(&begun, &form.join("&")).await.status, 303);
    let listed = harness.get("/api/v1/connections").await.body["data"].clone();
    assert_eq!(listed.as_array().unwrap().len(), 24, "{listed}");
}

#[tokio::test]
async fn concurrent_form_gets_409() {
    let harness = Harness::new().await;
    let begun = harness.begin("asking").await;

    let sent = (0..20).map(|_| harness.send(&begun, "server=good.example&password=7"));
    let mut sent: Vec<_> = futures::future::join_all(sent).await.into_iter().map(|it| it.status).collect();

    sent.sort_unstable();
    assert!(sent[0] == 303 && sent.iter().all(|it| [303, 409, 429].contains(it)), "{sent:?}");
    assert_eq!(harness.platform.asked(), 1);
    assert_eq!(harness.poll(&begun).await.body["status"], "completed");
}

#[tokio::test]
async fn eleventh_form_does_not_call_the_platform() {
    let harness = Harness::new().await;
    let begun = harness.begin("asking").await;
    for _ in 0..10 {
        assert_eq!(harness.send(&begun, "server=wrong").await.status, 422);
    }

    let refused = harness.send(&begun, "server=good.example").await;

    assert_eq!((refused.status, harness.platform.asked()), (429, 10));
    assert!(refused.html.contains("Try again here"), "{}", refused.html);
    assert_eq!(harness.send(&begun, "cancel=1").await.status, 303, "it can still be ended");
}

#[tokio::test]
async fn repeated_form_field_is_rejected() {
    let harness = Harness::new().await;
    let begun = harness.begin("asking").await;

    let refused = harness.send(&begun, "server=good.example&server=evil.example").await;

    assert_eq!((refused.status, harness.platform.asked()), (422, 0));
    assert!(refused.html.contains("server more than once"), "{}", refused.html);
    assert_eq!(harness.send(&begun, "server=good.example").await.status, 200);
}

#[tokio::test]
async fn connect_flow_can_be_cancelled_on_our_page() {
    let harness = Harness::new().await;
    let begun = harness.begin("asking").await;
    assert_eq!(harness.send(&begun, "cancel=1").await.status, 303);
    assert_eq!(harness.poll(&begun).await.body, json!({"status": "failed"}));

    harness.visit(&format!("/connect/callback/asking?state={}&code=7", begun.token)).await;
    assert_eq!(harness.poll(&begun).await.body, json!({"status": "failed"}));
}

#[tokio::test]
async fn form_without_a_permit_calls_no_server_and_does_not_count() {
    let harness = Harness::new().await;
    let begun = harness.begin("asking").await;
    harness.hold_permits().await;

    for _ in 0..11 {
        let refused = harness.send(&begun, "server=good.example").await;
        assert_eq!((refused.status, refused.retry_after.as_deref()), (429, Some("5")));
        assert!(refused.html.contains("Wait 5 seconds"), "{}", refused.html);
    }
    assert_eq!(harness.platform.asked(), 0);
    assert_eq!(harness.send(&begun, "server=").await.status, 422, "it names no server");

    harness.release_permits().await;
    assert_eq!(harness.send(&begun, "server=good.example").await.status, 200);
}

#[tokio::test]
async fn callback_without_a_permit_can_be_loaded_again() {
    let harness = Harness::new().await;
    let begun = harness.begin("asking").await;
    harness.send(&begun, "server=good.example").await;
    harness.hold_permits().await;

    let refused = harness.callback(&begun, "7").await;
    assert_eq!((refused.status, refused.retry_after.as_deref()), (429, Some("5")));
    assert_eq!((harness.platform.completed(), &harness.poll(&begun).await.body["status"]), (0, &"pending".into()));

    harness.release_permits().await;
    assert_eq!(harness.callback(&begun, "7").await.status, 303);
    assert_eq!(harness.poll(&begun).await.body["status"], "completed");
    let free = harness.store().in_flight_calls(&harness.requests()).await.unwrap();
    assert_eq!(free.others("", harness.clock.now()), 0, "all permits are released");
}

#[tokio::test]
async fn platform_without_named_host_needs_no_permit() {
    let harness = Harness::new().await;
    harness.hold_permits().await;
    let id = harness.connect("7").await;
    assert_eq!(harness.get(&format!("/api/v1/connections/{id}/choices/board")).await.status, 200);
}

#[tokio::test]
async fn cancelling_the_choice_revokes_each_grant_once() {
    let harness = Harness::new().await;
    let begun = harness.begin("plain").await;
    harness.callback(&begun, "7@one,8@one,9").await;

    harness.send(&begun, "cancel=1").await;

    assert_eq!(harness.platform.revoked(), ["access-7@one", "access-9"]);
    assert_eq!(harness.poll(&begun).await.body, json!({"status": "failed"}));
}

#[tokio::test]
async fn grant_beyond_the_plan_limit_is_revoked() {
    let harness = Harness::with_plan(json!({"default": {"max_connections": 1}})).await;
    let begun = harness.begin("plain").await;
    harness.connect("7").await;

    harness.callback(&begun, "8").await;

    assert_eq!(harness.platform.revoked(), ["access-8"]);
    assert_eq!(harness.poll(&begun).await.body, json!({"status": "failed"}));
}

#[tokio::test]
async fn grant_of_a_connected_account_is_not_revoked() {
    let harness = Harness::new().await;
    harness.connect("7").await;
    let begun = harness.begin("plain").await;
    harness.callback(&begun, "7,8").await;

    harness.send(&begun, "cancel=1").await;

    assert!(harness.platform.revoked().is_empty());
}

#[tokio::test]
async fn token_that_cannot_be_refreshed_shows_when_it_ends() {
    let harness = Harness::new().await;
    let begun = harness.begin("plain").await;
    harness.callback(&begun, "7,8~refreshable").await;
    harness.send(&begun, "all=1").await;

    let connections = harness.get("/api/v1/connections").await.body["data"].clone();
    for connection in connections.as_array().unwrap() {
        let details = harness.get(&format!("/api/v1/connections/{}", connection["id"])).await.body;
        let entries = details["meta"].as_array().unwrap();
        let ends_at = &entries.iter().find(|it| it["name"] == "token_expires_at").unwrap()["value"];
        assert_eq!(ends_at.is_null(), connection["username"] == "user8", "{details}");
    }
}
