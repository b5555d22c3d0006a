//! The platform does not answer: nobody knows whether it did what was asked.

use serde_json::json;

use super::{Faulty, MEADOW, WINDMILL};
use crate::{
    answer::integer,
    checks, ensure,
    fault::{Result, same},
    moment,
    runner::Check,
    suite::publishing::once,
    world::{Deployment, fresh},
};

pub(super) fn checks() -> Vec<Check> {
    let mut all = checks!(
        "faults",
        WINDMILL.0,
        [a_call_that_takes_effect_after_it_was_cut_off_is_found, a_call_that_is_too_slow_to_wait_for_is_found,]
    );
    all.extend(checks!(
        "faults",
        MEADOW.0,
        [
            a_lost_answer_does_not_publish_twice,
            a_lost_call_goes_out_once_it_is_certain_that_it_was_lost,
            a_platform_that_cannot_be_asked_is_asked_again,
            a_slow_platform_is_waited_for_and_nothing_is_changed_meanwhile,
        ]
    ));
    all
}

async fn a_lost_answer_does_not_publish_twice(world: &Deployment) -> Result {
    let faulty = Faulty::new(world, MEADOW).await?;
    faulty.goes_out_once(json!({ "kind": "lose_answer" }), &["cut off"], 150).await.map(|_| ())
}

async fn a_lost_call_goes_out_once_it_is_certain_that_it_was_lost(world: &Deployment) -> Result {
    let faulty = Faulty::new(world, MEADOW).await?;

    let out = faulty.goes_out_once(json!({ "kind": "lose_call" }), &["cut off"], 180).await?;

    // The service must have waited, because a call that was cut off could still
    // take effect for more than a minute.
    let waited = moment::read(&out.entry["received_at"])? - moment::read(&out.post["scheduled_at"])?;
    ensure!(
        60 <= waited.num_seconds(),
        "it was sent again after {waited}, when the first call could still take effect"
    );
    Ok(())
}

async fn a_call_that_takes_effect_after_it_was_cut_off_is_found(world: &Deployment) -> Result {
    let faulty = Faulty::new(world, WINDMILL).await?;
    faulty.goes_out_once(json!({ "kind": "late", "delay_ms": 8000 }), &["cut off"], 120).await.map(|_| ())
}

async fn a_call_that_is_too_slow_to_wait_for_is_found(world: &Deployment) -> Result {
    let faulty = Faulty::new(world, WINDMILL).await?;
    faulty
        .goes_out_once(json!({ "kind": "slow", "delay_ms": 20_000 }), &["did not answer in time"], 120)
        .await
        .map(|_| ())
}

async fn a_platform_that_cannot_be_asked_is_asked_again(world: &Deployment) -> Result {
    let faulty = Faulty::new(world, MEADOW).await?;
    faulty.arm(json!({ "kind": "look_error", "count": 2 })).await?;
    faulty.goes_out_once(json!({ "kind": "lose_answer" }), &["something failed here"], 150).await.map(|_| ())
}

async fn a_slow_platform_is_waited_for_and_nothing_is_changed_meanwhile(world: &Deployment) -> Result {
    let faulty = Faulty::new(world, MEADOW).await?;
    let words = fresh("slow");
    faulty.arm(json!({ "kind": "slow", "delay_ms": 5000 })).await?;

    let id = faulty.schedule(&words).await?;
    let user = &faulty.user;
    user.reaches(id, "publishing", 20).await?;
    let path = format!("/posts/{id}");
    let connected = format!("/connections/{}", integer(&faulty.connection, "id")?);
    for change in [json!({ "content": "new" }), json!({ "scheduled_at": null })] {
        user.api.patch(&path, &change).await?.invalid(&["status"])?;
    }
    user.api.delete(&path).await?.invalid(&["status"])?;
    user.api.delete(&connected).await?.error(422, "has_pending_posts")?;
    same(world.timeline(&words).await?.len(), 0, "entries on the timeline while it is slow")?;
    user.reaches(id, "published", 60).await?;

    once(world, &words).await.map(|_| ())
}
