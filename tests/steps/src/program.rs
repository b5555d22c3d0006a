//! Arguments and exit codes of a test program.

use std::{path::PathBuf, process::ExitCode};

use clap::Args;

use crate::{
    ensure,
    error::Result,
    report::{Report, say},
};

/// Options of every test program
#[derive(Args, Clone, Debug, Default)]
pub struct Common {
    /// Run only checks with this in their name
    #[arg(long)]
    pub only: Option<String>,
    /// Write the results to this file
    #[arg(long)]
    pub json: Option<PathBuf>,
}

/// For a program that counts no checks.
pub fn done(outcome: Result) -> ExitCode {
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            say(&error.to_string());
            ExitCode::FAILURE
        }
    }
}

/// For a program that has counted and printed its checks.
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
    pub fn wants(&self, name: &str) -> bool {
        let plain = |it: &str| it.replace('_', " ");
        self.only.as_deref().is_none_or(|it| plain(name).contains(&plain(it)))
    }

    /// Prints the failures and `N passed, N failed`.
    pub fn end(&self, run: Result<Report>) -> ExitCode {
        let finished = run.and_then(|report| {
            // A misspelled name must not count as a passed test.
            let only = self.only.as_deref().filter(|_| report.is_empty());
            ensure!(only.is_none(), "nothing has {:?} in its name", only.unwrap_or_default());
            report.finish(self.json.as_deref())
        });
        ended(finished)
    }
}
