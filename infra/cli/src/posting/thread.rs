use std::fs::File;
use std::io::Read;
use std::path::Path;

use client::NewThreadEntry;

use super::{MAX_TEXT, text};
use crate::error::CliError;
use crate::output::plain;

const SEPARATOR: &str = "---";

#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Thread {
    pub(crate) content: String,
    pub(crate) replies: Vec<NewThreadEntry>,
}

impl Thread {
    /// `-` is standard input.
    pub(crate) fn read(file: &Path) -> Result<Self, CliError> {
        let name = plain(&file.display().to_string());
        let text = if name == "-" { text(None)? } else { read(file).map_err(|it| wrong(&name, &it))? };
        Self::parse(&text).map_err(|it| wrong(&name, &it))
    }

    fn parse(text: &str) -> Result<Self, String> {
        let mut texts = blocks(text);
        if let Some(empty) = texts.iter().position(String::is_empty) {
            return Err(match (empty, texts.len()) {
                (0, 1) => "there is no text; write the text of the post".to_owned(),
                (0, _) => "there is no text before the first line ---; write the text of the post there".to_owned(),
                _ => format!("reply {empty} is empty; write a text after its line ---, or remove the line"),
            });
        }
        let content = texts.remove(0);
        Ok(Self { content, replies: texts.into_iter().map(reply).collect() })
    }
}

fn wrong(name: &str, why: &str) -> CliError {
    CliError::Usage(format!("{name}: {why}"))
}

fn read(file: &Path) -> Result<String, String> {
    let mut bytes = Vec::new();
    // A file can be a pipe, whose length is unknown.
    let limited = File::open(file).map(|it| it.take(MAX_TEXT + 1));
    limited.and_then(|mut it| it.read_to_end(&mut bytes)).map_err(|it| it.to_string())?;
    if MAX_TEXT < bytes.len() as u64 {
        return Err("the file is larger than 1 MiB; shorten the thread".to_owned());
    }
    let text = String::from_utf8(bytes).map_err(|_| "the file is not UTF-8; save it as UTF-8".to_owned())?;
    // Editors on Windows write a byte order mark.
    Ok(text.trim_start_matches('\u{feff}').to_owned())
}

/// The separator is a line of exactly `---`. Without the blank lines around the texts.
pub(crate) fn blocks(text: &str) -> Vec<String> {
    let lines: Vec<_> = text.lines().collect();
    let blocks = lines.split(|it| *it == SEPARATOR).map(|block| {
        let text: Vec<_> = block.iter().copied().skip_while(|it| it.trim().is_empty()).collect();
        text.join("\n").trim_end().to_owned()
    });
    blocks.collect()
}

pub(crate) fn replies(texts: Vec<String>) -> Result<Vec<NewThreadEntry>, CliError> {
    match texts.iter().position(|it| it.trim().is_empty()) {
        Some(index) => Err(CliError::Usage(format!("reply {} is empty; give each --next a text", index + 1))),
        None => Ok(texts.into_iter().map(reply).collect()),
    }
}

fn reply(text: String) -> NewThreadEntry {
    NewThreadEntry { content: Some(text), media: None }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a panic here is the failing assertion")]

    use clap::Parser;

    use super::*;
    use crate::arguments::Arguments;

    fn thread(content: &str, replies: &[&str]) -> Thread {
        let replies = replies.iter().map(|it| reply((*it).to_owned())).collect();
        Thread { content: content.to_owned(), replies }
    }

    #[test]
    fn first_text_of_a_file_is_the_post() {
        for (text, expected) in [
            ("one\n", thread("one", &[])),
            ("one\n---\ntwo\n---\nthree\n", thread("one", &["two", "three"])),
            ("\n  one\n\nstill one \n\n---\n\ntwo", thread("  one\n\nstill one", &["two"])),
            ("one\r\n---\r\ntwo\r\n", thread("one", &["two"])),
            ("one\n----\n ---\n--- \ntwo --- three", thread("one\n----\n ---\n--- \ntwo --- three", &[])),
        ] {
            assert_eq!(Thread::parse(text), Ok(expected), "{text:?}");
        }
    }

    #[test]
    fn empty_text_of_a_thread_is_named() {
        for (text, message) in [
            ("\n \n", "there is no text; write the text of the post"),
            ("---\ntwo", "there is no text before the first line ---"),
            ("one\n---\n \n---\nthree", "reply 1 is empty"),
            ("one\n---\ntwo\n---\n", "reply 2 is empty"),
        ] {
            let error = Thread::parse(text).unwrap_err();
            assert!(error.starts_with(message), "{text:?}: {error}");
        }
        let error = replies(vec!["one".to_owned(), " ".to_owned()]).unwrap_err();
        assert_eq!((error.code(), error.to_string().as_str()), (2, "reply 2 is empty; give each --next a text"));
    }

    #[test]
    fn file_of_a_thread_is_read_or_its_error_names_it() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("thread.txt");
        std::fs::write(&file, "\u{feff}one\n---\ntwo\n").unwrap();
        assert_eq!(Thread::read(&file).unwrap(), thread("one", &["two"]));

        let too_large = vec![b'x'; usize::try_from(MAX_TEXT).unwrap() + 1];
        for (bytes, message) in
            [(b"one\n---".to_vec(), "reply 1 is empty"), (vec![0xff], "not UTF-8"), (too_large, "larger than 1 MiB")]
        {
            std::fs::write(&file, bytes).unwrap();
            let error = Thread::read(&file).unwrap_err();
            let text = error.to_string();
            assert!(error.code() == 2 && text.contains("thread.txt: ") && text.contains(message), "{text}");
        }
        assert_eq!(Thread::read(&folder.path().join("missing")).unwrap_err().code(), 2);
    }

    #[test]
    fn thread_has_one_source() {
        let is_accepted = |arguments: &str| Arguments::try_parse_from(arguments.split(' ')).is_ok();
        for accepted in [
            "social post one --draft --next two --next three",
            "social post --draft --next two",
            "social post --draft --thread file",
            "social posts edit 7 --text one --next two",
            "social posts edit 7 --thread file",
            "social posts edit 7 --text one --no-thread",
        ] {
            assert!(is_accepted(accepted), "{accepted}");
        }
        for refused in [
            "social post one --draft --thread file",
            "social post --draft --thread file --next two",
            "social posts edit 7 --thread file --text one",
            "social posts edit 7 --thread file --next two",
            "social posts edit 7 --thread file --no-thread",
            "social posts edit 7 --next two --no-thread",
        ] {
            assert!(!is_accepted(refused), "{refused}");
        }
    }
}
