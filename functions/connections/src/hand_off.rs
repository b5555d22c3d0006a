//! What the steps of a hand-off share: sending the person off, remembering,
//! and keeping the account.

use std::collections::{HashMap, HashSet};
use std::net::IpAddr;

use chrono::{DateTime, Utc};
use cloud::audit;
use domain::connection::{Connection, Profile};
use domain::event::Event;
use domain::id::UserId;
use domain::rules::Rules;
use domain::token::{self, Pkce};
use platforms::{
    Account, Answers, AuthorizationRequest, Awaited, Callback, Connect, Credentials, Departure, HandOffRefusal,
    Instructions, OurAddresses,
};
use publishing::{announce, revoke_grant};
use secrecy::{ExposeSecret, SecretString};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use storage::{
    Connected, Connecting, ConnectionRecord, HandOff, MAX_CONNECTED, NewCredentials, Stage, credentials_context,
    grant_context, grant_name, hand_off_context,
};

use crate::App;
use crate::failure::Failure;
use crate::patience::{ANSWERED_WITHIN, within};
use crate::room::{Room, fitting, left_out_in_words};

/// How often the conditional write of an account is tried when another
/// hand-off writes the same account at the same time.
const TRIES: usize = 5;

/// What is stored, sealed, while the person is on the platform's page.
#[derive(Serialize, Deserialize)]
pub(crate) struct Away {
    verifier: String,
    memory: Option<String>,
    /// The host that the person named, which is called again when they come back.
    pub(crate) host: Option<String>,
    /// What the person has to do elsewhere, where nobody is sent back to us.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    instructions: Option<Instructions>,
}

/// What is stored of an account, sealed, while the person chooses.
#[derive(Serialize, Deserialize)]
pub(crate) struct Offer {
    pub(crate) profile: Profile,
    /// Whether the person has chosen it, as far as the form that was sent says.
    #[serde(skip)]
    pub(crate) is_chosen: bool,
    scopes: Vec<String>,
    rules: Rules,
    #[serde(default)]
    grant: Option<String>,
    credentials: String,
    #[serde(default)]
    own: Option<String>,
}

/// How the platform answered the start of a hand-off.
pub(crate) enum SentOff {
    /// The person goes to the platform's page. `sealed` is stored until the
    /// person comes back.
    Page { url: String, sealed: Vec<u8> },
    /// The person approves it elsewhere. `sealed` is stored until then.
    Wait { sealed: Vec<u8> },
    /// No page is needed: the platform has given these accounts already.
    Arrived(Vec<Account>),
}

/// A hand-off that was found by its state token.
pub(crate) struct Visit {
    pub(crate) state_token: SecretString,
    pub(crate) hash: String,
    pub(crate) hand_off: HandOff,
    /// Where the person is, or the program that polls.
    pub(crate) address: IpAddr,
}

impl App {
    /// The hand-off with this state token; `None` when there is none, or none
    /// any more.
    pub(crate) async fn visit(
        &self,
        state_token: String,
        address: IpAddr,
        now: DateTime<Utc>,
    ) -> Result<Option<Visit>, Failure> {
        let hash = token::hash(&state_token);
        let found = self.api.store.hand_off(&hash).await?.filter(|it| it.is_remembered(now));
        Ok(found.map(|hand_off| Visit { state_token: state_token.into(), hash, hand_off, address }))
    }

    /// The address of a hand-off's page.
    pub(crate) fn page_of(&self, state_token: &SecretString) -> String {
        format!("{}/connect/{}", self.api.origin, state_token.expose_secret())
    }

    /// Our addresses, as the platform has to know them.
    pub(crate) fn addresses(&self, platform: &dyn Connect) -> OurAddresses {
        OurAddresses::of(&self.api.origin, platform.name())
    }

