//! Starts the service on a data folder that it cannot change.

use std::{
    fs::{self, File},
    path::Path,
    process::{Command, Stdio},
    time::{Duration, Instant},
};

use super::{
    faulty_disk::{FaultyDisk, Shim},
    measured::Measured,
};
use crate::{
    ensure,
    error::{Result, TestError},
    harness::binary,
};

/// The environment of `social-server` next to `DATA`. It ends before it calls any of these.
const PRODUCTION: [(&str, &str); 6] = [
    ("LISTEN", "127.0.0.1:0"),
    ("ORIGIN", "https://service.example"),
    ("OIDC_ISSUER", "https://issuer.example"),
    ("OIDC_CLIENT_ID", "client"),
    ("OIDC_CLIENT_SECRET", "secret"),
    ("SIGN_UP_ALLOWED", "*"),
];

const AT_MOST: Duration = Duration::from_secs(20);

pub(super) async fn check(shim: &Shim) -> Result<Measured> {
    let empty = FaultyDisk::new(shim)?;
    let used = FaultyDisk::new(shim)?;
    used.start().await?.kill()?;
    for disk in [&empty, &used] {
        disk.inject("erofs")?;
        let port = ["--port", "0", "--no-open", "--data"];
        let mut local = Command::new(binary("local")?);
        local.args(port).arg(disk.data());
        let mut server = Command::new(binary("social-server")?);
        server.envs(PRODUCTION).env("DATA", disk.data());
        for (name, mut program) in [("local", local), ("social-server", server)] {
            program.envs(disk.variables());
            let output = output_of_failed(name, program).await?;
            // Its canonical path, or as it was given: the two are equal here.
            let folder = disk.data().to_string_lossy();
            ensure!(output.contains(folder.as_ref()), "{name} does not name {folder}:\n{output}");
        }
    }
    Ok(Measured { starts: 5, ..Measured::default() })
}

/// The output of the program; an error if it succeeds.
async fn output_of_failed(name: &str, mut program: Command) -> Result<String> {
    let folder = tempfile::TempDir::new()?;
    let printed = folder.path().join("printed");
    let file = File::create(&printed)?;
    let mut child = program.stdin(Stdio::null()).stdout(file.try_clone()?).stderr(file).spawn()?;
    let until = Instant::now() + AT_MOST;
    let status = loop {
        if let Some(status) = child.try_wait()? {
            break status;
        }
        if until < Instant::now() {
            child.kill()?;
            child.wait()?;
            return Err(TestError::new(format!("{name} runs on a read-only folder:\n{}", read(&printed))));
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    };
    ensure!(!status.success() && status.code().is_some(), "{name} ended with {status}:\n{}", read(&printed));
    Ok(read(&printed))
}

fn read(file: &Path) -> String {
    fs::read_to_string(file).unwrap_or_default()
}
