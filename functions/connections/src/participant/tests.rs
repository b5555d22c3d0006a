//! Who is let in, and what becomes of the others.

use serde_json::json;

use crate::testing::{Answer, Begun, Browser, Harness};

/// The guest's browser after it has opened the page.
async fn guest(world: &Harness, begun: &Begun) -> (Browser, Answer) {
    let page = world.visit_in(&Browser::default(), &format!("/connect/{}", begun.token)).await;
    let cookie = page.set_cookie.clone().unwrap_or_default();
    let cookie = cookie.split(';').next().unwrap().to_owned();
    let csrf = page.html.split("name=\"csrf\" value=\"").nth(1).map(|it| it.split('"').next().unwrap().to_owned());
    (Browser { cookie, csrf: csrf.unwrap_or_default() }, page)
}

fn callback(begun: &Begun) -> String {
    format!("/connect/callback/{}?state={}&code=7", begun.platform, begun.token)
}

#[tokio::test]
async fn whoever_is_not_signed_in_signs_in_and_comes_back() {
    let world = Harness::new().await;
    let begun = world.begin("plain").await;
    let nobody = Browser::default();

    let page = world.visit_in(&nobody, &format!("/connect/{}", begun.token)).await;
    let came = world.visit_in(&nobody, &callback(&begun)).await;
    let sent = world.send_in(&nobody, &begun, "cancel=1").await;

    assert_eq!(page.location, Some(format!("/sign-in?next=/connect/{}", begun.token)));
    let back = format!("/sign-in?next=/connect/callback/plain%3Fstate%3D{}%26code%3D7", begun.token);
    assert_eq!(came.location, Some(back));
    assert_eq!(sent.status, 401);
    assert_eq!((world.poll(&begun).await.body["status"].as_str(), world.platform.completed()), (Some("pending"), 0));
    world.callback(&begun, "7").await;
    assert_eq!(world.poll(&begun).await.body["status"], "completed");
}

#[tokio::test]
async fn somebody_else_is_told_whose_it_is_and_nothing_happens() {
    let world = Harness::new().await;
    let begun = world.begin("asking").await;
    let (theirs, path) = (world.browser_of_another(), format!("/connect/{}", begun.token));

    let seen = [
        world.visit_in(theirs, &path).await,
        world.send_in(theirs, &begun, "server=good.example&password=7").await,
        world.send_in(theirs, &begun, "cancel=1").await,
        world.visit_in(theirs, &callback(&begun)).await,
    ];

    for answer in seen {
        assert_eq!(answer.status, 403);
        assert!(answer.html.contains("another user") && answer.html.contains("Sign out"), "{}", answer.html);
        assert!(answer.html.contains(&world.receiver()) && !answer.html.contains("name=\"server\""));
        assert!(answer.html.contains("/sign-in?anew=true"), "{}", answer.html);
    }
    assert_eq!((world.poll(&begun).await.body["status"].as_str(), world.platform.completed()), (Some("pending"), 0));
}

#[tokio::test]
async fn a_form_that_is_not_of_the_session_does_nothing() {
    let world = Harness::new().await;
    let begun = world.begin("asking").await;
    let forged = Browser { csrf: world.browser_of_another().csrf.clone(), ..world.browser().clone() };

    for browser in [forged, Browser { csrf: String::new(), ..world.browser().clone() }] {
        assert_eq!(world.send_in(&browser, &begun, "cancel=1").await.status, 403);
    }

    assert_eq!(world.poll(&begun).await.body["status"], "pending");
}

#[tokio::test]
async fn every_page_names_who_receives_the_account() {
    let world = Harness::new().await;
    let names = |answer: Answer| assert!(answer.html.contains(&world.receiver()), "{}", answer.html);
    let asking = world.begin("asking").await;
    names(world.page(&asking).await);
    names(world.send(&asking, "server=wrong").await);
    names(world.send(&asking, "server=good.example").await);
    names(world.page(&asking).await);
    world.visit(&format!("/connect/callback/asking?state={}&code=7,8", asking.token)).await;
    names(world.page(&asking).await);
    world.send(&asking, "account.8=on").await;
    names(world.page(&asking).await);
    let cancelled = world.begin("asking").await;
    world.send(&cancelled, "cancel=1").await;
    names(world.page(&cancelled).await);
    let late = world.begin("asking").await;
    world.clock.advance(chrono::TimeDelta::seconds(600));
    names(world.page(&late).await);
}

