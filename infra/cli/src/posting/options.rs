//! Platform options: `language=en`, `mastodon:visibility=unlisted`.

use serde_json::{Map, Value};

use crate::error::CliError;

/// For every account or for the accounts of one platform.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct PostOption {
    platform: Option<String>,
    name: String,
    value: Value,
}

impl PostOption {
    pub(crate) fn read_all(texts: &[String]) -> Result<Vec<Self>, CliError> {
        texts.iter().map(|it| Self::read(it)).collect()
    }

    fn read(text: &str) -> Result<Self, CliError> {
        let wrong = || CliError::Usage(format!("{text:?} isn't an option; use NAME=VALUE or PLATFORM:NAME=VALUE"));
        let (name, value) = text.split_once('=').ok_or_else(wrong)?;
        let (platform, name) = match name.split_once(':') {
            Some((platform, name)) => (Some(platform.trim().to_owned()), name),
            None => (None, name),
        };
        let name = name.trim().to_owned();
        if name.is_empty() || platform.as_deref() == Some("") {
            return Err(wrong());
        }
        // Numbers, booleans, lists and quoted texts are JSON; everything else is text.
        let value = match serde_json::from_str(value.trim()) {
            Ok(Value::Null) | Err(_) => Value::String(value.to_owned()),
            Ok(value) => value,
        };
        Ok(Self { platform, name, value })
    }

    pub(crate) fn is_for(&self, provider: &str) -> bool {
        self.platform.as_deref().is_none_or(|it| it == provider)
    }

    pub(crate) fn platform(&self) -> &str {
        self.platform.as_deref().unwrap_or("any platform")
    }
}

/// `None` if there are none. An option with a platform overrides one without.
pub(crate) fn for_platform(options: &[PostOption], provider: &str) -> Option<Map<String, Value>> {
    let mut map = Map::new();
    let (named, all): (Vec<_>, Vec<_>) =
        options.iter().filter(|it| it.is_for(provider)).partition(|it| it.platform.is_some());
    for option in all.into_iter().chain(named) {
        map.insert(option.name.clone(), option.value.clone());
    }
    (!map.is_empty()).then_some(map)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a panic here is the failing assertion")]

    use serde_json::json;

    use super::*;

    fn read(texts: &[&str]) -> Vec<PostOption> {
        PostOption::read_all(&texts.iter().map(|it| (*it).to_owned()).collect::<Vec<_>>()).unwrap()
    }

    #[test]
    fn options_apply_to_their_platform() {
        let options =
            read(&["mastodon:language=de", "language=en", "sensitive=true", "tags=[\"a\"]", "title=1=2", "n=\"7\""]);
        let expected = json!({"language": "de", "sensitive": true, "tags": ["a"], "title": "1=2", "n": "7"});
        assert_eq!(Value::Object(for_platform(&options, "mastodon").unwrap()), expected);
        assert_eq!(for_platform(&options, "x").unwrap()["language"], "en");
        assert_eq!(for_platform(&read(&["mastodon:a=b"]), "x"), None);
    }

    #[test]
    fn text_without_name_and_value_is_an_error() {
        for wrong in ["", "a", "=b", ":a=b", "mastodon:=b"] {
            assert!(PostOption::read_all(&[wrong.to_owned()]).is_err(), "{wrong}");
        }
    }
}
