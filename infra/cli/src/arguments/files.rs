//! Arguments of `social import` and `social export`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

pub(crate) const IMPORT_HELP: &str = "\
A CSV file names its columns in the first line; a JSONL file has an object on each line:

  content      text of the post; can be empty in a line with media
  to           accounts as for `social post`; several by | (JSONL: a list)
  at           when to publish: with a zone, or in --zone. A line without it is a draft
  media        files in the folder of the import file, or URLs; several by | (JSONL: a list)
  alt          alt text of each file; several by | (JSONL: a list)
  thread       replies: texts with lines of --- between them, or a JSON list of texts and of objects
               with content, media and alt
  options      name=value; several by | (JSONL: an object)
  external_id  id of the post in your own system
  labels       labels to find the post by; several by | (JSONL: a list)

Use absolute times: `tomorrow` would change if you run the import again.

A line that `social export` wrote is recognized by its id. If its post exists in this account, or
was public when you exported it, the line is skipped and counted; --copies creates a post for every
line. In another account or deployment, an exported post is created once, also from several exports
that share a report (--report). Links to files in an export work for one hour; for a later import,
name your own files under `media`.

Each line creates one post. A line without an id is recognized by the name of the file, its fields,
and the number of equal lines before it: you can move the file, add lines and reorder them, and two
equal lines are two posts. A changed line is a new post. FILE.report.jsonl has the result of each
line, written before and after each request; if interrupted, run the same command again. Without
the report, the service recognizes each line for 24 hours. A line whose outcome is still unknown
after that is not sent again.

Exit codes that differ from those of `social help`: 1 stopped, the lines before are imported; 4 some
lines have errors or were refused, all other lines are imported.";

#[derive(Args)]
pub(crate) struct Import {
    /// File to import: .csv or .jsonl.
    pub(crate) file: PathBuf,
    /// Format, if the file name does not end in .csv or .jsonl.
    #[arg(long)]
    pub(crate) format: Option<Format>,
    /// Time zone of times without one, such as Europe/Berlin. Default: this machine's.
    #[arg(long)]
    pub(crate) zone: Option<String>,
    /// File of the report. Default: FILE.report.jsonl.
    #[arg(long, value_name = "FILE")]
    pub(crate) report: Option<PathBuf>,
    /// Create a post for each line, even if the line was exported from an existing post.
    #[arg(long)]
    pub(crate) copies: bool,
    /// Only check each line. Files are not uploaded, so posts are checked without them.
    #[arg(long)]
    pub(crate) dry_run: bool,
}

#[derive(Args)]
pub(crate) struct Export {
    /// File to write: .csv or .jsonl. Default: standard output.
    pub(crate) file: Option<PathBuf>,
    /// Format, if the file name does not end in .csv or .jsonl.
    #[arg(long)]
    pub(crate) format: Option<Format>,
    /// Filter by status: draft, scheduled, publishing, published or failed.
    #[arg(long)]
    pub(crate) status: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// Comma-separated values; the first line names the columns.
    Csv,
    /// One JSON object per line.
    Jsonl,
}
