//! A data folder whose changes are recorded and can fail, and the local stack on it.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
    time::{Duration, Instant},
};

use tempfile::TempDir;

use super::log::Log;
use crate::{
    ensure,
    error::{Result, TestError},
    harness::Harness,
    template::ROOT,
};

/// `tests/durability/faults.c`, compiled.
pub(super) struct Shim {
    library: PathBuf,
    _folder: TempDir,
}

impl Shim {
    pub(super) fn compile() -> Result<Self> {
        let folder = TempDir::new()?;
        let library = folder.path().join("faults.so");
        let source = Path::new(ROOT).join("tests/durability/faults.c");
        let compiled =
            Command::new("cc").args(["-shared", "-fPIC", "-O1", "-o"]).arg(&library).arg(&source).output()?;
        ensure!(compiled.status.success(), "cc: {}", String::from_utf8_lossy(&compiled.stderr));
        Ok(Self { library, _folder: folder })
    }
}

pub(super) struct FaultyDisk {
    library: PathBuf,
    data: PathBuf,
    log: PathBuf,
    control: PathBuf,
    _folder: TempDir,
}

impl FaultyDisk {
    pub(super) fn new(shim: &Shim) -> Result<Self> {
        let folder = TempDir::new()?;
        let root = folder.path().canonicalize()?;
        let [data, log, control] = ["data", "log", "control"].map(|it| root.join(it));
        fs::create_dir(&data)?;
        fs::write(&control, "")?;
        Ok(Self { library: shim.library.clone(), data, log, control, _folder: folder })
    }

    pub(super) fn data(&self) -> &Path {
        &self.data
    }

    pub(super) fn variables(&self) -> [(&str, &Path); 4] {
        [
            ("LD_PRELOAD", self.library.as_path()),
            ("FAULTS_ROOT", self.data.as_path()),
            ("FAULTS_LOG", self.log.as_path()),
            ("FAULTS_CONTROL", self.control.as_path()),
        ]
    }

    /// The log has the changes of the first start only.
    pub(super) async fn start(&self) -> Result<Harness> {
        Harness::start_on(&self.data, 0, &self.variables()).await
    }

    /// One fault per line, in place of those before; an empty text ends them.
    pub(super) fn inject(&self, faults: &str) -> Result {
        let part = self.control.with_extension("part");
        fs::write(&part, faults)?;
        fs::rename(part, &self.control)?;
        Ok(())
    }

    /// In bytes; includes everything that happened before a response that a client has.
    pub(super) fn position(&self) -> u64 {
        fs::metadata(&self.log).map_or(0, |it| it.len())
    }

    pub(super) fn log(&self) -> Result<Log> {
        Ok(Log::read(&self.log)?)
    }

    /// Until nothing has changed for 300 ms.
    pub(super) async fn wait_until_idle(&self) -> Result {
        let until = Instant::now() + Duration::from_secs(30);
        loop {
            let before = self.position();
            tokio::time::sleep(Duration::from_millis(300)).await;
            if self.position() == before {
                return Ok(());
            }
            if until < Instant::now() {
                return Err(TestError::new("the data folder changes all the time"));
            }
        }
    }
}