    /// Begins the hand-off at the platform, which names its page or gives the
    /// accounts at once.
    pub(crate) async fn send_off(
        &self,
        platform: &dyn Connect,
        state_token: &SecretString,
        answers: &Answers,
    ) -> Result<Result<SentOff, HandOffRefusal>, Failure> {
        let pkce = Pkce::random();
        let request = AuthorizationRequest {
            state: state_token.clone(),
            here: self.addresses(platform),
            challenge: pkce.challenge,
        };
        let asked = platform.authorize(answers, &request, self.api.clock.now());
        let (url, instructions, memory) = match within(ANSWERED_WITHIN, asked).await {
            Ok(Departure::Page { url, memory }) => (Some(url), None, memory),
            Ok(Departure::Wait { instructions, memory }) => (None, Some(instructions), memory),
            Ok(Departure::Arrived(accounts)) => return Ok(Ok(SentOff::Arrived(accounts))),
            Err(refusal) => return Ok(Err(refusal)),
        };
        let away = Away {
            verifier: pkce.verifier.expose_secret().to_owned(),
            memory: memory.map(|it| it.expose_secret().to_owned()),
            host: platform.named_host(answers),
            instructions,
        };
        let sealed = self.seal(&token::hash(state_token.expose_secret()), &away).await?;
        Ok(Ok(match url {
            Some(url) => SentOff::Page { url, sealed },
            None => SentOff::Wait { sealed },
        }))
    }

    /// What was stored when the person was sent off.
    pub(crate) async fn away(&self, visit: &Visit) -> Result<Away, Failure> {
        self.open(visit).await
    }

    /// What an adapter needs to ask for an approval.
    pub(crate) fn awaited(&self, platform: &dyn Connect, away: Away) -> Awaited {
        let here = self.addresses(platform);
        Awaited { verifier: away.verifier.into(), here, memory: away.memory.map(Into::into) }
    }

    /// What the person has to do for an approval that is waited for.
    pub(crate) async fn instructions(&self, visit: &Visit) -> Result<Instructions, Failure> {
        self.away(visit).await?.instructions.ok_or(Failure::Memory)
    }

    /// What an adapter needs to read the platform's answer.
    pub(crate) fn callback(
        &self,
        platform: &dyn Connect,
        away: Away,
        query: std::collections::BTreeMap<String, String>,
        arrived_at: String,
    ) -> Callback {
        Callback {
            query,
            arrived_at,
            verifier: away.verifier.into(),
            here: self.addresses(platform),
            memory: away.memory.map(Into::into),
        }
    }

    /// Goes on with the accounts that a platform gave: a single one is stored,
    /// and among several the person chooses. The hand-off has to be at the
    /// stage `Answering`.
    pub(crate) async fn settle(
        &self,
        visit: &Visit,
        platform: &dyn Connect,
        accounts: Vec<Account>,
    ) -> Result<(), Failure> {
        // Whatever the adapter: names of platforms go no further as they came.
        let shown = |it: Account| Account { profile: it.profile.fit_to_show(), ..it };
        let mut accounts: Vec<Account> = accounts.into_iter().map(shown).collect();
        let mut seen = HashSet::new();
        accounts.retain(|it| seen.insert(it.profile.account_id.clone()));
        if 1 < accounts.len() {
            let offers: Vec<Offer> = accounts.into_iter().map(Offer::from).collect();
            let sealed = self.seal(&visit.hash, &offers).await?;
            let (store, now) = (&self.api.store, self.api.clock.now());
            store.advance_hand_off(&visit.hash, &[Stage::Answering], Stage::Choosing, Some(sealed), now).await?;
            return Ok(());
        }
        match accounts.pop() {
            Some(account) => self.keep_accounts(visit, platform, &[account], &[]).await,
            None => self.end_without_account(visit, "the platform showed no account that can be connected").await,
        }
    }

    /// The accounts to choose from.
    pub(crate) async fn offers(&self, visit: &Visit) -> Result<Vec<Offer>, Failure> {
        self.open(visit).await
    }

