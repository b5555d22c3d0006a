//! What the suite asks of a fake for a platform: it can be started, a person
//! can visit it, calls of it can be made to fail, and its posts can be read.

use std::collections::BTreeMap;
use std::net::SocketAddr;

use async_trait::async_trait;
use chrono::TimeDelta;
use domain::clock::Clock;
use domain::media::MimeType;
use domain::options::Options;
use serde_json::{Value, json};
use url::Url;

use crate::app::AppCredentials;
use crate::connect_flow::FieldValues;

/// A platform's own servers, imitated on loopback as strictly as its
/// documentation allows: what the real one refuses, it refuses.
///
/// It has one person with one account, who is signed in.
#[async_trait]
pub trait Network: Send + Sync {
    /// Starts it, empty, on free ports. It tells the time by `clock`.
    async fn start(clock: Clock) -> Self
    where
        Self: Sized;

    /// The platform's name in the registry.
    fn name(&self) -> &'static str;

    /// Where it listens: loopback, which a deployment has to except.
    fn addresses(&self) -> Vec<SocketAddr>;

    /// Its address, without a slash at the end.
    fn base_url(&self) -> String {
        format!("http://{}", self.addresses()[0])
    }

    /// The platform's entry in `PLATFORMS` that leads here.
    fn settings(&self) -> Value {
        json!({ "url": self.base_url() })
    }

    /// Our id and secret over there, where an operator has to get them.
    fn app(&self) -> Option<AppCredentials> {
        None
    }

    /// From now on our app may also be sent back to this address: an operator writes
    /// it on the platform's page, where there is one.
    fn permit(&self, redirect_uri: &str) {
        let _ = redirect_uri;
    }

    /// What the person types on our page before the platform's own.
    fn answers(&self) -> FieldValues;

    /// What the person types to be connected without the platform's page;
    /// `None` where there is no such way.
    fn direct_answers(&self) -> Option<FieldValues> {
        None
    }

    /// What the person types to name this very server, and to sign in on its page; `None`
    /// where users name none.
    fn answers_naming_it(&self) -> Option<FieldValues> {
        None
    }

    /// What every post has to say there, beside its text.
    fn options(&self) -> Options {
        Options::default()
    }

    /// Whether files of this type have alternative texts.
    fn describes(&self, mime_type: MimeType) -> bool {
        let _ = mime_type;
        true
    }

    /// Whether it has a page on which the person decides. Otherwise what is typed is
    /// always enough.
    fn has_page(&self) -> bool {
        true
    }

    /// Whether it can be asked what became of a call.
    fn can_be_asked(&self) -> bool {
        true
    }

    /// Whether it takes the same words a second time, in a post without files.
    fn takes_repeats(&self) -> bool {
        true
    }

    /// Whether a success of the publish call proves that a post with files is public. Otherwise its outcome is unknown
    /// until a look-up finds it.
    fn confirms_files(&self) -> bool {
        true
    }

    /// The addresses from which it fetched files itself, in order.
    fn fetched(&self) -> Vec<String> {
        Vec::new()
    }

    /// Whether a grant ends when it is given back: not where a person has made it
    /// for other uses as well.
    fn ends_grants(&self) -> bool {
        true
    }

    /// The same of a grant that came of [`Network::direct_answers`].
    fn ends_typed_grants(&self) -> bool {
        self.ends_grants()
    }

    /// The person opens the address that the adapter sent them to, and decides.
    /// Returns the address that the platform sends them back to; panics when
    /// the platform would show an error instead.
    async fn send_back(&self, url: &str, decision: Decision) -> Url;

    /// The same; returns the query alone.
    async fn decide(&self, url: &str, decision: Decision) -> BTreeMap<String, String> {
        self.send_back(url, decision).await.query_pairs().into_owned().collect()
    }

    /// Makes the next `count` calls of this kind fail in this way. It replaces
    /// whatever was ordered for this kind before.
    fn trouble(&self, call: Call, trouble: InjectedFault, count: usize);

    /// Whether calls of this kind can fail in this way here.
    fn can(&self, call: Call, trouble: InjectedFault) -> bool {
        let _ = (call, trouble);
        true
    }

    /// Whether a code that it never gave is refused.
    fn checks_codes(&self) -> bool {
        true
    }

