//! Sessions of the pages: a cookie whose hash is in the store.

use std::sync::Arc;

use axum::extract::{FromRef, FromRequestParts, OptionalFromRequestParts};
use axum::response::{IntoResponse, Redirect, Response};
use chrono::TimeDelta;
use cloud::audit::{self, Event};
use domain::id::UserId;
use domain::time_zone::TimeZone;
use domain::token;
use domain::user::User;
use http::header::COOKIE;
use http::request::Parts;
use http::{HeaderMap, HeaderValue, Method};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use secrecy::{ExposeSecret, SecretString};
use storage::{SessionGrant, StorageError};
use subtle::ConstantTimeEq;

use crate::Api;
use crate::limit::ClientIp;
use crate::page::{PageError, PageResult};

/// With the prefix `__Host-`, browsers accept the cookie only from this exact origin.
const COOKIE_NAME: &str = "__Host-session";

const LIFETIME: TimeDelta = TimeDelta::days(14);

/// Without a session, a page redirects to the sign-in, which leads back to it, and a form returns
/// 401.
#[derive(Clone, Debug)]
pub struct SignedIn {
    pub user: UserId,
    person: Arc<User>,
    hash: String,
    csrf: String,
}

impl SignedIn {
    pub async fn find(api: &Api, headers: &HeaderMap) -> Result<Option<Self>, StorageError> {
        let Some(cookie_value) = cookie(headers, COOKIE_NAME) else {
            return Ok(None);
        };
        // The cookie begins with the user id, so that session and user are read concurrently. The
        // id alone proves nothing.
        let Some((user, secret)) =
            cookie_value.split_once('.').and_then(|(user, secret)| Some((UserId::parse(user)?, secret)))
        else {
            return Ok(None);
        };
        let hash = token::hash(secret);
        // Boxed, because futures of the SDK are large.
        let (session, user_record) =
            futures::try_join!(Box::pin(api.store.session(&hash)), Box::pin(api.store.user(user)))?;
        let Some((session, user_record)) = session.zip(user_record) else { return Ok(None) };
        let is_open = session.owner == user && api.clock.now() < session.expires_at;
        let is_open = is_open && user_record.accepts_session(session.created_at);
        Ok(is_open.then(|| Self {
            user,
            person: Arc::new(user_record),
            hash,
            csrf: token::hash(&format!("form#{secret}")),
        }))
    }

    /// Returns the cookie to set.
    pub async fn start(api: &Api, user: UserId, address: ClientIp) -> Result<HeaderValue, StorageError> {
        let secret = token::random_token();
        let now = api.clock.now();
        let session = SessionGrant { owner: user, address: address.0, created_at: now, expires_at: now + LIFETIME };
        api.store.put_session(&token::hash(secret.expose_secret()), &session).await?;
        let value = SecretString::from(format!("{user}.{}", secret.expose_secret()));
        Ok(set_cookie(COOKIE_NAME, &value, LIFETIME))
    }

    /// Returns the cookie to set.
    pub async fn end(self, api: &Api) -> Result<HeaderValue, StorageError> {
        // A session that does not exist any more has ended as well.
        api.store.end_session(self.user, &self.hash).await?;
        Ok(signed_out())
    }

    /// The user as of the beginning of the request.
    pub fn person(&self) -> &User {
        &self.person
    }

    pub fn zone(&self) -> TimeZone {
        self.person.shown_zone()
    }

    pub fn is(&self, hash: &str) -> bool {
        self.hash == hash
    }

    /// Every form of this session contains it in the hidden field `csrf`.
    pub fn csrf(&self) -> &str {
        &self.csrf
    }

