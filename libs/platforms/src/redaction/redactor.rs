use std::collections::HashSet;

use secrecy::{ExposeSecret, SecretString};
use url::form_urlencoded::byte_serialize;

use crate::account::Credentials;
use crate::connect_flow::{Callback, Field, FieldValues, PendingApproval};
use crate::publish_request::PublishRequest;

const REDACTED: &str = "[…]";

/// This many consecutive characters of a secret are redacted: messages are shortened, and may end
/// within a secret.
const PIECE_OF_A_SECRET: usize = 8;

/// This many consecutive characters of a text are redacted. A platform may name a tag or a word
/// that it refuses.
const PIECE_OF_A_TEXT: usize = 16;

/// Shorter secrets are found by chance in unrelated text.
const SHORTEST: usize = 4;

/// The shortest stored value that counts as a secret.
const SHORTEST_KEPT: usize = 12;

/// The shortest value after the name of a scheme in a header.
const SHORTEST_IN_A_HEADER: usize = 8;

pub(super) struct Redactor {
    secrets: Vec<HiddenValue>,
}

struct HiddenValue {
    characters: Vec<char>,
    piece: usize,
}

impl Redactor {
    pub(super) fn for_credentials(credentials: &Credentials) -> Self {
        let mut redactor = Self { secrets: Vec::new() };
        redactor.add_secret(credentials.access_token.expose_secret());
        for token in credentials.refresh_token.iter().chain(&credentials.own_token) {
            redactor.add_secret(token.expose_secret());
        }
        if let Some(extra) = &credentials.extra {
            redactor.add_stored(extra.expose_secret());
        }
        redactor
    }

    pub(super) fn for_request(request: &PublishRequest<'_>) -> Self {
        let mut redactor = Self::for_credentials(request.credentials);
        redactor.add(request.text, PIECE_OF_A_TEXT);
        redactor
    }

    pub(super) fn for_token(token: &SecretString) -> Self {
        let mut redactor = Self { secrets: Vec::new() };
        redactor.add_secret(token.expose_secret());
        redactor
    }

    /// The secret fields of a form.
    pub(super) fn for_form(values: &FieldValues, fields: &[Field]) -> Self {
        let mut redactor = Self { secrets: Vec::new() };
        let secret = fields.iter().filter(|it| it.secret).filter_map(|it| values.get(it.name));
        for response in secret {
            redactor.add_secret(response.expose_secret());
        }
        redactor
    }

    /// The verifier and the adapter state of a pending approval.
    pub(super) fn for_approval(pending: &PendingApproval) -> Self {
        let mut redactor = Self { secrets: Vec::new() };
        redactor.add_secret(pending.verifier.expose_secret());
        if let Some(adapter_state) = &pending.adapter_state {
            redactor.add_stored(adapter_state.expose_secret());
        }
        redactor
    }

    /// The query of a callback, the verifier and the adapter state.
    pub(super) fn for_callback(callback: &Callback) -> Self {
        let mut redactor = Self { secrets: Vec::new() };
        redactor.add_secret(callback.verifier.expose_secret());
        for name in ["code", "loginToken", "password", "state"] {
            if let Some(value) = callback.query.get(name) {
                redactor.add_secret(value);
            }
        }
        if let Some(adapter_state) = &callback.adapter_state {
            redactor.add_stored(adapter_state.expose_secret());
        }
        redactor
    }

    pub(super) fn redact(&self, message: &str) -> String {
        let shown: Vec<char> = message.chars().collect();
        let characters: Vec<char> = shown.iter().map(char::to_ascii_lowercase).collect();
        let mut is_redacted = vec![false; characters.len()];
        for hidden in &self.secrets {
            hidden.mark(&characters, &mut is_redacted);
        }
        mark_headers(&characters, &mut is_redacted);
        let mut redacted = String::new();
        let mut was_hidden = false;
        for (character, is_hidden) in shown.into_iter().zip(is_redacted) {
            match (is_hidden, was_hidden) {
                (true, false) => redacted.push_str(REDACTED),
                (true, true) => {}
                (false, _) => redacted.push(character),
            }
            was_hidden = is_hidden;
        }
        redacted
    }

    fn add_secret(&mut self, secret: &str) {
        self.add(secret, PIECE_OF_A_SECRET);
    }

    /// Adds a value, also form-encoded, URL-encoded and as JSON.
    fn add(&mut self, value: &str, piece: usize) {
        let in_a_form: String = byte_serialize(value.as_bytes()).collect();
        let in_a_url = in_a_form.replace('+', "%20");
        let in_json = serde_json::to_string(value).unwrap_or_default();
        let in_json = in_json.trim_matches('"').to_owned();
        for form in [value.to_owned(), in_a_form, in_a_url, in_json] {
            // Adapters remove control characters from the messages they read.
            let characters: Vec<char> =
                form.chars().filter(|it| !it.is_control()).map(|it| it.to_ascii_lowercase()).collect();
            let is_known = self.secrets.iter().any(|it| it.characters == characters);
            if SHORTEST <= characters.len() && !is_known {
                self.secrets.push(HiddenValue { characters, piece });
            }
        }
    }

