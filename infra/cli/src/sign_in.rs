//! `social login`, `logout` and `status`.

use std::io::{self, Read};
use std::process::{Command, Stdio};
use std::time::Duration;

use client::{Client, DeviceAuthorization, DeviceCodeRequest, Error};
use secrecy::SecretString;
use tokio::time::Instant;

use crate::arguments::{Common, Login};
use crate::error::CliError;
use crate::output::{self, notice};
use crate::profile::{Profile, StoredToken};
use crate::session::{self, Session, Source};

/// From standard input.
const MAX_TOKEN: u64 = 4096;

const DRAFTS: [&str; 5] = ["user:read", "connections:read", "posts:read", "posts:draft", "media:write"];

pub(crate) async fn login(common: &Common, arguments: &Login) -> Result<(), CliError> {
    let client = session::visitor(common)?;
    let token = if arguments.with_token { read_token()? } else { run_device_flow(&client, arguments).await? };
    let user_name = match client.clone().with_token(token.clone()).show_user().await {
        Ok(user) => format!("{} <{}>", user.name, user.email),
        // A token without `user:read` cannot read its user.
        Err(error) if error.status() == Some(403) => "a token without the scope user:read".to_owned(),
        Err(Error::NotSignedIn(_)) => {
            let origin = client.base().origin();
            return Err(CliError::NotSignedIn(format!(
                "{origin} does not accept the token; check the token and --url"
            )));
        }
        Err(error) => return Err(error.into()),
    };
    let stored = Profile::keep(&common.profile, &client.base().origin(), &token)?;
    if let StoredToken::File(path) = &stored {
        notice(&format!("No keyring was found. The token is stored in {}, which only you can read.", path.display()));
    }
    output::line(&format!("Signed in at {} as {}", client.base().origin(), output::plain(&user_name)))
}

fn read_token() -> Result<SecretString, CliError> {
    let mut text = String::new();
    io::stdin().take(MAX_TOKEN).read_to_string(&mut text)?;
    match text.trim() {
        "" => Err(CliError::Usage("standard input contains no token".to_owned())),
        token => Ok(token.to_owned().into()),
    }
}

/// Polls until the user has decided.
async fn run_device_flow(client: &Client, arguments: &Login) -> Result<SecretString, CliError> {
    let scopes = match &arguments.scopes[..] {
        [] if arguments.drafts => Some(DRAFTS.map(str::to_owned).to_vec()),
        [] => None,
        named => Some(named.to_vec()),
    };
    let request = DeviceCodeRequest { scopes, client_name: Some("social, the command line".to_owned()) };
    let device = client.create_device_code(&request).await?;
    let page = web_page(&device.verification_uri_complete)?;
    notice(&format!(
        "Open {page}\nand approve the sign-in if the page shows the code {}",
        output::plain(&device.user_code)
    ));
    if !arguments.no_browser && output::is_interactive() {
        open(&page);
    }
    wait_for_approval(client, &device).await
}

async fn wait_for_approval(client: &Client, device: &DeviceAuthorization) -> Result<SecretString, CliError> {
    let ends = Instant::now() + Duration::from_secs(device.expires_in.min(3600).into());
    let interval = Duration::from_secs(device.interval.clamp(1, 60).into());
    while Instant::now() < ends {
        tokio::time::sleep(interval).await;
        let error = match client.exchange_device_code(&device.device_code).await {
            Ok(response) => return Ok(response.value.access_token),
            Err(error) => error,
        };
        match error.refusal().and_then(|it| it.code.as_deref()) {
            Some("authorization_pending") => {}
            Some("expired_token") => break,
            Some("invalid_device_code") => {
                return Err(CliError::Refused("the code was already used; run `social login` again".to_owned()));
            }
            // The network may recover before the code expires.
            None if matches!(error, Error::Unreachable(_) | Error::Unknown(_)) => {}
            _ => return Err(error.into()),
        }
    }
    Err(CliError::Refused("the code was not approved in time; run `social login` again".to_owned()))
}

pub(crate) fn logout(common: &Common) -> Result<(), CliError> {
    let Some(origin) = Profile::forget(&common.profile)? else {
        return output::line(
            "You were not signed in. If your keyring is locked, unlock it and run `social logout` again",
        );
    };
    output::line(&format!("Signed out. The token stays valid until you revoke it at {origin}/account"))
}

pub(crate) async fn status(common: &Common) -> Result<(), CliError> {
    let session = Session::open(common)?;
    let user = session.client.show_user().await?;
    if session.json {
        return output::line(&user.json);
    }
    let token_source = match &session.source {
        Source::Environment => "SOCIAL_TOKEN".to_owned(),
        Source::Profile(StoredToken::Keyring) => "the keyring".to_owned(),
        Source::Profile(StoredToken::File(path)) => path.display().to_string(),
    };
    output::line(&format!(
        "Signed in at {} as {} <{}>",
        session.client.base().origin(),
        output::plain(&user.name),
        output::plain(&user.email)
    ))?;
    output::line(&format!("Token from {token_source}, for {}", output::plain(&user.scopes.join(", "))))
}

/// Accepts only web URLs, because a program of this machine opens what the service returned.
pub(crate) fn web_page(address: &str) -> Result<url::Url, CliError> {
    let page = url::Url::parse(address).ok().filter(|it| matches!(it.scheme(), "http" | "https"));
    page.ok_or_else(|| CliError::Failed("the service returned an invalid URL".to_owned()))
}

/// Without a browser, the user opens the printed URL.
pub(crate) fn open(page: &url::Url) {
    let program = if cfg!(target_os = "macos") { "open" } else { "xdg-open" };
    let quiet = || Stdio::null();
    let _ = Command::new(program).arg(page.as_str()).stdin(quiet()).stdout(quiet()).stderr(quiet()).spawn();
}
