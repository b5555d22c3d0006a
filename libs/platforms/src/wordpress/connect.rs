//! Connecting an account: on its site's page, or with an application password.

use chrono::{DateTime, Utc};
use domain::connection::AccountInfo;
use domain::delivery::AttemptError;
use domain::media::MimeType;
use domain::rules::{Counting, PostRule, Rule, Rules};
use domain::token;
use secrecy::{ExposeSecret, SecretString};
use serde::{Deserialize, Serialize};
use url::{Position, Url};

use super::api::{Api, Caller, Me};
use super::site::{self, Approval, Index, Root, Site};
use super::{Grant, TITLE, Wordpress};
use crate::account::{Account, Credentials};
use crate::connect_flow::{AuthorizationRequest, AuthorizeStep, Callback, ConnectError, Field, FieldValues};
use crate::html::plain;
use crate::kit::{CallError, ErrorKind};
use crate::platform::Connect;
use crate::redaction::without_token;
use crate::response::shown;

/// By this id, sites recognize this software, whichever deployment runs it.
const APP_ID: &str = "6f1c1f0e-3a57-4d0f-9d4c-8f6a2f9b7c31";

const USER: &str = "username";

const PASSWORD: &str = "application_password";

/// What can be uploaded within one step. A site does not report its limit; many accept 2 to 64 MB.
const MAX_FILE_BYTES: u64 = 100_000_000;

const NEEDED: [&str; 3] = ["edit_posts", "publish_posts", "upload_files"];

const USEFUL: [&str; 1] = ["manage_categories"];

const FIELDS: &[Field] = &[
    Field::new(site::FIELD, "Your site", site::EXAMPLE),
    Field {
        name: USER,
        label: "Username",
        example: "alice",
        secret: false,
        optional: Some(
            "Leave the username and the password empty to approve access on your site's own page, if it \
                        has one.",
        ),
    },
    Field {
        name: PASSWORD,
        label: "Application password",
        example: "abcd EFGH 1234 ijkl MNOP 6789",
        secret: true,
        optional: Some(
            "Not the password you sign in with: create one in your site's dashboard under Users, Profile, Application \
             Passwords. If it is not accepted, your host may remove the Authorization header from requests. Ask your \
             host to pass it on.",
        ),
    },
];

/// Why a site does not accept the password from its own page.
const STRIPPED: &str = "the site did not receive your credentials. Its host seems to remove the Authorization header \
                        from requests: ask the host to pass it on to PHP, then connect again";

/// Stored while the user is on the site's page.
#[derive(Serialize, Deserialize)]
struct Memory {
    root: Root,
    password_name: String,
}

pub(super) struct SiteAccount {
    me: Me,
    index: Index,
}

pub(super) async fn current_user(api: &Api, caller: Caller<'_>) -> Result<SiteAccount, CallError> {
    let (me, index) = futures::join!(api.me(caller), api.index(caller));
    Ok(SiteAccount { me: me?, index: index? })
}

impl SiteAccount {
    pub(super) fn profile(&self, root: &Root) -> AccountInfo {
        let home = Url::parse(&self.index.home).ok();
        let place = home.as_ref().map_or(root.host(), |it| it[Position::BeforeHost..].trim_end_matches('/'));
        let name = Some(shown(&plain(&self.index.name))).filter(|it| !it.is_empty());
        let icon = self.index.site_icon_url.clone().filter(|it| !it.is_empty());
        AccountInfo {
            account_id: format!("{}@{place}", self.me.id),
            username: Some(format!("{}@{place}", self.me.username)),
            display_name: name,
            avatar: icon.or_else(|| self.me.avatar_urls["96"].as_str().map(str::to_owned)),
            profile_url: home.map(String::from),
        }
    }

    fn check_role(&self) -> Result<(), ConnectError> {
        let Some(missing) = NEEDED.iter().find(|it| !self.me.can(it)) else { return Ok(()) };
        let permission = match *missing {
            "upload_files" => "upload files",
            "publish_posts" => "publish posts",
            _ => "write posts",
        };
        let role = self.me.roles.first().map_or("without a role", String::as_str);
        Err(ConnectError::Refused(shown(&format!(
            "{} ({role}) may not {permission} on this site; ask for the role of an author, then connect again",
            self.me.username
        ))))
    }

    fn scopes(&self) -> Vec<String> {
        let useful = USEFUL.iter().filter(|it| self.me.can(it));
        NEEDED.iter().chain(useful).map(|it| (*it).to_owned()).collect()
    }
}