#[tokio::test]
async fn a_guest_reads_for_whom_it_is_presses_and_comes_back_in_the_same_browser() {
    let world = Harness::with_guests().await;
    let answer = world.post("/api/v1/connections/connect/plain").await;
    let begun = Begun { platform: "plain", token: answer.body["state_token"].as_str().unwrap().to_owned() };
    let ours = format!("https://social.example/connect/{}", begun.token);
    assert_eq!(answer.body["authorization_url"], ours, "a guest is asked first");

    let (guest, page) = guest(&world, &begun).await;
    assert!(page.html.contains(&format!("{} can publish to it", world.receiver())), "{}", page.html);
    let sent = world.send_in(&guest, &begun, "").await;
    assert_eq!(sent.leads_on, Some(format!("https://plain.example/authorize?state={}", begun.token)));

    for browser in [&Browser::default(), world.browser(), world.browser_of_another()] {
        assert_eq!(world.visit_in(browser, &callback(&begun)).await.status, 403);
    }
    assert_eq!(world.platform.completed(), 0);
    assert_eq!(world.visit_in(&guest, &callback(&begun)).await.status, 303);
    assert_eq!(world.poll(&begun).await.body["connection"]["username"], "user7");
    let ended = world.visit_in(&guest, &format!("/connect/{}", begun.token)).await;
    assert!(ended.html.contains("is connected") && ended.html.contains(&world.receiver()), "{}", ended.html);
    let other = world.visit_in(&Browser::default(), &format!("/connect/{}", begun.token)).await;
    assert!(other.status == 403 && !other.html.contains("user7"), "{}", other.html);
}

#[tokio::test]
async fn a_guest_has_to_press_on_our_page() {
    let world = Harness::with_guests().await;
    let begun = world.begin("plain").await;
    let (guest, _) = guest(&world, &begun).await;

    let forged = [Browser::default(), Browser { csrf: String::new(), ..guest.clone() }];
    for browser in forged {
        assert_eq!(world.send_in(&browser, &begun, "").await.status, 403);
    }
    assert_eq!(world.visit_in(&guest, &callback(&begun)).await.status, 303, "nobody was sent off");

    assert_eq!(world.poll(&begun).await.body, json!({"status": "pending", "expires_in": 600}));
}

#[tokio::test]
async fn one_guest_goes_on_and_no_other_takes_over() {
    let world = Harness::with_guests().await;
    let begun = world.begin("plain").await;
    let (first, _) = guest(&world, &begun).await;
    let (second, _) = guest(&world, &begun).await;

    assert_eq!(world.send_in(&first, &begun, "").await.status, 200);
    assert_eq!(world.send_in(&second, &begun, "").await.status, 403);
    assert_eq!(world.send_in(&second, &begun, "cancel=1").await.status, 403);

    // The owner may go on alone.
    assert_eq!(world.send(&begun, "").await.status, 200);
    assert_eq!(world.visit_in(&first, &callback(&begun)).await.status, 303);
    assert_eq!(world.platform.completed(), 0);
    world.callback(&begun, "7").await;
    assert_eq!(world.poll(&begun).await.body["status"], "completed");
}

#[tokio::test]
async fn who_learns_the_link_from_a_server_that_was_named_does_not_take_over() {
    let world = Harness::with_guests().await;
    // The server learns it when the person is sent to it, or when it is asked
    // before that and refuses.
    for answers in ["server=good.example", "server=wrong"] {
        for by_owner in [true, false] {
            let begun = world.begin("asking").await;
            let (guest, _) = guest(&world, &begun).await;
            let honest = if by_owner { world.browser() } else { &guest };
            world.send_in(honest, &begun, answers).await;

            let (hostile, page) = self::guest(&world, &begun).await;
            let sent = world.send_in(&hostile, &begun, "server=good.example&password=7").await;

            assert!(!page.html.contains(&world.receiver()), "{}", page.html);
            assert!([401, 403].contains(&sent.status), "{}", sent.status);
            assert_eq!(world.poll(&begun).await.body["status"], "pending");
            world.send_in(honest, &begun, "server=good.example&password=7").await;
            assert_eq!(world.poll(&begun).await.body["status"], "completed");
        }
    }
}

#[tokio::test]
async fn a_service_on_this_machine_is_reached_under_its_own_name() {
    let headers = |host: &str| [(axum::http::header::HOST, host.parse().unwrap())].into_iter().collect();
    let moved = |origin: &str, host: &str| crate::receive_callback::is_reached_by_address(origin, &headers(host));
    assert!(moved("http://localhost:3000", "127.0.0.1:3000") && moved("http://localhost:3000", "[::1]:3000"));
    assert!(!moved("http://localhost:3000", "localhost:3000"));
    assert!(!moved("http://localhost:3000", "api.example"));
    assert!(!moved("https://social.example", "127.0.0.1"));
}