    /// The parameter of the page's answer that proves that the person agreed. A `code`
    /// is good once and for a while; a `password` is good for as long as its grant.
    fn proof(&self) -> &'static str {
        "code"
    }

    /// From now on every refusal repeats the `Authorization` header and the body of
    /// its request, as [`with_request`](super::echo::with_request) does it. False
    /// where refusals have no words.
    fn echo(&self) -> bool;

    /// The person takes the grant away on the platform's own pages.
    fn revoke(&self);

    /// Ends all access tokens given out so far. Their grants go on.
    fn end_access_tokens(&self);

    /// From now on the messages of all refusals are in another language; statuses and codes stay. False where refusals
    /// have no message, or where only the message distinguishes two refusals.
    fn translate_refusals(&self) -> bool {
        false
    }

    /// The user publishes a post with this text by hand, now. The post is in the lists that look-ups read. Needed where
    /// [`Network::can_be_asked`].
    fn posts_by_hand(&self, text: &str) {
        unreachable!("{} is not asked, so {text:?} hides nothing there", self.name())
    }

    /// The user publishes `count` posts by hand, now. Each has a text of its own.
    fn others_post(&self, count: usize) {
        for number in 1..=count {
            self.posts_by_hand(&format!("by hand, number {number}"));
        }
    }

    /// From now on it is hostile, and leads users in this way to the page of `honest`, with
    /// the redirect URI of its own flow. False where it cannot name another page, and where
    /// that page knows its clients by keys of theirs, so that
    /// `the_code_of_one_server_is_not_brought_to_another` is all that can be played. Needed where [`Network::answers_naming_it`].
    fn lead_users_to(&self, honest: &Self, detour: Detour) -> bool
    where
        Self: Sized,
    {
        let _ = honest;
        unreachable!("users of {} name servers, and {detour:?} is not played", self.name())
    }

    /// Every token that it has given out, and every password for programs. Needed where
    /// [`Network::answers_naming_it`].
    fn secrets(&self) -> Vec<String> {
        unreachable!("users of {} name servers", self.name())
    }

    /// Whether a request with this secret has arrived. Needed where
    /// [`Network::answers_naming_it`].
    fn has_received(&self, secret: &str) -> bool {
        let _ = secret;
        unreachable!("users of {} name servers", self.name())
    }

    /// Everything the account has made public, oldest first.
    fn public(&self) -> Vec<PublicPost>;

    /// A text as the platform's own clients write it into a post, such as with its
    /// links shortened.
    fn shown(&self, text: &str) -> String {
        text.to_owned()
    }

    /// The words of the latest post that readers can follow to an address, in
    /// order; `None` where the platform finds addresses in the text by itself.
    fn links(&self) -> Option<Vec<String>> {
        None
    }

    /// Grants that can still be used.
    fn grants(&self) -> usize;

    /// How many calls of this kind arrived, including those that failed.
    fn calls(&self, call: Call) -> usize;
}

/// What a person decides on a platform's page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Decision {
    /// Yes.
    Allow,
    Deny,
}

/// How a hostile server leads users to the page of an honest one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Detour {
    /// It says that this is where users approve.
    Named,
    /// Its own page sends the browser there.
    Redirected,
}

/// The kinds of calls that can be made to fail separately.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Call {
    /// A code, or a password, for a grant.
    Exchange,
    /// New credentials for old ones.
    Refresh,
    /// The end of a grant.
    Revoke,
    /// A file.
    Upload,
    /// Whether a file is ready.
    Process,
    /// The public call.
    Publish,
    /// Looking for what a public call did.
    LookUp,
    /// What an account says of itself later. Where the same call proves what was typed,
    /// it counts as [`Call::Exchange`].
    Account,
}

/// What can go wrong with a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InjectedFault {
    /// The connection is cut before the call is carried out.
    CutBefore,
    /// The call is carried out, and the connection is cut before the answer.
    LoseAnswer,
    /// 500, and the call was not carried out.
    Broken,
    /// 500, although the call was carried out.
    BrokenAfter,
    /// 503, and the call was not carried out.
    Unavailable,
    /// Too many requests; the call is not carried out.
    Limited {
        /// When the platform wants to be asked again, in its own header.
        retry_after: TimeDelta,
    },
    /// 200 with a page of HTML, and the call was not carried out.
    Gibberish,
    /// A page of HTML from an intermediary (proxy, CDN, firewall) in place of the
    /// platform's response; the call was not carried out.
    Intermediary {
        /// The status of the page.
        status: u16,
    },
    /// Like `Intermediary`, but the call was carried out: the page replaces its response.
    IntermediaryAfter {
        /// The status of the page.
        status: u16,
    },
    /// The call is carried out, and the connection is cut in the middle of the body of
    /// the response.
    CutBody,
    /// The call is carried out, and the response has the status of success without a
    /// body.
    EmptyBody,
    /// The content is not wanted, in the platform's own words.
    Unwanted,
}

/// A post that everybody can see.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PublicPost {
    /// The platform's id, as [`domain::delivery::Published`] has it.
    pub id: String,
    /// What it says.
    pub text: String,
    /// What it shows, in order.
    pub media: Vec<PublicMedium>,
}

/// A file of a public post.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PublicMedium {
    /// As it was uploaded.
    pub mime_type: MimeType,
    pub bytes: Vec<u8>,
    /// What it shows, in words.
    pub alt_text: Option<String>,
}
