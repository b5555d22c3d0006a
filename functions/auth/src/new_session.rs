//! The user and the session of a sign-in, whatever its method.

use api::page::{PageError, PageResult};
use api::{Api, ClientIp};
use cloud::audit::{self, Event};
use domain::user::User;
use http::{HeaderValue, StatusCode};
use storage::{CreateUserOutcome, Identity, WriteRetries};

/// The user, the cookie of the new session, and the page to redirect to.
pub(crate) type NewSession = (User, HeaderValue, String);

pub(crate) fn audit_sign_in(signed_in: &PageResult<NewSession>, address: ClientIp) {
    let entry = match signed_in {
        Ok((user, ..)) => audit::Entry::new(Event::SignedIn).user(user.user_id),
        Err(error) => audit::Entry::new(Event::SignInFailed).why(error.title()),
    };
    entry.address(address.0).write();
}

/// Finds the user, or creates one at the first sign-in.
pub(crate) async fn find_or_create_user(api: &Api, identity: &Identity, name: &str, email: &str) -> PageResult<User> {
    // If a new user signs in twice at once, one of the conditional writes fails, and the next attempt
    // finds the user that the other one created.
    let mut retries = WriteRetries::without_waits(3);
    loop {
        if let Some(user) = find_user(api, identity, name, email).await? {
            return Ok(user);
        }
        let user = User::new(api.ids.fresh(), name, email, api.clock.now());
        if api.store.join(identity, &user).await? == CreateUserOutcome::Ours {
            tracing::info!(user_id = user.user_id.get(), "a user signed in for the first time");
            return Ok(user);
        }
        retries.next_attempt().await?;
    }
}

/// Lets a user who signed in with links until now, to this address, keep everything at the first sign-in
/// at an issuer. That is once: a later owner of the address gets nothing.
pub(crate) async fn adopt_user_of_links(api: &Api, identity: &Identity, verified_email: &str) -> PageResult<()> {
    if api.store.user_of(identity).await?.is_some() {
        return Ok(());
    }
    let by_links = Identity::by_links(&verified_email.to_lowercase());
    if let Some(user) = api.store.user_of(&by_links).await? {
        api.store.replace_identity(&by_links, identity, user).await?;
        tracing::info!(user_id = user.get(), "a user of sign-in links signed in at the issuer");
    }
    Ok(())
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
