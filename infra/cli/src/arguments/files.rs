//! `social import` and `social export` on the command line.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

pub(crate) const IMPORT_HELP: &str = "\
A CSV file names its columns in the first line; a JSONL file has an object on each line:

  content   what it says
  to        accounts as for `social post`; several by | (JSONL: a list)
  at        when: with a zone, or in --zone. A line without is a draft
  media     files beside the import file, or URLs; several by | (JSONL: a list)
  alt       what each file shows; several by | (JSONL: a list)
  options   name=value, several by | (JSONL: an object)

Words such as `tomorrow` are refused: they would say something else when the import is run again.

A line that `social export` wrote is known by its id. A post that exists in this account, or was
public when it was exported, is left out and counted; --copies makes a post of every line. In
another account, or at another deployment, an exported post is made once, also by several exports
of it if they share a report (--report). Links to files in an export work for an hour; for a later
import, name files of your own under `media`.

A line is posted once. One without an id is known by the name of the file, by its fields, and by
how many lines before it are equal: so the file may be moved, lines may be added and change places,
and two equal lines are two posts. A line that is changed is another post. FILE.report.jsonl has
the result of each line, written before and after each request; after an interruption, run the
same command again. Without the report, the service itself knows each line for 24 hours. A line
whose result is still unknown after that is not sent again.

Exit codes, beside those of `social help`: 1 it stopped, and the lines before are posted; 2 some
lines are not right, 4 some were refused, and all others are posted.";

#[derive(Args)]
pub(crate) struct Import {
    /// The file: .csv or .jsonl.
    pub(crate) file: PathBuf,
    /// What it is, when its name does not say.
    #[arg(long)]
    pub(crate) format: Option<Format>,
    /// The zone of times without one, such as Europe/Berlin; this machine's when absent.
    #[arg(long)]
    pub(crate) zone: Option<String>,
    /// Where the report is kept.
    #[arg(long, value_name = "FILE")]
    pub(crate) report: Option<PathBuf>,
    /// Make a post of each line, also of one that was exported from a post that exists.
    #[arg(long)]
    pub(crate) copies: bool,
    /// Only say whether each line would be taken. Files are not uploaded, and posts are looked
    /// at without them.
    #[arg(long)]
    pub(crate) dry_run: bool,
}

#[derive(Args)]
pub(crate) struct Export {
    /// Where to: .csv or .jsonl; standard output when absent.
    pub(crate) file: Option<PathBuf>,
    /// What to write, when the name does not say.
    #[arg(long)]
    pub(crate) format: Option<Format>,
    /// Only those that are draft, scheduled, publishing, published or failed.
    #[arg(long)]
    pub(crate) status: Option<String>,
}

/// What a file is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// Comma-separated, with a line of names.
    Csv,
    /// A JSON object on each line.
    Jsonl,
}
