//! The consent page, on which the user chooses an account and decides.

use axum::response::{IntoResponse, Redirect, Response};
use chrono::{DateTime, Utc};
use http::header::LOCATION;
use serde_json::Value;
use url::{Url, form_urlencoded};

use super::{App, Code, Fault, OAuth, Pkce, Redirects, is_scope, secret};
use crate::conformance::fake_platform::Decision;
use crate::fake::consent;
use crate::fake::params::Params;
use crate::fake::wire::browser;

#[derive(Clone, Debug)]
pub struct ConsentRequest {
    pub app: App,
    redirect_uri: String,
    pub scopes: Vec<String>,
    challenge: Option<String>,
    state: Option<String>,
}

impl OAuth {
    pub fn asked(&self, params: &Params) -> Result<ConsentRequest, Fault> {
        let rules = &self.rules;
        let required = |name: &str| params.text(name).ok_or_else(|| Fault::Missing(name.to_owned()));
        let invalid = |name: &str| Fault::Wrong(name.to_owned());
        let client_id = required(rules.client_id)?;
        let app = self.apps.iter().find(|it| it.client_id == client_id && !it.removed).ok_or(Fault::UnknownClient)?;
        let redirect_uri = required("redirect_uri")?;
        let may_redirect = match rules.redirects {
            Redirects::Registered => app.redirect_uris.contains(&redirect_uri),
            Redirects::Any => Url::parse(&redirect_uri).is_ok_and(|it| ["http", "https"].contains(&it.scheme())),
        };
        if !may_redirect {
            return Err(Fault::WrongRedirect);
        }
        if required("response_type")? != "code" {
            return Err(invalid("response_type"));
        }
        let scope = params.text("scope").or_else(|| rules.default_scope.map(str::to_owned));
        let scopes = self.scopes(&scope.ok_or_else(|| Fault::Missing("scope".to_owned()))?);
        let is_permitted = |it: &String| is_scope(&app.scopes, it) && is_scope(rules.scopes, it);
        if !scopes.iter().all(is_permitted) {
            return Err(Fault::WrongScope);
        }
        let challenge = match (rules.pkce, params.text("code_challenge")) {
            (Pkce::Required, None) => return Err(Fault::Missing("code_challenge".to_owned())),
            (Pkce::Unknown, Some(_)) => return Err(invalid("code_challenge")),
            (Pkce::Ignored | Pkce::Unknown, _) | (Pkce::Possible, None) => None,
            (Pkce::Required | Pkce::Possible, Some(_)) if required("code_challenge_method")? != "S256" => {
                return Err(invalid("code_challenge_method"));
            }
            (Pkce::Required | Pkce::Possible, challenge) => challenge,
        };
        if let Some((name, _)) = rules.page.iter().find(|(name, value)| params.text(name).as_deref() != Some(*value)) {
            return Err(invalid(name));
        }
        Ok(ConsentRequest { app: app.clone(), redirect_uri, scopes, challenge, state: params.text("state") })
    }

    /// The scopes in the value of a `scope` parameter.
    pub fn scopes(&self, raw: &str) -> Vec<String> {
        raw.split(self.rules.separator).filter(|it| !it.is_empty()).map(str::to_owned).collect()
    }

    /// The user agrees, for this account. Returns the redirect.
    pub fn allow(&mut self, request: ConsentRequest, account: &str, now: DateTime<Utc>) -> Url {
        let value = secret();
        let redirect = request.back(&[("code", &value)]);
        self.codes.push(Code {
            value,
            client_id: request.app.client_id,
            redirect_uri: request.redirect_uri,
            scopes: request.scopes,
            account: account.to_owned(),
            challenge: request.challenge,
            ends_at: now + self.rules.code_lives,
            used: false,
        });
        redirect
    }

    /// Whether this code was issued, used or not.
    pub fn knows_code(&self, value: &str) -> bool {
        self.codes.iter().any(|it| it.value == value)
    }
}

