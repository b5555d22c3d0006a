//! `social platforms`, `connect` and `connections`.

use std::time::Duration;

use client::{ConnectionRequestStatus, ListConnections};
use serde_json::Value;

use crate::account;
use crate::arguments::{Connect, ConnectionsCommand};
use crate::error::CliError;
use crate::output::{self, notice};
use crate::session::Session;
use crate::sign_in::{open, web_page};

/// The API allows sixty requests a minute.
const ASKED_EVERY: Duration = Duration::from_secs(3);

pub(crate) async fn platforms(session: &Session) -> Result<(), CliError> {
    let platforms = session.client.list_platforms().await?;
    if session.json {
        return output::line(&platforms.json);
    }
    let row = |it: &client::Platform| {
        let usable = match it.missing.as_slice() {
            [] => "yes".to_owned(),
            _ if !it.usable => "not set up in this deployment".to_owned(),
            missing => format!("missing: {}", missing.join(", ")),
        };
        let options = it.options.get("properties").and_then(Value::as_object);
        let options = options.map(|it| it.keys().cloned().collect::<Vec<_>>().join(", ")).unwrap_or_default();
        vec![it.name.clone(), it.title.clone(), usable, options]
    };
    output::table(&["NAME", "PLATFORM", "USABLE", "OPTIONS"], &platforms.data.iter().map(row).collect::<Vec<_>>())
}

pub(crate) async fn connect(session: &Session, arguments: &Connect) -> Result<(), CliError> {
    let request = session.client.begin_connection(&arguments.platform, arguments.of_profile).await?;
    let page = web_page(&request.authorization_url)?;
    notice(&format!("Open {page}\nand connect the account there. Waiting for up to ten minutes."));
    if !arguments.no_browser && output::is_interactive() {
        open(&page);
    }
    loop {
        let status = session.client.poll_connection(&arguments.platform, &request.state_token).await?;
        match &status.value {
            ConnectionRequestStatus::Pending { .. } => tokio::time::sleep(ASKED_EVERY).await,
            ConnectionRequestStatus::Failed => {
                return Err(CliError::Refused(
                    "the account was not connected; read the reason in the browser, then run the command again"
                        .to_owned(),
                ));
            }
            ConnectionRequestStatus::Completed { .. } if session.json => return output::line(&status.json),
            ConnectionRequestStatus::Completed { connection } => {
                let connected = connection.as_ref().map_or_else(|| arguments.platform.clone(), account::name);
                return output::line(&format!("Connected {connected}"));
            }
        }
    }
}

pub(crate) async fn run(session: &Session, command: Option<ConnectionsCommand>) -> Result<(), CliError> {
    match command.unwrap_or(ConnectionsCommand::List) {
        ConnectionsCommand::List => list(session).await,
        ConnectionsCommand::Show { account } => show(session, &account).await,
        ConnectionsCommand::Choices { account, option, query } => {
            let id = find(session, &account).await?;
            let choices = session.client.list_choices(id, &option, query.as_deref()).await?;
            if session.json {
                return output::line(&choices.json);
            }
            let rows: Vec<_> = choices.data.iter().map(|it| vec![it.value.clone(), it.label.clone()]).collect();
            output::table(&["VALUE", "LABEL"], &rows)
        }
        ConnectionsCommand::Disconnect { account } => {
            session.client.delete_connection(find(session, &account).await?).await?;
            output::line(&format!("Disconnected {}", output::plain(&account)))
        }
    }
}

async fn find(session: &Session, query: &str) -> Result<u64, CliError> {
    let accounts = session.client.list_connections(&ListConnections::default()).await?;
    Ok(account::find(&accounts.data, query)?.id)
}

async fn list(session: &Session) -> Result<(), CliError> {
    let accounts = session.client.list_connections(&ListConnections::default()).await?;
    if session.json {
        return output::line(&accounts.json);
    }
    if accounts.data.is_empty() {
        return output::line("No account is connected. Connect one with `social connect PLATFORM`");
    }
    let row = |it: &client::Connection| {
        let state = if it.needs_reconnection { "reconnect needed" } else { "active" };
        let profile = it.profile_id.map(|it| it.to_string()).unwrap_or_default();
        let name = it.display_name.clone().unwrap_or_default();
        vec![it.id.to_string(), account::name(it), name, state.to_owned(), profile]
    };
    output::table(&["ID", "ACCOUNT", "NAME", "STATE", "PROFILE"], &accounts.data.iter().map(row).collect::<Vec<_>>())
}

async fn show(session: &Session, query: &str) -> Result<(), CliError> {
    let details = session.client.show_connection(find(session, query).await?).await?;
    if session.json {
        return output::line(&details.json);
    }
    output::line(&format!("{} ({})", account::name(&details.connection), details.connection.id))?;
    let row = |it: &client::MetaEntry| {
        let value = it.value.as_str().map_or_else(|| it.value.to_string(), ToOwned::to_owned);
        let when = it.when.as_ref().map(|it| format!("{} is {}", it.option, Value::Array(it.is.clone())));
        vec![it.name.clone(), value, when.unwrap_or_default()]
    };
    output::table(&["LIMIT", "VALUE", "IF"], &details.meta.iter().map(row).collect::<Vec<_>>())
}
