//! The interesting settings side by side.

use std::fmt;
use std::num::NonZero;
use std::panic::resume_unwind;
use std::thread;

use super::limits::DEFAULT_POLLERS;
use super::{EventSource, Profile, ScaleFigures, Setting, Tables, run};

/// Settings by name, with their figures.
#[derive(Clone, Debug, PartialEq)]
pub struct Report(pub Vec<(&'static str, ScaleFigures)>);

impl Report {
    /// Runs a million posts in every setting of interest, with these costs and this seed.
    pub fn make(seed: u64, profile: &Profile) -> Self {
        let ready = || Setting { seed, profile: profile.clone(), ..Setting::million() };
        let idle = EventSource::Provisioned { pollers: DEFAULT_POLLERS };
        Self::run(&[
            ("all ready", ready()),
            ("standard from idle", Setting { source: EventSource::Standard, ..ready() }),
            ("provisioned from idle", Setting { source: idle, ..ready() }),
            ("8 shards", Setting { due_shards: 8, ..ready() }),
            ("new tables", Setting { tables: Tables::NEW, ..ready() }),
        ])
    }

    /// Runs these settings on as many threads as there are processors.
    pub fn run(settings: &[(&'static str, Setting)]) -> Self {
        let processors = thread::available_parallelism().map_or(1, NonZero::get);
        let mut scales = Vec::new();
        for some in settings.chunks(processors) {
            thread::scope(|scope| {
                let running: Vec<_> = some.iter().map(|(_, setting)| scope.spawn(|| run(setting))).collect();
                scales.extend(running.into_iter().map(|it| it.join().unwrap_or_else(|panic| resume_unwind(panic))));
            });
        }
        Self(settings.iter().map(|it| it.0).zip(scales).collect())
    }

    /// The figures of the first setting, with everything ready: the targets apply to this setting.
    pub fn ready(&self) -> Option<&ScaleFigures> {
        self.0.first().map(|it| &it.1)
    }
}

/// Widths of the column of names, and of the column of each setting.
const WIDTHS: (usize, usize) = (34, 26);

impl fmt::Display for Report {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (first, other) = WIDTHS;
        let columns: Vec<_> = self.0.iter().map(|(_, scale)| scale.rows()).collect();
        write!(out, "{:<first$}", "a million posts in a minute")?;
        self.0.iter().try_for_each(|(name, _)| write!(out, "{name:>other$}"))?;
        for (row, (name, _)) in columns.first().into_iter().flatten().enumerate() {
            write!(out, "\n{name:<first$}")?;
            columns.iter().try_for_each(|it| write!(out, "{:>other$}", it[row].1))?;
        }
        writeln!(out)
    }
}
