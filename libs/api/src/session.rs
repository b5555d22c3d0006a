//! Sessions of the pages: a cookie whose hash is in the store.

use axum::extract::{FromRef, FromRequestParts};
use axum::response::{IntoResponse, Redirect, Response};
use chrono::TimeDelta;
use domain::id::UserId;
use domain::token;
use http::header::COOKIE;
use http::request::Parts;
use http::{HeaderMap, HeaderValue, Method};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use secrecy::{ExposeSecret, SecretString};
use storage::{SessionGrant, StorageError};
use subtle::ConstantTimeEq;

use crate::Api;
use crate::page::{PageError, PageResult};

/// The prefix `__Host-` makes browsers take the cookie from this very origin
/// only.
const COOKIE_NAME: &str = "__Host-session";

/// How long a browser stays signed in.
const LIFETIME: TimeDelta = TimeDelta::days(14);

/// A person who is signed in to the pages. Somebody who is not is redirected
/// to the sign-in, which leads back to the page; a form is answered with 401.
#[derive(Clone, Debug)]
pub struct SignedIn {
    /// The user who is signed in.
    pub user: UserId,
    hash: String,
    csrf: String,
}

impl SignedIn {
    /// The session of the browser that sent these headers.
    pub async fn find(api: &Api, headers: &HeaderMap) -> Result<Option<Self>, StorageError> {
        let Some(secret) = cookie(headers, COOKIE_NAME) else {
            return Ok(None);
        };
        let hash = token::hash(&secret);
        let session = api.store.session(&hash).await?;
        let now = api.clock.now();
        Ok(session.filter(|it| now < it.expires_at).map(|it| Self {
            user: it.user_id,
            hash,
            csrf: token::hash(&format!("form#{secret}")),
        }))
    }

    /// Signs a browser in and returns the cookie to set.
    pub async fn start(api: &Api, user: UserId) -> Result<HeaderValue, StorageError> {
        let secret = token::random_token();
        let now = api.clock.now();
        let session = SessionGrant { user_id: user, created_at: now, expires_at: now + LIFETIME };
        api.store.put_session(&token::hash(secret.expose_secret()), &session).await?;
        Ok(set_cookie(COOKIE_NAME, &secret, LIFETIME))
    }

    /// Signs the browser out and returns the cookie to set.
    pub async fn end(self, api: &Api) -> Result<HeaderValue, StorageError> {
        api.store.end_session(&self.hash).await?;
        Ok(drop_cookie(COOKIE_NAME))
    }

    /// The CSRF token, which every form of this session has in a hidden field
    /// `csrf`.
    pub fn csrf(&self) -> &str {
        &self.csrf
    }

    /// Refuses a form that does not carry this session's CSRF token.
    pub fn check(&self, csrf: &str) -> PageResult<()> {
        let is_ours: bool = self.csrf.as_bytes().ct_eq(csrf.as_bytes()).into();
        if is_ours { Ok(()) } else { Err(PageError::forged()) }
    }
}

impl<S> FromRequestParts<S> for SignedIn
where
    S: Send + Sync,
    Api: FromRef<S>,
{
    type Rejection = Response;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Response> {
        let api = Api::from_ref(state);
        match Self::find(&api, &parts.headers).await {
            Ok(Some(session)) => Ok(session),
            // The policy of our pages keeps a form from being redirected to the
            // sign-in page of another site.
            Ok(None) if parts.method != Method::GET && parts.method != Method::HEAD => {
                Err(PageError::signed_out("/sign-in").into_response())
            }
            Ok(None) => {
                let here = parts.uri.path_and_query().map_or("/", |it| it.as_str());
                Err(Redirect::to(&sign_in(here)).into_response())
            }
            Err(error) => Err(PageError::from(error).into_response()),
        }
    }
}

/// The characters that are percent-encoded within a parameter.
const PLAIN: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'_').remove(b'.').remove(b'/');

/// The address of the sign-in that leads back to `next`.
pub fn sign_in(next: &str) -> String {
    format!("/sign-in?next={}", utf8_percent_encode(next, PLAIN))
}

