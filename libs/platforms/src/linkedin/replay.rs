//! The very same post once more, to find out what became of the first.
//!
//! Facts: LinkedIn refuses what is posted twice within a while, and names the post that is
//! there. It promises nothing: a repeat may make a second post. So it is the operator's
//! choice, made once, and only within minutes. Source: the fact sheet, "Exactly-once".

use domain::delivery::Resolution;

use super::api::Api;
use super::errors::duplicate_of;
use super::look_up::{made_before, published};
use super::{SETTLES, post};
use crate::job::Job;
use crate::kit::{Auth, Prepared};

/// What became of the latest public call, of which nothing can be read; `advice` is what
/// the user is told otherwise.
///
/// From when the first call can no longer take effect, for as long again: after a look
/// then, the protocol waits at least so long for the next one.
pub(super) async fn once(api: &Api, job: &Job<'_>, prepared: &Prepared<'_, String>, advice: String) -> Resolution {
    if job.now < job.called_at + SETTLES {
        let reason = "LinkedIn is asked by the very same post, once the first cannot arrive any more";
        return Resolution::Unclear { reason: reason.to_owned() };
    }
    let Ok(post) = post::of(job, prepared) else { return Resolution::NotThere };
    if job.called_at + SETTLES * 2 <= job.now {
        return Resolution::Unknowable { advice };
    }
    let repeated = match api.create_post(Auth::post(job), &job.profile.account_id, &post).await {
        Ok(urn) => Ok(published(urn, job.now)),
        Err(error) => made_before(job, error).await,
    };
    match repeated {
        Ok(published) => Resolution::Public(published),
        // It is the duplicate of another post, and so was the first.
        Err(error) if duplicate_of(&error).is_some() => Resolution::Refused { reason: error.message },
        Err(error) => error.resolution(),
    }
}
