use domain::id::ProfileId;

use crate::{FieldValue, Fields};

/// `None` for an absent parameter. An empty one is an error: a client that forgets the id of a
/// customer would otherwise get the items of all.
pub fn profile_filter(fields: &mut Fields) -> Option<ProfileId> {
    let id = match fields.integer("profile_id") {
        FieldValue::Absent | FieldValue::Invalid => return None,
        FieldValue::Null => None,
        FieldValue::Value(number) => ProfileId::new(number),
    };
    if id.is_none() {
        fields.add("profile_id", "must be the id of a profile");
    }
    id
}
