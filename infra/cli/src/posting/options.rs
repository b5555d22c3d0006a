//! What is said on a platform alone: `language=en`, `mastodon:visibility=unlisted`.

use serde_json::{Map, Value};

use crate::error::CliError;

/// An option of a post, for every account or for those of one platform.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct PostOption {
    platform: Option<String>,
    name: String,
    value: Value,
}

impl PostOption {
    pub(crate) fn read_all(said: &[String]) -> Result<Vec<Self>, CliError> {
        said.iter().map(|it| Self::read(it)).collect()
    }

    fn read(said: &str) -> Result<Self, CliError> {
        let wrong = || CliError::Usage(format!("{said:?} is no option; write NAME=VALUE or PLATFORM:NAME=VALUE"));
        let (name, value) = said.split_once('=').ok_or_else(wrong)?;
        let (platform, name) = match name.split_once(':') {
            Some((platform, name)) => (Some(platform.trim().to_owned()), name),
            None => (None, name),
        };
        let name = name.trim().to_owned();
        if name.is_empty() || platform.as_deref() == Some("") {
            return Err(wrong());
        }
        // Numbers, truth values, lists and quoted texts are JSON; words are words.
        let value = match serde_json::from_str(value.trim()) {
            Ok(Value::Null) | Err(_) => Value::String(value.to_owned()),
            Ok(value) => value,
        };
        Ok(Self { platform, name, value })
    }

    /// Whether it is for accounts of this platform.
    pub(crate) fn is_for(&self, provider: &str) -> bool {
        self.platform.as_deref().is_none_or(|it| it == provider)
    }

    /// The platform that it names.
    pub(crate) fn platform(&self) -> &str {
        self.platform.as_deref().unwrap_or("any platform")
    }
}

/// The options of an account; `None` where there are none. What names the
/// platform wins over what is for all.
pub(crate) fn of(options: &[PostOption], provider: &str) -> Option<Map<String, Value>> {
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

    fn read(said: &[&str]) -> Vec<PostOption> {
        PostOption::read_all(&said.iter().map(|it| (*it).to_owned()).collect::<Vec<_>>()).unwrap()
    }

    #[test]
    fn options_go_where_they_are_meant_for() {
        let options =
            read(&["mastodon:language=de", "language=en", "sensitive=true", "tags=[\"a\"]", "title=1=2", "n=\"7\""]);
        let expected = json!({"language": "de", "sensitive": true, "tags": ["a"], "title": "1=2", "n": "7"});
        assert_eq!(Value::Object(of(&options, "mastodon").unwrap()), expected);
        assert_eq!(of(&options, "x").unwrap()["language"], "en");
        assert_eq!(of(&read(&["mastodon:a=b"]), "x"), None);
    }

    #[test]
    fn what_is_no_option_is_refused() {
        for wrong in ["", "a", "=b", ":a=b", "mastodon:=b"] {
            assert!(PostOption::read_all(&[wrong.to_owned()]).is_err(), "{wrong}");
        }
    }
}
