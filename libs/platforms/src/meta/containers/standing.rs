//! How a container stands.

use serde::Deserialize;

use super::Containers;
use crate::answer;
use crate::caller::Caller;
use crate::meta::failure::{Blame, Failure};
use crate::meta::graph::Answered;

/// What became of a container.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Standing {
    /// It is worked on.
    Working,
    /// It can be used.
    Ready,
    /// It was published.
    Public,
    /// It came to nothing, and so would another one like it.
    Refused {
        /// Meta's words.
        why: String,
    },
    /// It came to nothing; another one may come to something.
    Lost {
        /// Meta's words.
        why: String,
        /// Whether the file could not be fetched.
        is_of_file: bool,
    },
}

#[derive(Deserialize)]
struct Said {
    /// Instagram's.
    status_code: Option<String>,
    /// On Instagram words, with a number in them where it failed; on Threads what
    /// `status_code` is on Instagram.
    status: Option<String>,
    /// What Threads says where it failed.
    error_message: Option<String>,
}

/// What Threads says of a file that it could not fetch.
const NOT_FETCHED: &str = "FAILED_DOWNLOADING_VIDEO";

/// What it says where it does not know why.
const UNKNOWN: &str = "UNKNOWN";

impl From<Said> for Standing {
    fn from(said: Said) -> Self {
        let (state, why) = match said.status_code {
            Some(state) => (Some(state), said.status),
            None => (said.status, said.error_message),
        };
        let why = why.map(|it| answer::shown(&it)).filter(|it| !it.is_empty());
        let why = why.unwrap_or_else(|| "it does not say why".to_owned());
        match state.as_deref() {
            Some("FINISHED") => Self::Ready,
            Some("PUBLISHED") => Self::Public,
            Some("EXPIRED") => Self::Lost { why: "it was made more than a day ago".to_owned(), is_of_file: false },
            Some("ERROR") => failed(why),
            _ => Self::Working,
        }
    }
}

fn failed(why: String) -> Standing {
    let mut numbers = why.split(|it: char| !it.is_ascii_digit()).filter_map(|it| it.parse().ok());
    let blame = numbers.find_map(Blame::of_subcode);
    let is_of_file = blame == Some(Blame::NotFetched) || why == NOT_FETCHED;
    let may_pass = is_of_file || matches!(blame, Some(Blame::Gone | Blame::Passing)) || why == UNKNOWN;
    if may_pass { Standing::Lost { why, is_of_file } } else { Standing::Refused { why } }
}

/// Asks how a container stands.
pub(super) async fn ask(of: &impl Containers, by: Caller<'_>, container: &str) -> Result<Answered<Standing>, Failure> {
    let query = [("fields", of.calls().standing)];
    let Answered { body, usage } = of.graph().get::<Said>(by, &format!("/{container}"), &query).await?;
    Ok(Answered { body: body.into(), usage })
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn standing(said: Value) -> Standing {
        serde_json::from_value::<Said>(said).unwrap().into()
    }

    #[test]
    fn both_platforms_are_understood() {
        for (said, expected) in [
            (json!({"status_code": "IN_PROGRESS", "status": "In Progress: ..."}), Standing::Working),
            (json!({"status_code": "FINISHED", "status": "Finished: ..."}), Standing::Ready),
            (json!({"status_code": "PUBLISHED"}), Standing::Public),
            (json!({"status": "IN_PROGRESS"}), Standing::Working),
            (json!({"status": "FINISHED"}), Standing::Ready),
            (json!({"status": "PUBLISHED", "id": "7"}), Standing::Public),
            (json!({"id": "7"}), Standing::Working),
        ] {
            assert_eq!(standing(said.clone()), expected, "{said}");
        }
    }

    #[test]
    fn what_may_pass_is_told_from_what_stays() {
        let lost = |said| match standing(said) {
            Standing::Lost { is_of_file, .. } => Some(is_of_file),
            Standing::Refused { .. } => None,
            other => panic!("{other:?}"),
        };
        let instagram = |number| json!({"status_code": "ERROR", "status": format!("Error: failed with code {number}")});
        assert_eq!(lost(instagram(2_207_052)), Some(true));
        assert_eq!(lost(instagram(2_207_053)), Some(false));
        assert_eq!(lost(instagram(2_207_026)), None);
        assert_eq!(lost(json!({"status_code": "ERROR"})), None);
        assert_eq!(lost(json!({"status_code": "EXPIRED"})), Some(false));
        let threads = |message| json!({"status": "ERROR", "error_message": message});
        assert_eq!(lost(threads("FAILED_DOWNLOADING_VIDEO")), Some(true));
        assert_eq!(lost(threads("UNKNOWN")), Some(false));
        assert_eq!(lost(threads("INVALID_ASPEC_RATIO")), None);
        assert_eq!(lost(json!({"status": "EXPIRED"})), Some(false));
    }
}