    /// Ends a hand-off by storing the accounts as new connections, or by renewing
    /// the connections that they have. Where the plan does not allow all of them,
    /// the first are connected and the person is told which are not; where it
    /// allows none, the hand-off fails. A hand-off that ended in the meantime stays
    /// as it is.
    ///
    /// Of the `others` that the platform gave, those are renewed, too, that are
    /// connected by the same grant: its new credentials are theirs.
    pub(crate) async fn keep_accounts(
        &self,
        visit: &Visit,
        platform: &dyn Connect,
        accounts: &[Account],
        others: &[Account],
    ) -> Result<(), Failure> {
        let store = &self.api.store;
        let user = visit.hand_off.user_id;
        let ids = || accounts.iter().chain(others).map(|it| it.profile.account_id.as_str());
        for _ in 0..TRIES {
            let found = store.connected_accounts(user, platform.name(), ids()).await?;
            let room = self.room(user).await?;
            let (mut fitting, left_out) = fitting(accounts, &found, room);
            let left_out = room.and_then(|room| left_out_in_words(&left_out, room));
            if let Some(reason) = &left_out {
                let entry = audit::Entry::new(audit::Event::PlanRefused).user(user).why(reason);
                entry.address(visit.address).write();
            }
            if let (true, Some(reason)) = (fitting.is_empty(), &left_out) {
                self.end_without_account(visit, reason).await?;
                return self.give_back(visit, platform, accounts).await;
            }
            let beside = MAX_CONNECTED.saturating_sub(fitting.len());
            let covered = others.iter().filter(|it| is_covered(it, &fitting, &found)).take(beside);
            fitting.extend(covered.collect::<Vec<_>>());
            let now = self.api.clock.now();
            let (connecting, granted) = self.connecting(user, platform, &fitting, found, now).await?;
            match store.connect(&visit.hash, &connecting, &granted, left_out.as_deref(), now).await? {
                Connected::Done { left } => {
                    for record in left {
                        revoke_grant(store, self.sealer.as_ref(), &self.platforms, &record, now).await;
                    }
                    self.tell_connected(visit, &connecting, now).await;
                    return Ok(());
                }
                Connected::Closed => return self.give_back(visit, platform, accounts).await,
                Connected::Overtaken => {}
            }
        }
        Err(storage::StorageError::Contended.into())
    }

    async fn tell_connected(&self, visit: &Visit, connecting: &[Connecting], now: DateTime<Utc>) {
        for account in connecting {
            let connection = &account.connection;
            let made = audit::Entry::new(audit::Event::ConnectionMade).user(connection.user_id);
            let made = made.connection(connection.connection_id).address(visit.address);
            if account.found.is_some() {
                made.why("renewed").write();
            } else {
                made.write();
                announce(&self.api.store, self.events.as_ref(), &Event::connected(connection, now)).await;
            }
        }
    }

    /// Ends a hand-off without an account, whatever stage it is at.
    pub(crate) async fn end_without_account(&self, visit: &Visit, reason: &str) -> Result<(), Failure> {
        const OPEN: [Stage; 5] = [Stage::Asking, Stage::Waiting, Stage::Approving, Stage::Answering, Stage::Choosing];
        self.api.store.fail_hand_off(&visit.hash, &OPEN, reason, self.api.clock.now()).await?;
        Ok(())
    }

    /// Why the user's plan allows no further account; `None` when it does.
    ///
    /// Connecting an account again needs no further room. Which account the
    /// person will choose is not known at the start, so a hand-off may begin
    /// when any account on the platform `renewing` has to be connected again.
    pub(crate) async fn no_room(&self, user: UserId, renewing: &str) -> Result<Option<String>, Failure> {
        let Some((room, connections)) = self.room_beside(user).await? else { return Ok(None) };
        let renews = connections.iter().any(|it| it.needs_reconnection && it.provider == renewing);
        Ok((room.left == 0 && !renews).then(|| room.full()))
    }

    /// How many further accounts the user's plan allows; `None` when it has no
    /// limit.
    pub(crate) async fn room(&self, user: UserId) -> Result<Option<Room>, Failure> {
        Ok(self.room_beside(user).await?.map(|it| it.0))
    }

    /// The same, and what there is.
    async fn room_beside(&self, user: UserId) -> Result<Option<(Room, Vec<Connection>)>, Failure> {
        let store = &self.api.store;
        let (user, connections) = futures::try_join!(store.user(user), store.connections(user))?;
        let plan = self.plans.named(user.as_ref().and_then(|it| it.plan.as_deref()));
        let Some(max) = plan.max_connections else { return Ok(None) };
        let left = usize::try_from(max).unwrap_or(usize::MAX).saturating_sub(connections.len());
        Ok(Some((Room { max, left }, connections)))
    }

