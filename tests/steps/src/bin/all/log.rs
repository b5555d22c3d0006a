//! The output of a step, and the time of its commands.

use std::{
    cell::{Cell, OnceCell},
    fs, io,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    time::{Duration, Instant},
};

use nix::{
    sys::wait::{Id, WaitPidFlag, WaitStatus, waitid},
    unistd::Pid,
};
use steps::{
    ensure,
    error::{Result, TestError},
};

/// A command that takes longer hangs, even on a cold and slow machine.
const LIMIT: Duration = Duration::from_mins(45);

/// The unit of times in `/proc`, see `proc_pid_stat(5)`: Linux gives every program 100 ticks a second.
const TICK: Duration = Duration::from_millis(10);

pub(crate) struct Log {
    file: PathBuf,
    /// Whether its commands run with a lower priority than those of other steps.
    yields: bool,
    built: Cell<Duration>,
    processor: Cell<Duration>,
    skipped: OnceCell<&'static str>,
}

impl Log {
    pub(crate) fn new(step: &str, is_low_priority: bool) -> Result<Self> {
        let file = Path::new("target/tests").join(format!("{step}.log"));
        fs::write(&file, "")?;
        Ok(Self {
            file,
            yields: is_low_priority,
            built: Cell::default(),
            processor: Cell::default(),
            skipped: OnceCell::new(),
        })
    }

    pub(crate) fn text(&self) -> String {
        String::from_utf8_lossy(&fs::read(&self.file).unwrap_or_default()).into_owned()
    }

    pub(crate) fn built(&self) -> Duration {
        self.built.get()
    }

    /// Of the commands and of the processes that they waited for.
    pub(crate) fn processor(&self) -> Duration {
        self.processor.get()
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
            if has_ended(child.id())? {
                self.processor.set(self.processor.get() + processor_time(child.id())?);
                let status = child.wait()?;
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

/// Leaves the ended process in `/proc`, unlike `Child::try_wait`.
fn has_ended(process: u32) -> Result<bool> {
    let id = Id::Pid(Pid::from_raw(process.cast_signed()));
    let status = waitid(id, WaitPidFlag::WEXITED | WaitPidFlag::WNOHANG | WaitPidFlag::WNOWAIT);
    Ok(!matches!(status.map_err(io::Error::from)?, WaitStatus::StillAlive))
}

/// Of a process, and of those that it waited for.
fn processor_time(process: u32) -> Result<Duration> {
    let stat = fs::read_to_string(format!("/proc/{process}/stat"))?;
    // The second field is a name, which may contain spaces and parentheses.
    let fields = stat.rsplit_once(')').map_or("", |(_, it)| it).split_ascii_whitespace();
    // Fields 14 to 17, of which the first one here is the third.
    let ticks: u32 = fields.skip(11).take(4).map(str::parse::<u32>).sum::<std::result::Result<_, _>>()?;
    Ok(TICK * ticks)
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
