//! The tools: their names, what an assistant reads of them, and what they do.

use std::sync::Arc;

use rmcp::handler::server::tool::schema_for_type;
use rmcp::model::{JsonObject, ToolAnnotations};
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::result::{ToolError, ToolResult};
use crate::{Server, explain, input, reading, writing};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Tool {
    ListPlatforms,
    ListConnections,
    ValidatePost,
    CreatePost,
    ListPosts,
    GetPost,
    ChangePost,
    CancelPost,
    RetryPost,
    UploadMediaFromUrl,
    ExplainError,
}

/// What a call of a tool can do, which a program can use to ask its user first.
#[derive(Clone, Copy)]
enum Effect {
    /// It changes nothing.
    Reads,
    /// It adds something, each time.
    Adds,
    /// It adds something once, however often it is called with the same arguments.
    AddsOnce,
    /// It replaces or removes something.
    Replaces,
}

impl Tool {
    pub(crate) const ALL: [Self; 11] = [
        Self::ListPlatforms,
        Self::ListConnections,
        Self::ValidatePost,
        Self::CreatePost,
        Self::ListPosts,
        Self::GetPost,
        Self::ChangePost,
        Self::CancelPost,
        Self::RetryPost,
        Self::UploadMediaFromUrl,
        Self::ExplainError,
    ];

