//! `/account/webhooks/new`: the form that creates an endpoint, and the page with its secret.

use std::collections::BTreeMap;

use api::page::{AccountPage, Page, PageForm, PageResult};
use api::{ClientIp, Fields, SignedIn};
use askama::Template;
use axum::extract::State;
use cloud::audit;
use domain::validation_errors::ValidationErrors;
use domain::webhook::{EventKind, MAX_ENDPOINTS};
use http::StatusCode;
use serde::Deserialize;
use serde_json::{Map, Value};

use crate::App;
use crate::error::page_error;
use crate::request;

#[derive(Default, Deserialize)]
pub(crate) struct NewWebhookForm {
    csrf: String,
    url: String,
    /// The checked boxes, by event.
    #[serde(flatten)]
    events: BTreeMap<String, String>,
}

#[derive(Template)]
#[template(path = "new_webhook.html")]
struct NewWebhookPage<'a> {
    csrf: &'a str,
    form: &'a NewWebhookForm,
    errors: &'a [String],
}

#[derive(Template)]
#[template(path = "webhook_secret.html")]
struct SecretPage<'a> {
    csrf: &'a str,
    id: String,
    url: String,
    secret: &'a str,
}

pub(crate) async fn show_new_webhook(session: SignedIn) -> PageResult<Page> {
    page(&session, &NewWebhookForm::default(), &[])
}

pub(crate) async fn submit_new_webhook(
    State(app): State<App>,
    session: SignedIn,
    address: ClientIp,
    PageForm(form): PageForm<NewWebhookForm>,
) -> PageResult<Page> {
    session.check(&form.csrf)?;
    let mut fields = Fields::from_body(form.body(), request::FIELDS);
    let url = request::url(&app, &mut fields).value();
    let events = request::events(&mut fields).value().unwrap_or_default();
    let Some(url) = url.filter(|_| fields.faults().is_empty()) else {
        return refused(&session, &form, fields.faults());
    };
    let created = app.webhooks.create_endpoint(session.user, None, url, events, None).await.map_err(page_error)?;
    let Some((record, secret)) = created else {
        let mut errors = ValidationErrors::new();
        errors.add_sentence(
            "url",
            format_args!("You have {MAX_ENDPOINTS} webhooks, the maximum. Delete one first, then create this one."),
        );
        return refused(&session, &form, &errors);
    };
    audit::Entry::new(audit::Event::WebhookMade).user(session.user).address(address.0).write();
    let page = SecretPage {
        csrf: session.csrf(),
        id: record.endpoint.webhook_id.to_string(),
        url: record.endpoint.url.to_string(),
        secret: secret.expose(),
    };
    let page = Page::render("Webhook created", &page)?.status(StatusCode::CREATED);
    Ok(page.signed_in(&session).with_account_navigation(AccountPage::Webhooks))
}

fn refused(session: &SignedIn, form: &NewWebhookForm, errors: &ValidationErrors) -> PageResult<Page> {
    let errors: Vec<_> = errors.iter().map(|(_, message)| message.to_owned()).collect();
    Ok(page(session, form, &errors)?.status(StatusCode::UNPROCESSABLE_ENTITY))
}

fn page(session: &SignedIn, form: &NewWebhookForm, errors: &[String]) -> PageResult<Page> {
    let page = NewWebhookPage { csrf: session.csrf(), form, errors };
    Ok(Page::render("New webhook", &page)?.signed_in(session).with_account_navigation(AccountPage::Webhooks))
}

impl NewWebhookForm {
    fn body(&self) -> Map<String, Value> {
        let events: Vec<Value> = self.events.keys().map(|it| it.as_str().into()).collect();
        [("url".to_owned(), self.url.trim().into()), ("events".to_owned(), events.into())].into_iter().collect()
    }

    fn has(&self, event: EventKind) -> bool {
        self.events.contains_key(event.as_str())
    }
}
