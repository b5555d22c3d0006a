//! Eleven tools of the Model Context Protocol for assistants, on top of the API's client, and a
//! twelfth for files of a user's machine. `catalogue` lists them.
//!
//! The tools are the same over HTTP (the function `mcp`) and on a user's machine (`social mcp`). Each
//! makes one or two API calls and decides nothing that the API decides.

mod catalogue;
mod explain;
mod files;
mod input;
mod output;
mod reading;
mod refusals;
mod request;
mod result;
#[cfg(feature = "stdio")]
mod stdio;
#[cfg(test)]
mod tests;
mod writing;

use client::Client;
use rmcp::handler::server::ServerHandler;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, DiscoverResult, ErrorData, Implementation, InitializeRequestParams,
    InitializeResult, ListToolsResult, PaginatedRequestParams, ServerCapabilities, ServerConfig,
};
use rmcp::service::{RequestContext, RoleServer};

use crate::catalogue::Tool;

pub use crate::files::LocalFiles;
#[cfg(feature = "stdio")]
pub use crate::stdio::{StdioError, serve_stdio};

/// Instructions that an assistant reads before it uses the tools.
const INSTRUCTIONS: &str = "Creates, schedules and manages posts on the accounts that the person connected. A post \
    without a time is a draft and is not published. A post with a time is scheduled; it is public only when get_post \
    returns the status published. Ask the person before you schedule or publish, unless they named a time. A time needs \
    an offset: if you do not know the person's time zone, ask for it. Start with list_connections.";

#[derive(Clone, Debug)]
pub struct Server {
    client: Client,
    origin: String,
    /// Such as `+01:00`; `None` if the server does not know it.
    offset: Option<String>,
    /// `None` if the person shares none.
    files: Option<LocalFiles>,
}

impl Server {
    /// The client has the user's token.
    pub fn new(client: Client, origin: String) -> Self {
        Self { client, origin, offset: None, files: None }
    }

    fn has(&self, tool: Tool) -> bool {
        tool != Tool::UploadMediaFromFile || self.files.is_some()
    }

    fn instructions(&self) -> String {
        match &self.offset {
            Some(offset) => format!("{INSTRUCTIONS} The person's computer has the offset {offset} now."),
            None => INSTRUCTIONS.to_owned(),
        }
    }
}

impl ServerHandler for Server {
    fn get_info(&self) -> ServerConfig {
        let capabilities = ServerCapabilities::builder().enable_tools().build();
        let name = Implementation::new("social-publishing", env!("CARGO_PKG_VERSION")).with_title("Social Publishing");
        ServerConfig::new(capabilities).with_server_info(name).with_instructions(self.instructions())
    }

    async fn initialize(
        &self,
        request: InitializeRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<InitializeResult, ErrorData> {
        context.peer.set_peer_info(request.clone());
        self.negotiate_initialize(&request)
    }

    async fn discover(&self, _: RequestContext<RoleServer>) -> Result<DiscoverResult, ErrorData> {
        Ok(DiscoverResult::from_server_info(self.supported_protocol_versions().into_owned(), self.get_info()))
    }

    async fn list_tools(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        Ok(ListToolsResult::with_all_items(
            Tool::ALL.into_iter().filter(|it| self.has(*it)).map(Tool::described).collect(),
        ))
    }

    fn get_tool(&self, name: &str) -> Option<rmcp::model::Tool> {
        Tool::named(name).filter(|it| self.has(*it)).map(Tool::described)
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let Some(tool) = Tool::named(&request.name).filter(|it| self.has(*it)) else {
            return Err(ErrorData::invalid_params(
                format!("unknown tool {:?}; tools/list lists the tools", displayable_name(&request.name)),
                None,
            ));
        };
        let outcome = tool.call(self, request.arguments.unwrap_or_default()).await;
        Ok(result::result(outcome).into())
    }
}

/// Without control characters.
fn displayable_name(raw: &str) -> String {
    raw.chars().filter(|it| !it.is_control()).take(64).collect()
}
