//! `POST /connect/{state_token}`: processes the form on the page of a connect flow.

use std::collections::BTreeMap;

use api::Segments;
use api::page::PageForm;
use axum::extract::State;
use axum::response::{IntoResponse, Redirect, Response};
use platforms::{Account, Connect, ConnectError, FieldValues};
use secrecy::ExposeSecret;
use storage::{FlowState, MAX_CONNECTED};

use crate::App;
use crate::connect_flow::{AccountChoice, AuthorizeOutcome};
use crate::flow_access_error::FlowAccessError;
use crate::participant::{EntryPoint, FlowVisit, Visitor};
use crate::show_connect_flow::{TypedValues, action};

/// Enough for any token or URL.
const MAX_VALUE_BYTES: usize = 2048;

type Form = BTreeMap<String, String>;

/// Starts the authorization with the field values, or completes the flow with the selected
/// accounts. A form that arrives late or twice changes nothing and shows the state of the flow.
pub(crate) async fn submit_connect_flow(
    Segments(state_token): Segments<String>,
    State(app): State<App>,
    visitor: Visitor,
    PageForm(mut form): PageForm<Form>,
) -> Result<Response, FlowAccessError> {
    let address = format!("/connect/{state_token}");
    let visit = app.enter(state_token, visitor, EntryPoint::Form, &address).await?;
    visit.participant.check(&form.remove("csrf").unwrap_or_default())?;
    Ok(visit.participant.respond(submit(&app, &visit, form).await?))
}

async fn submit(app: &App, visit: &FlowVisit, form: Form) -> Result<Response, FlowAccessError> {
    let now = app.api.clock.now();
    let loaded = &visit.loaded;
    let platform = app.platforms.get(&loaded.flow.provider).ok_or(FlowAccessError::Unknown)?;
    let flow_page = Redirect::to(&action(loaded)).into_response();
    if !loaded.flow.is_open(now) {
        return Ok(flow_page);
    }
    match loaded.flow.state {
        FlowState::CollectingInput
        | FlowState::AwaitingCallback
        | FlowState::AwaitingApproval
        | FlowState::ChoosingAccounts
            if form.contains_key("cancel") =>
        {
            app.end_without_account(loaded, "you cancelled").await?;
            if loaded.flow.state == FlowState::ChoosingAccounts {
                let accounts = app.account_choices(loaded).await?.into_iter().map(Account::try_from);
                app.revoke_unused(loaded, platform, &accounts.collect::<Result<Vec<_>, _>>()?).await?;
            }
            Ok(flow_page)
        }
        FlowState::CollectingInput | FlowState::AwaitingCallback => {
            let host = platform.named_host(&field_values(platform, &form));
            app.with_flow_lock(visit, host, Box::pin(authorize(app, platform, visit, form))).await
        }
        FlowState::ChoosingAccounts => {
            app.with_flow_lock(visit, None, Box::pin(choose(app, platform, visit, form))).await
        }
        FlowState::AwaitingApproval | FlowState::Completing | FlowState::Completed | FlowState::Failed => Ok(flow_page),
    }
}

fn field_values(platform: &dyn Connect, form: &Form) -> FieldValues {
    let value = |name: &str| form.get(name).map(|it| it.trim()).unwrap_or_default();
    platform.fields().iter().map(|it| (it.name.to_owned(), value(it.name).into())).collect()
}

async fn choose(app: &App, platform: &dyn Connect, visit: &FlowVisit, form: Form) -> Result<Response, FlowAccessError> {
    let loaded = &visit.loaded;
    let mut choices = app.account_choices(loaded).await?;
    let all = form.contains_key("all");
    for choice in &mut choices {
        choice.is_selected = all || form.contains_key(&choice.field());
    }
    let error = match choices.iter().filter(|it| it.is_selected).count() {
        0 => "Select at least one account.".to_owned(),
        1..=MAX_CONNECTED => {
            let (selected, others): (Vec<_>, Vec<_>) = choices.into_iter().partition(|it| it.is_selected);
            let accounts = |choices_of: Vec<AccountChoice>| {
                choices_of.into_iter().map(Account::try_from).collect::<Result<Vec<_>, _>>()
            };
            app.connect_accounts(loaded, platform, &accounts(selected)?, &accounts(others)?).await?;
            return Ok(Redirect::to(&action(loaded)).into_response());
        }
        count => format!(
            "Select at most {MAX_CONNECTED} accounts at a time; you selected {count}. To connect the others, repeat the steps afterwards."
        ),
    };
    Ok(visit.choose(&platform.rules().title, &choices, Some(&error))?.into_response())
}

