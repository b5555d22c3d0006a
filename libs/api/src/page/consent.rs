//! The page on which a person chooses a post's settings for an account and agrees to the terms of
//! its platform. The connections function shows it, because it reads the account's settings at the
//! platform; the posts function stores what the person chose. The rules are TikTok's, of its fact
//! sheet, section 11.

use std::fmt;

use domain::id::{ConnectionId, PostId};
use serde::Deserialize;
use url::form_urlencoded;

/// The visibility of a post that only its account sees.
const PRIVATE: &str = "SELF_ONLY";

/// The next step of the post once no consent is missing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ConsentAction {
    Schedule,
    PublishNow,
}

impl ConsentAction {
    /// In forms and queries.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Schedule => "schedule",
            Self::PublishNow => "publish_now",
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ConsentProblem {
    NoVisibility,
    /// The post promotes something, but neither the person's own brand nor another.
    NoBrand,
    PrivateBrand,
}

impl ConsentProblem {
    /// `promotes` is for the person's own brand and for another brand; `None` if the person
    /// discloses nothing.
    pub fn find(visibility: &str, promotes: Option<(bool, bool)>) -> Option<Self> {
        match promotes {
            _ if visibility.is_empty() => Some(Self::NoVisibility),
            Some((false, false)) => Some(Self::NoBrand),
            Some((_, true)) if visibility == PRIVATE => Some(Self::PrivateBrand),
            _ => None,
        }
    }

    const fn name(self) -> &'static str {
        match self {
            Self::NoVisibility => "no_visibility",
            Self::NoBrand => "no_brand",
            Self::PrivateBrand => "private_brand",
        }
    }
}

/// TikTok's audit requires these sentences.
impl fmt::Display for ConsentProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NoVisibility => "Choose who can see this post.",
            Self::NoBrand => "You need to indicate if your content promotes yourself, a third party, or both.",
            Self::PrivateBrand => "Branded content visibility cannot be set to private.",
        })
    }
}

pub fn consent_page(
    connection: ConnectionId,
    post: PostId,
    action: ConsentAction,
    at: &str,
    problem: Option<ConsentProblem>,
) -> String {
    let mut query = form_urlencoded::Serializer::new(String::new());
    query.append_pair("do", action.name()).append_pair("at", at);
    if let Some(problem) = problem {
        query.append_pair("problem", problem.name());
    }
    format!("/account/connections/{connection}/consent/{post}?{}", query.finish())
}

pub fn consent_form(connection: ConnectionId, post: PostId) -> String {
    format!("/account/posts/{post}/consent/{connection}")
}

/// For the customer with a connect link.
pub fn link_consent_page(key: &str, problem: Option<ConsentProblem>) -> String {
    let query = problem.map(|it| format!("?problem={}", it.name())).unwrap_or_default();
    format!("/connect-links/{key}/consent{query}")
}

pub fn link_consent_form(key: &str, connection: ConnectionId) -> String {
    format!("/connect-links/{key}/consent/{connection}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn branded_content_is_disclosed_and_not_private() {
        for (visibility, promotes, problem) in [
            ("", None, Some(ConsentProblem::NoVisibility)),
            (PRIVATE, None, None),
            (PRIVATE, Some((false, false)), Some(ConsentProblem::NoBrand)),
            (PRIVATE, Some((true, false)), None),
            (PRIVATE, Some((true, true)), Some(ConsentProblem::PrivateBrand)),
            ("PUBLIC_TO_EVERYONE", Some((false, true)), None),
        ] {
            assert_eq!(ConsentProblem::find(visibility, promotes), problem, "{visibility} {promotes:?}");
        }
    }
}
