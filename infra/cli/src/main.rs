//! `social`: the command line. `arguments` defines the commands; most have a module of their name.

mod account;
mod arguments;
mod assistant;
mod connecting;
mod demo;
mod error;
mod export;
mod files;
mod import;
mod keyring;
mod listen;
mod manual;
mod output;
mod plain;
mod posting;
mod posts;
mod profile;
mod profiles;
mod session;
mod sign_in;
mod webhooks;
mod when;

use std::process::ExitCode;

use clap::FromArgMatches;

use self::arguments::{Arguments, Command};
use self::error::CliError;
use self::session::Session;

#[tokio::main]
async fn main() -> ExitCode {
    // Once for all clients of this process.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let matches = arguments::command().get_matches();
    let arguments = Arguments::from_arg_matches(&matches).unwrap_or_else(|error| error.exit());
    match run(arguments).await {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => failure.report(),
    }
}

async fn run(arguments: Arguments) -> Result<(), CliError> {
    let Arguments { common, command } = arguments;
    match command {
        Command::Completions { shell } => manual::completions(shell),
        Command::Man { folder } => manual::pages(&folder),
        Command::Login(it) => sign_in::login(&common, &it).await,
        Command::Logout => sign_in::logout(&common),
        Command::Status => sign_in::status(&common).await,
        Command::Platforms => connecting::platforms(&Session::open(&common)?).await,
        Command::Connect(it) => connecting::connect(&Session::open(&common)?, &it).await,
        Command::Connections { command } => connecting::run(&Session::open(&common)?, command).await,
        Command::ConnectLink(arguments) => profiles::create_link(&Session::open(&common)?, arguments).await,
        Command::Profiles { command } => profiles::run(&Session::open(&common)?, command).await,
        Command::Post(it) => {
            let session = Session::open(&common)?;
            match posting::post(&session, it).await? {
                Some(id) => posts::watch_publication(&session, id).await,
                None => Ok(()),
            }
        }
        Command::Posts { command } => posts::run(&Session::open(&common)?, command).await,
        Command::Import(it) => import::run(&Session::open(&common)?, &it).await,
        Command::Export(it) => export::run(&Session::open(&common)?, &it).await,
        Command::Webhooks { command } => webhooks::run(&Session::open(&common)?, command).await,
        Command::Mcp(it) => assistant::run(&Session::open(&common)?, &it).await,
        Command::Demo(it) => demo::run(&Session::open(&common)?, &it).await,
        Command::Listen(it) => listen::run(&Session::open(&common)?, &it).await,
    }
}
