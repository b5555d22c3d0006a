//! The current state of the sandbox, computed from its facts.

use std::collections::HashMap;

use chrono::{DateTime, Utc};

use super::accounts::Account;
use super::fact::{Allowed, Comment, Fact, Medium, Post, TokenPair};

/// The state after all facts.
#[derive(Default)]
pub(super) struct SandboxState {
    codes: HashMap<String, Allowed>,
    grants: HashMap<u64, Grant>,
    last_grant: u64,
    access: HashMap<String, Access>,
    media: HashMap<String, Medium>,
    posts: Vec<Post>,
    comments: Vec<Comment>,
}

/// An account's grant to the client.
#[derive(Clone)]
pub(super) struct Grant {
    pub(super) account: Account,
    /// The other accounts of the grant.
    pub(super) also: Vec<Account>,
    pub(super) scope: String,
    /// Hash of the only valid refresh token.
    refresh: String,
}

impl Grant {
    pub(super) fn covers(&self, account: Account) -> bool {
        self.account == account || self.also.contains(&account)
    }
}

struct Access {
    grant: u64,
    ends_at: DateTime<Utc>,
}

impl SandboxState {
    /// Applies a fact. Facts are validated before they are recorded.
    pub(super) fn apply(&mut self, fact: Fact) {
        match fact {
            Fact::Allowed { code, allowed, at } => {
                self.codes.retain(|_, it| at < it.ends_at);
                self.codes.insert(code, allowed);
            }
            Fact::Granted { code, grant, tokens, at } => {
                if let Some(Allowed { account, also, scope, .. }) = self.codes.remove(&code) {
                    self.last_grant = grant;
                    self.grants.insert(grant, Grant { account, also, scope, refresh: String::new() });
                    self.issue_tokens(grant, tokens, at);
                }
            }
            Fact::Refreshed { grant, tokens, at } => self.issue_tokens(grant, tokens, at),
            Fact::Revoked { grant } => {
                self.grants.remove(&grant);
                self.access.retain(|_, it| it.grant != grant);
            }
            Fact::Expired { grants } => self.access.retain(|_, it| !grants.contains(&it.grant)),
            Fact::Uploaded { id, medium } => {
                self.media.insert(id, medium);
            }
            Fact::Posted(post) => self.posts.push(post),
            Fact::Commented(comment) => self.comments.push(comment),
        }
    }

    /// Earlier access tokens stay valid until they expire; the earlier refresh token does not.
    fn issue_tokens(&mut self, grant: u64, tokens: TokenPair, at: DateTime<Utc>) {
        self.access.retain(|_, it| at < it.ends_at);
        if let Some(known) = self.grants.get_mut(&grant) {
            known.refresh = tokens.refresh;
            self.access.insert(tokens.access, Access { grant, ends_at: tokens.access_ends });
        }
    }

    pub(super) fn code(&self, hash: &str, now: DateTime<Utc>) -> Option<&Allowed> {
        self.codes.get(hash).filter(|it| now < it.ends_at)
    }

    pub(super) fn next_grant(&self) -> u64 {
        self.last_grant + 1
    }

    /// The grant of a valid access token.
    pub(super) fn find_by_access_token(&self, hash: &str, now: DateTime<Utc>) -> Option<(u64, &Grant)> {
        let access = self.access.get(hash).filter(|it| now < it.ends_at)?;
        Some((access.grant, self.grants.get(&access.grant)?))
    }

    pub(super) fn by_refresh(&self, hash: &str) -> Option<(u64, &Grant)> {
        self.grants.iter().find(|(_, it)| it.refresh == hash).map(|(id, grant)| (*id, grant))
    }

    /// The grants that cover an account; `None` returns all grants.
    pub(super) fn grants_of(&self, account: Option<Account>) -> Vec<u64> {
        let asked_for = |it: &Grant| account.is_none_or(|only| it.covers(only));
        self.grants.iter().filter(|(_, it)| asked_for(it)).map(|(id, _)| *id).collect()
    }

    pub(super) fn medium(&self, id: &str) -> Option<&Medium> {
        self.media.get(id)
    }

    /// All posts, oldest first.
    pub(super) fn posts(&self) -> &[Post] {
        &self.posts
    }

    /// All comments, oldest first.
    pub(super) fn comments(&self) -> &[Comment] {
        &self.comments
    }

    pub(super) fn post(&self, id: usize) -> Option<&Post> {
        self.posts.get(id.checked_sub(1)?)
    }
}
