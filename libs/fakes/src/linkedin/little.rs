//! A parser of "little text" that stops at text that it cannot parse.

use std::fmt::Write;

/// The characters with a meaning.
const RESERVED: &str = r"\|{}@[]()<>#*_~";

#[derive(Clone, Debug, PartialEq, Eq)]
enum Element {
    Text(String),
    Hashtag(String),
    /// A name, and the URN of its owner.
    Mention(String, String),
}

/// The parsed beginning of a text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Read(Vec<Element>);

impl Read {
    /// A text without hashtags and mentions, as users write it on the site.
    pub(super) fn plain(text: &str) -> Self {
        Self(vec![Element::Text(text.to_owned())])
    }

    /// Parses a text. Like LinkedIn, it truncates the text without an error before a reserved
    /// character that has no meaning at its position.
    pub(super) fn parse(text: &str) -> Self {
        let (mut read, mut rest) = (Self::default(), text);
        while let Some(first) = rest.chars().next() {
            let behind = &rest[first.len_utf8()..];
            rest = match first {
                '\\' => {
                    let Some(letter) = behind.chars().next().filter(|it| RESERVED.contains(*it)) else { break };
                    read.push(letter);
                    &behind[1..]
                }
                '#' => {
                    let end = behind.find(|it: char| !it.is_alphanumeric()).unwrap_or(behind.len());
                    if end == 0 || read.is_within_word() {
                        break;
                    }
                    read.0.push(Element::Hashtag(behind[..end].to_owned()));
                    &behind[end..]
                }
                '{' => {
                    let template = behind.strip_prefix(r"hashtag|\#|").and_then(|it| it.split_once('}'));
                    let Some((word, behind)) = template.filter(|it| !it.0.is_empty()) else { break };
                    read.0.push(Element::Hashtag(word.to_owned()));
                    behind
                }
                '@' => {
                    let mention = behind.strip_prefix('[').and_then(|it| it.split_once("]("));
                    let Some((name, behind)) = mention else { break };
                    let Some((urn, behind)) = behind.split_once(')') else { break };
                    read.0.push(Element::Mention(name.to_owned(), urn.to_owned()));
                    behind
                }
                letter if RESERVED.contains(letter) => break,
                letter => {
                    read.push(letter);
                    behind
                }
            };
        }
        read
    }

    fn push(&mut self, letter: char) {
        if let Some(Element::Text(text)) = self.0.last_mut() {
            text.push(letter);
        } else {
            self.0.push(Element::Text(letter.to_string()));
        }
    }

    /// Whether a hashtag cannot begin after the text parsed so far.
    fn is_within_word(&self) -> bool {
        match self.0.last() {
            Some(Element::Text(text)) => text.chars().next_back().is_some_and(char::is_alphanumeric),
            Some(Element::Hashtag(_) | Element::Mention(..)) => true,
            None => false,
        }
    }

    /// The text that readers see.
    pub(super) fn shown(&self) -> String {
        let mut shown = String::new();
        for element in &self.0 {
            match element {
                Element::Text(text) | Element::Mention(text, _) => shown.push_str(text),
                Element::Hashtag(word) => shown.extend(['#'].into_iter().chain(word.chars())),
            }
        }
        shown
    }

    /// The text that responses contain, with hashtags as templates.
    pub(super) fn to_text(&self) -> String {
        let mut little = String::new();
        for element in &self.0 {
            let _ = match element {
                Element::Text(text) => {
                    for letter in text.chars() {
                        if RESERVED.contains(letter) {
                            little.push('\\');
                        }
                        little.push(letter);
                    }
                    Ok(())
                }
                Element::Hashtag(word) => write!(little, r"{{hashtag|\#|{word}}}"),
                Element::Mention(name, urn) => write!(little, "@[{name}]({urn})"),
            };
        }
        little
    }
}
