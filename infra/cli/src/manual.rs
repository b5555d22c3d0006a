//! Completions and manual pages.

use std::io;
use std::path::Path;

use clap::CommandFactory;
use clap_complete::Shell;

use crate::arguments::Arguments;
use crate::error::CliError;
use crate::output;

/// Prints what makes a shell complete commands.
pub(crate) fn completions(shell: Shell) -> Result<(), CliError> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Arguments::command(), "social", &mut script);
    Ok(io::Write::write_all(&mut io::stdout(), &script)?)
}

/// Writes a manual page for each command.
pub(crate) fn pages(folder: &Path) -> Result<(), CliError> {
    std::fs::create_dir_all(folder)?;
    clap_mangen::generate_to(Arguments::command(), folder)?;
    output::line(&format!("Manual pages are in {}; read one by `man {}/social.1`", folder.display(), folder.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_contradicts_itself_nowhere() {
        Arguments::command().debug_assert();
    }
}
