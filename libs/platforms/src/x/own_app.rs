//! A user's own app at X, used for their account instead of the operator's.

use std::sync::Arc;

use async_trait::async_trait;
use secrecy::{ExposeSecret, SecretString};
use serde::{Deserialize, Serialize, Serializer};

use crate::account::Credentials;
use crate::app::{AppCredentials, AppSource};
use crate::connect_flow::{ConnectError, Field, FieldValues};
use crate::dependency_error::DependencyError;

const ID: &str = "client_id";
const SECRET: &str = "client_secret";

/// The form if the operator has an app.
pub(super) const FIELDS: &[Field] = &[
    Field {
        name: ID,
        label: "Client ID of an app of your own",
        example: "R1g4Y3lXbWl0T2ZKc3VhZ2Q6MTpjaQ",
        secret: false,
        optional: Some(
            "Leave both fields empty to use this service's app. If you create your own app at console.x.com (Read and \
             write; Web App, Automated App or Bot; Callback URI {redirect_uri}), X bills the posts to you, and this \
             service's budget does not limit them.",
        ),
    },
    Field {
        name: SECRET,
        label: "Client secret of that app",
        example: "",
        secret: true,
        optional: Some("X shows it with the client ID under Keys and tokens of the app."),
    },
];

/// The form if the operator has none.
pub(super) const REQUIRED: &[Field] = &[
    Field {
        name: ID,
        label: "Client ID of your own app. Create the app at console.x.com (Read and write; Web App, Automated App or \
                Bot; Callback URI {redirect_uri}). X bills the posts to you",
        example: "R1g4Y3lXbWl0T2ZKc3VhZ2Q6MTpjaQ",
        secret: false,
        optional: None,
    },
    Field { name: SECRET, label: "Client secret of that app", example: "", secret: true, optional: None },
];

#[derive(Clone, Serialize, Deserialize)]
pub(super) struct OwnApp {
    client_id: String,
    #[serde(serialize_with = "serialize_secret")]
    client_secret: SecretString,
}

fn serialize_secret<S: Serializer>(secret: &SecretString, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(secret.expose_secret())
}

impl OwnApp {
    /// The app that was typed; `None` if the fields are empty.
    pub(super) fn typed(values: &FieldValues) -> Result<Option<Self>, ConnectError> {
        let typed = |name| values.get(name).map(|it| it.expose_secret().trim()).unwrap_or_default();
        let (id, secret) = (typed(ID), typed(SECRET));
        let wrong = |name, message: &str| Err(ConnectError::Field { name, message: message.to_owned() });
        match (id, secret) {
            ("", "") => Ok(None),
            ("", _) => wrong(ID, "Type the client ID as well, or leave both fields empty."),
            (_, "") => wrong(SECRET, "Type the client secret as well, or leave both fields empty."),
            _ if !is_plain(id) => wrong(
                ID,
                "This is not a client ID. Copy the OAuth 2.0 Client ID from the app's \
                                             Keys and tokens.",
            ),
            _ if !is_plain(secret) => wrong(
                SECRET,
                "This is not a client secret. Copy the OAuth 2.0 Client Secret \
                                                     from the app's Keys and tokens.",
            ),
            _ => Ok(Some(Self { client_id: id.to_owned(), client_secret: secret.into() })),
        }
    }

    /// The app that an account was connected with; `None` if it is the operator's.
    pub(super) fn load(credentials: &Credentials) -> Option<Self> {
        credentials.extra.as_ref().map(Self::read)
    }

    /// An unreadable app becomes one that X does not know, never the operator's.
    pub(super) fn read(stored: &SecretString) -> Self {
        let unreadable = |_| Self { client_id: String::new(), client_secret: SecretString::default() };
        serde_json::from_str(stored.expose_secret()).unwrap_or_else(unreadable)
    }

    /// The stored form, which has to be sealed.
    pub(super) fn kept(&self) -> SecretString {
        serde_json::to_string(self).unwrap_or_default().into()
    }
}

/// Whether this can be the id or the secret of an app.
fn is_plain(it: &str) -> bool {
    it.len() <= 200 && it.bytes().all(|it| it.is_ascii_graphic())
}

#[async_trait]
impl AppSource for OwnApp {
    async fn credentials(&self) -> Result<Arc<AppCredentials>, DependencyError> {
        Ok(Arc::new(AppCredentials::new(&self.client_id, self.client_secret.expose_secret())))
    }

    /// Does nothing: the user reads the error, and only the user can correct it.
    fn report_refused(&self, _: &Arc<AppCredentials>) {}
}
