//! Files of the machine on which the tools run.

use std::fmt;
use std::pin::Pin;
use std::sync::Arc;

use serde_json::json;

use crate::input::UploadMediaFromFile;
use crate::result::{ToolError, ToolResult};

type Uploaded = Pin<Box<dyn Future<Output = Result<String, String>> + Send>>;

/// Returns the path of the file for a post, or why that is impossible.
#[derive(Clone)]
pub struct LocalFiles(Arc<dyn Fn(String) -> Uploaded + Send + Sync>);

impl LocalFiles {
    pub fn new(upload: impl Fn(String) -> Uploaded + Send + Sync + 'static) -> Self {
        Self(Arc::new(upload))
    }

    pub(crate) async fn upload(&self, file: UploadMediaFromFile) -> Result<ToolResult, ToolError> {
        let path = (self.0)(file.file).await.map_err(ToolError::Input)?;
        let sentence = format!("The file is uploaded. Use its path {path} in the media of a post.");
        Ok(ToolResult::new(sentence, "file", &json!({ "path": path })))
    }
}

impl fmt::Debug for LocalFiles {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("LocalFiles")
    }
}
