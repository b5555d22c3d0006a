//! Cuts the power at many moments of a recording.

use futures::{StreamExt, TryStreamExt, stream};
use tempfile::TempDir;

use super::{
    cuts,
    log::Log,
    measured::Measured,
    recording::{Promises, Recording},
    replay::{Replay, Variant},
    restart,
};
use crate::{
    error::{Result, TestError},
    promises::Broken,
};

/// Most services wait for leases to expire.
const STARTS_AT_ONCE: usize = 12;

#[derive(Clone, Copy, Debug)]
struct Cut {
    /// Records before the cut.
    records: usize,
    variant: Variant,
}

pub(super) async fn check(recording: &Recording, cuts: usize, seed: u64) -> Result<Measured> {
    let Recording { log, promises } = recording;
    let cuts: Vec<_> = cuts::choose(log, cuts, seed).into_iter().flat_map(in_variants).collect();
    let broken = restart_after(log, promises, &cuts, seed).await?;
    Ok(Measured { starts: cuts.len(), acknowledged: promises.count(), broken, is_loss_expected: false })
}

/// Proves that the check finds a loss: the same cuts of a store that never syncs.
pub(super) async fn check_without_syncs(recording: &Recording, seed: u64) -> Result<Measured> {
    let Recording { log, promises } = recording;
    let log = log.without_syncs();
    let all = log.records.len();
    let cuts: Vec<_> = [all * 2 / 3, all].into_iter().flat_map(in_variants).collect();
    let cuts: Vec<_> = cuts.into_iter().filter(|it| it.variant != Variant::Kept).collect();
    let broken = restart_after(&log, promises, &cuts, seed).await?;
    Ok(Measured { starts: cuts.len(), acknowledged: promises.count(), broken, is_loss_expected: true })
}

fn in_variants(records: usize) -> [Cut; 3] {
    Variant::ALL.map(|variant| Cut { records, variant })
}

/// Each service runs on what a cut leaves. The cuts are in order.
async fn restart_after(log: &Log, promises: &Promises, cuts: &[Cut], seed: u64) -> Result<Broken> {
    let mut replay = Replay::new(log);
    let starts = cuts.iter().map(|cut| {
        let left = leave(&mut replay, *cut, seed);
        async move {
            let folder = left?;
            let found = restart::find_broken(folder.path(), promises, log.position(cut.records)).await;
            // A service that does not respond has lost everything.
            let broken = found.unwrap_or_else(|error| Broken { lost: vec![error.to_string()], ..Broken::default() });
            Ok::<_, TestError>((*cut, broken))
        }
    });
    let mut ended = stream::iter(starts).buffer_unordered(STARTS_AT_ONCE);
    let mut all = Broken::default();
    while let Some((cut, broken)) = ended.try_next().await? {
        let total = log.records.len();
        let prefix = format!("cut after record {} of {total}, {:?}: ", cut.records, cut.variant);
        let named = |texts: Vec<String>| -> Vec<String> { texts.iter().map(|it| format!("{prefix}{it}")).collect() };
        all.extend(Broken { lost: named(broken.lost), published_twice: named(broken.published_twice) });
    }
    Ok(all)
}

fn leave(replay: &mut Replay<'_>, cut: Cut, seed: u64) -> Result<TempDir> {
    let folder = TempDir::new()?;
    replay.advance(cut.records)?;
    // Other sectors are torn at each cut.
    let seed = seed.wrapping_add(u64::try_from(cut.records)?);
    replay.write_to(folder.path(), cut.variant, seed)?;
    Ok(folder)
}
