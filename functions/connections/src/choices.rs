//! The values of an option that only the platform knows, such as boards.

use std::mem;

use api::Params;
use contract::ChoiceList;
use domain::connection::Connection;
use domain::id::ConnectionId;
use domain::options::OptionSpec;
use domain::owner::Owner;
use platforms::{Choice, ChoicesRequest, Credentials};

use crate::App;
use crate::error::ConnectionsError;

/// In characters.
pub(crate) const MAX_QUERY: usize = 200;

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
    /// The values as the platform returns them now.
    pub(crate) async fn choices(
        &self,
        owner: impl Into<Owner>,
        connection: &str,
        option: &str,
        params: Params,
    ) -> Result<Choices, ConnectionsError> {
        let id = ConnectionId::parse(connection).ok_or(ConnectionsError::UnknownOption)?;
        let record = self.api.store.connection(owner, id).await?.ok_or(ConnectionsError::UnknownOption)?;
        let provider = &record.connection.provider;
        let is_listed = |it: &&OptionSpec| it.name == option && it.kind.is_listed();
        let option = self.vocabulary.options(provider).iter().find(is_listed);
        let (option, platform) = option.zip(self.platforms.get(provider)).ok_or(ConnectionsError::UnknownOption)?;
        let query = parse_query(params)?;

        let (connection, searched, now) = (&record.connection, query.as_deref(), self.api.clock.now());
        let list = |credentials: Credentials| async move {
            let credentials = &credentials;
            let request = ChoicesRequest { option: option.name, query: searched, connection, credentials };
            platform.choices(&request, now).await
        };
        let listed = self.call_platform(platform, &record, list).await?;
        let mut values = listed.map_err(|error| {
            tracing::info!(?error, connection_id = %id, option = option.name, "choices were not listed");
            ConnectionsError::not_listed(&connection.rules.title, &error, now)
        })?;
        values.retain(|it| query.as_ref().is_none_or(|query| is_match(it, query)));
        Ok(Choices { connection: record.connection, option, query, values })
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
