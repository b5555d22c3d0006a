//! The arguments of the command line. `content`, `files` and `webhooks` have the larger commands.

#![allow(clippy::doc_markdown, reason = "these comments are what --help prints")]

mod content;
mod examples;
mod files;
mod profiles;
mod webhooks;

use std::path::PathBuf;

use clap::{Args, CommandFactory, Parser, Subcommand};

pub(crate) use self::content::{ConnectionsCommand, Edit, ListArguments, Post, PostsCommand};
pub(crate) use self::files::{Export, Format, Import};
pub(crate) use self::profiles::{ConnectLink, ProfilesCommand};
pub(crate) use self::webhooks::{Listen, WebhooksCommand};

const EXIT_CODES: &str = "\
Exit codes: 0 done, 1 failed and nothing changed, 2 wrong usage, 3 not signed in,
4 refused by the service, 5 outcome unknown (safe to retry with the printed command).";

/// Publish and schedule social posts from your terminal.
///
/// The token comes from SOCIAL_TOKEN, or from the profile that `social login` saved: in the
/// system's keyring, or, without a keyring, in a file that only you can read.
#[derive(Parser)]
#[command(name = "social", version, after_help = EXIT_CODES)]
pub(crate) struct Arguments {
    #[command(flatten)]
    pub(crate) common: Common,
    #[command(subcommand)]
    pub(crate) command: Command,
}

pub(crate) fn command() -> clap::Command {
    examples::with_examples(Arguments::command())
}

#[derive(Args, Clone)]
pub(crate) struct Common {
    /// URL of the deployment, such as https://social.example; `login` saves it.
    #[arg(long, global = true, help_heading = "Global options", env = "SOCIAL_URL", value_name = "URL")]
    pub(crate) url: Option<String>,
    /// Saved sign-in to use, if you have several. It is no profile of a customer.
    #[arg(long, global = true, help_heading = "Global options", env = "SOCIAL_PROFILE")]
    #[arg(value_name = "NAME", default_value = "default")]
    pub(crate) profile: String,
    /// Print the service's response as JSON.
    #[arg(long, global = true, help_heading = "Global options")]
    pub(crate) json: bool,
}

#[derive(Subcommand)]
pub(crate) enum Command {
    /// Sign in: show a code and wait until you approve it in a browser.
    Login(Login),
    /// Delete the saved token of this profile. The token stays valid until you revoke it.
    Logout,
    /// Show the deployment, the signed-in user and the scopes of the token.
    Status,
    /// List platforms and their options, and which of them this deployment can connect.
    Platforms,
    /// Connect an account in a browser.
    Connect(Connect),
    /// Create a link with which a customer connects accounts for a profile.
    ConnectLink(ConnectLink),
    /// Manage connected accounts.
    Connections {
        #[command(subcommand)]
        command: Option<ConnectionsCommand>,
    },
    /// Manage profiles: the customers for whom you publish.
    Profiles {
        #[command(subcommand)]
        command: ProfilesCommand,
    },
    /// Create a post: publish it now, schedule it, or save a draft.
    #[command(after_help = content::POST_HELP)]
    Post(Post),
    /// Manage posts.
    Posts {
        #[command(subcommand)]
        command: PostsCommand,
    },
    /// Create one post for each line of a CSV or JSONL file.
    #[command(after_help = files::IMPORT_HELP)]
    Import(Import),
    /// Export posts to a CSV or JSONL file.
    Export(Export),
    /// Manage webhook endpoints.
    Webhooks {
        #[command(subcommand)]
        command: WebhooksCommand,
    },
    /// Forward webhook events to a program on this machine.
    #[command(after_help = webhooks::LISTEN_HELP)]
    Listen(Listen),
    /// Show how the service finds a post whose response was lost: needs `cargo dev` on this machine.
    Demo(Demo),
    /// Run an MCP server for an assistant on standard input and output. The scopes of the token are
    /// printed on standard error.
    Mcp(Mcp),
    /// Generate a shell completion script.
    Completions {
        /// Shell to generate the script for.
        shell: clap_complete::Shell,
    },
    /// Generate manual pages.
    Man {
        /// Folder to write to.
        folder: PathBuf,
    },
}

#[derive(Args)]
pub(crate) struct Login {
    /// Do not open a browser; open the printed URL yourself, on any machine.
    #[arg(long)]
    pub(crate) no_browser: bool,
    /// Read a token from standard input instead.
    #[arg(long)]
    pub(crate) with_token: bool,
    /// Scope of the token, such as posts:write; repeatable. Default: all scopes.
    #[arg(long = "scope", value_name = "SCOPE", conflicts_with = "with_token")]
    pub(crate) scopes: Vec<String>,
    /// Permit only reading, uploading and drafts: posts:draft instead of posts:write, and neither
    /// connections:write nor webhooks:write.
    #[arg(long, conflicts_with_all = ["with_token", "scopes"])]
    pub(crate) drafts: bool,
}

#[derive(Args)]
pub(crate) struct Mcp {
    /// Refuse to start if the token permits more than drafts; sign in with `social login --drafts`
    /// first.
    #[arg(long)]
    pub(crate) drafts: bool,
    /// Folder whose images, videos and PDF documents the assistant may upload.
    #[arg(long, value_name = "FOLDER")]
    pub(crate) files: Option<PathBuf>,
}

#[derive(Args)]
pub(crate) struct Demo {
    /// Do not open a browser; open the printed URLs yourself.
    #[arg(long)]
    pub(crate) no_browser: bool,
}

#[derive(Args)]
pub(crate) struct Connect {
    /// Name of the platform, as `social platforms` lists it.
    pub(crate) platform: String,
    /// Id of the profile whose account it is, as `social profiles list` shows it. Default: your own account.
    #[arg(long = "for", value_name = "PROFILE")]
    pub(crate) of_profile: Option<u64>,
    /// Do not open a browser; open the printed URL yourself.
    #[arg(long)]
    pub(crate) no_browser: bool,
}
