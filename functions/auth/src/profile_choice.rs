//! The choice on the approval pages: access to everything, or to one profile.

use domain::id::{ProfileId, UserId};
use domain::profile::Profile;
use storage::{StorageError, Store};

const MAX_LISTED: usize = 200;

pub(crate) struct ProfileField {
    pub(crate) input: ProfileInput,
    /// Why the last choice was not accepted.
    pub(crate) fault: Option<&'static str>,
}

pub(crate) enum ProfileInput {
    /// The user has no profiles.
    Nothing,
    List(Vec<ListedProfile>),
    /// An id to type, because there are too many profiles for a list.
    Id,
}

pub(crate) struct ListedProfile {
    pub(crate) id: ProfileId,
    pub(crate) name: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ChosenAccess {
    /// To this profile; `None` for everything.
    LimitedTo(Option<ProfileId>),
    /// The user has no such profile.
    Invalid,
}

impl ProfileField {
    pub(crate) async fn load(store: &Store, user: UserId) -> Result<Self, StorageError> {
        let profiles = store.oldest_profiles(user, MAX_LISTED + 1).await?;
        let input = match profiles.len() {
            0 => ProfileInput::Nothing,
            count if MAX_LISTED < count => ProfileInput::Id,
            _ => ProfileInput::List(profiles.iter().map(ListedProfile::from).collect()),
        };
        Ok(Self { input, fault: None })
    }

    /// The field after [`ChosenAccess::Invalid`].
    pub(crate) async fn load_with_fault(store: &Store, user: UserId) -> Result<Self, StorageError> {
        let fault =
            "You have no such profile, so nothing was approved. It may have been deleted. Choose the access again.";
        Ok(Self { fault: Some(fault), ..Self::load(store, user).await? })
    }
}

impl From<&Profile> for ListedProfile {
    fn from(profile: &Profile) -> Self {
        Self { id: profile.profile_id, name: shown_name(profile) }
    }
}

impl ChosenAccess {
    /// `chosen` is the field `profile` of the form.
    pub(crate) async fn read(store: &Store, user: UserId, chosen: Option<&str>) -> Result<Self, StorageError> {
        let chosen = chosen.unwrap_or_default().trim();
        if chosen.is_empty() {
            return Ok(Self::LimitedTo(None));
        }
        let Some(id) = ProfileId::parse(chosen) else { return Ok(Self::Invalid) };
        let found = store.profile(user, id).await?;
        Ok(found.map_or(Self::Invalid, |it| Self::LimitedTo(Some(it.profile_id))))
    }
}

pub(crate) fn shown_name(profile: &Profile) -> String {
    match &profile.external_id {
        Some(external_id) => format!("{} ({})", profile.name.as_str(), external_id.as_str()),
        None => profile.name.as_str().to_owned(),
    }
}
