//! `/device`: the page on which a user approves or denies a device.

use api::page::{Page, PageForm, PageQuery, PageResult};
use api::{Api, ClientIp, SignedIn};
use askama::Template;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use cloud::audit;
use domain::device_grant::DeviceGrant;
use domain::owner::Owner;
use domain::token::UserCode;
use http::StatusCode;
use http::header::RETRY_AFTER;
use serde::Deserialize;
use storage::WriteOutcome;

use crate::approval::{Device, Requester};
use crate::entries::{Entry, enter};
use crate::profile_choice::{ChosenAccess, ProfileField};

#[derive(Deserialize)]
pub(crate) struct DeviceQuery {
    #[serde(default)]
    user_code: String,
}

#[derive(Deserialize)]
pub(crate) struct CodeForm {
    csrf: String,
    user_code: String,
    /// Absent when the code was entered and the device is not shown yet.
    decision: Option<Decision>,
    /// The profile to which the user limits the access; empty for everything.
    profile: Option<String>,
}

#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Decision {
    Approve,
    Deny,
}

#[derive(Template)]
#[template(path = "device_code.html")]
struct CodePage<'a> {
    csrf: &'a str,
    typed: &'a str,
    fault: Option<String>,
}

#[derive(Template)]
#[template(path = "device_done.html")]
struct DonePage {
    approved: bool,
}

/// Asks for the user code. A code in the URL is filled in, and is not looked up before the user
/// continues (RFC 8628, section 5.4), so that a link or its preview does not count as an entry.
pub(crate) async fn show_device(session: SignedIn, PageQuery(query): PageQuery<DeviceQuery>) -> PageResult<Page> {
    code_page(query.user_code.trim(), None, &session)
}

/// Shows the device of the entered code, and records the user's decision.
pub(crate) async fn enter_code(
    State(api): State<Api>,
    session: SignedIn,
    ip: ClientIp,
    PageForm(form): PageForm<CodeForm>,
) -> PageResult<Response> {
    session.check(&form.csrf)?;
    let now = api.clock.now();
    let (hash, device) = match enter(&api.store, session.user, ip, &form.user_code, now).await? {
        Entry::Waiting(hash, device) => (hash, device),
        entry => return code_error_page(&api, &entry, &form.user_code, &session),
    };
    let (store, user, before) = (&api.store, session.user, device.clone());
    let (decided, approved) = match form.decision {
        None => {
            let profile = ProfileField::load(store, user).await?;
            return approval_page(&session, ip, &form.user_code, &device, &profile);
        }
        Some(Decision::Approve) => match ChosenAccess::read(store, user, form.profile.as_deref()).await? {
            ChosenAccess::LimitedTo(limited_to) => (before.approve(Owner { user_id: user, limited_to }, now), true),
            ChosenAccess::Invalid => {
                let profile = ProfileField::load_with_fault(store, user).await?;
                return approval_page(&session, ip, &form.user_code, &device, &profile);
            }
        },
        Some(Decision::Deny) => (before.deny(user, now), false),
    };
    let decided = match decided {
        Ok(decided) => decided,
        Err(error) => return code_error_page(&api, &error.into(), &form.user_code, &session),
    };
    match api.store.replace_device(&hash, &device, &decided).await? {
        WriteOutcome::Applied => {
            let event = if approved { audit::Event::DeviceApproved } else { audit::Event::DeviceDenied };
            audit::Entry::new(event).user(user).limited_to(decided.profile_id).address(ip.0).write();
            let title = if approved { "Device approved" } else { "Device denied" };
            Ok(Page::render(title, &DonePage { approved })?.signed_in(&session).into_response())
        }
        // Decided in another browser since the look-up.
        WriteOutcome::Conflict => code_error_page(&api, &Entry::Used, &form.user_code, &session),
    }
}

fn approval_page(
    session: &SignedIn,
    ip: ClientIp,
    typed: &str,
    device: &DeviceGrant,
    profile: &ProfileField,
) -> PageResult<Response> {
    let requester = Requester::Device(Device {
        user_code: UserCode::parse(typed).map(|it| it.to_string()).unwrap_or_default(),
        asked_at: device.created_at.format("%-d %B %Y, %H:%M:%S UTC").to_string(),
        asked_from: device.asked_from.to_string(),
        is_from_here: device.asked_from.to_canonical() == ip.0.to_canonical(),
    });
    Ok(requester.page(session, device.client_name.as_ref(), &device.scopes, profile)?.into_response())
}

