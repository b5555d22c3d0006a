//! Follow-ups of a public post. The platform does not recognize repetitions, and does not list
//! follow-ups.

use std::time::Duration;

use chrono::TimeDelta;
use domain::delivery::AttemptError;
use platforms::{FollowUp, Followed, PublishRequest};

use super::Adapter;
use super::overlap::InFlight;
use crate::faults::KillTime;
use crate::simulated_platforms::faults::{PlatformFault, chances};
use crate::simulated_platforms::reference::Reference;
use crate::simulated_platforms::reviews::Verdict;
use crate::simulated_platforms::spec::{FOLLOW_UPS, REVIEW, SETTLES};

fn steps(name: &str) -> usize {
    match name {
        REVIEW => 3,
        _ if name == FOLLOW_UPS[0] => 1,
        _ => 2,
    }
}

pub(super) async fn take_step(
    adapter: &Adapter,
    request: &PublishRequest<'_>,
    it: &FollowUp<'_>,
) -> Result<Followed, AttemptError> {
    let world = &adapter.platforms.world;
    let reference = Reference::read(request.reference);
    let what = format!("follow {} {} {}", adapter.spec.name, request.reference, it.name);
    let (call, fault) = adapter.call(what, &chances(&world.probabilities, false));
    let _under_way = InFlight::enter(&adapter.platforms, reference);
    call.die(KillTime::Before).await;
    call.go().await;
    let step: usize = 1 + it.progress.map_or(0, |it| it.parse().expect("a number"));
    let is_last = step == steps(it.name);
    let (name, id) = (it.name.to_owned(), it.published.platform_post_id.clone());
    let unknown =
        |may_still_run| Err(AttemptError::Unknown { may_still_run, retry_at: None, reason: "no answer".to_owned() });
    let response = match (fault, adapter.account(request.credentials)) {
        (PlatformFault::Unsent, _) => {
            Err(AttemptError::RetryLater { retry_at: None, reason: "not reached".to_owned() })
        }
        (PlatformFault::CallLost, _) => unknown(true),
        (PlatformFault::Revoked, account) => {
            if account.is_ok() {
                adapter.platforms.lock().grants.revoke(request.credentials);
            }
            Err(AttemptError::Unauthorized { reason: "the grant was taken back".to_owned() })
        }
        (_, Err(error)) => Err(error),
        (PlatformFault::Limited, _) => Err(adapter.limit()),
        (PlatformFault::Error, _) => unknown(false),
        (PlatformFault::Refused, _) => Err(AttemptError::Refused { reason: "not wanted".to_owned() }),
        (PlatformFault::DoneLater, _) if is_last => {
            let wait = world.up_to(SETTLES.to_std().unwrap_or_default());
            let at = adapter.now() + TimeDelta::from_std(wait).unwrap_or_default();
            adapter.platforms.later(at, move |inner| inner.timeline.follow(reference, &id, name, at));
            unknown(true)
        }
        (fault, Ok(_)) if is_removed(adapter, reference, is_last) => match fault {
            PlatformFault::Fine => Ok(Followed::Removed { reason: "not wanted here after all".to_owned() }),
            _ => unknown(true),
        },
        (fault, Ok(_)) => {
            if is_last {
                adapter.platforms.lock().timeline.follow(reference, &id, name, adapter.now());
            }
            match fault {
                PlatformFault::Fine if is_last => Ok(Followed::Done),
                PlatformFault::Fine => {
                    let longest = [8, 120, 3_600][if it.name == REVIEW { step } else { 0 }];
                    let wait = world.up_to(Duration::from_secs(longest));
                    let at = adapter.now() + TimeDelta::from_std(wait).unwrap_or_default();
                    Ok(Followed::Again { progress: step.to_string(), at })
                }
                _ => unknown(true),
            }
        }
    };
    call.respond().await;
    response
}

/// Whether the platform has removed the post by this step. An unwanted post is gone by the last one.
fn is_removed(adapter: &Adapter, reference: Reference, is_last: bool) -> bool {
    let mut inner = adapter.platforms.lock();
    let is_unwanted = inner.reviews.find(reference) == Some(Verdict::Refused);
    if !is_unwanted || !is_last && adapter.platforms.world.dice().bool() {
        return false;
    }
    inner.timeline.remove(reference.post, reference.target, adapter.now());
    drop(inner);
    adapter.platforms.world.note(format!("removed: {} of {}", reference.target, reference.post));
    true
}
