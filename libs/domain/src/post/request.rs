//! What a client asks for: a new post, or changes to one.

use std::collections::BTreeMap;

use chrono::{DateTime, Utc};

use crate::connection::Connection;
use crate::id::ConnectionId;
use crate::media::Attachment;
use crate::options::Options;
use crate::text::PostText;

/// A target as a client names it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewTarget {
    /// Its index in the request, for messages about faults.
    pub index: usize,
    /// The account.
    pub connection_id: ConnectionId,
    /// The text for this target alone.
    pub text: Option<PostText>,
    /// What is said on its platform alone.
    pub options: Options,
}

/// A post as a client writes it. Its media are passed separately, after they
/// were verified.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewPost {
    /// The text of every target that has none of its own.
    pub text: PostText,
    /// The accounts that it goes to, each once.
    pub targets: Vec<NewTarget>,
    /// When it goes out; `None` for a draft.
    pub scheduled_at: Option<DateTime<Utc>>,
}

/// What a client changes in a post. `None` leaves a field unchanged.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Changes {
    /// The new text.
    pub text: Option<PostText>,
    /// The accounts that it goes to, in place of all it had.
    pub targets: Option<Vec<NewTarget>>,
    /// When it goes out; `Some(None)` makes it a draft again.
    pub scheduled_at: Option<Option<DateTime<Utc>>>,
    /// Its pictures and videos, verified, in place of all it had.
    pub media: Option<Vec<Attachment>>,
}

/// The accounts that a request names, as far as they belong to its user.
pub type Accounts = BTreeMap<ConnectionId, Connection>;
