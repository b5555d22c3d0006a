//! What a platform accepts, as data: checked when a post is scheduled, stored
//! with each connection, and shown to writers in its `meta`.

mod counting;
mod emoji;
mod file_rule;
mod links;
mod mentions;
mod rule;
#[cfg(test)]
mod tests;
mod weighted;

use serde::de::IgnoredAny;
use serde::{Deserialize, Deserializer, Serialize};

use crate::media::Attachment;
use crate::options::Options;
use crate::text::PostText;
pub use counting::{Counting, Unit};
pub use file_rule::{FileRule, Ratio};
pub use rule::Rule;

/// What one account on one platform accepts.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rules {
    /// The platform's name as people know it.
    pub title: String,
    /// Each kind of rule at most once, in the order in which they are shown.
    #[serde(default, deserialize_with = "known")]
    pub rules: Vec<Rule>,
}

/// A rule that a target breaks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Breach {
    /// The rule's [`Rule::id`].
    pub rule: &'static str,
    /// The field of the target that is at fault: `content`, `media` or one of its
    /// options.
    pub field: &'static str,
    /// A message for the user that names the platform, the limit and the actual
    /// figure.
    pub message: String,
}

impl Rules {
    /// The rules of a platform with this name.
    pub fn of(title: impl Into<String>, rules: impl Into<Vec<Rule>>) -> Self {
        Self { title: title.into(), rules: rules.into() }
    }

    /// Every rule that a post with this text, these files and these options would
    /// break.
    pub fn breaches(&self, text: &PostText, media: &[Attachment], options: &Options) -> Vec<Breach> {
        let of_rule = |rule: &Rule| {
            let (id, field) = (rule.id(), rule.field());
            let faults = rule.faults(text.as_str(), media, options).into_iter();
            faults.map(move |it| Breach { rule: id, field, message: format!("{} {it}", self.title) })
        };
        self.rules.iter().flat_map(of_rule).collect()
    }
}

/// Reads the stored rules and leaves out those that this version does not know.
///
/// A connection may have been stored by an older version of this program, or
/// by a newer one that was rolled back. A rule that is not checked here is
/// still enforced by the platform itself.
fn known<'de, D: Deserializer<'de>>(stored: D) -> Result<Vec<Rule>, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Stored {
        Known(Rule),
        Unknown(IgnoredAny),
    }

    let stored = Vec::<Stored>::deserialize(stored)?;
    let known = stored.into_iter().filter_map(|it| match it {
        Stored::Known(rule) => Some(rule),
        Stored::Unknown(IgnoredAny) => None,
    });
    Ok(known.collect())
}
