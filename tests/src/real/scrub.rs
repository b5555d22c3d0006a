//! Removes account data from a response: only values on an allowlist are kept.
//!
//! Kept are field names, small numbers, statuses, media types, and values that consist of words of
//! the adapter's own source, such as `publish` or `M_FORBIDDEN`. Every other text keeps its form:
//! letters become `a` or `A`, digits `2`, which are also valid in base32. Words of secrets and of
//! the account's names are never kept.

use std::{
    collections::{BTreeMap, BTreeSet},
    net::IpAddr,
};

use platforms::recorder::Exchange;
use reqwest::header::HeaderMap;
use serde_json::{Map, Value, json};
use url::Url;

/// Limits of a recording: elements of a list, and characters of a text.
const MAX_ELEMENTS: usize = 2;
const MAX_TEXT: usize = 300;

/// Names, or prefixes of names, of headers; those that the adapter names are kept.
const HEADERS: [&str; 12] = [
    "content-type",
    "retry-after",
    "location",
    "dpop-nonce",
    "www-authenticate",
    "etag",
    "x-restli-id",
    "x-rate-limit",
    "x-ratelimit",
    "ratelimit",
    "x-app-usage",
    "x-business-use-case-usage",
];

/// Fields that contain a list of words in one text.
const LISTS_OF_WORDS: [&str; 3] = ["scope", "scopes", "granted_scopes"];

/// Words that account names share with method names, as `alice.bsky.social` does.
const SHARED: [&str; 9] = ["app", "at", "bsky", "com", "did", "localhost", "org", "plc", "social"];

/// The values that may be kept, and those that may not although they look like them.
pub(super) struct Scrub {
    words: BTreeSet<String>,
    /// Segments of paths, such as `_matrix`, which may contain a word of an account's name.
    segments: BTreeSet<String>,
    private: BTreeSet<String>,
    headers: Vec<&'static str>,
    is_of_fake: bool,
}

impl Scrub {
    /// Keeps values that consist of words of this source, and headers that the adapter or the kit
    /// names.
    pub(super) fn new(source: &str, adapter: &str) -> Self {
        let adapter = adapter.to_lowercase().replace('_', "-");
        let is_read = |name: &&str| *name == "content-type" || *name == "retry-after" || adapter.contains(*name);
        Self {
            words: words(source).map(str::to_lowercase).collect(),
            segments: source.split(|it: char| !is_segment_char(it)).map(str::to_owned).collect(),
            private: BTreeSet::new(),
            headers: HEADERS.into_iter().filter(is_read).collect(),
            is_of_fake: false,
        }
    }

    /// For a fake, which has no secrets: its tokens contain plain words.
    pub(super) fn for_fake(self) -> Self {
        Self { is_of_fake: true, ..self }
    }

    /// From now on no word of this text is kept: a secret, or a name of the account.
    pub(super) fn hide(&mut self, private: &str) {
        let is_short_number = |it: &str| it.len() < 4 && it.chars().all(|it| it.is_ascii_digit());
        // A short word of several, such as the prefix `ref` of tokens, discloses nothing.
        let is_one_of_several = words(private).count() > 1;
        let is_short = |it: &str| is_one_of_several && it.len() < 5 && self.is_word(it);
        let is_free = |it: &str| {
            SHARED.contains(&it) || is_short_number(it) || is_short(it) || self.is_of_fake && self.is_word(it)
        };
        let private: Vec<_> = words(private).map(str::to_lowercase).filter(|it| !is_free(it)).collect();
        self.private.extend(private);
    }

    /// Like `hide`, for a text that contains words of the adapter and secrets, such as JSON, a
    /// scope or a URL.
    pub(super) fn hide_unknown(&mut self, private: &str) {
        let unknown: Vec<_> = words(private).filter(|it| !self.is_word(it)).collect();
        self.hide(&unknown.join(" "));
    }

    /// A response in the format of `tests/recordings`; `None` if its body is not JSON.
    pub(super) fn recording(&self, exchange: &Exchange, source: &str) -> Option<Value> {
        Some(json!({
            "source": source,
            "request": self.request(exchange),
            "status": exchange.status.as_u16(),
            "headers": self.headers(&exchange.headers),
            "body": self.value("", &body(exchange)?, MAX_ELEMENTS),
        }))
    }

