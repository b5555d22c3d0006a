//! What the suite needs from a fake: it can be started, a user can visit it, its calls can be made
//! to fail, and its posts can be read.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::Arc;

use async_trait::async_trait;
use chrono::TimeDelta;
use domain::clock::Clock;
use domain::media::MimeType;
use domain::options::Options;
use futures::future::BoxFuture;
use platforms::{AppCredentials, FieldValues};
use serde_json::{Value, json};
use url::Url;

/// [`FakePlatform::start`] of some fake.
pub type StartFake = fn(Clock) -> BoxFuture<'static, Arc<dyn FakePlatform>>;

pub fn start_fake<N: FakePlatform + 'static>(clock: Clock) -> BoxFuture<'static, Arc<dyn FakePlatform>> {
    Box::pin(async { Arc::new(N::start(clock).await) as Arc<dyn FakePlatform> })
}

/// A platform's servers on loopback: a fake, or a real server behind a proxy that injects faults.
///
/// It has one user with one account, who is signed in.
#[async_trait]
pub trait FakePlatform: Send + Sync {
    /// Starts an empty fake on free ports. Its time is that of `clock`.
    async fn start(clock: Clock) -> Self
    where
        Self: Sized;

    /// The platform's name in the registry.
    fn name(&self) -> &'static str;

    /// Where it listens: loopback, which a deployment has to permit explicitly.
    fn addresses(&self) -> Vec<SocketAddr>;

    /// Without a slash at the end.
    fn base_url(&self) -> String {
        format!("http://{}", self.addresses()[0])
    }

    /// The platform's entry in `PLATFORMS` that leads to the fake.
    fn settings(&self) -> Value {
        json!({ "url": self.base_url() })
    }

    /// Our client credentials, if an operator has to get them.
    fn app_credentials(&self) -> Option<AppCredentials> {
        None
    }

    /// Registers another redirect URI of our app, which an operator enters on the platform's page,
    /// where there is one.
    fn register_redirect_uri(&self, redirect_uri: &str) {
        let _ = redirect_uri;
    }

    /// The values that the user types into our form before the platform's page.
    fn form_values(&self) -> FieldValues;

    /// The values that the user types to connect without the platform's page; `None` if the
    /// platform does not permit that.
    fn direct_form_values(&self) -> Option<FieldValues> {
        None
    }

    /// The values that the user types to name this server, and to sign in on its page; `None` if
    /// users name no server.
    fn form_values_naming_server(&self) -> Option<FieldValues> {
        None
    }

    /// The options that every post needs, in addition to its text.
    fn options(&self) -> Options {
        Options::default()
    }

    fn has_alt_texts(&self, mime_type: MimeType) -> bool {
        let _ = mime_type;
        true
    }

    /// Without one, the form values are always sufficient.
    fn has_authorization_page(&self) -> bool {
        true
    }

    /// Whether the suite publishes videos where it otherwise publishes images, because the calls differ.
    fn is_for_videos(&self) -> bool {
        false
    }

    /// Whether the publish call sends a token, which it may refuse, and which its errors may repeat.
    fn publish_call_has_secrets(&self) -> bool {
        true
    }

    fn can_look_up(&self) -> bool {
        true
    }

    /// Whether it accepts the same text a second time, in a post without files.
    fn accepts_repeated_texts(&self) -> bool {
        true
    }

    /// In order.
    fn fetched_urls(&self) -> Vec<String> {
        Vec::new()
    }

    /// Whether revocation ends a grant: not if a user has made the grant for other uses, too.
    fn revokes_grants(&self) -> bool {
        true
    }

    /// Like [`FakePlatform::revokes_grants`], for a grant from [`FakePlatform::direct_form_values`].
    fn revokes_direct_grants(&self) -> bool {
        self.revokes_grants()
    }

    /// The user opens the URL that the adapter returned, and decides. Returns the URL that the
    /// platform redirects to; panics if the platform would show an error instead.
    async fn redirect_url(&self, url: &str, decision: Decision) -> Url;

    /// Like [`FakePlatform::redirect_url`]; returns only the query.
    async fn redirect_query(&self, url: &str, decision: Decision) -> BTreeMap<String, String> {
        self.redirect_url(url, decision).await.query_pairs().into_owned().collect()
    }

    /// Makes the next `count` calls of this kind fail in this way. Replaces an earlier fault for
    /// this kind.
    fn inject_fault(&self, call: Call, fault: InjectedFault, count: usize);

    fn can_fail(&self, call: Call, fault: InjectedFault) -> bool {
        let _ = (call, fault);
        true
    }

    /// Whether it refuses a code that it did not issue.
    fn checks_codes(&self) -> bool {
        true
    }

