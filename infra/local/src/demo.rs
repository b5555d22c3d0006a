//! The demo user and its token.

use std::fs::OpenOptions;
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use domain::access_token::{AccessToken, TokenLifetime};
use domain::scope::Scopes;
use domain::user::User;
use secrecy::ExposeSecret;
use storage::{CreateUserOutcome, Identity, TokenGrant};

use crate::error::LocalError;
use crate::issuer;

/// Created on first use.
pub(crate) async fn user(api: &api::Api, origin: &str) -> Result<User, LocalError> {
    let identity = Identity { issuer: issuer::url(origin), subject: issuer::DEMO_EMAIL.to_owned() };
    if let Some(id) = api.store.user_of(&identity).await?
        && let Some(user) = api.store.user(id).await?
    {
        return Ok(user);
    }
    let user = User::new(api.ids.fresh(), issuer::DEMO_NAME, issuer::DEMO_EMAIL, api.clock.now());
    match api.store.join(&identity, &user).await? {
        CreateUserOutcome::Ours => Ok(user),
        CreateUserOutcome::Taken => Err(LocalError::Demo),
    }
}

/// The token is stored in the data folder, if there is one, and stays the same until it expires or
/// is revoked.
pub(crate) async fn token(api: &api::Api, user: &User, folder: Option<&Path>) -> Result<String, LocalError> {
    let path = folder.map(|it| it.join("demo-token"));
    if let Some(stored) = path.as_ref().and_then(|it| std::fs::read_to_string(it).ok())
        && let Some(token) = AccessToken::parse(stored.trim())
        && token.claimed_owner() == user.user_id
        && api.store.token(&token.hash()).await?.is_some_and(|it| api.clock.now() < it.expires_at)
    {
        return Ok(token.secret().expose_secret().to_owned());
    }
    let now = api.clock.now();
    let token = AccessToken::mint(user.user_id);
    let expires_at = TokenLifetime::default().ends(now, now);
    let grant = TokenGrant::made(user.user_id, Scopes::from_requested(&[]), now, expires_at);
    api.store.put_token(&token.hash(), &grant).await?;
    let text = token.secret().expose_secret().to_owned();
    if let Some(path) = path {
        // Other users of the machine must not read it.
        let mut file = OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(path)?;
        file.write_all(text.as_bytes())?;
    }
    Ok(text)
}
