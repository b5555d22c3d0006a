//! The quote of a post.
//!
//! Facts: a quote has the URI of a record and its hash. An author forbids quotes of a post with a
//! record under the same key, a post gate. As in the official client, the first link is a quote if
//! it leads to a post, and otherwise has a card. Source: `resolveLink` and the reducer
//! `embed_add_uri` of `bluesky-social/social-app`; the lexicon `app.bsky.feed.postgate`.

use std::time::Duration;

use domain::delivery::AttemptError;
use serde_json::{Value, json};
use tokio::time::timeout;

use super::facets::RichText;
use super::identity::{Directory, IdentityError};
use super::options;
use super::pds::Pds;
use super::people::NO_MORE_LOOK_UPS;
use super::post_address::PostAddress;
use super::record::COLLECTION;
use super::repository::{self, ReadError};
use crate::publish_request::PublishRequest;

const LOOK_UP: Duration = Duration::from_secs(10);

#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
enum QuoteError {
    #[error("the post to quote does not exist or was deleted")]
    Gone,
    #[error("the author of the post to quote does not allow quotes")]
    Forbidden,
    #[error("the post to quote could not be looked up")]
    Unreachable,
}

impl PostAddress {
    fn find_first(text: &RichText) -> Option<Self> {
        let records = text.text.split_whitespace().map(|it| it.trim_start_matches('('));
        let records = records.filter(|it| it.starts_with("at://"));
        let records = records.map(|it| it.trim_end_matches(['.', ',', ';', ':', '!', '?', ')', '"', '\'']));
        text.links().chain(records).find_map(Self::parse)
    }

    async fn reference(&self, directory: &Directory, pds: &Pds<'_>) -> Result<Value, QuoteError> {
        let author = directory.find(&self.author).await.map_err(|error| match error {
            IdentityError::Unreachable => QuoteError::Unreachable,
            _ => QuoteError::Gone,
        })?;
        let account = (&author.pds, author.did.as_str());
        let (found, gate) = futures::join!(
            repository::read(pds.http, account, COLLECTION, &self.rkey),
            repository::read(pds.http, account, "app.bsky.feed.postgate", &self.rkey),
        );
        let cid = match found {
            Ok(found) => found.cid.ok_or(QuoteError::Unreachable)?,
            Err(ReadError::Nothing) => return Err(QuoteError::Gone),
            Err(ReadError::Unclear(_)) => return Err(QuoteError::Unreachable),
        };
        // Authors may quote their own posts. A gate that cannot be read counts as none.
        let is_own = author.did == pds.session.did;
        if !is_own && gate.is_ok_and(|it| forbids_quotes(&it.value)) {
            return Err(QuoteError::Forbidden);
        }
        let uri = format!("at://{}/{COLLECTION}/{}", author.did.as_str(), self.rkey);
        repository::is_cid(&cid).then(|| json!({"uri": uri, "cid": cid})).ok_or(QuoteError::Unreachable)
    }
}

fn forbids_quotes(gate: &Value) -> bool {
    let rules = gate["embeddingRules"].as_array();
    rules.is_some_and(|it| it.iter().any(|rule| rule["$type"] == "app.bsky.feed.postgate#disableRule"))
}

/// The record's reference to the post that it quotes. A post that the option names has to exist. A
/// link in the text stays a link if the post does not exist or cannot be looked up in time.
pub(super) async fn resolve(
    directory: &Directory,
    pds: &Pds<'_>,
    request: &PublishRequest<'_>,
    text: &RichText,
) -> Result<Option<Value>, AttemptError> {
    let named = request.options.text(options::QUOTE);
    let refused = |reason: String| AttemptError::Refused { reason };
    let address = match named {
        Some(named) => {
            let parsed = PostAddress::parse(named.trim());
            Some(parsed.ok_or_else(|| refused(format!("{} is no link to a post on Bluesky", options::QUOTE)))?)
        }
        None if request.options.flag(options::PREVIEW) == Some(false) => None,
        None => PostAddress::find_first(text),
    };
    let Some(address) = address else { return Ok(None) };
    let found = timeout(LOOK_UP, address.reference(directory, pds)).await.unwrap_or(Err(QuoteError::Unreachable));
    let can_retry = NO_MORE_LOOK_UPS < request.publish_at - request.now;
    match found {
        Ok(reference) => Ok(Some(reference)),
        Err(QuoteError::Unreachable) if named.is_some() || can_retry => {
            Err(AttemptError::RetryLater { retry_at: None, reason: QuoteError::Unreachable.to_string() })
        }
        Err(quote_error) if named.is_some() => Err(refused(quote_error.to_string())),
        Err(_) => Ok(None),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn first_linked_post_is_the_quote() {
        let first = |text: &str| PostAddress::find_first(&RichText::new(text)).map(|it| it.rkey);
        assert_eq!(first("https://example.com, bsky.app/profile/alice.test/post/3kone."), Some("3kone".to_owned()));
        assert_eq!(first("(at://alice.test/app.bsky.feed.post/3ktwo)"), Some("3ktwo".to_owned()));
        assert_eq!(first("https://bsky.app/profile/alice.test"), None);
    }

    #[test]
    fn only_the_disable_rule_of_a_gate_forbids_quotes() {
        assert!(forbids_quotes(&json!({"embeddingRules": [{"$type": "app.bsky.feed.postgate#disableRule"}]})));
        assert!(!forbids_quotes(&json!({"embeddingRules": []})));
        assert!(!forbids_quotes(&json!({"detachedEmbeddingUris": []})));
    }
}