/// A site does not report its limits.
pub(super) fn rules() -> Rules {
    Rules::new(
        TITLE,
        [
            Rule::max_media(30),
            Rule::mime_types(MimeType::IMAGES_AND_VIDEOS),
            Rule::max_image_bytes(MAX_FILE_BYTES),
            Rule::max_video_bytes(MAX_FILE_BYTES),
            Rule::max_alt_text(10_000, Counting::code_points()),
            // "Content, title, and excerpt are empty": the draft is created before its files, and a
            // post without a title has no link in the lists of most themes.
            Rule::OfPost(PostRule::TextRequired),
        ],
    )
}

#[async_trait::async_trait]
impl Connect for Wordpress {
    fn rules(&self) -> Rules {
        rules()
    }

    fn fields(&self) -> &'static [Field] {
        FIELDS
    }

    fn named_host(&self, values: &FieldValues) -> Option<String> {
        site::parse_host(values.get(site::FIELD)?.expose_secret())
    }

    async fn authorize(
        &self,
        values: &FieldValues,
        request: &AuthorizationRequest,
        now: DateTime<Utc>,
    ) -> Result<AuthorizeStep, ConnectError> {
        let typed = |name| values.get(name).map_or("", |it| it.expose_secret()).trim();
        let (user, password) = (typed(USER), typed(PASSWORD));
        let Site { root, approval } = site::discover(&self.http, typed(site::FIELD)).await?;
        match (user, password) {
            ("", "") => {}
            ("", _) => return Err(field(USER, "Type the username of the application password.")),
            (_, "") => return Err(field(PASSWORD, "Type an application password, or leave the username empty, too.")),
            (user, password) => {
                let grant = Grant { root, user: user.to_owned(), password_name: None };
                let account = self.account(grant, password, now).await;
                return account.map(|it| AuthorizeStep::Accounts(vec![it])).map_err(|refusal| match refusal {
                    AccountError::Unknown(words) => field(
                        PASSWORD,
                        &format!(
                            "{} Check the username and the application password, which is not the password you sign in \
                         with. If both are right, your host may remove the Authorization header from requests: ask \
                         the host to pass it on.",
                            with_full_stop(&words)
                        ),
                    ),
                    AccountError::Other(refusal) | AccountError::Role(refusal) => refusal,
                });
            }
        }
        let mut page = match approval {
            Approval::Page(page) => page,
            Approval::None => {
                let message = format!(
                    "{} has no page to approve access on: application passwords are switched off, or the site has no \
                     https. If its dashboard lists them under Users, Profile, create one and type it here with your \
                     username.",
                    root.host()
                );
                return Err(field(PASSWORD, &message));
            }
            // Otherwise a site could have the password of another site sent to itself (mix-up
            // attack).
            Approval::Elsewhere(host) => {
                let message = format!(
                    "The API of this site is at {}, but its approval page is at {host}. For your safety, a password \
                     from one address is not sent to the other. Create an application password in the dashboard of \
                     your site, under Users, Profile, and type it here with your username.",
                    root.host()
                );
                return Err(field(PASSWORD, &message));
            }
        };
        let urls = request.urls.for_server(root.as_str());
        if urls.redirect_uri.starts_with("http:") && !root.is_open() {
            let message = "WordPress does not redirect to a service without https, such as this one. Create an \
                           application password in your site's dashboard, under Users, Profile, and type it here with \
                           your username.";
            return Err(field(PASSWORD, message));
        }
        let back =
            |extra_query: &str| format!("{}?state={}{extra_query}", urls.redirect_uri, request.state.expose_secret());
        // A site accepts no two passwords of one name.
        let suffix: String = token::hash(request.state.expose_secret()).chars().take(6).collect();
        let password_name = format!("{} {} {suffix}", self.client_name, now.format("%Y-%m-%d"));
        page.query_pairs_mut()
            .append_pair("app_name", &password_name)
            .append_pair("app_id", APP_ID)
            .append_pair("success_url", &back(""))
            .append_pair("reject_url", &back("&success=false"));
        let memory = serde_json::to_string(&Memory { root, password_name }).map_err(|_| ConnectError::Unreachable)?;
        Ok(AuthorizeStep::Redirect { url: page.into(), memory: Some(memory.into()) })
    }

    async fn complete(&self, callback: &Callback, now: DateTime<Utc>) -> Result<Vec<Account>, ConnectError> {
        let memory = callback.adapter_state.as_ref().and_then(|it| serde_json::from_str(it.expose_secret()).ok());
        let Some(Memory { root, password_name }) = memory else {
            return Err(ConnectError::Refused("the approval that you started has expired; connect again".to_owned()));
        };
        callback.check_redirect_uri(&callback.urls.for_server(root.as_str()))?;
        let parameter = |name| callback.query.get(name).map(String::as_str);
        if parameter("success") == Some("false") {
            return Err(match parameter("error") {
                None => ConnectError::Denied,
                Some(_) => ConnectError::Refused("application passwords are switched off for this account".to_owned()),
            });
        }
        let (Some(user), Some(password)) = (parameter("user_login"), parameter("password")) else {
            return Err(ConnectError::Refused("the site sent no password".to_owned()));
        };
        check_site(&root, parameter("site_url"))?;
        let secret = SecretString::from(password);
        let grant = Grant { root, user: user.to_owned(), password_name: Some(password_name) };
        match self.account(grant.clone(), password, now).await {
            Ok(account) => Ok(vec![account]),
            Err(AccountError::Unknown(_)) => Err(ConnectError::Refused(STRIPPED.to_owned())),
            Err(AccountError::Other(refusal)) => Err(without_token(refusal, &secret)),
            Err(AccountError::Role(refusal)) => {
                // The password was created for us and is useless.
                let caller = Caller { root: &grant.root, user, password: &normalize_password(password), now };
                if let Err(error) = self.end(&grant, caller).await {
                    // Without the message, in which a site may repeat the password.
                    tracing::info!(kind = ?error.kind, status = ?error.status, "an application password could not be \
                                                                                deleted");
                }
                Err(without_token(refusal, &secret))
            }
        }
    }

    /// A password that no longer exists counts as deleted.
    async fn revoke(&self, credentials: &Credentials, now: DateTime<Utc>) -> Result<(), AttemptError> {
        let grant = Grant::load(credentials)?;
        match self.end(&grant, grant.caller(credentials, now)).await {
            Ok(true) => Ok(()),
            Ok(false) => {
                let reason = "this version of WordPress does not report which application password is in use: delete \
                              it in the dashboard of the site, under Users, Profile";
                Err(AttemptError::Refused { reason: reason.to_owned() })
            }
            Err(error) if error.kind == ErrorKind::Unauthorized => Ok(()),
            Err(error) => Err(error.into()),
        }
    }
}

