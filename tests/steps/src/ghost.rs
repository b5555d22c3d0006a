//! Installs Ghost, and sets up a site that each test copies.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use crate::{ROOT, bluesky::BlueskyProgram, error::Result, report::say, tools::run};

/// `ghost` cannot be a dependency: its own dependencies are files inside of it. Its lock file determines all others.
const PACKAGE: &str = "ghost@6.65.0";

const PNPM: &str = "@pnpm/exe.linux-x64@12.4.2";

const SCRIPT: &str = "tests/ghost/start.cjs";

/// The module for its database, which is compiled.
const MODULE: &str = "node_modules/better-sqlite3/build/Release/better_sqlite3.node";

/// Installed in a folder of its own under `.tools/`.
#[derive(Clone, Debug)]
pub struct GhostProgram {
    folder: PathBuf,
    node: PathBuf,
}

impl GhostProgram {
    /// Installs it if it is missing, which takes half a minute. The Bluesky server has the same version of Node and of
    /// this module.
    pub fn installed() -> Result<Self> {
        let bluesky = BlueskyProgram::installed()?;
        let name = PACKAGE.replace('@', "-");
        let program = Self { folder: Path::new(ROOT).join(".tools").join(&name), node: bluesky.node() };
        let installed = program.folder.join("installed");
        if installed.exists() {
            return Ok(program);
        }
        say(&format!("       installing Ghost into .tools/{name}"));
        if program.folder.exists() {
            fs::remove_dir_all(&program.folder)?;
        }
        fs::create_dir_all(&program.folder)?;
        let command = |program_name: &str, arguments: &[&str]| {
            let mut command = Command::new(program_name);
            command.args(arguments).current_dir(&program.folder);
            command
        };
        let quiet = ["--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"];
        run(command("npm", &["install", "--no-save", "--prefix", "pnpm", PNPM]).args(quiet))?;
        let archive = run(&mut command("npm", &["pack", "--silent", PACKAGE]))?;
        run(&mut command("tar", &["-xzf", archive.trim()]))?;
        let package = program.folder.join("package");
        let store = program.folder.join("store");
        let pnpm = program.folder.join("pnpm/node_modules/@pnpm/exe.linux-x64/pnpm");
        let mut install = Command::new(pnpm);
        install.args([
            "install",
            "--frozen-lockfile",
            "--prod",
            "--ignore-scripts",
            "--reporter=silent",
            "--store-dir",
        ]);
        run(install.arg(&store).current_dir(&package))?;
        let module = package.join(MODULE);
        fs::create_dir_all(module.parent().unwrap_or(&package))?;
        fs::copy(bluesky.file(MODULE), module)?;
        for temporary in ["store", "pnpm"] {
            fs::remove_dir_all(program.folder.join(temporary))?;
        }
        fs::remove_file(program.folder.join(archive.trim()))?;
        run(program.start().arg("prepare"))?;
        fs::write(installed, "")?;
        Ok(program)
    }

    pub fn start(&self) -> Command {
        let mut command = Command::new(&self.node);
        command.arg(Path::new(ROOT).join(SCRIPT)).arg(&self.folder);
        command
    }
}
