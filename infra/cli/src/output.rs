//! What is printed.

use std::io::{self, IsTerminal, Write};

use crate::error::CliError;
pub(crate) use crate::plain::{plain, plain_lines};

/// Prints a line.
pub(crate) fn line(text: &str) -> Result<(), CliError> {
    Ok(writeln!(io::stdout(), "{text}")?)
}

/// Prints what is no result: notices, progress. It goes to standard error, so
/// that programs read results alone.
pub(crate) fn notice(text: &str) {
    // Where nobody reads notices, none are needed.
    let _ = writeln!(io::stderr(), "{}", plain_lines(text));
}

/// Prints what became of a change. The change has happened: where this cannot be
/// printed, the exit code must not say that nothing has.
pub(crate) fn done(text: &str) -> Result<(), CliError> {
    line(text).map_err(|failure| match failure {
        CliError::Failed(why) => CliError::Unknown(format!("it is done, and cannot be printed: {why}")),
        other => other,
    })
}

/// Whether a person looks at notices.
pub(crate) fn is_watched() -> bool {
    io::stderr().is_terminal()
}

/// The beginning of a text, on one line.
pub(crate) fn beginning(text: &str, most: usize) -> String {
    let text = plain(text);
    if text.chars().count() <= most {
        return text;
    }
    text.chars().take(most.saturating_sub(1)).chain(['…']).collect()
}

/// Prints rows in columns, below their names.
pub(crate) fn table(names: &[&str], rows: &[Vec<String>]) -> Result<(), CliError> {
    let names: Vec<_> = names.iter().map(|it| (*it).to_owned()).collect();
    let rows: Vec<Vec<_>> = rows.iter().map(|row| row.iter().map(|it| plain(it)).collect()).collect();
    let width =
        |at: usize| rows.iter().chain([&names]).filter_map(|row| row.get(at)).map(|it| it.chars().count()).max();
    for row in [&names].into_iter().chain(&rows) {
        let cells = row.iter().enumerate().map(|(at, it)| format!("{it:<0$}", width(at).unwrap_or_default()));
        line(cells.collect::<Vec<_>>().join("  ").trim_end())?;
    }
    if rows.is_empty() {
        notice("nothing to list");
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_text_is_cut_between_characters() {
        assert_eq!(beginning("grüße aus dem hafen", 6), "grüße…");
        assert_eq!(beginning("kurz", 6), "kurz");
    }
}