/// Refuses a password that another site created, before anything is sent. WordPress redirects to
/// any URL, so a site could lead its visitors to the approval page of another site, with our URL as
/// if it were its own.
fn check_site(root: &Root, site_url: Option<&str>) -> Result<(), ConnectError> {
    let site = site_url.and_then(|it| Url::parse(it).ok());
    if site.as_ref().is_some_and(|it| root.is_origin_of(it)) {
        return Ok(());
    }
    let other = site.map_or_else(|| "an unknown site".to_owned(), |it| it[..Position::BeforePath].to_owned());
    Err(ConnectError::Refused(shown(&format!(
        "the password belongs to {other}, not to {}. This service did not send it anywhere: delete it in the \
         dashboard of the site that created it, under Users, Profile",
        root.host()
    ))))
}

enum AccountError {
    /// The site does not know the password, or does not receive it; the site's message.
    Unknown(String),
    Role(ConnectError),
    Other(ConnectError),
}

impl Wordpress {
    /// Deletes the application password of the call; `false` if it cannot be distinguished from
    /// others.
    async fn end(&self, grant: &Grant, caller: Caller<'_>) -> Result<bool, CallError> {
        let mut uuid = self.api.current_password_uuid(caller).await?;
        if let (None, Some(name)) = (&uuid, &grant.password_name) {
            uuid = self.api.find_password_uuid(caller, APP_ID, name).await?;
        }
        let Some(uuid) = uuid else { return Ok(false) };
        self.api.delete_password(caller, &uuid).await?;
        Ok(true)
    }

    async fn account(&self, grant: Grant, password: &str, now: DateTime<Utc>) -> Result<Account, AccountError> {
        let password = normalize_password(password);
        let caller = Caller { root: &grant.root, user: &grant.user, password: &password, now };
        let identity = current_user(&self.api, caller).await.map_err(|error| match error.kind {
            ErrorKind::Unauthorized => AccountError::Unknown(error.message),
            _ => AccountError::Other(error.into()),
        })?;
        identity.check_role().map_err(AccountError::Role)?;
        let (profile, scopes) = (identity.profile(&grant.root), identity.scopes());
        // A site can claim any account, so a grant of another site never replaces the credentials of this one.
        let name = format!("{} at {}", profile.account_id, grant.root.as_str());
        Ok(Account { profile, scopes, rules: rules(), grant: Some(name), credentials: grant.with(password) })
    }
}

/// An application password without the spaces with which it is shown.
fn normalize_password(typed: &str) -> SecretString {
    typed.chars().filter(|it| !it.is_whitespace()).collect::<String>().into()
}

fn field(name: &'static str, message: &str) -> ConnectError {
    ConnectError::Field { name, message: message.to_owned() }
}

fn with_full_stop(text: &str) -> String {
    format!("{}.", text.trim_end_matches('.'))
}
