use std::env;
use std::io::{self, IsTerminal, Write};

use crate::error::CliError;
pub(crate) use crate::plain::{plain, plain_lines};

pub(crate) fn line(text: &str) -> Result<(), CliError> {
    Ok(writeln!(io::stdout(), "{text}")?)
}

/// On standard error, so that programs read only results.
pub(crate) fn notice(text: &str) {
    let _ = writeln!(io::stderr(), "{}", plain_lines(text));
}

/// Prints the result of a change. If printing fails, the exit code must not say that nothing
/// changed.
pub(crate) fn print_done(text: &str) -> Result<(), CliError> {
    line(text).map_err(|failure| match failure {
        CliError::Failed(why) => {
            CliError::Unknown(format!("the change succeeded, but its result could not be printed: {why}"))
        }
        other => other,
    })
}

pub(crate) fn is_interactive() -> bool {
    io::stderr().is_terminal()
}

pub(crate) fn beginning(text: &str, most: usize) -> String {
    let text = plain(text);
    if text.chars().count() <= most {
        return text;
    }
    text.chars().take(most.saturating_sub(1)).chain(['…']).collect()
}

/// Colored only if standard output is a terminal that shows colors.
pub(crate) fn paint(text: &str) -> String {
    let is_set = |name: &str| env::var_os(name).is_some_and(|it| !it.is_empty());
    let is_dumb = env::var_os("TERM").is_some_and(|it| it == "dumb");
    if is_set("NO_COLOR") || is_dumb || !io::stdout().is_terminal() { text.to_owned() } else { colored(text) }
}

/// The text in the color of its first word; spaces after the text stay as they are.
fn colored(text: &str) -> String {
    let word = text.trim_end();
    let code = match word.split([' ', ',']).next() {
        Some("published" | "active" | "enabled" | "delivered") => 32,
        Some("failed" | "disabled" | "reconnect") => 31,
        Some("scheduled" | "publishing" | "pending" | "unverified" | "waiting") => 33,
        _ => return text.to_owned(),
    };
    format!("\u{1b}[{code}m{word}\u{1b}[0m{}", &text[word.len()..])
}

pub(crate) fn table(names: &[&str], rows: &[Vec<String>]) -> Result<(), CliError> {
    let names: Vec<_> = names.iter().map(|it| (*it).to_owned()).collect();
    let rows: Vec<Vec<_>> = rows.iter().map(|row| row.iter().map(|it| plain(it)).collect()).collect();
    let width =
        |at: usize| rows.iter().chain([&names]).filter_map(|row| row.get(at)).map(|it| it.chars().count()).max();
    for row in [&names].into_iter().chain(&rows) {
        let cells = row.iter().enumerate().map(|(at, it)| {
            let cell = format!("{it:<0$}", width(at).unwrap_or_default());
            if matches!(names[at].as_str(), "STATUS" | "STATE") { paint(&cell) } else { cell }
        });
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
    fn long_text_is_truncated_at_a_character() {
        assert_eq!(beginning("grüße aus dem hafen", 6), "grüße…");
        assert_eq!(beginning("kurz", 6), "kurz");
    }

    #[test]
    fn status_is_colored_without_its_padding() {
        assert_eq!(colored("published  "), "\u{1b}[32mpublished\u{1b}[0m  ");
        assert_eq!(colored("disabled (gone)"), "\u{1b}[31mdisabled (gone)\u{1b}[0m");
        assert_eq!(colored("STATUS"), "STATUS");
    }
}