    /// Method and path, with `{id}` for segments that are not words of the source. A DID keeps its
    /// method.
    pub(super) fn request(&self, exchange: &Exchange) -> String {
        let id = |it: &str| if it.starts_with("did:plc:") { "did:plc:{id}" } else { "{id}" }.to_owned();
        format!("{} {}", exchange.method, self.path(exchange.url.path(), id))
    }

    /// A body with all elements of its lists, for the comparison.
    pub(super) fn body(&self, exchange: &Exchange) -> Option<Value> {
        Some(self.value("", &body(exchange)?, usize::MAX))
    }

    fn headers(&self, headers: &HeaderMap) -> BTreeMap<String, String> {
        let is_read = |name: &str| self.headers.iter().any(|it| name.starts_with(it));
        let read = headers.iter().filter(|(name, _)| is_read(name.as_str()));
        read.map(|(name, value)| (name.to_string(), self.text(name.as_str(), value.to_str().unwrap_or_default())))
            .collect()
    }

    fn value(&self, key: &str, value: &Value, max_elements: usize) -> Value {
        match value {
            Value::Null | Value::Bool(_) => value.clone(),
            Value::Number(it) if it.is_f64() => json!(1.5),
            Value::Number(it) => json!(small(it.as_i64().unwrap_or(i64::MAX))),
            Value::String(it) => Value::String(self.text(key, it)),
            Value::Array(it) => it.iter().take(max_elements).map(|it| self.value(key, it, max_elements)).collect(),
            Value::Object(fields) => {
                let field = |(key, value): (&String, &Value)| (self.key(key), self.value(key, value, max_elements));
                Value::Object(fields.iter().map(field).collect::<Map<_, _>>())
            }
        }
    }

    /// The name of a field, or the form of a key that is no name.
    fn key(&self, key: &str) -> String {
        let is_name = key.len() <= 60 && key.chars().filter(char::is_ascii_digit).count() < 4;
        let is_name = is_name && !key.contains(['@', '!', '#', ' ']) && !key.contains("//");
        if is_name && !words(key).any(|it| self.is_private(it)) { key.to_owned() } else { form(key) }
    }

    fn text(&self, key: &str, text: &str) -> String {
        if key == "content-type" {
            return text.to_owned();
        }
        // Some services put JSON into a text.
        if let Ok(json @ (Value::Object(_) | Value::Array(_))) = serde_json::from_str(text) {
            return self.value(key, &json, MAX_ELEMENTS).to_string();
        }
        if self.is_kept(text) || LISTS_OF_WORDS.contains(&key) && text.split([' ', ';', ',']).all(|it| self.is_kept(it))
        {
            return text.to_owned();
        }
        if let Ok(number) = text.parse::<i64>() {
            return small(number).to_string();
        }
        if let Some(fraction) = after_time(text) {
            let fraction: String = fraction.chars().map(|it| if it.is_ascii_digit() { '0' } else { it }).collect();
            return format!("2026-01-01T00:00:00{fraction}");
        }
        let text: String = text.chars().take(MAX_TEXT).collect();
        if let Some((_, file)) = text.strip_prefix("mxc://").and_then(|it| it.split_once('/')) {
            return format!("mxc://example.com/{}", form(file));
        }
        if let Some(start) = ["at://did:plc:", "did:plc:"].into_iter().find(|it| text.starts_with(it)) {
            return format!("{start}{}", self.path(&text[start.len()..], form));
        }
        match Url::parse(&text) {
            Ok(url) if matches!(url.scheme(), "http" | "https") => {
                let query = url.query().map(|it| format!("?{}", form(it))).unwrap_or_default();
                format!("https://example.com{}{query}", self.path(url.path(), form))
            }
            _ => form(&text),
        }
    }

    /// A path with `instead` applied to each segment that is not a word of the source.
    fn path(&self, path: &str, instead: fn(&str) -> String) -> String {
        let is_number = |it: &str| !it.is_empty() && it.chars().all(|it| it.is_ascii_digit());
        let is_ours = |it: &str| self.segments.contains(it) && !self.private.contains(&it.to_lowercase());
        let segment =
            |it| if (is_ours(it) || self.is_kept(it)) && !is_number(it) { it.to_owned() } else { instead(it) };
        path.split('/').map(segment).collect::<Vec<_>>().join("/")
    }

