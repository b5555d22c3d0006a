//! One user whose platform is slow, with many posts, beside others.

use chrono::{DateTime, TimeDelta, Utc};
use futures::{StreamExt, TryStreamExt, stream};
use serde_json::{Value, json};

use super::{Arena, Attack};
use crate::{
    answer::{integer, text},
    attacks, ensure,
    fault::Result,
    moment,
    world::{User, World, fresh, targets},
};

/// The place of @orchard on the consent page: no other attack arms faults for it.
const ORCHARD: usize = 4;

/// More than one user may have under way in the local stack.
const POSTS: usize = 600;

pub(super) fn attacks() -> Vec<Attack> {
    attacks!(3, [
        "one user posts 600 times in a second, and each call takes 30 s", "another user's post is on its second" => many_and_slow;
    ])
}

async fn many_and_slow(arena: &Arena) -> Result<String> {
    let world: &World = arena.lifted();
    let mut noisy = world.new_user().await?;
    let slow = noisy.connect(ORCHARD).await?;
    let name = text(&slow, "username")?.to_owned();
    world.disarm(&name).await?;
    world.arm(&json!({ "account": name, "kind": "slow", "delay_ms": 30_000, "count": null })).await?;
    let mut quiet = world.new_user().await?;
    let account = quiet.connect(0).await?;

    let usual = lateness(&quiet, &account, moment::now() + TimeDelta::seconds(5)).await?;
    let due = moment::now() + TimeDelta::seconds(40);
    let (words, on) = (fresh("many and slow"), targets(&[&slow])?);
    let body = |number: usize| json!({ "content": format!("{words} {number}"), "platforms": on, "scheduled_at": moment::written(due) });
    let made: Vec<i64> =
        stream::iter((0..POSTS).map(|it| schedule(&noisy, body(it)))).buffered(8).try_collect().await?;
    let ready = due - moment::now();
    ensure!(2 < ready.num_seconds(), "the posts were made too late for the attack: {ready}");

    // Two seconds later, all that the noisy user may have under way is.
    let late = lateness(&quiet, &account, due + TimeDelta::seconds(2)).await;
    world.disarm(&name).await?;

    let (late, usual) = (late?.num_milliseconds(), usual.num_milliseconds());
    ensure!(late <= usual + 1_000, "the other user's post was {late} ms late, and {usual} ms before the attack");
    Ok(format!("{late} ms after its second beside {} slow posts, {usual} ms before", made.len()))
}

/// How late a user's post is on the timeline.
async fn lateness(user: &User<'_>, account: &Value, due: DateTime<Utc>) -> Result<TimeDelta> {
    let words = fresh("quiet");
    let body = json!({ "content": words, "platforms": targets(&[account])?, "scheduled_at": moment::written(due) });
    schedule(user, body).await?;
    let entry = user.world.appears(&words, 60).await?;
    Ok(text(&entry, "received_at")?.parse::<DateTime<Utc>>()? - due)
}

async fn schedule(user: &User<'_>, body: Value) -> Result<i64> {
    integer(&user.create(&body).await?, "id")
}