    /// The parameter of the callback that proves the approval. A `code` is valid once and for a
    /// short time; a `password` as long as its grant.
    fn proof_parameter(&self) -> &'static str {
        "code"
    }

    /// From now on, every error repeats the `Authorization` header and the body of its request,
    /// like [`with_request`](super::echo::with_request). False if errors have no message.
    fn echo_requests(&self) -> bool;

    /// The user revokes the grant on the platform's own pages.
    fn revoke(&self);

    /// The user undoes what connecting again does not undo of [`FakePlatform::revoke`], such as
    /// removing a bot from its chat.
    fn readmit(&self) {}

    /// Ends all access tokens issued so far. Their grants stay valid.
    fn end_access_tokens(&self);

    /// From now on, the messages of all errors are in another language; statuses and codes stay.
    /// False if errors have no message, or if only the message distinguishes two errors.
    fn translate_refusals(&self) -> bool {
        false
    }

    /// The user publishes a post with this text by hand, now. The lists that look-ups read show it.
    /// Required where [`FakePlatform::can_look_up`].
    fn publish_manual_post(&self, text: &str) {
        unreachable!("{} is not asked, so {text:?} hides nothing there", self.name())
    }

    /// The user publishes `count` posts by hand, now. Each has its own text.
    fn publish_manual_posts(&self, count: usize) {
        for number in 1..=count {
            self.publish_manual_post(&format!("by hand, number {number}"));
        }
    }

    /// The URL for [`FakePlatform::redirect_users_to`] of a hostile server. From now on, the metadata
    /// of this server names it.
    fn detour_target(&self) -> String {
        self.base_url()
    }

    /// From now on it is hostile, and leads users in this way to the [`FakePlatform::detour_target`] of
    /// an honest server, with the redirect URI of its own flow. False if it cannot name another page
    /// and that page knows its clients by keys of their own, so that only
    /// `code_of_one_server_is_not_sent_to_another` applies. Required where
    /// [`FakePlatform::form_values_naming_server`].
    fn redirect_users_to(&self, honest: &str, detour: Detour) -> bool {
        let _ = honest;
        unreachable!("users of {} name servers, and {detour:?} is not played", self.name())
    }

    /// Every token that it has issued, and every app password. Required where
    /// [`FakePlatform::form_values_naming_server`].
    fn issued_secrets(&self) -> Vec<String> {
        unreachable!("users of {} name servers", self.name())
    }

    /// Whether a request with this secret has arrived. Required where
    /// [`FakePlatform::form_values_naming_server`].
    fn has_received(&self, secret: &str) -> bool {
        let _ = secret;
        unreachable!("users of {} name servers", self.name())
    }

    /// All public posts of the account with its own replies to them, oldest first, without comments.
    fn public_posts(&self) -> Vec<PublicPost>;

    /// Whether the replies of a thread are replies to its first post, and not each to the one before
    /// it.
    fn replies_to_root(&self) -> bool {
        false
    }

    /// The comments on the account's posts, oldest first; `None` if the platform has no first
    /// comment.
    fn comments(&self) -> Option<Vec<PublicPost>> {
        None
    }

    fn can_look_up_comments(&self) -> bool {
        true
    }

    /// A text as the platform's own clients show it in a post, for example with shortened links.
    fn displayed_text(&self, text: &str) -> String {
        text.to_owned()
    }

    /// The linked texts of the latest post, in order; `None` if the platform finds URLs in the text
    /// itself.
    fn links(&self) -> Option<Vec<String>> {
        None
    }

    /// The number of valid grants.
    fn grant_count(&self) -> usize;

    /// How many calls of this kind arrived, including failed ones.
    fn call_count(&self, call: Call) -> usize;
}

/// The user's decision on a platform's authorization page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Decision {
    Allow,
    Deny,
}

/// How a hostile server leads users to the page of an honest one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Detour {
    /// It names that page as its authorization page.
    Named,
    /// Its own page redirects the browser there.
    Redirected,
}

/// Kinds of calls that can fail separately.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Call {
    /// A code or a password is exchanged for a grant.
    Exchange,
    Refresh,
    Revoke,
    Upload,
    /// Reads whether a file is ready.
    Process,
    Publish,
    LookUp,
    /// Reads account info. If the same call checks what was typed, it counts as [`Call::Exchange`].
    Account,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InjectedFault {
    /// The connection is cut before the call is carried out.
    CutBefore,
    /// The call is carried out, and the connection is cut before the response.
    LoseResponse,
    /// 500, and the call was not carried out.
    ServerError,
    /// 500, although the call was carried out.
    ServerErrorAfter,
    /// 503, and the call was not carried out.
    Unavailable,
    /// Too many requests; the call is not carried out.
    RateLimited {
        /// When the platform accepts calls again, in its own header.
        retry_after: TimeDelta,
    },
    /// 200 with a page of HTML, and the call was not carried out.
    HtmlPage,
    /// A page of HTML from an intermediary (proxy, CDN, firewall) in place of the
    /// platform's response; the call was not carried out.
    Intermediary { status: u16 },
    /// Like `Intermediary`, but the call was carried out: the page replaces its response.
    IntermediaryAfter { status: u16 },
    /// The call is carried out, and the connection is cut in the middle of the body of
    /// the response.
    CutBody,
    /// The call is carried out, and the response has the status of success without a
    /// body.
    EmptyBody,
    /// The platform refuses the content, with its own message.
    Refused,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PublicPost {
    /// The platform's id, as [`domain::delivery::Published`] has it.
    pub id: String,
    pub text: String,
    pub media: Vec<PublicMedium>,
    /// The id of the post that it replies to or comments on.
    pub reply_to: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PublicMedium {
    pub mime_type: MimeType,
    pub bytes: Vec<u8>,
    pub alt_text: Option<String>,
}