    /// Whether a value or a segment of a path consists of words that may be kept.
    fn is_kept(&self, text: &str) -> bool {
        let is_plain = |it: char| {
            it.is_ascii_alphanumeric() || matches!(it, '_' | '-' | '.' | ':' | '/' | '#' | '+' | '=' | '*' | '?')
        };
        text.len() <= 80
            && text.parse::<IpAddr>().is_err()
            && text.chars().all(is_plain)
            && words(text).all(|it| self.is_word(it))
    }

    fn is_word(&self, word: &str) -> bool {
        let is_known = |it: &str| self.words.contains(&it.to_lowercase());
        let is_version =
            |it: &str| it.trim_start_matches('v').len() < 4 && it.trim_start_matches('v').parse::<u16>().is_ok();
        let parts = || camel_case_parts(word);
        let is_made_of_words = || parts().count() > 1 && parts().all(|it| 3 <= it.len() && is_known(it));
        !self.is_private(word) && (is_known(word) || is_version(word) || is_made_of_words())
    }

    fn is_private(&self, word: &str) -> bool {
        self.private.contains(&word.to_lowercase())
            || camel_case_parts(word).any(|it| self.private.contains(&it.to_lowercase()))
    }
}

/// The body as JSON; null where it is empty.
fn body(exchange: &Exchange) -> Option<Value> {
    if exchange.body.is_empty() { Some(Value::Null) } else { serde_json::from_slice(&exchange.body).ok() }
}

fn is_segment_char(it: char) -> bool {
    it.is_ascii_alphanumeric() || matches!(it, '_' | '-' | '.' | '~')
}

fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|it: char| !it.is_ascii_alphanumeric()).filter(|it| !it.is_empty())
}

fn camel_case_parts(word: &str) -> impl Iterator<Item = &str> {
    let is_start =
        |at: usize| at == 0 || word.as_bytes()[at].is_ascii_uppercase() && word.as_bytes()[at - 1].is_ascii_lowercase();
    let starts: Vec<usize> = (0..word.len()).filter(|it| is_start(*it)).collect();
    let ends: Vec<usize> = starts.iter().copied().skip(1).chain([word.len()]).collect();
    starts.into_iter().zip(ends).map(|(start, end)| &word[start..end])
}

/// A number below a thousand, such as a limit; of any other its magnitude.
fn small(number: i64) -> i64 {
    if number.abs() < 1000 { number } else { number.signum() * 10_i64.pow(number.unsigned_abs().ilog10()) }
}

/// The part after a time such as `2026-11-21T12:00:00`: a fraction and an offset, if any.
fn after_time(text: &str) -> Option<&str> {
    let (time, rest) = text.split_at_checked(19)?;
    let is_time = chrono::NaiveDateTime::parse_from_str(time, "%Y-%m-%dT%H:%M:%S").is_ok();
    let is_offset = rest.chars().all(|it| it.is_ascii_digit() || matches!(it, '.' | ':' | '+' | '-' | 'Z'));
    (is_time && is_offset).then_some(rest)
}

/// The kinds of characters in a text.
fn form(text: &str) -> String {
    let form = |it: char| match it {
        it if it.is_ascii_digit() => '2',
        it if it.is_uppercase() => 'A',
        it if it.is_alphabetic() => 'a',
        it if it.is_ascii() => it,
        _ => 'a',
    };
    text.chars().take(MAX_TEXT).map(form).collect()
}

#[cfg(test)]
mod tests {
    use reqwest::{Method, StatusCode, header::HeaderValue};

    use super::*;

    const SOURCE: &str = "The adapter reads status, publish, error codes such as InvalidToken and rest_forbidden, users, media, \
                          wp json v2, and the scopes read and write of a Bearer token. alice lighthouse";

    const HEADERS_READ: &str = "LOCATION, \"x-app-usage\", dpop-nonce, X_RATELIMIT";

    /// None of these may be kept; some consist of words of the source.
    const SECRETS: [&str; 9] = [
        "at-5dN0.qQ",
        "rt_Zm9v",
        "s3cret/Of-Ours",
        "code.4711x",
        "light house lighthouse",
        "keeper@harbour.dev",
        "wp_session=Ab12",
        "alice",
        "983261734",
    ];

    fn scrub() -> Scrub {
        let mut scrub = Scrub::new(SOURCE, HEADERS_READ);
        for secret in SECRETS {
            scrub.hide(secret);
        }
        scrub
    }

