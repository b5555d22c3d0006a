//! The state of the sandbox together with its journal: a fact is recorded before it is applied.

use std::collections::HashMap;
use std::io;
use std::path::Path;

use super::SandboxError;
use super::fact::{Comment, Fact, Medium, Post};
use super::journal::Journal;
use crate::fake::oauth::{Code, Grant};

#[derive(Default)]
pub(super) struct Ledger {
    codes: Vec<Code>,
    grants: Vec<Grant>,
    media: HashMap<String, Medium>,
    posts: Vec<Post>,
    comments: Vec<Comment>,
    /// `None` if nothing is stored.
    journal: Option<Journal>,
}

impl Ledger {
    pub(super) fn open(path: &Path) -> Result<Self, SandboxError> {
        let mut ledger = Self::default();
        let journal = Journal::open(path, |fact| ledger.apply(fact))?;
        Ok(Self { journal: Some(journal), ..ledger })
    }

    /// Facts are validated before they are recorded.
    pub(super) fn record(&mut self, fact: Fact) -> io::Result<()> {
        if let Some(journal) = &mut self.journal {
            journal.append(&fact)?;
        }
        self.apply(fact);
        Ok(())
    }

    fn apply(&mut self, fact: Fact) {
        match fact {
            Fact::Allowed { code } => self.codes.push(code),
            Fact::Granted { index, grant } => match self.grants.get_mut(index) {
                Some(known) => *known = grant,
                None => self.grants.push(grant),
            },
            Fact::Uploaded { id, medium } => {
                self.media.insert(id, medium);
            }
            Fact::Posted(post) => self.posts.push(post),
            Fact::Commented(comment) => self.comments.push(comment),
        }
    }

    pub(super) fn codes(&self) -> &[Code] {
        &self.codes
    }

    pub(super) fn grants(&self) -> &[Grant] {
        &self.grants
    }

    pub(super) fn medium(&self, id: &str) -> Option<&Medium> {
        self.media.get(id)
    }

    /// Oldest first.
    pub(super) fn posts(&self) -> &[Post] {
        &self.posts
    }

    /// Oldest first.
    pub(super) fn comments(&self) -> &[Comment] {
        &self.comments
    }

    pub(super) fn post(&self, id: usize) -> Option<&Post> {
        self.posts.get(id.checked_sub(1)?)
    }
}
