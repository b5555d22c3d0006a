//! `POST /connect/{state_token}`: takes what the person answered on our page.

use std::collections::BTreeMap;

use api::Segments;
use api::page::Filled;
use axum::extract::State;
use axum::response::{IntoResponse, Redirect, Response};
use platforms::{Account, Connect, ConnectError, FieldValues};
use secrecy::ExposeSecret;
use storage::{FlowState, MAX_CONNECTED};

use crate::App;
use crate::access_error::FlowAccessError;
use crate::connect_flow::{AccountChoice, Authorized};
use crate::participant::{EntryPoint, FlowVisit, Visitor};
use crate::show_connect_flow::{Typed, action};

/// The most bytes of an answer, enough for any token or address.
const MAX_ANSWER: usize = 2048;

type Sent = BTreeMap<String, String>;

/// Goes on to the platform with what was typed, or ends with the accounts that
/// were chosen. A form that comes too late or twice changes nothing, and the
/// person is shown how the connect flow stands.
pub(crate) async fn submit_connect_flow(
    Segments(state_token): Segments<String>,
    State(app): State<App>,
    known: Visitor,
    Filled(mut sent): Filled<Sent>,
) -> Result<Response, FlowAccessError> {
    let address = format!("/connect/{state_token}");
    let entered = app.enter(state_token, known, EntryPoint::Form, &address).await?;
    entered.participant.check(&sent.remove("csrf").unwrap_or_default())?;
    Ok(entered.participant.answer(taken(&app, &entered, sent).await?))
}

async fn taken(app: &App, entered: &FlowVisit, sent: Sent) -> Result<Response, FlowAccessError> {
    let now = app.api.clock.now();
    let visit = &entered.flow;
    let platform = app.platforms.get(&visit.flow.provider).ok_or(FlowAccessError::Unknown)?;
    let here = Redirect::to(&action(visit)).into_response();
    if !visit.flow.is_open(now) {
        return Ok(here);
    }
    match visit.flow.state {
        FlowState::CollectingInput
        | FlowState::AwaitingCallback
        | FlowState::AwaitingApproval
        | FlowState::ChoosingAccounts
            if sent.contains_key("cancel") =>
        {
            app.end_without_account(visit, "it was cancelled").await?;
            if visit.flow.state == FlowState::ChoosingAccounts {
                let accounts = app.account_choices(visit).await?.into_iter().map(Account::try_from);
                app.revoke_unused(visit, platform, &accounts.collect::<Result<Vec<_>, _>>()?).await?;
            }
            Ok(here)
        }
        FlowState::CollectingInput | FlowState::AwaitingCallback => {
            let host = platform.named_host(&answers(platform, &sent));
            app.in_turn(entered, host, Box::pin(authorize(app, platform, entered, sent))).await
        }
        FlowState::ChoosingAccounts => app.in_turn(entered, None, Box::pin(choose(app, platform, entered, sent))).await,
        FlowState::AwaitingApproval | FlowState::Completing | FlowState::Completed | FlowState::Failed => Ok(here),
    }
}

fn answers(platform: &dyn Connect, sent: &Sent) -> FieldValues {
    let answer = |name: &str| sent.get(name).map(|it| it.trim()).unwrap_or_default();
    platform.fields().iter().map(|it| (it.name.to_owned(), answer(it.name).into())).collect()
}

async fn choose(
    app: &App,
    platform: &dyn Connect,
    entered: &FlowVisit,
    sent: Sent,
) -> Result<Response, FlowAccessError> {
    let visit = &entered.flow;
    let mut offers = app.account_choices(visit).await?;
    let all = sent.contains_key("all");
    for offer in &mut offers {
        offer.is_chosen = all || sent.contains_key(&offer.field());
    }
    let fault = match offers.iter().filter(|it| it.is_chosen).count() {
        0 => "Choose an account first.".to_owned(),
        1..=MAX_CONNECTED => {
            let (chosen, others): (Vec<_>, Vec<_>) = offers.into_iter().partition(|it| it.is_chosen);
            let accounts =
                |of: Vec<AccountChoice>| of.into_iter().map(Account::try_from).collect::<Result<Vec<_>, _>>();
            app.connect_accounts(visit, platform, &accounts(chosen)?, &accounts(others)?).await?;
            return Ok(Redirect::to(&action(visit)).into_response());
        }
        _ => format!("Choose at most {MAX_CONNECTED} accounts. To connect the others, start again afterwards."),
    };
    Ok(entered.choose(&platform.rules().title, &offers, Some(&fault))?.into_response())
}

