//! The platform has trouble with the files of a post.

use serde_json::{Value, json};

use super::{FERRY, Faulty, ORCHARD};
use crate::{
    answer::{list, text},
    checks, ensure,
    fault::{Result, same},
    runner::Check,
    world::{Deployment, fresh},
};

pub(super) fn checks() -> Vec<Check> {
    let mut all =
        checks!("faults", FERRY.0, [a_post_waits_for_a_file_that_is_slow, a_post_waits_for_a_file_that_is_processed]);
    all.extend(checks!(
        "faults",
        ORCHARD.0,
        [a_file_that_met_an_error_is_sent_again, a_refused_file_fails_the_post_and_says_why]
    ));
    all
}

async fn a_post_waits_for_a_file_that_is_slow(world: &Deployment) -> Result {
    let faulty = Faulty::new(world, FERRY).await?;
    goes_out_with(&faulty, json!({ "kind": "media_slow", "delay_ms": 4000 }), &[], 1).await
}

async fn a_post_waits_for_a_file_that_is_processed(world: &Deployment) -> Result {
    let faulty = Faulty::new(world, FERRY).await?;
    goes_out_with(&faulty, json!({ "kind": "media_processing", "delay_ms": 6000 }), &[], 1).await
}

async fn a_file_that_met_an_error_is_sent_again(world: &Deployment) -> Result {
    let faulty = Faulty::new(world, ORCHARD).await?;
    goes_out_with(&faulty, json!({ "kind": "media_error", "file": 2 }), &["something failed here"], 3).await
}

/// Arms a fault, publishes a post with pictures, and checks that all of them
/// are there.
async fn goes_out_with(faulty: &Faulty<'_>, fault: Value, told: &[&str], pictures: usize) -> Result {
    let words = fresh(text(&fault, "kind")?);
    faulty.arm(fault).await?;

    let id = faulty.schedule_with(&words, pictures).await?;
    let out = faulty.is_out_once(id, &words, told, 90).await?;

    same(list(&out.entry, "media")?.len(), pictures, "pictures on the timeline")
}

async fn a_refused_file_fails_the_post_and_says_why(world: &Deployment) -> Result {
    let faulty = Faulty::new(world, ORCHARD).await?;
    let words = fresh("refused file");
    faulty.arm(json!({ "kind": "media_refuse", "file": 2 })).await?;

    let id = faulty.schedule_with(&words, 2).await?;
    let post = faulty.user.reaches(id, "failed", 60).await?;

    let said = text(&post["platforms"][0], "error_message")?;
    ensure!(said.contains("the sandbox does not want this file"), "the platform's words are not in “{said}”");
    same(world.timeline(&words).await?.len(), 0, "entries on the timeline")
}
