//! Connecting a site with an Admin API key. Ghost has no authorization page.

use std::time::Duration;

use chrono::{DateTime, Utc};
use domain::delivery::AttemptError;
use domain::media::MimeType;
use domain::rules::{Counting, PostRule, Rule, Rules};
use http::header::LOCATION;
use reqwest::Method;
use secrecy::{ExposeSecret, SecretString};
use url::Url;

use super::api::{API, Site};
use super::key::Key;
use super::{Ghost, Grant, NEWSLETTER, TITLE};
use crate::account::{Account, Credentials};
use crate::choices::{Choice, ChoicesRequest};
use crate::connect_flow::{AuthorizationRequest, AuthorizeStep, Callback, ConnectError, Field, FieldValues};
use crate::http_clients;
use crate::kit::ErrorKind;
use crate::named_site::{self, host_of};
use crate::platform::Connect;
use crate::response;

const SITE: &str = "site";

const KEY: &str = "admin_api_key";

const EXAMPLE: &str = "blog.example.com";

const FIELDS: &[Field] = &[
    Field::new(SITE, "Your site, or the address of its Ghost Admin", EXAMPLE),
    Field {
        name: KEY,
        label: "Admin API key (in Ghost Admin: Settings, Integrations, Add custom integration)",
        example: "64f1c0…:8f3b2a…",
        secret: true,
        optional: None,
    },
];

/// Such as to `www`, or to the host of Ghost Admin.
const MAX_HOPS: usize = 3;

const EACH: Duration = Duration::from_secs(6);

const MAX_BYTES: usize = 64 << 10;

/// The largest file that can be uploaded within one step. A site does not report its limit.
const MAX_FILE_BYTES: u64 = 100_000_000;

/// A site does not report its limits.
pub(super) fn rules() -> Rules {
    Rules::new(
        TITLE,
        [
            Rule::max_media(30),
            Rule::mime_types([MimeType::Jpeg, MimeType::Png, MimeType::Gif, MimeType::Webp, MimeType::Mp4]),
            Rule::max_image_bytes(MAX_FILE_BYTES),
            Rule::max_video_bytes(MAX_FILE_BYTES),
            Rule::max_alt_text(10_000, Counting::code_points()),
            // Of which the title is made. A post without one has no link in the lists of most themes.
            Rule::OfPost(PostRule::TextRequired),
        ],
    )
}

#[async_trait::async_trait]
impl Connect for Ghost {
    fn rules(&self) -> Rules {
        rules()
    }

    fn fields(&self) -> &'static [Field] {
        FIELDS
    }

    fn named_host(&self, values: &FieldValues) -> Option<String> {
        parse(values.get(SITE)?.expose_secret()).map(|it| host_of(&it).to_owned())
    }

    async fn authorize(
        &self,
        values: &FieldValues,
        _: &AuthorizationRequest,
        now: DateTime<Utc>,
    ) -> Result<AuthorizeStep, ConnectError> {
        let typed = |name| values.get(name).map_or("", |it| it.expose_secret()).trim();
        let site = parse(typed(SITE));
        let site = site.ok_or_else(|| field(SITE, format!("Type the URL of your site, such as {EXAMPLE}.")))?;
        let key = Key::parse(typed(KEY)).ok_or_else(|| {
            let message = "This is no Admin API key, which has 24 characters, a colon and 64 characters. The Content API \
                           key of the same integration can only read.";
            field(KEY, message.to_owned())
        })?;
        let (admin, site) = self.find_admin(site).await?;
        let grant = Grant { admin, key };
        self.api.check_key(&grant, now).await.map_err(|error| match error.kind {
            ErrorKind::Unauthorized => field(KEY, "The site does not accept this key. Copy it again.".to_owned()),
            _ => error.into(),
        })?;
        let profile = site.profile(&grant.admin);
        let credentials = Grant::credentials(&grant.admin, SecretString::from(typed(KEY)));
        let scopes = vec!["posts".to_owned(), "images".to_owned(), "media".to_owned(), "newsletters".to_owned()];
        Ok(AuthorizeStep::Accounts(vec![Account { profile, scopes, rules: rules(), grant: None, credentials }]))
    }

    /// Never called: Ghost has no authorization page.
    async fn complete(&self, _: &Callback, _: DateTime<Utc>) -> Result<Vec<Account>, ConnectError> {
        Err(ConnectError::Refused("Ghost has no page to come back from".to_owned()))
    }

    async fn choices(&self, request: &ChoicesRequest<'_>, now: DateTime<Utc>) -> Result<Vec<Choice>, AttemptError> {
        if request.option != NEWSLETTER {
            return Ok(Vec::new());
        }
        let grant = Grant::load(request.credentials)?;
        let newsletters = self.api.newsletters(&grant, now).await?;
        Ok(newsletters.into_iter().map(|it| Choice { value: it.slug, label: it.name }).collect())
    }

    /// Does nothing: an integration cannot delete itself, and the user may use its key elsewhere.
    async fn revoke(&self, _: &Credentials, _: DateTime<Utc>) -> Result<(), AttemptError> {
        Ok(())
    }
}

impl Ghost {
    /// The address of the Admin API. Redirects are followed here, because the site and its admin may have different
    /// hosts. A token is sent only to what says that it is a Ghost.
    async fn find_admin(&self, site: Url) -> Result<(Url, Site), ConnectError> {
        let mut admin = site;
        for _ in 0..=MAX_HOPS {
            let host = host_of(&admin).to_owned();
            let refused = |why: &str| field(SITE, format!("{host} {why}"));
            let mut url = admin.clone();
            url.set_path(&format!("{}{API}site/", admin.path()));
            let request = self.api.http().request_named_host(Method::GET, url.clone());
            let request = request.map_err(|it| refused(&format!("could not be reached: {it}.")))?;
            let response = http_clients::send(request.timeout(EACH)).await.map_err(|error| {
                let refusal = egress::Egress::refusal(&error);
                let reason = refusal.map_or_else(|| "it did not respond".to_owned(), |it| it.to_string());
                refused(&format!("could not be reached: {reason}. Check the URL, or try again later."))
            })?;
            let none = "has no Ghost Admin. Open Ghost Admin in your browser, and type the address that it shows.";
            if response.status().is_success() {
                let body = response::body_up_to(response, MAX_BYTES).await.unwrap_or_default();
                return Site::parse(&body).map(|it| (admin, it)).ok_or_else(|| refused(none));
            }
            let location = response.headers().get(LOCATION).filter(|_| response.status().is_redirection());
            let location = location.and_then(|it| url.join(it.to_str().ok()?).ok());
            let next = location.and_then(|it| {
                let base = it.path().strip_suffix("site/").or_else(|| it.path().strip_suffix("site"))?;
                let base = base.strip_suffix(API)?.to_owned();
                let mut next = it.clone();
                next.set_path(&base);
                next.set_query(None);
                Some(next)
            });
            // A redirect from https to http would send the key without encryption.
            let next = next.filter(|it| it.scheme() == "https" || admin.scheme() == "http");
            admin = next.ok_or_else(|| refused(none))?;
        }
        let why = "redirects too many times. Open Ghost Admin in your browser, and type the address that it shows.";
        Err(field(SITE, format!("{} {why}", host_of(&admin))))
    }
}

fn parse(typed: &str) -> Option<Url> {
    named_site::parse(typed, &["/ghost/"])
}

fn field(name: &'static str, message: String) -> ConnectError {
    ConnectError::Field { name, message }
}