    pub fn audit_plan_refusal(&self, address: ClientIp, why: &str) {
        audit::Entry::new(Event::PlanRefused).user(self.user).address(address.0).why(why).write();
    }

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
        match found(parts, &Api::from_ref(state)).await {
            Ok(Some(session)) => Ok(session),
            // The policy of our pages does not allow a form to be redirected to the sign-in page of
            // another site.
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

impl<S> OptionalFromRequestParts<S> for SignedIn
where
    S: Send + Sync,
    Api: FromRef<S>,
{
    type Rejection = PageError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Option<Self>, PageError> {
        Ok(found(parts, &Api::from_ref(state)).await?)
    }
}

/// A request extension.
#[derive(Clone, Debug)]
pub(crate) struct FoundSession(pub(crate) Option<SignedIn>);

async fn found(parts: &Parts, api: &Api) -> Result<Option<SignedIn>, StorageError> {
    match parts.extensions.get::<FoundSession>() {
        Some(FoundSession(session)) => Ok(session.clone()),
        None => SignedIn::find(api, &parts.headers).await,
    }
}

pub fn signed_out() -> HeaderValue {
    cleared_cookie(COOKIE_NAME)
}

/// Not percent-encoded in a parameter.
const PLAIN: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'_').remove(b'.').remove(b'/');

/// The sign-in leads back to `next`.
pub fn sign_in(next: &str) -> String {
    format!("/sign-in?next={}", utf8_percent_encode(next, PLAIN))
}

/// Like `sign_in`, to sign in as another user: the issuer asks for the account again instead of
/// using its own session.
pub fn sign_in_again_path(next: &str) -> String {
    format!("/sign-in?anew=true&next={}", utf8_percent_encode(next, PLAIN))
}

/// `next` if it is a path of this service, else the account page. Without this check, a link to our
/// sign-in could lead to any site.
pub fn local_path(next: &str) -> &str {
    let is_local = next.starts_with('/')
        && !next.starts_with("//")
        && next.len() <= 2048
        && next.bytes().all(|it| it.is_ascii_graphic() && it != b'\\');
    if is_local { next } else { "/account" }
}

pub fn cookie(headers: &HeaderMap, name: &str) -> Option<String> {
    let headers_text = headers.get_all(COOKIE).iter().filter_map(|it| it.to_str().ok());
    let mut pairs = headers_text.flat_map(|it| it.split(';')).filter_map(|it| it.trim().split_once('='));
    pairs.find(|it| it.0 == name).map(|it| it.1.to_owned())
}

/// Scripts and other sites cannot read the cookie.
pub fn set_cookie(name: &str, value: &SecretString, lifetime: TimeDelta) -> HeaderValue {
    let value = value.expose_secret();
    let seconds = lifetime.num_seconds();
    let cookie = format!("{name}={value}; Path=/; Secure; HttpOnly; SameSite=Lax; Max-Age={seconds}");
    let mut header = HeaderValue::try_from(cookie).unwrap_or_else(|_| HeaderValue::from_static(""));
    header.set_sensitive(true);
    header
}

pub fn cleared_cookie(name: &str) -> HeaderValue {
    set_cookie(name, &SecretString::default(), TimeDelta::zero())
}

#[cfg(test)]
mod tests {
    use domain::testing::a_user;
    use proptest::prelude::*;
    use storage::testing::join;

    use super::*;
    use crate::testing::api;

    fn headers(cookie: &HeaderValue) -> HeaderMap {
        let sent = cookie.to_str().unwrap().split(';').next().unwrap();
        [(COOKIE, HeaderValue::from_str(&format!("a=b; {sent}")).unwrap())].into_iter().collect()
    }

    const HERE: ClientIp = ClientIp(std::net::IpAddr::V4(std::net::Ipv4Addr::new(192, 0, 2, 1)));

    async fn new_user(api: &Api) -> UserId {
        let user = a_user();
        join(&api.store, &user).await;
        user.user_id
    }

    async fn find(api: &Api, cookie: &HeaderValue) -> Option<SignedIn> {
        SignedIn::find(api, &headers(cookie)).await.unwrap()
    }

    #[tokio::test]
    async fn a_browser_is_signed_in_until_it_signs_out() {
        let api = api().await;
        let user = new_user(&api).await;
        let cookie = SignedIn::start(&api, user, HERE).await.unwrap();

        let session = find(&api, &cookie).await.unwrap();
        assert_eq!((session.user, session.person().user_id), (user, user));
        session.end(&api).await.unwrap();

        assert!(find(&api, &cookie).await.is_none());
    }

    #[tokio::test]
    async fn session_expires() {
        let api = api().await;
        let cookie = SignedIn::start(&api, new_user(&api).await, HERE).await.unwrap();

        api.clock.advance(LIFETIME);

        assert!(find(&api, &cookie).await.is_none());
    }

    #[tokio::test]
    async fn global_sign_out_and_disabling_end_sessions_at_once() {
        let api = api().await;
        let user = new_user(&api).await;
        let [one, two] =
            [SignedIn::start(&api, user, HERE).await.unwrap(), SignedIn::start(&api, user, HERE).await.unwrap()];
        let other = SignedIn::start(&api, new_user(&api).await, HERE).await.unwrap();

        api.store.sign_out_everywhere(user, api.clock.now()).await.unwrap();
        assert!(find(&api, &one).await.is_none() && find(&api, &two).await.is_none());
        assert!(find(&api, &other).await.is_some());

        api.clock.advance(TimeDelta::seconds(1));
        let again = SignedIn::start(&api, user, HERE).await.unwrap();
        assert!(find(&api, &again).await.is_some());
        api.store.set_disabled(user, true).await.unwrap();
        assert!(find(&api, &again).await.is_none());
    }