    fn exchange(url: &str, headers: &[(&'static str, &str)], body: &Value) -> Exchange {
        let header =
            |(name, value): &(&'static str, &str)| (name.parse().unwrap(), HeaderValue::from_str(value).unwrap());
        Exchange {
            method: Method::GET,
            url: url.parse().unwrap(),
            status: StatusCode::OK,
            headers: headers.iter().map(header).collect(),
            body: body.to_string().into_bytes().into(),
        }
    }

    #[test]
    fn secrets_are_scrubbed_everywhere() {
        for secret in SECRETS {
            let encoded: String = url::form_urlencoded::byte_serialize(secret.as_bytes()).collect();
            let link = format!("https://harbour.dev/users/{encoded}/media?signature={encoded}");
            let inner = json!({ "error": secret, secret: { "status": secret } }).to_string();
            let body = json!({
                "status": secret, "access_token": secret, "scope": format!("read {secret}"), "message": format!("No, {secret}!"),
                "url": link, "list": [[secret]], secret: 1, "json": inner, "number": secret.parse::<i64>().ok(),
                "uri": format!("at://did:plc:{secret}/{secret}"), "time": format!("2026-11-21T12:00:00{secret}"),
                "name": format!("Status{secret}"),
            });
            let headers = [
                ("location", link.as_str()),
                ("set-cookie", secret),
                ("x-app-usage", inner.as_str()),
                ("dpop-nonce", secret),
            ];
            let exchange = exchange(&link, &headers, &body);

            let recording = scrub().recording(&exchange, "test").unwrap().to_string().to_lowercase();

            for word in [secret, &encoded].into_iter().chain(words(secret).filter(|it| 4 < it.len())) {
                assert!(!recording.contains(&word.to_lowercase()), "{word} of {secret}: {recording}");
            }
        }
    }

    #[test]
    fn values_that_adapters_decide_by_are_kept() {
        let body = json!({
            "status": "publish", "code": "rest_forbidden", "error": "InvalidToken", "limit": 500, "size": 8_294_400, "is_new": true,
            "token_type": "Bearer", "scope": "read write", "nothing": null, "date": "2026-11-21T12:34:56.789Z", "name": "Zoë 7", "ip": "10.0.0.1",
            "link": "https://harbour.dev/users/9?x=1", "cid": "bafkrei5x", "text": "", "again": [1, 2, 3],
        });
        let headers =
            [("content-type", "application/json; charset=utf-8"), ("x-ratelimit-reset", "1795262400"), ("server", "x")];
        let scrub = Scrub::new(SOURCE, HEADERS_READ);

        let recording = scrub
            .recording(&exchange("https://harbour.dev/wp-json/wp/v2/users/9/media", &headers, &body), "test")
            .unwrap();

        let expected = json!({
            "source": "test", "request": "GET /wp-json/wp/v2/users/{id}/media", "status": 200,
            "headers": { "content-type": "application/json; charset=utf-8", "x-ratelimit-reset": "1000000000" },
            "body": {
                "status": "publish", "code": "rest_forbidden", "error": "InvalidToken", "limit": 500, "size": 1_000_000,
                "is_new": true, "token_type": "Bearer", "scope": "read write", "nothing": null,
                "date": "2026-01-01T00:00:00.000Z", "name": "Aaa 2", "ip": "22.2.2.2", "link": "https://example.com/users/2?a=2",
                "cid": "aaaaaaa2a", "text": "", "again": [1, 2],
            },
        });
        assert_eq!(recording, expected);
    }

    #[test]
    fn path_segments_are_kept_when_an_account_has_the_same_name() {
        let mut scrub = Scrub::new("\"_matrix\", \"client\", \"rooms\", \"send\"", "");
        scrub.hide("@rooms:matrix.org");

        let request = |path: &str| scrub.request(&exchange(&format!("https://matrix.org{path}"), &[], &json!({})));

        assert_eq!(request("/_matrix/client/send/12"), "GET /_matrix/client/send/{id}");
        assert_eq!(request("/_matrix/rooms/matrix"), "GET /_matrix/{id}/{id}", "they could be the account's");
        assert_eq!(request("/did:plc:z72i7hdynmk6r22z27h6tvur"), "GET /did:plc:{id}");
    }
}
