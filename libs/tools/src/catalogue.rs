//! The tools: names, descriptions, hints and calls.

use std::sync::Arc;

use client::{
    Connection, ConnectionDetails, DescribedMedia, MediumView, NewPost, Platform, Post, PostChanges, Validation,
};
use rmcp::handler::server::tool::schema_for_type;
use rmcp::model::{JsonObject, ToolAnnotations};

use crate::output::{self, ExplainedAccount, PlatformSummary, PostSummary};
use crate::request::{self, parse, parse_with};
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
    /// Only on a user's machine.
    UploadMediaFromFile,
}

/// A client can ask its user first.
#[derive(Clone, Copy)]
enum Effect {
    Reads,
    /// Adds something with each call.
    Adds,
    /// Adds something once, even if called several times with the same arguments.
    AddsOnce,
    Replaces,
}

impl Tool {
    pub(crate) const ALL: [Self; 12] = [
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
        Self::UploadMediaFromFile,
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
            Self::UploadMediaFromFile => "upload_media_from_file",
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
            Self::RetryPost => "Retry a failed post",
            Self::UploadMediaFromUrl => "Upload a file from a URL",
            Self::ExplainError => "Explain an error",
            Self::UploadMediaFromFile => "Upload a file",
        }
    }

    const fn description(self) -> &'static str {
        match self {
            Self::ListPlatforms => "Lists the platforms. With a name, shows the options and rules of that platform.",
            Self::ListConnections => {
                "Lists the connected accounts with their ids. With an id, shows the limits of that account, such as \
                 the maximum length of a text."
            }
            Self::ValidatePost => {
                "Checks whether a post is valid, and returns its errors and warnings. Stores nothing. Use it before \
                 create_post."
            }
            Self::CreatePost => {
                "Creates a draft, or schedules a post if scheduled_at is given, once for each idempotency_key, which you \
                 choose. \"now\" publishes it at once. thread adds replies that continue the post, in the same call. A \
                 scheduled post is not public yet: it is published at its time, once on each account."
            }
            Self::ListPosts => "Lists posts, newest first, with the first 280 characters of their texts.",
            Self::GetPost => {
                "Shows a post: its text, its replies, and for each account the status, the URL or the error, also of each \
                 segment: the post, every reply, and the first comment."
            }
            Self::ChangePost => {
                "Changes a draft, a scheduled or a failed post. Fields that you leave out stay unchanged. With \
                 scheduled_at, a draft is scheduled, and a failed post is retried as by retry_post."
            }
            Self::CancelPost => {
                "Cancels a scheduled post before it is published: it becomes a draft or is deleted. With then=delete, \
                 also deletes drafts and failed posts. Published posts stay public."
            }
            Self::RetryPost => {
                "Retries a failed post on the accounts where it is not public. Call explain_error first to see why it \
                 failed: if the post may already be public, a person has to check the account before you retry."
            }
            Self::UploadMediaFromUrl => {
                "Uploads an image, video or PDF document from a public URL, and returns its path, which create_post and \
                 change_post accept in media."
            }
            Self::ExplainError => {
                "Explains an error of the API, or why a post is not public on every account, and what to do next."
            }
            Self::UploadMediaFromFile => {
                "Uploads an image, video or PDF document from the folder that the person shares, and returns its path, \
                 which create_post and change_post accept in media."
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
            Self::UploadMediaFromUrl | Self::UploadMediaFromFile => Effect::Adds,
            Self::CreatePost => Effect::AddsOnce,
            Self::ChangePost | Self::CancelPost | Self::RetryPost => Effect::Replaces,
        }
    }

    /// Whether the tool publishes something, or returns text that platforms or their users wrote. Clients
    /// treat the output of such a tool as untrusted.
    const fn is_open_world(self) -> bool {
        !matches!(self, Self::ListPlatforms | Self::ValidatePost | Self::CancelPost)
    }

    pub(crate) fn described(self) -> rmcp::model::Tool {
        let hints = ToolAnnotations::new().open_world(self.is_open_world());
        let hints = match self.effect() {
            Effect::Reads => hints.read_only(true),
            Effect::Adds => hints.read_only(false).destructive(false).idempotent(false),
            Effect::AddsOnce => hints.read_only(false).destructive(false).idempotent(true),
            Effect::Replaces => hints.read_only(false).destructive(true).idempotent(self == Self::CancelPost),
        };
        let tool = rmcp::model::Tool::new(self.name(), self.description(), self.schema());
        let tool = tool.with_raw_output_schema(self.output_schema().into());
        tool.with_title(self.title()).with_annotations(hints)
    }

    fn schema(self) -> Arc<JsonObject> {
        match self {
            Self::ListPlatforms => schema_for_type::<input::ListPlatforms>(),
            Self::ListConnections => schema_for_type::<input::ListConnections>(),
            Self::ValidatePost => request::schema::<NewPost>().into(),
            Self::CreatePost => request::schema_with::<input::CreatePost, NewPost>().into(),
            Self::ListPosts => schema_for_type::<input::ListPosts>(),
            Self::GetPost => schema_for_type::<input::GetPost>(),
            Self::ChangePost => request::schema_with::<input::ChangePost, PostChanges>().into(),
            Self::CancelPost => schema_for_type::<input::CancelPost>(),
            Self::RetryPost => schema_for_type::<input::RetryPost>(),
            Self::UploadMediaFromUrl => request::schema_of_fetched_file().into(),
            Self::ExplainError => schema_for_type::<input::ExplainError>(),
            Self::UploadMediaFromFile => schema_for_type::<input::UploadMediaFromFile>(),
        }
    }

    fn output_schema(self) -> JsonObject {
        match self {
            Self::ListPlatforms => output::schema([
                ("platforms", output::own::<PlatformSummary>()),
                ("platform", output::response::<Platform>()),
            ]),
            Self::ListConnections => output::schema([
                ("accounts", output::responses::<Connection>()),
                ("account", output::response::<ConnectionDetails>()),
            ]),
            Self::ValidatePost => output::schema([("validation", output::response::<Validation>())]),
            Self::ListPosts => output::schema([("posts", output::own::<PostSummary>())]),
            Self::CreatePost | Self::GetPost | Self::ChangePost | Self::CancelPost | Self::RetryPost => {
                output::schema([("post", output::response::<Post>())])
            }
            Self::UploadMediaFromUrl => output::schema([("file", output::response::<MediumView>())]),
            Self::ExplainError => output::schema([("accounts", output::own::<ExplainedAccount>())]),
            Self::UploadMediaFromFile => output::schema([("file", output::response::<DescribedMedia>())]),
        }
    }

    pub(crate) async fn call(self, server: &Server, arguments: JsonObject) -> Result<ToolResult, ToolError> {
        let client = &server.client;
        match self {
            Self::ListPlatforms => reading::list_platforms(client, parse(arguments)?).await,
            Self::ListConnections => reading::list_connections(client, parse(arguments)?).await,
            Self::ValidatePost => writing::validate_post(client, &parse(arguments)?).await,
            Self::CreatePost => {
                let (key, post) = parse_with(arguments)?;
                writing::create_post(server, key, &post).await
            }
            Self::ListPosts => reading::list_posts(client, parse(arguments)?).await,
            Self::GetPost => reading::get_post(server, parse(arguments)?).await,
            Self::ChangePost => {
                let (which, changes) = parse_with(arguments)?;
                writing::change_post(server, &which, &changes).await
            }
            Self::CancelPost => writing::cancel_post(server, parse(arguments)?).await,
            Self::RetryPost => writing::retry_post(server, parse(arguments)?).await,
            Self::UploadMediaFromUrl => writing::upload_media(client, &parse(arguments)?).await,
            Self::ExplainError => explain::explain(server, &parse(arguments)?).await,
            Self::UploadMediaFromFile => match &server.files {
                Some(files) => files.upload(parse(arguments)?).await,
                None => Err(ToolError::Input("the person shares no files".to_owned())),
            },
        }
    }
}