async fn authorize(
    app: &App,
    platform: &dyn Connect,
    entered: &FlowVisit,
    mut sent: Sent,
) -> Result<Response, FlowAccessError> {
    let mut faults = BTreeMap::new();
    let answers = answers(platform, &sent);
    for field in platform.fields() {
        let answer = answers.get(field.name).map_or("", |it| it.expose_secret());
        if MAX_ANSWER < answer.len() || answer.is_empty() && field.optional.is_none() {
            let message = format!("Type it in, like this: {}", field.example);
            faults.insert(field.name, message);
        }
    }
    if !faults.is_empty() {
        return Ok(entered.ask(app, platform, Typed { values: sent, faults, fault: None })?.into_response());
    }

    let (visit, by, store) = (&entered.flow, entered.participant.flow_owner(), &app.api.store);
    let here = Redirect::to(&action(visit)).into_response();
    let refusal = match app.authorize(platform, &visit.state_token, &answers).await? {
        Ok(Authorized::Page { url, sealed }) => {
            let now = app.api.clock.now();
            let goes = store.await_callback(&visit.hash, FlowState::AwaitingCallback, Some(sealed), &by, now).await?;
            return if goes { entered.depart(platform, &url) } else { Ok(here) };
        }
        Ok(Authorized::Wait { sealed }) => {
            store
                .await_callback(&visit.hash, FlowState::AwaitingApproval, Some(sealed), &by, app.api.clock.now())
                .await?;
            return Ok(here);
        }
        Ok(Authorized::Arrived(accounts)) => {
            let now = app.api.clock.now();
            if store.await_callback(&visit.hash, FlowState::Completing, None, &by, now).await?
                && let Err(failure) = app.complete_flow(visit, platform, accounts).await
            {
                tracing::error!(%failure, platform = platform.name(), "an account that arrived could not be kept");
                // What was typed may be valid only once, so the connect flow cannot
                // go on.
                app.end_without_account(visit, "something failed on our side").await?;
            }
            return Ok(here);
        }
        Err(refusal) => refusal,
    };
    let mut typed = Typed { values: std::mem::take(&mut sent), ..Typed::default() };
    let sentence = refusal.to_string();
    match refusal {
        ConnectError::Field { name, message } => {
            typed.faults.insert(name, message);
        }
        ConnectError::Denied | ConnectError::Refused(_) | ConnectError::Unsupported(_) | ConnectError::Unreachable => {
            typed.fault = Some(&sentence);
        }
    }
    Ok(entered.ask(app, platform, typed)?.into_response())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use crate::testing::Harness;

    #[tokio::test]
    async fn what_the_platform_has_to_know_is_asked_first() {
        let world = Harness::new().await;
        let begun = world.begin("asking").await;
        let page = world.page(&begun).await;
        assert_eq!(page.status, 200);
        assert!(page.html.contains("name=\"server\""), "{}", page.html);

        let wrong = world.send(&begun, "server=wrong%3C").await;
        assert_eq!(wrong.status, 422);
        assert!(wrong.html.contains("there is no such server"), "{}", wrong.html);
        assert!(wrong.html.contains("value=\"wrong&#60;\""), "{}", wrong.html);
        assert_eq!(world.send(&begun, "server=+").await.status, 422);

        let right = world.send(&begun, "server=good.example").await;
        assert_eq!(right.status, 200);
        let expected = format!("https://good.example/authorize?state={}", begun.token);
        assert_eq!(right.leads_on.as_deref(), Some(expected.as_str()));
        world.visit(&format!("/connect/callback/asking?state={}&code=7", begun.token)).await;
        assert_eq!(world.poll(&begun).await.body["connection"]["provider"], "asking");
        assert_eq!(world.platform.memories(), ["good.example"]);
    }

    #[tokio::test]
    async fn a_field_value_has_2048_bytes_at_most() {
        let world = Harness::new().await;
        let begun = world.begin("asking").await;

        let too_long = world.send(&begun, &format!("server=good.example&password={}", "7".repeat(2049))).await;
        assert_eq!((too_long.status, world.platform.asked()), (422, 0));
        let longest = world.send(&begun, &format!("server=good.example&password={}", "7".repeat(2048))).await;
        assert_eq!((longest.status, world.platform.asked()), (303, 1));
    }

    #[tokio::test]
    async fn what_was_typed_may_be_enough_and_is_never_sent_back() {
        let world = Harness::new().await;
        let begun = world.begin("asking").await;
        let wrong = world.send(&begun, "server=&password=7").await;
        assert_eq!(wrong.status, 422);
        assert!(!wrong.html.contains("value=\"7\""), "{}", wrong.html);

        assert_eq!(world.send(&begun, "server=good.example&password=7").await.status, 303);
        assert_eq!(world.poll(&begun).await.body["connection"]["username"], "user7");

        let begun = world.begin("asking").await;
        assert_eq!(world.send(&begun, "server=good.example&password=8,9").await.status, 303);
        assert!(world.page(&begun).await.html.contains("name=\"account.9\""));
        assert_eq!(world.send(&begun, "account.9=on").await.status, 303);
        assert_eq!(world.poll(&begun).await.body["connection"]["username"], "user9");
    }

    #[tokio::test]
    async fn an_account_that_cannot_be_kept_ends_the_connect_flow() {
        let world = Harness::new().await;
        let begun = world.begin("asking").await;
        // More accounts to choose from than one record of the store can hold.
        let letters = || 'a'..='z';
        let many: Vec<String> = letters().flat_map(|one| letters().map(move |other| format!("{one}{other}"))).collect();
        let sent = world.send(&begun, &format!("server=good.example&password={}", many.join(","))).await;

        assert_eq!(sent.status, 303);
        assert_eq!(world.poll(&begun).await.body, json!({"status": "failed"}));
        let page = world.page(&begun).await;
        assert!(page.html.contains("Something failed on our side"), "{}", page.html);
    }

    #[tokio::test]
    async fn some_of_several_accounts_are_chosen_once() {
        let world = Harness::new().await;
        let begun = world.begin("plain").await;
        world.callback(&begun, "7,8,9").await;
        let page = world.page(&begun).await;
        for account in ["7", "8", "9"] {
            assert!(page.html.contains(&format!("name=\"account.{account}\"")), "{}", page.html);
        }
        assert!(!page.html.contains("access-"), "no token is shown");
        assert_eq!(world.poll(&begun).await.body["status"], "pending");

        for nothing in ["account.5=on", "account=7", "more=1"] {
            let asked_again = world.send(&begun, nothing).await;
            assert_eq!(asked_again.status, 422, "{nothing} was not offered");
            assert!(asked_again.html.contains("Choose an account first."), "{}", asked_again.html);
        }
        assert_eq!(world.poll(&begun).await.body["status"], "pending");
        let (one, two) = tokio::join!(world.send(&begun, "account.8=on"), world.send(&begun, "account.9=on"));
        let mut answered = [one.status, two.status];
        answered.sort_unstable();
        assert!(answered == [303, 303] || answered == [303, 409], "{answered:?}");

        let listed = world.get("/api/v1/connections").await.body["data"].clone();
        assert_eq!(listed.as_array().unwrap().len(), 1, "{listed}");
        assert_eq!(world.poll(&begun).await.body["connection"], listed[0]);
        assert!(world.page(&begun).await.html.contains("You can close this page"));
    }

    #[tokio::test]
    async fn several_accounts_are_connected_at_once() {
        let world = Harness::new().await;
        for (form, names) in
            [("account.7=on&account.9=on", "@user7 and @user9"), ("all=1", "@user7, @user9 and @user8")]
        {
            let begun = world.begin("plain").await;
            world.callback(&begun, "7,8,9").await;

            assert_eq!(world.send(&begun, form).await.status, 303);

            let page = world.page(&begun).await;
            assert!(page.html.contains(&format!("{names} on Sandbox are connected.")), "{}", page.html);
            assert_eq!(world.poll(&begun).await.body["connection"]["username"], "user7");
        }
        let listed = world.get("/api/v1/connections").await.body["data"].clone();
        assert_eq!(listed.as_array().unwrap().len(), 3, "those that were connected are renewed: {listed}");
        assert_eq!(world.events.names(), ["connection.created"; 3]);
    }

    #[tokio::test]
    async fn whoever_gives_a_grant_anew_for_one_account_gives_it_for_all_that_it_covers() {
        let world = Harness::new().await;
        let begun = world.begin("plain").await;
        world.callback(&begun, "7@one,8@one,9@one").await;
        world.send(&begun, "all=1").await;
        let lost = async || {
            let listed = world.get("/api/v1/connections?status=needs_reconnection").await.body["data"].clone();
            let names = listed.as_array().unwrap().iter().map(|it| it["username"].as_str().unwrap().to_owned());
            let mut names: Vec<_> = names.collect();
            names.sort();
            names
        };
        for connection in world.get("/api/v1/connections").await.body["data"].as_array().unwrap() {
            world.lose_grant(connection["id"].as_u64().unwrap()).await;
        }
        assert_eq!(lost().await, ["user7", "user8", "user9"]);

        let again = world.begin("plain").await;
        world.callback(&again, "6@one,7@one,8@one").await;
        assert_eq!(world.send(&again, "account.8=on").await.status, 303);

        assert_eq!(lost().await, ["user9"], "which it does not cover any more");
        let listed = world.get("/api/v1/connections").await.body["data"].clone();
        assert_eq!(listed.as_array().unwrap().len(), 3, "nothing that was not chosen is connected: {listed}");
        assert_eq!(world.poll(&again).await.body["connection"]["username"], "user8");
    }

    #[tokio::test]
    async fn of_accounts_for_which_the_plan_has_no_room_the_first_are_connected() {
        let world = Harness::with_plan(json!({"default": {"max_connections": 2}})).await;
        let begun = world.begin("plain").await;
        world.callback(&begun, "7,8,9").await;

        assert_eq!(world.send(&begun, "all=1").await.status, 303);

        let page = world.page(&begun).await;
        assert!(page.html.contains("@user7 and @user8 on Sandbox are connected."), "{}", page.html);
        assert!(page.html.contains("Not connected: @user9."), "{}", page.html);
        assert_eq!(world.poll(&begun).await.body["status"], "completed");
    }

    #[tokio::test]
    async fn more_than_one_write_holds_are_not_connected_at_once() {
        let world = Harness::new().await;
        let begun = world.begin("plain").await;
        let many: Vec<String> = (1..=25).map(|it| it.to_string()).collect();
        world.callback(&begun, &many.join(",")).await;
        assert!(!world.page(&begun).await.html.contains("name=\"all\""));

        let refused = world.send(&begun, "all=1").await;
        assert_eq!(refused.status, 422);
        assert!(refused.html.contains("Choose at most 24 accounts."), "{}", refused.html);

        let form: Vec<String> = many[1..].iter().map(|it| format!("account.{it}=on")).collect();
        assert_eq!(world.send(&begun, &form.join("&")).await.status, 303);
        let listed = world.get("/api/v1/connections").await.body["data"].clone();
        assert_eq!(listed.as_array().unwrap().len(), 24, "{listed}");
    }

    #[tokio::test]
    async fn one_form_is_worked_on_at_a_time() {
        let world = Harness::new().await;
        let begun = world.begin("asking").await;

        let sent = (0..20).map(|_| world.send(&begun, "server=good.example&password=7"));
        let mut sent: Vec<_> = futures::future::join_all(sent).await.into_iter().map(|it| it.status).collect();

        sent.sort_unstable();
        assert!(sent[0] == 303 && sent.iter().all(|it| [303, 409, 429].contains(it)), "{sent:?}");
        assert_eq!(world.platform.asked(), 1);
        assert_eq!(world.poll(&begun).await.body["status"], "completed");
    }

    #[tokio::test]
    async fn after_ten_forms_the_platform_is_not_asked_again() {
        let world = Harness::new().await;
        let begun = world.begin("asking").await;
        for _ in 0..10 {
            assert_eq!(world.send(&begun, "server=wrong").await.status, 422);
        }

        let refused = world.send(&begun, "server=good.example").await;

        assert_eq!((refused.status, world.platform.asked()), (429, 10));
        assert!(refused.html.contains("start again"), "{}", refused.html);
        assert_eq!(world.send(&begun, "cancel=1").await.status, 303, "it can still be ended");
    }

    #[tokio::test]
    async fn a_field_given_twice_goes_nowhere() {
        let world = Harness::new().await;
        let begun = world.begin("asking").await;

        let refused = world.send(&begun, "server=good.example&server=evil.example").await;

        assert_eq!((refused.status, world.platform.asked()), (422, 0));
        assert!(refused.html.contains("server more than once"), "{}", refused.html);
        assert_eq!(world.send(&begun, "server=good.example").await.status, 200);
    }

    #[tokio::test]
    async fn a_connect_flow_can_be_cancelled_on_our_page() {
        let world = Harness::new().await;
        let begun = world.begin("asking").await;
        assert_eq!(world.send(&begun, "cancel=1").await.status, 303);
        assert_eq!(world.poll(&begun).await.body, json!({"status": "failed"}));

        world.visit(&format!("/connect/callback/asking?state={}&code=7", begun.token)).await;
        assert_eq!(world.poll(&begun).await.body, json!({"status": "failed"}));
    }
}