    pub(crate) fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|it| it.name() == name)
    }

    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::ListPlatforms => "list_platforms",
            Self::ListConnections => "list_connections",
            Self::ValidatePost => "validate_post",
            Self::CreatePost => "create_post",
            Self::ListPosts => "list_posts",
            Self::GetPost => "get_post",
            Self::ChangePost => "change_post",
            Self::CancelPost => "cancel_post",
            Self::RetryPost => "retry_post",
            Self::UploadMediaFromUrl => "upload_media_from_url",
            Self::ExplainError => "explain_error",
        }
    }

    const fn title(self) -> &'static str {
        match self {
            Self::ListPlatforms => "List platforms",
            Self::ListConnections => "List accounts",
            Self::ValidatePost => "Check a post",
            Self::CreatePost => "Create a post",
            Self::ListPosts => "List posts",
            Self::GetPost => "Show a post",
            Self::ChangePost => "Change a post",
            Self::CancelPost => "Cancel a post",
            Self::RetryPost => "Try a failed post again",
            Self::UploadMediaFromUrl => "Take a file from a URL",
            Self::ExplainError => "Explain an error",
        }
    }

    const fn words(self) -> &'static str {
        match self {
            Self::ListPlatforms => {
                "Lists the platforms; with a name, what a post can say on this one alone (options) and its rules."
            }
            Self::ListConnections => {
                "Lists the accounts that posts can go to, with their ids; with an id, what that account asks of a \
                 post, such as the longest text."
            }
            Self::ValidatePost => {
                "Says whether a post would be taken for publishing, and what is wrong with it. Keeps nothing. Use it \
                 before create_post."
            }
            Self::CreatePost => {
                "Creates a draft, or schedules a post when scheduled_at is given. A scheduled post is not public \
                 yet: it goes out at its time, once to each account."
            }
            Self::ListPosts => "Lists posts, the newest first, with the beginning of their texts.",
            Self::GetPost => "Shows a post: its text, and for each account whether it is public, where, or why not.",
            Self::ChangePost => {
                "Changes a draft, a scheduled or a failed post. What is left out stays. With scheduled_at, a draft is \
                 scheduled, and a failed post is tried again as by retry_post."
            }
            Self::CancelPost => {
                "Stops a scheduled post before it goes out: back to a draft, or deleted. Drafts can be deleted with \
                 it too. What is public stays public."
            }
            Self::RetryPost => {
                "Tries a failed post again at the accounts where it is not public. Read with explain_error first why \
                 it failed: where it may be public after all, somebody has to look before."
            }
            Self::UploadMediaFromUrl => {
                "Has the service take a picture or video from a URL, and gives the path by which a post names it."
            }
            Self::ExplainError => {
                "Says what a refusal means, or why a post is not public everywhere, and what to do next."
            }
        }
    }

    const fn effect(self) -> Effect {
        match self {
            Self::ListPlatforms
            | Self::ListConnections
            | Self::ValidatePost
            | Self::ListPosts
            | Self::GetPost
            | Self::ExplainError => Effect::Reads,
            Self::UploadMediaFromUrl => Effect::Adds,
            Self::CreatePost => Effect::AddsOnce,
            Self::ChangePost | Self::CancelPost | Self::RetryPost => Effect::Replaces,
        }
    }

    /// Whether it publishes something, or returns words that platforms or their users wrote. Clients take the output of
    /// such a tool for untrusted.
    const fn is_open_world(self) -> bool {
        !matches!(self, Self::ListPlatforms | Self::ValidatePost | Self::CancelPost)
    }

    /// As the protocol has it.
    pub(crate) fn described(self) -> rmcp::model::Tool {
        let hints = ToolAnnotations::new().open_world(self.is_open_world());
        let hints = match self.effect() {
            Effect::Reads => hints.read_only(true),
            Effect::Adds => hints.read_only(false).destructive(false).idempotent(false),
            Effect::AddsOnce => hints.read_only(false).destructive(false).idempotent(true),
            Effect::Replaces => hints.read_only(false).destructive(true).idempotent(self == Self::CancelPost),
        };
        let tool = rmcp::model::Tool::new(self.name(), self.words(), self.schema());
        tool.with_title(self.title()).with_annotations(hints)
    }

    fn schema(self) -> Arc<JsonObject> {
        match self {
            Self::ListPlatforms => schema_for_type::<input::ListPlatforms>(),
            Self::ListConnections => schema_for_type::<input::ListConnections>(),
            Self::ValidatePost => schema_for_type::<input::ValidatePost>(),
            Self::CreatePost => schema_for_type::<input::CreatePost>(),
            Self::ListPosts => schema_for_type::<input::ListPosts>(),
            Self::GetPost => schema_for_type::<input::GetPost>(),
            Self::ChangePost => schema_for_type::<input::ChangePost>(),
            Self::CancelPost => schema_for_type::<input::CancelPost>(),
            Self::RetryPost => schema_for_type::<input::RetryPost>(),
            Self::UploadMediaFromUrl => schema_for_type::<input::UploadMedia>(),
            Self::ExplainError => schema_for_type::<input::ExplainError>(),
        }
    }

    pub(crate) async fn call(self, server: &Server, arguments: JsonObject) -> Result<ToolResult, ToolError> {
        let client = &server.client;
        match self {
            Self::ListPlatforms => reading::list_platforms(client, read(arguments)?).await,
            Self::ListConnections => reading::list_connections(client, read(arguments)?).await,
            Self::ValidatePost => writing::validate_post(client, read(arguments)?).await,
            Self::CreatePost => writing::create_post(client, read(arguments)?).await,
            Self::ListPosts => reading::list_posts(client, read(arguments)?).await,
            Self::GetPost => reading::get_post(client, read(arguments)?).await,
            Self::ChangePost => writing::change_post(client, read(arguments)?).await,
            Self::CancelPost => writing::cancel_post(client, read(arguments)?).await,
            Self::RetryPost => writing::retry_post(client, read(arguments)?).await,
            Self::UploadMediaFromUrl => writing::upload_media(client, read(arguments)?).await,
            Self::ExplainError => explain::explain(client, &read(arguments)?).await,
        }
    }
}

/// The arguments as a tool takes them. A field that is unknown is not passed
/// over: a typing error must never make a draft of a scheduled post.
fn read<T: DeserializeOwned>(arguments: JsonObject) -> Result<T, ToolError> {
    serde_json::from_value(Value::Object(arguments)).map_err(|error| ToolError::Input(error.to_string()))
}