fn code_error_page(api: &Api, entry: &Entry, typed: &str, session: &SignedIn) -> PageResult<Response> {
    let (status, error) = match entry {
        Entry::Locked { until } => {
            let seconds = (*until - api.clock.now()).num_seconds().max(1);
            let minutes = (seconds + 59) / 60;
            let unit = if minutes == 1 { "minute" } else { "minutes" };
            let error = format!("Too many wrong codes. Wait {minutes} {unit}, then try again.");
            let page = code_page(typed, Some(error), session)?.status(StatusCode::TOO_MANY_REQUESTS);
            return Ok(([(RETRY_AFTER, seconds.to_string())], page).into_response());
        }
        Entry::Used | Entry::Waiting(..) => (
            StatusCode::GONE,
            "This code was already used: you approved or denied access. Request a new code if you need one.",
        ),
        Entry::Expired => (
            StatusCode::GONE,
            "This code has expired; codes are valid for 15 minutes. Request a new one in your app or device.",
        ),
        Entry::Wrong => {
            (StatusCode::UNPROCESSABLE_ENTITY, "This code is unknown. Compare it with the code that your device shows.")
        }
    };
    Ok(code_page(typed, Some(error.to_owned()), session)?.status(status).into_response())
}

fn code_page(typed: &str, error: Option<String>, session: &SignedIn) -> PageResult<Page> {
    let typed: String = typed.chars().take(32).collect();
    let page = Page::render("Connect a device", &CodePage { csrf: session.csrf(), typed: &typed, fault: error })?;
    Ok(page.signed_in(session))
}

#[cfg(test)]
mod tests {
    use chrono::TimeDelta;
    use domain::device_grant::DeviceGrantState;
    use serde_json::json;

    use crate::testing::service;

    const TOKEN: &str = "/api/v1/auth/device/token";

    #[tokio::test]
    async fn unknown_profile_approves_nothing() {
        let service = service().await;
        let device = service.device().await;
        let session = service.sign_in("one@example.com", "/device").await.session();
        let other = service.sign_in("two@example.com", "/device").await.session();
        let (own, foreign) = (service.profile(&session, "Own").await, service.profile(&other, "Foreign").await);
        let csrf = service.csrf(&session).await;
        let approve = async |profile: &str| {
            let form = [("csrf", csrf.as_str()), ("user_code", &device.user_code), ("decision", "approve")];
            let form: Vec<_> = form.into_iter().chain([("profile", profile)]).collect();
            service.submit("/device", &session, &form).await
        };

        for profile in ["x", "0", &foreign.to_string()] {
            let refused = approve(profile).await;
            assert_eq!(refused.status, 422, "{profile}");
            assert!(refused.text.contains("You have no such profile"), "{}", refused.text);
            assert!(refused.text.contains(&format!("value=\"{own}\"")), "{}", refused.text);
        }

        let pending = service.post(TOKEN, None, json!({"device_code": device.code})).await;
        assert_eq!(pending.body["error"], "authorization_pending");
        assert_eq!(approve("").await.status, 200);
    }

    #[tokio::test]
    async fn page_asks_for_the_id_of_one_of_many_profiles() {
        let service = service().await;
        let device = service.device().await;
        let session = service.sign_in("one@example.com", "/device").await.session();
        let csrf = service.csrf(&session).await;
        let open = async || {
            let form = [("csrf", csrf.as_str()), ("user_code", &device.user_code)];
            service.submit("/device", &session, &form).await.text
        };
        assert!(!open().await.contains("name=\"profile\""), "without profiles");
        for number in 0..200 {
            service.profile(&session, &number.to_string()).await;
        }
        assert!(open().await.contains("<select id=\"profile\""));

        service.profile(&session, "one more").await;

        let page = open().await;
        assert!(page.contains("<input type=\"number\" id=\"profile\"") && !page.contains("<select"), "{page}");
    }

    #[tokio::test]
    async fn used_or_expired_code_shows_the_reason() {
        let service = service().await;
        let (denied, expired) = (service.device().await, service.device().await);
        let user = service.user("two@example.com").await;
        service.decide(&denied, &user, DeviceGrantState::Denied).await;
        let session = service.sign_in("one@example.com", "/device").await.session();
        let csrf = service.csrf(&session).await;
        let enter = async |code: &str| {
            let form = [("csrf", csrf.as_str()), ("user_code", code), ("decision", "approve")];
            service.submit("/device", &session, &form).await
        };

        let decided = enter(&denied.user_code).await;
        service.clock.advance(TimeDelta::minutes(15));
        let late = enter(&expired.user_code).await;

        assert!(decided.status == 410 && decided.text.contains("was already used"), "{}", decided.text);
        assert!(late.status == 410 && late.text.contains("has expired"), "{}", late.text);
    }

    #[tokio::test]
    async fn repeated_field_or_parameter_is_named_on_the_page() {
        let service = service().await;
        let session = service.sign_in("one@example.com", "/device").await.session();
        let form = [("csrf", "x"), ("user_code", "x"), ("decision", "deny"), ("decision", "approve")];

        let form = service.submit("/device", &session, &form).await;
        let address = service.page("/device?user_code=A&user_code=B", &session).await;

        assert!(form.status == 422 && form.text.contains("decision more than once"), "{}", form.text);
        assert!(address.status == 400 && address.text.contains("user_code more than once"), "{}", address.text);
    }
}
