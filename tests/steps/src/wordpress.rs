//! Installs WordPress for PHP, with a file as its database.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use crate::{ROOT, error::Result, report::say, tools::run};

/// The package that contains WordPress in several versions, and the path in it.
const PACKAGE: &str = "@wp-playground/wordpress-builds@0.9.19";
const SITE: &str = "package/src/wordpress/wp-6.5.zip";
const SQLITE: &str = "package/src/sqlite-database-integration/sqlite-database-integration.zip";

/// Relative to the top of the project.
const SCRIPTS: &str = "tests/wordpress";

/// Installed in a folder of its own under `.tools/`.
#[derive(Clone, Debug)]
pub struct WordpressProgram {
    folder: PathBuf,
}

impl WordpressProgram {
    /// Installs it if it is missing, which takes seconds and 158 MB from the npm registry; 20 MB of
    /// them are kept.
    pub fn installed() -> Result<Self> {
        let name = "wordpress-6.5-of-0.9.19";
        let program = Self { folder: Path::new(ROOT).join(".tools").join(name) };
        let installed = program.folder.join("installed");
        if installed.exists() {
            return Ok(program);
        }
        say(&format!("       installing WordPress into .tools/{name}"));
        if program.folder.exists() {
            fs::remove_dir_all(&program.folder)?;
        }
        fs::create_dir_all(&program.folder)?;
        let command = |name: &str| {
            let mut command = Command::new(name);
            command.current_dir(&program.folder);
            command
        };
        let packed = run(command("npm").args(["pack", "--silent", PACKAGE]))?;
        let archive = packed.lines().last().unwrap_or_default().trim();
        run(command("tar").args(["-xzf", archive, SITE, SQLITE]))?;
        for (zip, folder) in [(SITE, "site"), (SQLITE, "plugin")] {
            run(command("python3").args(["-m", "zipfile", "-e", zip, folder]))?;
        }
        // The plugin is in a folder of its own name.
        let plugins = program.folder.join("site/wp-content/plugins");
        let plugin = plugins.join("sqlite-database-integration");
        fs::rename(program.folder.join("plugin/sqlite-database-integration-main"), &plugin)?;
        fs::copy(plugin.join("db.copy"), program.folder.join("site/wp-content/db.php"))?;
        fs::remove_file(program.folder.join(archive))?;
        fs::remove_dir_all(program.folder.join("package"))?;
        fs::write(installed, "")?;
        Ok(program)
    }

    pub fn copy_to(&self, folder: &Path) -> Result {
        run(Command::new("cp").arg("-r").arg(self.folder.join("site")).arg(folder))?;
        fs::copy(Path::new(ROOT).join(SCRIPTS).join("wp-config.php"), folder.join("wp-config.php"))?;
        Ok(())
    }

    pub fn prepare_script(&self) -> PathBuf {
        Path::new(ROOT).join(SCRIPTS).join("prepare.php")
    }
}