    #[tokio::test]
    async fn session_with_another_user_id_is_rejected() {
        let api = api().await;
        let (user, other) = (new_user(&api).await, new_user(&api).await);
        let cookie = SignedIn::start(&api, user, HERE).await.unwrap();

        let forged = cookie.to_str().unwrap().replace(&user.to_string(), &other.to_string());

        assert!(find(&api, &HeaderValue::from_str(&forged).unwrap()).await.is_none());
    }

    #[tokio::test]
    async fn a_form_of_another_session_is_refused() {
        let api = api().await;
        let user = new_user(&api).await;
        let one = SignedIn::start(&api, user, HERE).await.unwrap();
        let two = SignedIn::start(&api, user, HERE).await.unwrap();
        let (one, two) = (find(&api, &one).await.unwrap(), find(&api, &two).await.unwrap());

        assert!(one.check(one.csrf()).is_ok());
        assert_eq!(one.check(two.csrf()), Err(PageError::forged()));
        assert_eq!(one.check(""), Err(PageError::forged()));
    }

    #[test]
    fn return_path_is_local() {
        for next in ["https://evil.example", "//evil.example", "/\\evil.example", "", "/a\r\nb", "javascript:x"] {
            assert_eq!(local_path(next), "/account", "{next:?}");
        }
        assert_eq!(local_path("/device?user_code=WDJB-MJHT"), "/device?user_code=WDJB-MJHT");
        let longest = format!("/{}", "a".repeat(2047));
        assert_eq!(local_path(&longest), longest);
        assert_eq!(local_path(&format!("{longest}a")), "/account");
    }

    #[test]
    fn only_this_origin_can_read_a_cookie_and_no_script() {
        let set = set_cookie(COOKIE_NAME, &"7.secret".into(), TimeDelta::minutes(2));
        let rest = "Path=/; Secure; HttpOnly; SameSite=Lax; Max-Age=";

        assert_eq!(set, format!("__Host-session=7.secret; {rest}120"));
        assert!(set.is_sensitive());
        assert_eq!(signed_out(), format!("__Host-session=; {rest}0"));
    }

    #[tokio::test]
    async fn session_is_stored_by_hash() {
        let api = api().await;
        let cookie = SignedIn::start(&api, new_user(&api).await, HERE).await.unwrap();
        let secret = cookie.to_str().unwrap().split(['.', ';']).nth(1).unwrap();

        let session = find(&api, &cookie).await.unwrap();

        assert!(session.is(&token::hash(secret)));
        assert!(!session.is(secret) && !session.is(""));
    }

    #[tokio::test]
    async fn page_redirects_to_sign_in_and_form_gets_401() {
        async fn extract(api: &Api, method: Method, cookie: &str) -> Result<SignedIn, Response> {
            let request = http::Request::builder().method(method).uri("/account?tab=2").header(COOKIE, cookie);
            let (mut parts, ()) = request.body(()).unwrap().into_parts();
            <SignedIn as FromRequestParts<Api>>::from_request_parts(&mut parts, api).await
        }
        let api = api().await;
        let user = new_user(&api).await;
        let cookie = SignedIn::start(&api, user, HERE).await.unwrap();

        let signed_in = extract(&api, Method::POST, cookie.to_str().unwrap()).await;
        let form = extract(&api, Method::POST, "").await.unwrap_err();

        assert_eq!(signed_in.unwrap().user, user);
        assert_eq!(form.status(), 401);
        for method in [Method::GET, Method::HEAD] {
            let page = extract(&api, method, "").await.unwrap_err();
            assert_eq!(page.status(), 303);
            assert_eq!(page.headers()["location"], "/sign-in?next=/account%3Ftab%3D2");
        }
    }

    #[tokio::test]
    async fn optional_session_may_be_absent() {
        let api = api().await;
        let user = new_user(&api).await;
        let cookie = SignedIn::start(&api, user, HERE).await.unwrap();
        let extract = async |cookie: &str| {
            let (mut parts, ()) = http::Request::get("/").header(COOKIE, cookie).body(()).unwrap().into_parts();
            let found = <SignedIn as OptionalFromRequestParts<Api>>::from_request_parts(&mut parts, &api).await;
            found.unwrap().map(|it| it.user)
        };

        assert_eq!(extract(cookie.to_str().unwrap()).await, Some(user));
        assert_eq!(extract("").await, None);
    }

    #[test]
    fn sign_in_as_another_user_prompts_for_login() {
        assert_eq!(sign_in_again_path("/a?b"), "/sign-in?anew=true&next=/a%3Fb");
    }

    proptest! {
        #[test]
        fn return_path_survives_the_sign_in_url(path in "/[!-~]{0,40}") {
            let address = sign_in(&path);
            let query = address.split_once('?').unwrap().1;
            let next = url::form_urlencoded::parse(query.as_bytes()).next().unwrap().1.into_owned();
            prop_assert_eq!(next, path);
        }
    }
}
