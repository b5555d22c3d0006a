//! The commands of a document and the outputs below them.

use std::ops::Range;

#[derive(Debug, PartialEq, Eq)]
pub struct Commands {
    /// From 1.
    pub line: usize,
    pub script: String,
    /// Indexes from 0; `None` if the document shows no output.
    pub output: Option<Range<usize>>,
}

/// Leaves out the block that follows; the rest of the comment is the reason.
const NOT_RUN: &str = "<!-- not run";

/// Fenced blocks in `sh` that are to run, in order.
///
/// A block in `json` or `text` that follows, with at most one empty line between, is the output.
pub fn commands(text: &str) -> Vec<Commands> {
    let lines: Vec<_> = text.lines().collect();
    let mut found = Vec::new();
    let mut at = 0;
    while at < lines.len() {
        let Some(language) = lines[at].strip_prefix("```") else {
            at += 1;
            continue;
        };
        let block = block(&lines, at);
        let is_left_out = 0 < at && lines[at - 1].starts_with(NOT_RUN);
        at = block.end + 1;
        if language != "sh" || is_left_out {
            continue;
        }
        let next = if lines.get(at).is_some_and(|it| it.is_empty()) { at + 1 } else { at };
        let is_output = lines.get(next).is_some_and(|it| ["```json", "```text"].contains(it));
        found.push(Commands {
            line: block.start + 1,
            script: lines[block].join("\n"),
            output: is_output.then(|| self::block(&lines, next)),
        });
    }
    found
}

fn block(lines: &[&str], fence: usize) -> Range<usize> {
    let start = fence + 1;
    let length = lines[start..].iter().position(|it| it.starts_with("```")).unwrap_or(lines.len() - start);
    start..start + length
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_have_the_output_that_follows_them() {
        let text = "```sh\none\n```\n\n```json\n{}\n```\n```sh\ntwo\nthree\n```\ntext\n```text\nno output\n```\n";
        let commands = commands(text);
        assert_eq!(commands.len(), 2);
        assert_eq!(commands[0], Commands { line: 2, script: "one".to_owned(), output: Some(5..6) });
        assert_eq!(commands[1], Commands { line: 9, script: "two\nthree".to_owned(), output: None });
    }

    #[test]
    fn marked_and_other_blocks_are_left_out() {
        assert_eq!(commands("<!-- not run: installs -->\n```sh\none\n```\n```yaml\na: b\n```\n"), []);
    }
}
