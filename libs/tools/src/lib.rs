//! What an assistant can do with somebody's account: eleven tools of the Model
//! Context Protocol, on top of the API's client.
//!
//! The tools are the same over HTTP (the function `mcp`) and on a person's own
//! machine (`social mcp`). Each makes one call of the API, or two, and decides
//! nothing that the API would decide.

mod answer;
mod catalogue;
mod explain;
mod input;
mod reading;
mod refusals;
#[cfg(feature = "stdio")]
mod stdio;
#[cfg(test)]
mod tests;
mod writing;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use client::Client;
use rmcp::handler::server::ServerHandler;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, DiscoverResult, ErrorData, Implementation, InitializeRequestParams,
    InitializeResult, ListToolsResult, PaginatedRequestParams, ServerCapabilities, ServerConfig,
};
use rmcp::service::{RequestContext, RoleServer};

use crate::answer::Failure;
use crate::catalogue::Tool;

#[cfg(feature = "stdio")]
pub use crate::stdio::{StdioError, over_stdio};

/// What an assistant is told before it uses the tools.
const INSTRUCTIONS: &str = "Writes, schedules and looks after posts on the accounts that somebody connected. A post \
    without a time is a draft, and nothing of it goes out. A post with a time is scheduled; it is public only when \
    get_post says published. Ask the person before you schedule, unless they said when. Start with list_connections.";

/// The tools for the owner of one token.
#[derive(Clone, Debug)]
pub struct Server {
    client: Client,
    proves: bool,
    refused: Arc<AtomicBool>,
}

impl Server {
    /// Tools that call the API by this client, which has a token.
    pub fn new(client: Client) -> Self {
        Self { client, proves: false, refused: Arc::default() }
    }

    /// The same, but that whatever calls nothing of the API asks it whether the
    /// token is good: an assistant that finds out late that its token has ended
    /// disturbs the person in the middle of their work.
    #[must_use]
    pub fn proving_the_token(self) -> Self {
        Self { proves: true, ..self }
    }

    /// Whether the API refused the token in a call of this server or of its
    /// clones.
    pub fn was_refused(&self) -> bool {
        self.refused.load(Ordering::Relaxed)
    }

    async fn prove(&self) {
        if self.proves
            && let Err(error) = self.client.show_user().await
        {
            // Any other refusal is about something else than the token.
            self.note(&Failure::Api(error));
        }
    }

    fn note(&self, failure: &Failure) {
        if failure.is_of_the_token() {
            self.refused.store(true, Ordering::Relaxed);
        }
    }
}

impl ServerHandler for Server {
    fn get_info(&self) -> ServerConfig {
        let capabilities = ServerCapabilities::builder().enable_tools().build();
        let name = Implementation::new("social-publishing", env!("CARGO_PKG_VERSION")).with_title("Social Publishing");
        ServerConfig::new(capabilities).with_server_info(name).with_instructions(INSTRUCTIONS)
    }

    async fn initialize(
        &self,
        request: InitializeRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<InitializeResult, ErrorData> {
        self.prove().await;
        context.peer.set_peer_info(request.clone());
        self.negotiate_initialize(&request)
    }

    async fn discover(&self, _: RequestContext<RoleServer>) -> Result<DiscoverResult, ErrorData> {
        self.prove().await;
        Ok(DiscoverResult::from_server_info(self.supported_protocol_versions().into_owned(), self.get_info()))
    }

    async fn list_tools(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        self.prove().await;
        Ok(ListToolsResult::with_all_items(Tool::ALL.map(Tool::described).into()))
    }

    fn get_tool(&self, name: &str) -> Option<rmcp::model::Tool> {
        Tool::named(name).map(Tool::described)
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let Some(tool) = Tool::named(&request.name) else {
            self.prove().await;
            return Err(ErrorData::invalid_params(format!("there is no tool {}", shortened(&request.name)), None));
        };
        let answered = tool.call(self, request.arguments.unwrap_or_default()).await;
        match &answered {
            // Found wrong before anything was asked.
            Err(Failure::Input(_)) => self.prove().await,
            Err(failure) => self.note(failure),
            // What a status means is said without the API.
            Ok(_) if tool == Tool::ExplainError => self.prove().await,
            Ok(_) => {}
        }
        Ok(answer::result(answered).into())
    }
}

/// The beginning of what somebody else wrote.
fn shortened(raw: &str) -> String {
    raw.chars().filter(|it| !it.is_control()).take(64).collect()
}