    /// The accounts as they are to be kept, and their grants.
    async fn connecting(
        &self,
        user: UserId,
        platform: &dyn Connect,
        accounts: &[&Account],
        mut found: HashMap<String, ConnectionRecord>,
        now: DateTime<Utc>,
    ) -> Result<(Vec<Connecting>, Vec<NewCredentials>), Failure> {
        let (mut connecting, mut granted) = (Vec::new(), Vec::<NewCredentials>::new());
        for account in accounts {
            let found = found.remove(&account.profile.account_id);
            let id = found.as_ref().map_or_else(|| self.api.ids.fresh(), |it| it.connection.connection_id);
            let grant_name = grant_name(platform.name(), account.grant_name());
            let credentials = &account.credentials;
            if !granted.iter().any(|it| it.grant_name == grant_name) {
                let plain = credentials.to_bytes();
                let context = grant_context(user, &grant_name);
                granted.push(NewCredentials {
                    grant_name: grant_name.clone(),
                    sealed: self.sealer.seal(plain.expose_secret().as_bytes(), &context).await?,
                    token_expires_at: credentials.expires_at,
                    renewed_at: None,
                    is_gone: false,
                    refresh_at: Some(platform.renewal().due_at(credentials, now)),
                });
            }
            let own = match &credentials.own {
                Some(own) => {
                    let context = credentials_context(user, id, platform.name());
                    Some(self.sealer.seal(own.expose_secret().as_bytes(), &context).await?)
                }
                None => None,
            };
            let connection = Connection {
                user_id: user,
                connection_id: id,
                provider: platform.name().to_owned(),
                profile: account.profile.clone(),
                scopes: account.scopes.clone(),
                needs_reconnection: false,
                token_expires_at: credentials.expires_at.filter(|_| !platform.renewal().can_renew(credentials)),
                renewed_at: None,
                created_at: now,
                pending: 0,
                rules: account.rules.clone(),
                generation: 1,
            };
            connecting.push(Connecting { connection, grant_name, own, found });
        }
        Ok((connecting, granted))
    }

    async fn seal<T: Serialize>(&self, hash: &str, memory: &T) -> Result<Vec<u8>, Failure> {
        let plain = serde_json::to_vec(memory).map_err(|_| Failure::Memory)?;
        Ok(self.sealer.seal(&plain, &hand_off_context(hash)).await?)
    }

    async fn open<T: DeserializeOwned>(&self, visit: &Visit) -> Result<T, Failure> {
        let sealed = visit.hand_off.sealed.as_ref().ok_or(Failure::Memory)?;
        let plain = self.sealer.open(sealed, &hand_off_context(&visit.hash)).await?;
        serde_json::from_slice(&plain).map_err(|_| Failure::Memory)
    }
}

/// Whether an account is connected already by the grant of one of these.
fn is_covered(account: &Account, by: &[&Account], found: &HashMap<String, ConnectionRecord>) -> bool {
    let Some(found) = found.get(&account.profile.account_id) else { return false };
    let name_of = |it: &&Account| grant_name(&found.connection.provider, it.grant_name());
    by.iter().any(|it| found.grant_name() == Some(&name_of(it)))
}

impl Offer {
    /// The name of its box in the form.
    pub(crate) fn field(&self) -> String {
        format!("account.{}", self.profile.account_id)
    }
}

impl From<Account> for Offer {
    fn from(account: Account) -> Self {
        let Account { profile, scopes, rules, grant, credentials } = account;
        let own = credentials.own.as_ref().map(|it| it.expose_secret().to_owned());
        let credentials = credentials.to_bytes().expose_secret().to_owned();
        Self { profile, is_chosen: false, scopes, rules, grant, credentials, own }
    }
}

impl TryFrom<Offer> for Account {
    type Error = Failure;

    fn try_from(offer: Offer) -> Result<Self, Failure> {
        let Offer { profile, scopes, rules, grant, credentials, own, .. } = offer;
        let credentials = Credentials::from_bytes(credentials.as_bytes()).map_err(|_| Failure::Memory)?;
        let credentials = Credentials { own: own.map(Into::into), ..credentials };
        Ok(Self { profile, scopes, rules, grant, credentials })
    }
}
