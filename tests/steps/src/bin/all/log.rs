//! The output of a step, and the time of its commands.

use std::{
    cell::{Cell, OnceCell},
    fs,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    time::{Duration, Instant},
};

use steps::{
    ensure,
    error::{Result, TestError},
};

/// A command that takes longer hangs, even on a cold and slow machine.
const LIMIT: Duration = Duration::from_mins(45);

pub(crate) struct Log {
    file: PathBuf,
    /// Whether its commands run with a lower priority than those of other steps.
    yields: bool,
    built: Cell<Duration>,
    skipped: OnceCell<&'static str>,
}

impl Log {
    pub(crate) fn new(step: &str, is_low_priority: bool) -> Result<Self> {
        let file = Path::new("target/tests").join(format!("{step}.log"));
        fs::write(&file, "")?;
        Ok(Self { file, yields: is_low_priority, built: Cell::default(), skipped: OnceCell::new() })
    }

    pub(crate) fn text(&self) -> String {
        String::from_utf8_lossy(&fs::read(&self.file).unwrap_or_default()).into_owned()
    }

    pub(crate) fn built(&self) -> Duration {
        self.built.get()
    }

    pub(crate) fn skip(&self, why: &'static str) {
        self.skipped.get_or_init(|| why);
    }

    pub(crate) fn skipped(&self) -> Option<&'static str> {
        self.skipped.get().copied()
    }

    /// The end of the output, enough to see the error; the file has the rest.
    pub(crate) fn end(&self) -> String {
        let text = self.text();
        let lines: Vec<_> = text.lines().collect();
        let from = lines.len().saturating_sub(80);
        format!("{}\n     (all of it: {})", lines[from..].join("\n"), self.file.display())
    }

    pub(crate) fn build(&self, command: &mut Command) -> Result {
        let started = Instant::now();
        let ended = self.run_command(command);
        self.built.set(self.built.get() + started.elapsed());
        ended
    }

    pub(crate) fn run(&self, program: impl AsRef<Path>, arguments: &[&str]) -> Result {
        self.run_command(Command::new(program.as_ref()).args(arguments))
    }

    pub(crate) fn run_command(&self, command: &mut Command) -> Result {
        let shown = command.get_program().display().to_string();
        let output = fs::OpenOptions::new().append(true).open(&self.file)?;
        let mut polite;
        let command = if self.yields {
            polite = with_low_priority(command);
            &mut polite
        } else {
            command
        };
        let mut child = command
            .stdin(Stdio::null())
            .stdout(output.try_clone()?)
            .stderr(output)
            .spawn()
            .map_err(|error| TestError::new(format!("{shown}: {error}")))?;
        let started = Instant::now();
        loop {
            if let Some(status) = child.try_wait()? {
                ensure!(status.success(), "{shown}: {status}");
                return Ok(());
            }
            if LIMIT < started.elapsed() {
                child.kill()?;
                child.wait()?;
                return Err(TestError::new(format!("{shown} did not end within {LIMIT:?}")));
            }
            std::thread::sleep(Duration::from_millis(50));
        }
    }
}

/// So that the command does not slow down other steps.
fn with_low_priority(command: &Command) -> Command {
    let mut polite = Command::new("nice");
    polite.arg("-n15").arg(command.get_program()).args(command.get_args());
    if let Some(folder) = command.get_current_dir() {
        polite.current_dir(folder);
    }
    polite.envs(command.get_envs().filter_map(|(name, value)| Some((name, value?))));
    polite
}
