//! What the command line takes.

#![allow(clippy::doc_markdown, reason = "these comments are what --help prints")]

mod content;
mod files;
mod webhooks;

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};

pub(crate) use self::content::{ConnectionsCommand, Edit, ListArguments, Post, PostsCommand};
pub(crate) use self::files::{Export, Format, Import};
pub(crate) use self::webhooks::{Listen, WebhooksCommand};

const EXIT_CODES: &str = "\
Exit codes: 0 done, 1 something failed and nothing happened, 2 wrong usage, 3 not signed in,
4 refused by the service, 5 nobody knows whether it happened.";

/// Posts from a terminal, by a deployment of Social Publishing.
///
/// The token comes from SOCIAL_TOKEN, else from the profile that `social login` made: in the
/// system's keyring, or in a file that only you can read where there is none.
#[derive(Parser)]
#[command(name = "social", version, after_help = EXIT_CODES)]
pub(crate) struct Arguments {
    #[command(flatten)]
    pub(crate) common: Common,
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Args, Clone)]
pub(crate) struct Common {
    /// The deployment, such as https://social.example; `login` remembers it.
    #[arg(long, global = true, env = "SOCIAL_URL", value_name = "URL")]
    pub(crate) url: Option<String>,
    /// Which of several sign-ins.
    #[arg(long, global = true, env = "SOCIAL_PROFILE", value_name = "NAME", default_value = "default")]
    pub(crate) profile: String,
    /// Print the service's answer as JSON, unchanged.
    #[arg(long, global = true)]
    pub(crate) json: bool,
}

#[derive(Subcommand)]
pub(crate) enum Command {
    /// Sign in: shows a code, and waits until you have approved it in a browser.
    Login(Login),
    /// Forget the token of this profile.
    Logout,
    /// Show who is signed in, and where.
    Status,
    /// List the platforms, and which of them can be connected here.
    Platforms,
    /// Connect an account on a platform, in a browser.
    Connect(Connect),
    /// List, show and disconnect accounts.
    Connections {
        #[command(subcommand)]
        command: Option<ConnectionsCommand>,
    },
    /// Write a post: now, at a time, or as a draft.
    #[command(after_help = content::POST_HELP)]
    Post(Post),
    /// List, show, change and delete posts.
    Posts {
        #[command(subcommand)]
        command: PostsCommand,
    },
    /// Make a post of each line of a CSV or JSONL file, once.
    #[command(after_help = files::IMPORT_HELP)]
    Import(Import),
    /// Write posts to a CSV or JSONL file.
    Export(Export),
    /// Endpoints of yours that are told what happened.
    Webhooks {
        #[command(subcommand)]
        command: WebhooksCommand,
    },
    /// Forward what a webhook is told to a program on this machine.
    #[command(after_help = webhooks::LISTEN_HELP)]
    Listen(Listen),
    /// Give an assistant your account: it starts this, and talks to it by its
    /// standard input and output. What it may do is printed on standard error.
    Mcp(Mcp),
    /// Print what makes a shell complete commands.
    Completions {
        /// Which shell.
        shell: clap_complete::Shell,
    },
    /// Write manual pages.
    Man {
        /// Into this folder.
        folder: PathBuf,
    },
}

#[derive(Args)]
pub(crate) struct Login {
    /// Open no browser; open the address yourself, on any machine.
    #[arg(long)]
    pub(crate) no_browser: bool,
    /// Read a token from standard input instead.
    #[arg(long)]
    pub(crate) with_token: bool,
    /// What the token is to permit, such as posts:write; everything when absent.
    #[arg(long = "scope", value_name = "SCOPE", conflicts_with = "with_token")]
    pub(crate) scopes: Vec<String>,
    /// Permit reading, uploading and drafts, and nothing that goes out: posts:draft in place
    /// of posts:write, without connections:write and webhooks:write.
    #[arg(long, conflicts_with_all = ["with_token", "scopes"])]
    pub(crate) drafts: bool,
}

#[derive(Args)]
pub(crate) struct Mcp {
    /// Refuse a login that permits more than drafts; `social login --drafts` makes one that
    /// does not.
    #[arg(long)]
    pub(crate) drafts: bool,
}

#[derive(Args)]
pub(crate) struct Connect {
    /// As `social platforms` lists it.
    pub(crate) platform: String,
    /// Open no browser; open the address yourself.
    #[arg(long)]
    pub(crate) no_browser: bool,
}
