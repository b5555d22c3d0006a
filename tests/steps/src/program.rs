//! How a test program begins and ends.

use std::{path::PathBuf, process::ExitCode};

use clap::Args;

use crate::{
    ensure,
    error::Result,
    report::{Report, say},
};

/// What every test program can be told.
#[derive(Args, Clone, Debug, Default)]
pub struct Common {
    /// Only what has this in its name.
    #[arg(long)]
    pub only: Option<String>,
    /// Write the results here.
    #[arg(long)]
    pub json: Option<PathBuf>,
}

/// Ends a program that counts no checks.
pub fn done(outcome: Result) -> ExitCode {
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            say(&error.to_string());
            ExitCode::FAILURE
        }
    }
}

/// Ends a program that has counted its checks, and said whether all passed.
pub fn ended(all_passed: Result<bool>) -> ExitCode {
    match all_passed {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            say(&format!("{error}\n\n0 passed, 1 failed"));
            ExitCode::FAILURE
        }
    }
}

impl Common {
    /// Whether something of this name is to run.
    pub fn wants(&self, name: &str) -> bool {
        let plain = |it: &str| it.replace('_', " ");
        self.only.as_deref().is_none_or(|it| plain(name).contains(&plain(it)))
    }

    /// Ends a program: prints what failed and `N passed, N failed`, and returns
    /// the exit code.
    pub fn end(&self, run: Result<Report>) -> ExitCode {
        let finished = run.and_then(|report| {
            // A name that was written wrong must not pass for a test.
            let only = self.only.as_deref().filter(|_| report.is_empty());
            ensure!(only.is_none(), "nothing has {:?} in its name", only.unwrap_or_default());
            report.finish(self.json.as_deref())
        });
        ended(finished)
    }
}
