//! The values of an option that only the platform knows, such as boards. An operation and a page list
//! them.

use std::mem;
use std::time::Duration;

use api::Params;
use connecting::{CallCredentials, ConnectingError, StoredCredentials};
use contract::ChoiceList;
use domain::connection::Connection;
use domain::delivery::AttemptError;
use domain::id::{ConnectionId, UserId};
use domain::options::OptionSpec;
use platforms::{Choice, ChoicesRequest, Connect, DependencyError};
use storage::ConnectionRecord;
use tokio::time::timeout;

use crate::App;
use crate::error::ConnectionsError;

/// The timeout of the platform.
const CHOICES_TIMEOUT: Duration = Duration::from_secs(12);

/// In characters.
pub(crate) const MAX_QUERY: usize = 200;

/// The values of an option for an account.
pub(crate) struct Choices {
    pub(crate) connection: Connection,
    pub(crate) option: &'static OptionSpec,
    /// Values without this text, in upper or lower case, are left out.
    pub(crate) query: Option<String>,
    pub(crate) values: Vec<Choice>,
}

impl From<Choices> for ChoiceList {
    fn from(choices: Choices) -> Self {
        let choice = |Choice { value, label }| contract::Choice { value, label };
        Self { data: choices.values.into_iter().map(choice).collect() }
    }
}

impl App {
    /// Lists the values that an option accepts for this account, as the platform returns them now.
    pub(crate) async fn choices(
        &self,
        user: UserId,
        connection: &str,
        option: &str,
        params: Params,
    ) -> Result<Choices, ConnectionsError> {
        let id = ConnectionId::parse(connection).ok_or(ConnectionsError::UnknownOption)?;
        let record = self.api.store.connection(user, id).await?.ok_or(ConnectionsError::UnknownOption)?;
        let provider = &record.connection.provider;
        let is_listed = |it: &&OptionSpec| it.name == option && it.kind.is_listed();
        let option = self.vocabulary.options(provider).iter().find(is_listed);
        let (option, platform) = option.zip(self.platforms.get(provider)).ok_or(ConnectionsError::UnknownOption)?;
        let query = parse_query(params)?;

        let mut values = self.read_choices(platform, &record, option, query.as_deref()).await?;
        values.retain(|it| query.as_ref().is_none_or(|query| is_match(it, query)));
        Ok(Choices { connection: record.connection, option, query, values })
    }

    async fn read_choices(
        &self,
        platform: &dyn Connect,
        record: &ConnectionRecord,
        option: &OptionSpec,
        query: Option<&str>,
    ) -> Result<Vec<Choice>, ConnectionsError> {
        let connection = &record.connection;
        let (connection_id, title) = (connection.connection_id, &connection.rules.title);
        let lost_grant = || ConnectionsError::LostGrant { title: title.clone() };
        let no_credentials = |source| ConnectionsError::Credentials { connection_id, source };
        if connection.needs_reconnection {
            return Err(lost_grant());
        }

        let stored = self.credential_service().stored(record).await.map_err(no_credentials)?;
        let stored = stored.ok_or_else(lost_grant)?;
        let host = platform.host(stored.credentials());
        let listed = async {
            let now = self.api.clock.now();
            let opened = match self.open_credentials(record, stored).await.map_err(no_credentials)? {
                CallCredentials::Open(opened) => opened,
                CallCredentials::Unavailable(AttemptError::Unauthorized { .. }) => return Err(lost_grant()),
                CallCredentials::Unavailable(error) => return Err(ConnectionsError::not_listed(title, &error, now)),
            };
            let request = ChoicesRequest { option: option.name, query, connection, credentials: &opened.credentials };
            match timeout(CHOICES_TIMEOUT, platform.choices(&request, now)).await {
                Ok(Ok(listed)) => Ok(listed),
                Ok(Err(error)) => {
                    tracing::info!(?error, %connection_id, option = option.name, "choices were not listed");
                    Err(ConnectionsError::not_listed(title, &error, now))
                }
                Err(_) => Err(ConnectionsError::timed_out(title)),
            }
        };
        self.api.with_permit(connection.user_id, host.as_deref(), listed).await?
    }

    /// Runs in a task of its own, which continues when the client disconnects: the response of a
    /// refresh may be the only one with the new token.
    async fn open_credentials(
        &self,
        record: &ConnectionRecord,
        stored: StoredCredentials,
    ) -> Result<CallCredentials, ConnectingError> {
        let (app, record) = (self.clone(), record.clone());
        let task = tokio::spawn(async move {
            let Some(platform) = app.platforms.get(&record.connection.provider) else {
                return Ok(CallCredentials::Unavailable(DependencyError.into()));
            };
            app.credential_service().credentials_for_read(platform, &record, stored).await
        });
        task.await.unwrap_or_else(|error| {
            tracing::error!(%error, "credentials were not looked for to the end");
            Ok(CallCredentials::Unavailable(DependencyError.into()))
        })
    }
}

fn parse_query(params: Params) -> Result<Option<String>, ConnectionsError> {
    let mut fields = params.fields(&["query"]);
    let query = fields.text("query").value();
    if query.as_ref().is_some_and(|it| MAX_QUERY < it.chars().count()) {
        fields.add("query", format_args!("may have at most {MAX_QUERY} characters"));
    }
    mem::take(fields.faults()).or(query).map_err(ConnectionsError::InvalidQuery)
}

fn is_match(choice: &Choice, query: &str) -> bool {
    let is_in = |text: &str| text.to_lowercase().contains(&query.trim().to_lowercase());
    is_in(&choice.label) || is_in(&choice.value)
}
