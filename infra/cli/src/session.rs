use std::env;
use std::time::Duration;

use client::{BaseUrl, Client, InvalidBaseUrl};
use secrecy::SecretString;

use crate::arguments::Common;
use crate::error::CliError;
use crate::output::notice;
use crate::profile::{Profile, StoredToken};

/// Overrides the token of every profile.
const TOKEN: &str = "SOCIAL_TOKEN";

pub(crate) enum Source {
    Environment,
    Profile(StoredToken),
}

pub(crate) struct Session {
    pub(crate) client: Client,
    pub(crate) json: bool,
    pub(crate) source: Source,
}

impl Session {
    /// A profile's token is sent only to the deployment that issued it.
    pub(crate) fn open(common: &Common) -> Result<Self, CliError> {
        let profile = Profile::find(&common.profile)?;
        let client = client_at(&address(common, profile.as_ref())?)?;
        let (token, source) = match token_from_environment()? {
            Some(token) => (token, Source::Environment),
            None => token_from_profile(common, profile.as_ref(), client.base())?,
        };
        Ok(Self { client: client.with_token(token), json: common.json, source })
    }
}

fn token_from_profile(
    common: &Common,
    profile: Option<&Profile>,
    base: &BaseUrl,
) -> Result<(SecretString, Source), CliError> {
    let origin = base.origin();
    let missing = || CliError::NotSignedIn(format!("not signed in at {origin}; run `social login --url {origin}`"));
    let profile = profile.ok_or_else(missing)?;
    if BaseUrl::parse(&profile.url).map_err(|it| usage_error(&it))?.origin() != origin {
        return Err(missing());
    }
    let (token, stored) = profile.token(&common.profile)?.ok_or_else(missing)?;
    Ok((token, Source::Profile(stored)))
}

fn token_from_environment() -> Result<Option<SecretString>, CliError> {
    match env::var(TOKEN) {
        Ok(token) if token.trim().is_empty() => Ok(None),
        Ok(token) => Ok(Some(token.trim().to_owned().into())),
        Err(env::VarError::NotPresent) => Ok(None),
        Err(env::VarError::NotUnicode(_)) => Err(CliError::Usage(format!("{TOKEN} is not a valid token"))),
    }
}

/// From `--url`, else from the profile.
fn address(common: &Common, profile: Option<&Profile>) -> Result<String, CliError> {
    let url = common.url.clone().or_else(|| profile.map(|it| it.url.clone()));
    url.ok_or_else(|| {
        CliError::NotSignedIn("no deployment is configured; run `social login --url https://…` once".to_owned())
    })
}

/// A client without a token, to sign in.
pub(crate) fn visitor(common: &Common) -> Result<Client, CliError> {
    let profile = Profile::find(&common.profile)?;
    client_at(&address(common, profile.as_ref())?)
}

fn client_at(address: &str) -> Result<Client, CliError> {
    let base = BaseUrl::parse(address).map_err(|it| usage_error(&it))?;
    check_encrypted(&base)?;
    let client = Client::new(http(base.is_this_machine())?, base, None);
    Ok(client.with_limit_notice(|wait| notice(&format!("waiting {} s for the service's limit", wait.as_secs()))))
}

/// Rejects URLs over which others could read the token.
fn check_encrypted(base: &BaseUrl) -> Result<(), CliError> {
    if base.is_secure() {
        return Ok(());
    }
    Err(CliError::Usage(format!("http:// would send the token to {base} unencrypted; use https://")))
}

/// Calls to this machine bypass any proxy.
pub(crate) fn http(is_this_machine: bool) -> Result<reqwest::Client, CliError> {
    let builder = reqwest::Client::builder().user_agent(concat!("social/", env!("CARGO_PKG_VERSION")));
    let builder = builder.redirect(reqwest::redirect::Policy::none()).connect_timeout(Duration::from_secs(10));
    let builder = if is_this_machine { builder.no_proxy() } else { builder };
    builder.build().map_err(|error| CliError::Failed(error.to_string()))
}

fn usage_error(error: &InvalidBaseUrl) -> CliError {
    CliError::Usage(error.to_string())
}
