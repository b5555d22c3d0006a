//! A network, its adapter, and what the protocol does with them: a small
//! engine that keeps the promises of `publishing` with as little as possible.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use bytes::Bytes;
use chrono::{DateTime, TimeDelta, Utc};
use domain::clock::Clock;
use domain::delivery::{Claim, Published, Resolution, Setback, UNCLAIMED_FOR};
use domain::id::MediaId;
use domain::media::Attachment;
use domain::testing::noon;
use domain::token::{Pkce, random_token};
use futures::{StreamExt, stream};
use outbound::AddressPolicy;

use super::network::{Decision, Network};
use super::samples::Sample;
use crate::account::{Account, Credentials};
use crate::app::{AppSource, Withheld};
use crate::handoff::{
    Answers, AuthorizationRequest, Callback, Departure, HandOffRefusal, OurAddresses, RefreshRefusal,
};
use crate::job::{Job, MediaBytes, MediaReader, MediaUnreadable};
use crate::platform::{Connect, Publish, Step};
use crate::recognition::{Claims, ClaimsUnreadable};
use crate::registry::{Leads, Registry};
use crate::setup::{PlatformSettings, Setup};
use crate::vault::{MemoryVault, Vault};

/// Where the service is, as far as platforms know.
pub const ORIGIN: &str = "http://127.0.0.1:3000";

/// A network and the adapter that calls it.
pub struct Stage<N> {
    /// The stand-in.
    pub network: N,
    /// Our time and the network's. It stands until it is moved.
    pub clock: Clock,
    connecting: Registry<dyn Connect>,
    publishing: Registry<dyn Publish>,
    posts: AtomicU64,
    /// The latest of the account, as the store has them.
    credentials: Mutex<Option<Credentials>>,
    /// Which post made what is public, by the platform's id.
    claims: Mutex<BTreeMap<String, String>>,
}

/// A post on its way to one account, as the protocol keeps it.
pub struct Post<'a> {
    /// By whom.
    pub account: &'a Account,
    /// What is said.
    pub text: String,
    /// What it carries.
    pub media: Vec<Sample>,
    /// The same for all attempts.
    pub reference: String,
    /// Due.
    pub publish_at: DateTime<Utc>,
    /// What preparation has reached; it is stored after each step.
    pub progress: Option<String>,
    /// Whether another program publishes it, of which this one knows nothing.
    pub elsewhere: bool,
    files: Shelf,
    attachments: Vec<Attachment>,
}

/// How a post came through.
#[derive(Debug)]
pub struct Passage {
    /// As the platform says.
    pub published: Published,
    /// What stood in its way, in order.
    pub setbacks: Vec<Setback>,
}

/// More attempts than any passing trouble lasts.
const ATTEMPTS: usize = 30;

impl<N: Network> Stage<N> {
    /// A fresh network at noon.
    pub async fn new() -> Self {
        Self::with_vault(Arc::new(MemoryVault::default())).await
    }

    /// The same with a vault of the test's.
    pub async fn with_vault(vault: Arc<dyn Vault>) -> Self {
        let _ = rustls::crypto::ring::default_provider().install_default();
        let clock = Clock::manual(noon());
        let network = N::start(clock.clone()).await;
        let settings = PlatformSettings::from([(N::NAME.to_owned(), network.settings())]);
        let app = network.app();
        let app = move |_: &str| -> Arc<dyn AppSource> {
            app.clone().map_or_else(|| Arc::new(Withheld) as Arc<dyn AppSource>, |it| Arc::new(it))
        };
        let setup = Setup::new(settings, app, vault, AddressPolicy::Also(network.addresses()));
        let (connecting, publishing) = (Registry::new(&setup).unwrap(), Registry::new(&setup).unwrap());
        Self {
            network,
            clock,
            connecting,
            publishing,
            posts: AtomicU64::new(1),
            credentials: Mutex::default(),
            claims: Mutex::default(),
        }
    }

    /// The adapter of the function that connects accounts.
    pub fn connecting(&self) -> &dyn Connect {
        self.connecting.get(N::NAME).unwrap()
    }

