//! What an account permits at the moment, for the page on which a person chooses the settings of a post and agrees to the
//! platform's terms.

use domain::web_address::is_web_address;

use crate::choices::{self, Choice, shown};

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CreatorInfo {
    pub name: Option<String>,
    /// May expire within hours.
    pub avatar: Option<String>,
    /// The values of the option `visibility`.
    pub visibilities: Vec<Choice>,
    /// The options that the account has turned off for all its posts.
    pub turned_off: Vec<&'static str>,
    /// In seconds.
    pub max_video_duration: Option<u64>,
}

impl CreatorInfo {
    pub(crate) fn bounded(self) -> Self {
        Self {
            name: self.name.as_deref().map(shown).filter(|it| !it.is_empty()),
            avatar: self.avatar.filter(|it| is_web_address(it)),
            visibilities: choices::bounded(self.visibilities),
            ..self
        }
    }
}
