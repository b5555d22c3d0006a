//! The operations on profiles.

pub(crate) mod change_profile;
pub(crate) mod create_profile;
pub(crate) mod delete_profile;
pub(crate) mod list_profiles;
pub(crate) mod show_profile;
#[cfg(test)]
mod tests;

use api::scope_guard::Needs;
use api::{Caller, FieldValue};
use contract::Timestamp;
use domain::id::ProfileId;
use domain::owner::Owner;
use domain::profile::{Profile, ProfileName, ProfileRef};
use storage::StorageError;

use crate::App;

fn profile_view(profile: &Profile) -> contract::Profile {
    contract::Profile {
        id: profile.profile_id.get(),
        name: profile.name.as_str().to_owned(),
        external_id: profile.external_id.as_ref().map(|it| it.as_str().to_owned()),
        created_at: Timestamp(profile.created_at),
    }
}

fn name(fields: &mut api::Fields) -> Option<ProfileName> {
    let raw = fields.required_text("name")?;
    match ProfileName::parse(&raw) {
        Ok(name) => Some(name),
        Err(error) => {
            fields.add("name", error);
            None
        }
    }
}

impl App {
    /// For an absent parameter, the profile to which the token is limited. An empty parameter is an
    /// error: without a profile, the account of a customer would become the user's own.
    pub(crate) async fn named_profile<N: Needs>(
        &self,
        caller: &Caller<N>,
        fields: &mut api::Fields,
    ) -> Result<Option<ProfileRef>, StorageError> {
        let id = match fields.text("profile_id") {
            FieldValue::Absent => return Ok(caller.of_profile.clone()),
            named => named.value().and_then(|it| ProfileId::parse(&it)),
        };
        self.found_profile(caller.owner, id, fields).await
    }

    /// Adds an error if the user has no profile with this id.
    pub(crate) async fn found_profile(
        &self,
        owner: Owner,
        id: Option<ProfileId>,
        fields: &mut api::Fields,
    ) -> Result<Option<ProfileRef>, StorageError> {
        let found = match id {
            Some(id) => self.api.store.profile(owner, id).await?,
            None => None,
        };
        if found.is_none() {
            fields.add("profile_id", "is not one of your profiles; GET /profiles lists them");
        }
        Ok(found.map(|it| it.reference()))
    }
}