    /// The adapter of the function that publishes: another program, which
    /// shares nothing with the first but the vault.
    pub fn publishing(&self) -> &dyn Publish {
        self.publishing.get(N::NAME).unwrap()
    }

    /// How long before the due second these files are prepared.
    pub fn lead(&self, media: &[Attachment]) -> Option<TimeDelta> {
        Leads::default().before(N::NAME, media)
    }

    /// Where the platform finds us.
    pub fn here(&self) -> OurAddresses {
        OurAddresses::of(ORIGIN, N::NAME)
    }

    /// The person types this on our page.
    pub async fn depart(&self, answers: &Answers) -> Result<(Departure, Callback), HandOffRefusal> {
        let pkce = Pkce::random();
        let request =
            AuthorizationRequest { state: random_token(), here: self.here(), challenge: pkce.challenge.clone() };
        let departure = self.connecting().authorize(answers, &request, self.clock.now()).await?;
        let memory = match &departure {
            Departure::Page { memory, .. } => memory.clone(),
            Departure::Arrived(_) => None,
        };
        let callback = Callback { query: BTreeMap::new(), verifier: pkce.verifier, here: self.here(), memory };
        Ok((departure, callback))
    }

    /// The person decides on the platform's page; what we are told of it.
    pub async fn decided(&self, decision: Decision) -> Callback {
        let (departure, callback) = self.depart(&self.network.answers()).await.unwrap();
        let Departure::Page { url, .. } = departure else { panic!("no page to decide on: {departure:?}") };
        let query = self.network.decide(&url, decision).await;
        Callback { query, ..callback }
    }

    /// Ends a hand-off.
    pub async fn complete(&self, callback: &Callback) -> Result<Vec<Account>, HandOffRefusal> {
        self.connecting().complete(callback, self.clock.now()).await
    }

    /// The account, connected.
    pub async fn connect(&self) -> Account {
        let callback = self.decided(Decision::Allow).await;
        let account = self.complete(&callback).await.unwrap().remove(0);
        self.keep(&account.credentials);
        account
    }

    /// The account, connected by what the person types, where that is enough.
    pub async fn connect_by_typing(&self) -> Option<Account> {
        let (departure, _) = self.depart(&self.network.direct_answers()?).await.unwrap();
        let Departure::Arrived(mut accounts) = departure else { panic!("{departure:?}") };
        let account = accounts.remove(0);
        self.keep(&account.credentials);
        Some(account)
    }

    /// Stores credentials in place of those before.
    pub fn keep(&self, credentials: &Credentials) {
        *self.credentials.lock().unwrap() = Some(credentials.clone());
    }

    /// The credentials that are stored, renewed when they are known to end.
    pub async fn credentials(&self) -> Result<Credentials, Setback> {
        let stored = self.credentials.lock().unwrap().clone().unwrap();
        let ends = stored.expires_at.is_some_and(|it| it < self.clock.now() + TimeDelta::minutes(1));
        if ends && self.publishing().renewal().can_renew(&stored) { Ok(self.renew().await?) } else { Ok(stored) }
    }

    /// Whether the stored credentials can be renewed.
    pub fn can_renew(&self) -> bool {
        let stored = self.credentials.lock().unwrap();
        stored.as_ref().is_some_and(|it| self.publishing().renewal().can_renew(it))
    }

    /// New credentials, stored.
    pub async fn renew(&self) -> Result<Credentials, RefreshRefusal> {
        let stored = self.credentials.lock().unwrap().clone().unwrap();
        let new = self.publishing().refresh(&stored, self.clock.now()).await?;
        // The refresh token is kept when none comes back.
        let refresh_token = new.refresh_token.or(stored.refresh_token);
        let new = Credentials { refresh_token, ..new };
        self.keep(&new);
        Ok(new)
    }

