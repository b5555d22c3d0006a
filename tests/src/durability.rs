//! Power cuts, full disks, failing syncs and clock jumps: on one machine, nothing acknowledged is
//! lost and nothing is published twice.
//!
//! `tests/durability/faults.c` is loaded into the local stack. It records every change of the data
//! folder and injects faults. A replay of the records builds the folder that a power cut leaves.

mod clock;
mod cuts;
mod failing_sync;
mod faulty_disk;
mod full_disk;
mod log;
mod measured;
mod power_cuts;
mod read_only_start;
mod recording;
mod replay;
mod restart;
mod rng;

use std::time::Instant;

use futures::{FutureExt, StreamExt, future::LocalBoxFuture, stream};

use self::{faulty_disk::Shim, measured::Measured};
use crate::{
    error::Result,
    program::Common,
    report::{Line, Report, say},
};

/// Most checks wait.
const AT_ONCE: usize = 4;

#[derive(Clone, Debug)]
pub struct Settings {
    /// Each cut leaves three folders.
    pub cuts: usize,
    pub seed: u64,
}

type Row = (&'static str, Measured);

pub async fn run(settings: &Settings, common: &Common) -> Result<Report> {
    let shim = &Shim::compile()?;
    let checks: [(&'static str, LocalBoxFuture<'_, Result<Measured>>); 6] = [
        (
            "full disk: requests are refused clearly, nothing is lost or doubled after space is freed",
            full_disk::writes_are_refused(shim, "enospc").boxed_local(),
        ),
        (
            "read-only disk: requests are refused clearly, nothing is lost or doubled afterwards",
            full_disk::writes_are_refused(shim, "erofs").boxed_local(),
        ),
        ("read-only disk: a start fails and names the folder", read_only_start::check(shim).boxed_local()),
        ("failing fsync: no success is returned for what is not on the disk", failing_sync::check(shim).boxed_local()),
        ("clock jumps: +1 hour", clock::jump_forward(shim).boxed_local()),
        ("clock jumps: -1 hour", clock::jump_back(shim).boxed_local()),
    ];
    let [mut report, mut of_cuts] = [Report::default(), Report::default()];
    let mut rows = Vec::new();
    let faults = async {
        let wanted = checks.into_iter().filter(|(name, _)| common.wants(name));
        let mut ended = stream::iter(wanted.map(|(name, check)| timed(name, check))).buffer_unordered(AT_ONCE);
        while let Some((line, row)) = ended.next().await {
            report.add(line);
            rows.extend(row);
        }
    };
    let (mut cut_rows, ()) = futures::join!(run_power_cuts(shim, settings, common, &mut of_cuts), faults);
    report.extend(of_cuts);
    cut_rows.extend(rows);
    print(&cut_rows, settings, &mut report);
    Ok(report)
}

async fn run_power_cuts(shim: &Shim, settings: &Settings, common: &Common, report: &mut Report) -> Vec<Row> {
    let (cuts, lossy) = (
        "power cuts: nothing acknowledged is lost, nothing is published twice",
        "power cuts: a store without fsync loses posts",
    );
    if !common.wants(cuts) && !common.wants(lossy) {
        return Vec::new();
    }
    let started = Instant::now();
    let recording = match recording::record(shim).await {
        Ok(recording) => recording,
        Err(error) => {
            report.add(Line { name: cuts.to_owned(), took: started.elapsed(), error: Some(error) });
            return Vec::new();
        }
    };
    say(&format!("     recorded {} changes in {:.1} s", recording.log.records.len(), started.elapsed().as_secs_f64()));
    let mut rows = Vec::new();
    if common.wants(cuts) {
        let (line, row) = timed(cuts, power_cuts::check(&recording, settings.cuts, settings.seed)).await;
        report.add(line);
        rows.extend(row);
    }
    if common.wants(lossy) {
        let (line, row) = timed(lossy, power_cuts::check_without_syncs(&recording, settings.seed)).await;
        report.add(line);
        rows.extend(row);
    }
    rows
}

async fn timed(name: &'static str, check: impl Future<Output = Result<Measured>>) -> (Line, Option<Row>) {
    let started = Instant::now();
    let measured = check.await;
    let error = measured.as_ref().map_or_else(|error| Some(error.clone()), |it| it.verdict().err());
    (Line { name: name.to_owned(), took: started.elapsed(), error }, measured.ok().map(|it| (name, it)))
}

fn print(rows: &[Row], settings: &Settings, report: &mut Report) {
    if rows.is_empty() {
        return;
    }
    say("\n| check | starts | acknowledged writes | lost | published twice |\n|---|---:|---:|---:|---:|");
    for (name, measured) in rows {
        let Measured { starts, acknowledged, broken, .. } = measured;
        let (lost, twice) = (broken.lost.len(), broken.published_twice.len());
        say(&format!("| {name} | {starts} | {acknowledged} | {lost} | {twice} |"));
    }
    say("Starts are those of the service on what a power cut or a fault left; acknowledged writes are the");
    say(&format!(
        "successful responses before it. The cuts and the torn sectors are those of --seed {}.\n",
        settings.seed
    ));
    let kept = || rows.iter().map(|(_, it)| it).filter(|it| !it.is_loss_expected);
    let figure = |count: usize| i64::try_from(count).unwrap_or(i64::MAX);
    report.add_figure("durability: starts after a cut or a fault".to_owned(), figure(kept().map(|it| it.starts).sum()));
    let acknowledged = figure(kept().map(|it| it.acknowledged).sum());
    report.add_figure("durability: acknowledged writes".to_owned(), acknowledged);
}