async fn authorize(
    app: &App,
    platform: &dyn Connect,
    visit: &FlowVisit,
    mut form: Form,
) -> Result<Response, FlowAccessError> {
    let mut field_errors = BTreeMap::new();
    let values = field_values(platform, &form);
    for field in platform.fields() {
        let value = values.get(field.name).map_or("", |it| it.expose_secret());
        if MAX_VALUE_BYTES < value.len() || value.is_empty() && field.optional.is_none() {
            let message = format!("Enter a value such as: {}", field.example);
            field_errors.insert(field.name, message);
        }
    }
    if !field_errors.is_empty() {
        return Ok(visit
            .request_picture(app, platform, TypedValues { values: form, field_errors, error: None })?
            .into_response());
    }

    let (loaded, owner, store) = (&visit.loaded, visit.participant.flow_owner(), &app.api.store);
    let flow_page = Redirect::to(&action(loaded)).into_response();
    let error = match app.authorize(platform, &loaded.state_token, &values).await? {
        AuthorizeOutcome::Redirect { url, sealed } => {
            let now = app.api.clock.now();
            let is_stored =
                store.await_callback(&loaded.hash, FlowState::AwaitingCallback, Some(sealed), &owner, now).await?;
            return if is_stored { visit.redirect(platform, &url) } else { Ok(flow_page) };
        }
        AuthorizeOutcome::WaitForApproval { sealed } => {
            store
                .await_callback(&loaded.hash, FlowState::AwaitingApproval, Some(sealed), &owner, app.api.clock.now())
                .await?;
            return Ok(flow_page);
        }
        AuthorizeOutcome::Accounts(accounts) => {
            let now = app.api.clock.now();
            if store.await_callback(&loaded.hash, FlowState::Completing, None, &owner, now).await?
                && let Err(error) = app.complete_flow(loaded, platform, accounts).await
            {
                tracing::error!(%error, platform = platform.name(), "an authorized account could not be stored");
                // A typed code may be valid only once, so the connect flow cannot continue.
                app.end_without_account(loaded, "something went wrong on our side").await?;
            }
            return Ok(flow_page);
        }
        AuthorizeOutcome::Failed(error) => error,
    };
    let mut typed = TypedValues { values: std::mem::take(&mut form), ..TypedValues::default() };
    let sentence = error.to_string();
    match error {
        ConnectError::Field { name, message } => {
            typed.field_errors.insert(name, message);
        }
        ConnectError::Denied | ConnectError::Refused(_) | ConnectError::Unsupported(_) | ConnectError::Unreachable => {
            typed.error = Some(&sentence);
        }
    }
    Ok(visit.request_picture(app, platform, typed)?.into_response())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use crate::testing::Harness;

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
        for (form, names) in
            [("account.7=on&account.9=on", "@user7 and @user9"), ("all=1", "@user7, @user9 and @user8")]
        {
            let begun = harness.begin("plain").await;
            harness.callback(&begun, "7,8,9").await;

            assert_eq!(harness.send(&begun, form).await.status, 303);

            let page = harness.page(&begun).await;
            assert!(page.html.contains(&format!("{names} on Sandbox are connected.")), "{}", page.html);
            assert_eq!(harness.poll(&begun).await.body["connection"]["username"], "user7");
        }
        let listed = harness.get("/api/v1/connections").await.body["data"].clone();
        assert_eq!(listed.as_array().unwrap().len(), 3, "those that were connected are renewed: {listed}");
        assert_eq!(harness.events.names(), ["connection.created"; 3]);
    }

    #[tokio::test]
    async fn renewed_grant_renews_all_accounts_that_it_covers() {
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
}
