//! Completions and manual pages.

use std::io;
use std::path::Path;

use clap_complete::Shell;

use crate::arguments::command;
use crate::error::CliError;
use crate::output;

pub(crate) fn completions(shell: Shell) -> Result<(), CliError> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut command(), "social", &mut script);
    Ok(io::Write::write_all(&mut io::stdout(), &script)?)
}

pub(crate) fn pages(folder: &Path) -> Result<(), CliError> {
    std::fs::create_dir_all(folder)?;
    clap_mangen::generate_to(command(), folder)?;
    output::line(&format!(
        "Manual pages are in {}; read one with `man {}/social.1`",
        folder.display(),
        folder.display()
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn command_line_definition_is_consistent() {
        command().debug_assert();
    }
}
