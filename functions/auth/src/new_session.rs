//! The user and the session of a sign-in, whatever its method.

use api::page::{PageError, PageResult};
use api::{Api, ClientIp};
use cloud::audit::{self, Event};
use domain::user::User;
use http::{HeaderValue, StatusCode};
use storage::{CreateUserOutcome, Identity, WriteOutcome, WriteRetries};

/// The user, the cookie of the new session, and the page to redirect to.
pub(crate) type NewSession = (User, HeaderValue, String);

pub(crate) fn audit_sign_in(signed_in: &PageResult<NewSession>, address: ClientIp) {
    let entry = match signed_in {
        Ok((user, ..)) => audit::Entry::new(Event::SignedIn).user(user.user_id),
        Err(error) => audit::Entry::new(Event::SignInFailed).why(error.title()),
    };
    entry.address(address.0).write();
}

/// Finds the user, or creates one at the first sign-in. `links` is the identity of sign-in links to the same
/// verified address, whose user gets `identity` instead: a later owner of the address becomes a new user.
pub(crate) async fn find_or_create_user(
    api: &Api,
    identity: &Identity,
    links: Option<&Identity>,
    name: &str,
    email: &str,
) -> PageResult<User> {
    // If a new user signs in twice at once, one of the conditional writes fails, and the next attempt
    // finds the user of the other one.
    let mut retries = WriteRetries::without_waits(3);
    loop {
        if let Some(user) = find_user(api, identity, name, email).await? {
            return Ok(user);
        }
        if let Some(links) = links
            && let Some(user) = api.store.user_of(links).await?
        {
            if api.store.replace_identity(links, identity, user).await? == WriteOutcome::Applied {
                tracing::info!(user_id = user.get(), "a user of sign-in links signed in at the issuer");
            }
        } else {
            let user = User::new(api.ids.fresh(), name, email, api.clock.now());
            if api.store.join(identity, &user).await? == CreateUserOutcome::Ours {
                tracing::info!(user_id = user.user_id.get(), "a user signed in for the first time");
                return Ok(user);
            }
        }
        retries.next_attempt().await?;
    }
}

/// Finds the user and updates the name and the e-mail address.
async fn find_user(api: &Api, identity: &Identity, name: &str, email: &str) -> PageResult<Option<User>> {
    let Some(id) = api.store.user_of(identity).await? else {
        return Ok(None);
    };
    let Some(mut user) = api.store.user(id).await? else {
        return Ok(None);
    };
    if user.disabled {
        return Err(PageError::new(
            StatusCode::FORBIDDEN,
            "Your access was revoked",
            "The operator of this service revoked your access. If you think this is a mistake, contact the operator.",
        ));
    }
    if user.name != name || user.email != email {
        api.store.rename(id, name, email).await?;
        (user.name, user.email) = (name.to_owned(), email.to_owned());
    }
    Ok(Some(user))
}