/// `next` when it is a path of this service, otherwise the account page.
/// Without this check, a link to our sign-in could send people to any site.
pub fn local_path(next: &str) -> &str {
    let is_local = next.starts_with('/')
        && !next.starts_with("//")
        && next.len() <= 2048
        && next.bytes().all(|it| it.is_ascii_graphic() && it != b'\\');
    if is_local { next } else { "/account" }
}

/// The value of a cookie of the request.
pub fn cookie(headers: &HeaderMap, name: &str) -> Option<String> {
    let sent = headers.get_all(COOKIE).iter().filter_map(|it| it.to_str().ok());
    let mut pairs = sent.flat_map(|it| it.split(';')).filter_map(|it| it.trim().split_once('='));
    pairs.find(|it| it.0 == name).map(|it| it.1.to_owned())
}

/// The header that sets a cookie which scripts and other sites cannot read.
pub fn set_cookie(name: &str, value: &SecretString, lifetime: TimeDelta) -> HeaderValue {
    let value = value.expose_secret();
    let seconds = lifetime.num_seconds();
    let cookie = format!("{name}={value}; Path=/; Secure; HttpOnly; SameSite=Lax; Max-Age={seconds}");
    let mut header = HeaderValue::try_from(cookie).unwrap_or_else(|_| HeaderValue::from_static(""));
    header.set_sensitive(true);
    header
}

/// The header that removes a cookie.
pub fn drop_cookie(name: &str) -> HeaderValue {
    set_cookie(name, &SecretString::default(), TimeDelta::zero())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::testing::api;

    fn headers(cookie: &HeaderValue) -> HeaderMap {
        let sent = cookie.to_str().unwrap().split(';').next().unwrap();
        [(COOKIE, HeaderValue::from_str(&format!("a=b; {sent}")).unwrap())].into_iter().collect()
    }

    #[tokio::test]
    async fn a_browser_is_signed_in_until_it_signs_out() {
        let api = api().await;
        let user = UserId::new(1).unwrap();
        let cookie = SignedIn::start(&api, user).await.unwrap();

        let session = SignedIn::find(&api, &headers(&cookie)).await.unwrap().unwrap();
        assert_eq!(session.user, user);
        session.end(&api).await.unwrap();

        assert!(SignedIn::find(&api, &headers(&cookie)).await.unwrap().is_none());
    }

    #[tokio::test]
    async fn a_session_ends_by_itself() {
        let api = api().await;
        let cookie = SignedIn::start(&api, UserId::new(1).unwrap()).await.unwrap();

        api.clock.advance(LIFETIME);

        assert!(SignedIn::find(&api, &headers(&cookie)).await.unwrap().is_none());
    }

    #[tokio::test]
    async fn a_form_of_another_session_is_refused() {
        let api = api().await;
        let one = SignedIn::start(&api, UserId::new(1).unwrap()).await.unwrap();
        let two = SignedIn::start(&api, UserId::new(1).unwrap()).await.unwrap();
        let one = SignedIn::find(&api, &headers(&one)).await.unwrap().unwrap();
        let two = SignedIn::find(&api, &headers(&two)).await.unwrap().unwrap();

        assert!(one.check(one.csrf()).is_ok());
        assert_eq!(one.check(two.csrf()), Err(PageError::forged()));
        assert_eq!(one.check(""), Err(PageError::forged()));
    }

    #[test]
    fn the_way_back_stays_here() {
        for next in ["https://evil.example", "//evil.example", "/\\evil.example", "", "/a\r\nb", "javascript:x"] {
            assert_eq!(local_path(next), "/account", "{next:?}");
        }
        assert_eq!(local_path("/device?user_code=WDJB-MJHT"), "/device?user_code=WDJB-MJHT");
    }

    proptest! {
        #[test]
        fn the_way_back_survives_the_sign_in_address(path in "/[!-~]{0,40}") {
            let address = sign_in(&path);
            let query = address.split_once('?').unwrap().1;
            let next = url::form_urlencoded::parse(query.as_bytes()).next().unwrap().1.into_owned();
            prop_assert_eq!(next, path);
        }
    }
}
