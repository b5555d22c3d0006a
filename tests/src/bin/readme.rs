//! Checks the documents: commands, outputs, links and names.

use std::{
    fs,
    path::Path,
    process::{Command, ExitCode, Stdio},
};

use clap::Parser;
use tempfile::TempDir;
use tests::{
    ensure,
    error::{Result, TestError},
    fail,
    program::done,
    readme::{
        document::{Commands, commands},
        files, links, names,
        normalized::normalized,
        session::Session,
    },
    report::say,
    template::ROOT,
};

/// Checks the documents.
///
/// Runs the commands of README.md and docs/journey.md on a fresh local service and compares what they print with what
/// the documents show; ids, times and tokens may differ. Checks that README.md is short, that every link between
/// Markdown files leads somewhere, and that paths and names of the code in them exist. A block of commands is left out
/// where the line before it is a comment `<!-- not run: reason -->`.
#[derive(Parser)]
#[command(name = "readme")]
struct Options {
    /// Write outputs that differ into the documents.
    #[arg(long)]
    write: bool,
    /// Photograph the attempts of the post whose response was lost, with the program `chromium`, for README.md.
    #[arg(long)]
    picture: bool,
    /// Run no commands: check lengths, links and names.
    #[arg(long, conflicts_with_all = ["write", "picture"])]
    quick: bool,
}

const README: &str = "README.md";

/// Documents whose commands are run, each on a service of its own.
const RUN: [&str; 2] = [README, "docs/journey.md"];

/// README.md is read before anything is installed.
const MOST_LINES: usize = 150;

const PICTURE: &str = "docs/images/lost-response.png";

/// The text of the post in docs/journey.md whose response is lost.
const LOST: &str = "Survives a lost response";

#[tokio::main]
async fn main() -> ExitCode {
    let _ = rustls::crypto::ring::default_provider().install_default();
    done(run(&Options::parse()).await)
}

async fn run(options: &Options) -> Result {
    let mut errors = Vec::new();
    let files = files()?;
    let length = read(README)?.lines().count();
    if MOST_LINES < length {
        errors.push(format!("{README} has {length} lines; at most {MOST_LINES} are allowed"));
    }
    errors.extend(links::broken(&files)?.into_iter().map(|it| format!("broken link: {it}")));
    errors.extend(names::missing(&files)?.into_iter().map(|it| format!("does not exist: {it}")));
    if !options.quick {
        for document in RUN {
            errors.extend(run_document(document, options).await?);
        }
    }
    for error in &errors {
        say(&format!("FAIL  {error}"));
    }
    ensure!(errors.is_empty(), "{} of the documents' statements are wrong; see --help", errors.len());
    say("ok    the documents are short, their links and names exist, and their commands print what they show");
    Ok(())
}

/// Returns outputs that differ, unless they are written into the document.
async fn run_document(document: &str, options: &Options) -> Result<Vec<String>> {
    let text = read(document)?;
    let mut session = Session::start().await?;
    let (mut differing, mut errors) = (Vec::new(), Vec::new());
    for block in commands(&text) {
        let at = format!("{document}:{}", block.line);
        let printed = session.run(&block.script).await.map_err(|error| TestError::new(format!("{at}: {error}")))?;
        let Some(shown) = shown(&text, &block) else { continue };
        let (expected, found) = (normalized(&shown), normalized(&printed));
        if expected != found {
            errors.push(format!("{at}: shown\n{expected}\nprinted\n{found}"));
            differing.push((block, printed));
        }
    }
    if options.picture && document != README {
        take_screenshot(&mut session).await?;
    }
    if !options.write {
        return Ok(errors);
    }
    for (block, _) in &differing {
        say(&format!("wrote {document}:{}", block.line));
    }
    fs::write(Path::new(ROOT).join(document), replace_outputs(&text, differing))?;
    Ok(Vec::new())
}

/// `None` if the document shows no output for the block.
fn shown(text: &str, block: &Commands) -> Option<String> {
    let lines = block.output.clone()?;
    Some(text.lines().skip(lines.start).take(lines.len()).collect::<Vec<_>>().join("\n"))
}

fn replace_outputs(text: &str, outputs: Vec<(Commands, String)>) -> String {
    let mut lines: Vec<_> = text.lines().map(str::to_owned).collect();
    // From the end, so that earlier positions stay right.
    for (block, printed) in outputs.into_iter().rev() {
        if let Some(range) = block.output {
            lines.splice(range, printed.lines().map(|it| it.trim_end().to_owned()));
        }
    }
    lines.join("\n") + "\n"
}

/// Photographs the attempts of the post whose response was lost. Chromium is not signed in, so it opens a copy of the
/// page.
async fn take_screenshot(session: &mut Session) -> Result {
    let list = session.open("/account/posts?show=published").await?;
    let path = list.html.split_once(LOST).and_then(|(_, it)| it.split('"').find(|it| it.ends_with("/attempts")));
    let Some(path) = path else { fail!("no post {LOST:?} is listed") };
    let page = session.open(path).await?;
    let folder = TempDir::new()?;
    let copy = folder.path().join("attempts.html");
    fs::write(&copy, page.html.replacen("<head>", &format!("<head><base href=\"{}\">", page.url), 1))?;
    let mut chromium = Command::new("chromium");
    chromium.args(["--headless", "--no-sandbox", "--hide-scrollbars", "--window-size=640,720"]);
    chromium.arg(format!("--screenshot={ROOT}/{PICTURE}")).arg(&copy);
    let status = chromium.stderr(Stdio::null()).status()?;
    ensure!(status.success(), "chromium ended with {status}");
    say(&format!("wrote {PICTURE}"));
    Ok(())
}

fn read(path: &str) -> Result<String> {
    Ok(fs::read_to_string(Path::new(ROOT).join(path))?)
}