    /// Adds every value of an adapter's stored data that may be a secret: long strings that are
    /// neither words nor URLs.
    fn add_stored(&mut self, stored: &str) {
        let mut values = vec![serde_json::from_str(stored).unwrap_or(serde_json::Value::Null)];
        while let Some(value) = values.pop() {
            match value {
                serde_json::Value::Array(many) => values.extend(many),
                serde_json::Value::Object(fields) => values.extend(fields.into_iter().map(|it| it.1)),
                serde_json::Value::String(text) => {
                    let is_plain = text.chars().all(|it| !it.is_whitespace() && !matches!(it, '/' | ':'));
                    if is_plain && SHORTEST_KEPT <= text.len() {
                        self.add_secret(&text);
                    }
                }
                _ => {}
            }
        }
    }
}

impl HiddenValue {
    fn mark(&self, message: &[char], is_redacted: &mut [bool]) {
        let piece = self.piece.min(self.characters.len());
        let pieces: HashSet<&[char]> = self.characters.windows(piece).collect();
        // A short text may be part of another word.
        let stands_alone = |at: usize| {
            let is_apart = |it: Option<&char>| it.is_none_or(|it| !it.is_alphanumeric());
            is_apart(at.checked_sub(1).and_then(|it| message.get(it))) && is_apart(message.get(at + piece))
        };
        let may_be_within = PIECE_OF_A_SECRET <= piece;
        for (at, found) in message.windows(piece).enumerate() {
            if pieces.contains(found) && (may_be_within || stands_alone(at)) {
                is_redacted[at..at + piece].fill(true);
            }
        }
    }
}

/// Marks what follows the name of a scheme, as in an `Authorization` header, and everything that
/// looks like a signed token: proofs are made for one request, and no list of them exists.
fn mark_headers(message: &[char], is_redacted: &mut [bool]) {
    let is_of_a_token = |it: char| it.is_ascii_alphanumeric() || matches!(it, '-' | '_' | '.' | '~' | '+' | '/' | '=');
    let mut after_scheme = false;
    let mut at = 0;
    while at < message.len() {
        let length = message[at..].iter().take_while(|it| is_of_a_token(**it)).count();
        let run: String = message[at..at + length].iter().collect();
        let is_signed = run.starts_with("eyj") && 20 <= length;
        if is_signed || (after_scheme && SHORTEST_IN_A_HEADER <= length) {
            is_redacted[at..at + length].fill(true);
        }
        if 0 < length {
            after_scheme = ["bearer", "dpop", "basic"].contains(&run.as_str());
        }
        at += length.max(1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TOKEN: &str = "Zx81-harbour_9f3c2a77b1";
    const TEXT: &str = "The ferry leaves at eight,\nwhatever the weather – \"bring\" a coat.";

    fn redactor() -> Redactor {
        let mut redactor = Redactor::for_credentials(&Credentials {
            refresh_token: Some("refresh-5521-abcd".into()),
            extra: Some(r#"{"server":"https://harbour.example","app":{"client_secret":"kept-secret-0451"}}"#.into()),
            own_token: Some("own-page-7731-qwer".into()),
            ..Credentials::new(TOKEN.into())
        });
        redactor.add(TEXT, PIECE_OF_A_TEXT);
        redactor
    }

    #[test]
    fn repeated_request_is_redacted_in_every_encoding() {
        for repeated in [
            format!("no: Bearer {TOKEN}"),
            format!("no: {}", TOKEN.to_uppercase()),
            format!("no: {}", &TOKEN[..12]),
            format!("no: {TEXT}"),
            format!("no: {}", TEXT.replace('\n', "")),
            format!("no: {}", serde_json::json!({ "status": TEXT })),
            format!("no: {}", byte_serialize(TEXT.as_bytes()).collect::<String>()),
            format!("no: {}", byte_serialize(TEXT.as_bytes()).collect::<String>().replace('+', "%20")),
            "no: refresh_token=refresh-5521-abcd&client_secret=kept-secret-0451".to_owned(),
            "no: page=own-page-7731-qwer".to_owned(),
        ] {
            let redacted = redactor().redact(&repeated);
            assert!(redacted.starts_with("no: ") && redacted.contains(REDACTED), "{redacted}");
            for piece in ["ferry leaves", "ferry+leaves", "weather", "81-harbo", "5521", "0451", "7731"] {
                assert!(!redacted.to_lowercase().contains(piece), "{piece} of {repeated} in {redacted}");
            }
        }
    }

    #[test]
    fn signed_proofs_are_redacted() {
        for (repeated, expected) in [
            ("Authorization: DPoP abcdefghij", "Authorization: DPoP […]"),
            ("Basic Y2xpZW50OnNlY3JldA== is wrong", "Basic […] is wrong"),
            ("proof eyJhbGciOiJFUzI1NiJ9.e30.c2lnbmF0dXJl", "proof […]"),
        ] {
            assert_eq!(Redactor { secrets: Vec::new() }.redact(repeated), expected);
        }
    }

    #[test]
    fn platform_message_without_secrets_stays() {
        for message in [
            "Validation failed: Text contained a disallowed hashtag: ferry",
            "the bearer of this token may not post; DPoP is needed",
            "harbour.example does not take 12 files; 4 are the most",
            "the server returned 500 Internal Server Error",
        ] {
            assert_eq!(redactor().redact(message), message);
        }
    }

    #[test]
    fn short_text_is_redacted_as_a_whole_word() {
        let mut redactor = Redactor { secrets: Vec::new() };
        redactor.add("Test", PIECE_OF_A_TEXT);
        assert_eq!(redactor.redact("'test' is not wanted, testing is"), "'[…]' is not wanted, testing is");
        let mut redactor = Redactor { secrets: Vec::new() };
        redactor.add("a", PIECE_OF_A_TEXT);
        assert_eq!(redactor.redact("a file is too large"), "a file is too large");
    }
}
