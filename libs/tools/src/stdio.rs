//! The tools for a program that starts this one and uses its standard input and output.

use std::fmt;

use client::Client;
use rmcp::ServiceExt;

use crate::{LocalFiles, Server};

#[derive(Debug)]
pub struct StdioError(String);

impl fmt::Display for StdioError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for StdioError {}

/// Serves the tools on standard input and output until the client closes them. Nothing else may be
/// written to standard output in the meantime. `offset` is the person's offset from UTC, such as
/// `+01:00`; `files` are those that the person shares.
pub async fn serve_stdio(client: Client, offset: String, files: Option<LocalFiles>) -> Result<(), StdioError> {
    let origin = client.base().origin();
    let server = Server { offset: Some(offset), files, ..Server::new(client, origin) };
    let failed = |error: &dyn fmt::Display| StdioError(format!("the MCP connection failed: {error}"));
    let running = server.serve(rmcp::transport::stdio()).await.map_err(|error| failed(&error))?;
    running.waiting().await.map_err(|error| failed(&error))?;
    Ok(())
}