impl ConsentRequest {
    /// The origin to which the user returns.
    pub fn redirect_origin(&self) -> String {
        self.redirect_uri().origin().ascii_serialization()
    }

    pub fn deny(&self, error: &str) -> Url {
        self.back(&[("error", error), ("error_description", "The resource owner denied the request.")])
    }

    /// The consent page of this platform's fake. The first account is selected.
    pub fn page(&self, platform: &str, accounts: &[&str]) -> String {
        let radio_button = |(index, it): (usize, &&str)| {
            let checked = if index == 0 { " checked" } else { "" };
            format!("<label><input type=\"radio\" name=\"account\" value=\"{it}\"{checked}> {it}</label>")
        };
        let radio_buttons: String = accounts.iter().enumerate().map(radio_button).collect();
        let scopes = consent::escape(&self.scopes.join(" "));
        let content = format!(
            "<p>An app asks for: {scopes}</p>\n<form method=\"post\">\
             <fieldset><legend>Which account?</legend>{radio_buttons}</fieldset>\
             <button name=\"decision\" value=\"allow\">Allow</button>\
             <button name=\"decision\" value=\"deny\">Deny</button></form>"
        );
        consent::page(platform, &content)
    }

    fn back(&self, parameters: &[(&str, &str)]) -> Url {
        let mut target = self.redirect_uri();
        target.query_pairs_mut().extend_pairs(parameters);
        if let Some(state) = &self.state {
            target.query_pairs_mut().append_pair("state", state);
        }
        target
    }

    fn redirect_uri(&self) -> Url {
        Url::parse(&self.redirect_uri).expect("only addresses are registered")
    }
}

/// The page of a hostile server, which redirects the user to the `page` of an honest server. The
/// hostile server registers at the honest server as our service, with `client`, which has our
/// redirect URI for the hostile server. All other parameters are those of `query`.
///
/// # Panics
/// When the registration fails.
pub async fn redirect_to_honest_page(registration: &str, client: &Value, page: &str, query: &str) -> Response {
    let registered = browser().post(registration).json(client).send().await.expect("the honest server answers");
    let registered: Value = registered.json().await.expect("the client is registered");
    let client_id = registered["client_id"].as_str().expect("the client is registered");
    let mut page = Url::parse(page).expect("the page is a URL");
    let query = form_urlencoded::parse(query.as_bytes()).filter(|(name, _)| name != "client_id");
    page.query_pairs_mut().extend_pairs(query).append_pair("client_id", client_id);
    Redirect::to(page.as_str()).into_response()
}

/// The user opens the page, chooses an account and presses a button. Returns the redirect.
///
/// # Panics
/// When the page shows an error, or does not list the account.
pub async fn decide(url: &str, account: &str, decision: Decision) -> Url {
    let browser = browser();
    let mut page = browser.get(url).send().await.expect("the page is there");
    let page_location = page.headers().get(LOCATION).and_then(|it| it.to_str().ok()).map(str::to_owned);
    let url = page_location.as_deref().unwrap_or(url);
    if page_location.is_some() {
        page = browser.get(url).send().await.expect("the other page is there");
    }
    let status = page.status();
    let html = page.text().await.expect("the page arrives");
    assert!(status.is_success(), "the person sees an error: {status} {html}");
    assert!(html.contains(&format!("value=\"{account}\"")), "{account} is not on the page: {html}");
    let button = if decision == Decision::Allow { "allow" } else { "deny" };
    let form = [("account", account), ("decision", button)];
    let response = browser.post(url).form(&form).send().await.expect("the decision arrives");
    let location = response.headers().get(LOCATION).and_then(|it| it.to_str().ok()).map(str::to_owned);
    let Some(location) = location else { panic!("no way back: {}", response.text().await.unwrap_or_default()) };
    Url::parse(&location).expect("the way back is a URL")
}