    /// A post that is due in a quarter of an hour.
    pub fn post<'a>(&self, account: &'a Account, text: &str, media: Vec<Sample>) -> Post<'a> {
        let publish_at = self.clock.now() + TimeDelta::minutes(15);
        let files = Shelf(media.iter().map(|it| (it.attachment.media_id, it.bytes.clone())).collect());
        let attachments = media.iter().map(|it| it.attachment.clone()).collect();
        let reference = format!("{}-7-1", self.posts.fetch_add(1, Ordering::SeqCst));
        let text = text.to_owned();
        Post { account, text, media, reference, publish_at, progress: None, elsewhere: false, files, attachments }
    }

    /// The next step before the public call.
    pub async fn prepare(&self, post: &Post<'_>) -> Result<Step, Setback> {
        let (credentials, claims) = (self.credentials().await?, self.claimed(post));
        self.publishing().prepare(&self.job(post, &credentials, &claims)).await
    }

    /// Everything before the public call; passing setbacks are waited out.
    pub async fn prepare_all(&self, post: &mut Post<'_>, setbacks: &mut Vec<Setback>) -> Result<(), Setback> {
        let Some(lead) = self.lead(&post.attachments) else { return Ok(()) };
        self.clock.skip_to(post.publish_at - lead);
        for _ in 0..ATTEMPTS * 10 {
            match self.prepare(post).await {
                Ok(Step::Ready { progress }) => {
                    post.progress = progress;
                    return Ok(());
                }
                Ok(Step::Again { progress, at }) => {
                    post.progress = Some(progress);
                    self.clock.skip_to(at);
                }
                Err(setback) => {
                    if matches!(setback, Setback::Stale { .. }) {
                        post.progress = None;
                    }
                    self.wait_out(setback, setbacks).await?;
                }
            }
        }
        panic!("it is never ready: {setbacks:?}")
    }

    /// The public call.
    pub async fn publish(&self, post: &Post<'_>) -> Result<Published, Setback> {
        let credentials = self.credentials().await?;
        let claims = self.claimed(post);
        let published = self.publishing().publish(&self.job(post, &credentials, &claims)).await;
        if let Ok(Published { platform_post_id, .. }) = &published {
            self.claim(post, platform_post_id);
        }
        published
    }

    /// How a public call ended that began at `since`.
    pub async fn resolve(&self, post: &Post<'_>, since: DateTime<Utc>) -> Resolution {
        let claims = self.claimed(post);
        match self.credentials().await {
            Ok(credentials) => self.publishing().resolve(&self.job(post, &credentials, &claims), since).await,
            Err(setback) => panic!("the account is gone: {setback:?}"),
        }
    }

    /// Takes a post to the network: prepared, called, asked about, and called
    /// again only when it is certain that it is not there.
    pub async fn deliver(&self, post: &mut Post<'_>) -> Result<Passage, Setback> {
        let mut setbacks = Vec::new();
        self.prepare_all(post, &mut setbacks).await?;
        self.clock.skip_to(post.publish_at);
        for _ in 0..ATTEMPTS {
            let since = self.clock.now();
            match self.publish(post).await {
                Ok(published) => return Ok(Passage { published, setbacks }),
                Err(Setback::Unknown { may_still_run, reason }) => {
                    setbacks.push(Setback::Unknown { may_still_run, reason });
                    if let Some(published) = self.settle(post, since, may_still_run).await {
                        return Ok(Passage { published, setbacks });
                    }
                }
                Err(Setback::Stale { reason }) => {
                    setbacks.push(Setback::Stale { reason });
                    post.progress = None;
                    self.clock.advance(TimeDelta::seconds(5));
                    self.prepare_all(post, &mut setbacks).await?;
                }
                Err(setback) => self.wait_out(setback, &mut setbacks).await?,
            }
        }
        panic!("it never goes out: {setbacks:?}")
    }

    /// What is public belongs to one post.
    fn claim(&self, post: &Post<'_>, platform_post_id: &str) {
        if !post.elsewhere {
            let mut claims = self.claims.lock().unwrap();
            let whose = claims.entry(platform_post_id.to_owned()).or_insert_with(|| post.reference.clone());
            assert_eq!(*whose, post.reference, "two posts have the id {platform_post_id}");
        }
    }

    fn claimed(&self, post: &Post<'_>) -> Claimed {
        let whose = |reference: &String| if *reference == post.reference { Claim::Ours } else { Claim::Others };
        let claims = self.claims.lock().unwrap();
        let claims = claims.iter().filter(|_| self.publishing().recognises());
        Claimed(claims.map(|(id, reference)| (id.clone(), whose(reference))).collect())
    }

    /// The user disconnects an account, as the service does it: what somebody
    /// else still needs is not given back.
    pub async fn disconnect(&self, account: &Account, others: &[&Account]) {
        if !others.iter().any(|it| it.credentials.share_a_token(&account.credentials)) {
            self.connecting().revoke(&account.credentials, self.clock.now()).await.unwrap();
        }
    }

    fn job<'a>(&self, post: &'a Post<'_>, credentials: &'a Credentials, claims: &'a Claimed) -> Job<'a> {
        Job {
            profile: &post.account.profile,
            credentials,
            text: &post.text,
            media: &post.attachments,
            reference: &post.reference,
            progress: post.progress.as_deref(),
            publish_at: post.publish_at,
            files: &post.files,
            claims,
            now: self.clock.now(),
        }
    }

    /// Asks until it is certain. `None` is: not there.
    pub async fn settle(&self, post: &Post<'_>, since: DateTime<Utc>, may_still_run: bool) -> Option<Published> {
        let certain_at = if may_still_run { since + self.publishing().settles() } else { since };
        let mut seen: Option<(String, DateTime<Utc>)> = None;
        for _ in 0..ATTEMPTS {
            self.clock.advance(TimeDelta::seconds(5));
            match self.resolve(post, since).await {
                Resolution::Public(published) => {
                    self.claim(post, &published.platform_post_id);
                    return Some(published);
                }
                Resolution::Recognised(published) => {
                    let now = self.clock.now();
                    let known = seen.take().filter(|(id, _)| *id == published.platform_post_id);
                    let (id, at) = known.unwrap_or_else(|| (published.platform_post_id.clone(), now));
                    if at + UNCLAIMED_FOR <= now && certain_at <= now {
                        self.claim(post, &id);
                        return Some(published);
                    }
                    seen = Some((id, at));
                }
                Resolution::NotThere if certain_at <= self.clock.now() => return None,
                Resolution::NotThere | Resolution::Unclear { .. } => {}
                Resolution::Disconnected { .. } => _ = self.renew().await.unwrap(),
                Resolution::Unknowable { advice } => panic!("it cannot be said: {advice}"),
            }
        }
        panic!("it is never certain")
    }

    async fn wait_out(&self, setback: Setback, setbacks: &mut Vec<Setback>) -> Result<(), Setback> {
        match &setback {
            Setback::Busy { retry_at: Some(at), .. } => _ = self.clock.skip_to(*at),
            Setback::Disconnected { .. } if self.can_renew() => {
                if self.renew().await.is_err() {
                    return Err(setback);
                }
            }
            Setback::Refused { .. } | Setback::Disconnected { .. } => return Err(setback),
            Setback::Busy { retry_at: None, .. } | Setback::Stale { .. } | Setback::Unknown { .. } => {}
        }
        self.clock.advance(TimeDelta::seconds(5));
        setbacks.push(setback);
        Ok(())
    }
}

/// Which post made what.
struct Claimed(Vec<(String, Claim)>);

#[async_trait]
impl Claims for Claimed {
    async fn of(&self, ids: &[String]) -> Result<Vec<(String, Claim)>, ClaimsUnreadable> {
        Ok(self.0.iter().filter(|(it, _)| ids.contains(it)).cloned().collect())
    }
}

/// The files of a post.
struct Shelf(BTreeMap<MediaId, Vec<u8>>);

#[async_trait]
impl MediaReader for Shelf {
    async fn open(&self, attachment: &Attachment) -> Result<MediaBytes, MediaUnreadable> {
        let bytes = self.0.get(&attachment.media_id).ok_or_else(|| MediaUnreadable("it is not there".to_owned()))?;
        // In pieces, as they come from a bucket.
        let pieces: Vec<_> = bytes.chunks(700).map(|it| Ok(Bytes::copy_from_slice(it))).collect();
        Ok(stream::iter(pieces).boxed())
    }
}
