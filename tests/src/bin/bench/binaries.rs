//! Size, start and latency of the deployed functions, compared with a function that does nothing:
//! what that one needs as well is not our cost.

mod dynamodb;
mod latency;
mod size;
mod start;

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
    time::Duration,
};

use clap::{Args, builder::PossibleValuesParser};
use serde_json::{Value, json};
use tests::{
    ensure,
    error::Result,
    functions::{self, HELLO},
    lambda::environment,
    report::say,
    template::FUNCTIONS,
};

use crate::percentile::percentile;
use start::Start;

/// Size costs little at a start; the work at start costs more.
const BOOTSTRAP_BYTES: u64 = 12_000_000;

/// Lambda fetches this file. `delivery` has 5.0 MB with ten platforms, of which each adds less than
/// 0.1 MB.
const ZIP_BYTES: u64 = 5_500_000;

/// Until the function asks for its first event. The store is called without TLS here: a handshake
/// takes about 2.3 million more.
const INSTRUCTIONS: u64 = 4_500_000;

/// Like `INSTRUCTIONS`, for functions that need only DynamoDB: each further AWS client adds some
/// hundred thousand.
const INSTRUCTIONS_FOR_DYNAMODB: u64 = 2_700_000;

const DYNAMODB_ONLY: [&str; 1] = ["auth"];

/// Until the function asks for its first event.
const PEAK_BYTES: u64 = 12_000_000;

/// A multiple of the cold start of the function that does nothing.
const COLD_STARTS: f64 = 3.0;

/// Measures the functions
#[derive(Args)]
pub(crate) struct Options {
    /// Measure only these functions; `auth` is always measured
    #[arg(long, num_args = 1.., value_name = "FUNCTION", value_parser = PossibleValuesParser::new(FUNCTIONS))]
    only: Vec<String>,
    /// Starts of each function; the median counts
    #[arg(long, default_value_t = 25)]
    starts: usize,
    /// Requests to each of the two functions whose latency is measured
    #[arg(long, default_value_t = 2000)]
    requests: usize,
    /// Write the figures to this file
    #[arg(long)]
    json: Option<PathBuf>,
}

struct Measurements {
    name: &'static str,
    binary: PathBuf,
    environment: BTreeMap<String, String>,
    bootstrap_bytes: u64,
    zip_bytes: u64,
    /// Counted several times, because random hashes and addresses make a difference of a few
    /// thousand.
    instructions: Vec<u64>,
    starts: Vec<Start>,
}

/// Fails if a function exceeds a limit.
pub(crate) async fn run(options: &Options) -> Result {
    let is_wanted = |it: &&str| options.only.is_empty() || *it == "auth" || options.only.iter().any(|name| name == it);
    let names: Vec<_> = [HELLO].into_iter().chain(FUNCTIONS.into_iter().filter(is_wanted)).collect();
    let built = functions::build(&names)?;
    let store = dynamodb::start().await?;
    let mut all =
        names.into_iter().map(|name| Measurements::measure_size(name, &built, &store)).collect::<Result<Vec<_>>>()?;

    for figures in &mut all {
        for _ in 0..2 {
            figures.instructions.push(start::instructions(&figures.binary, &figures.environment).await?);
        }
    }
    // Interleaved, so that a busy moment of the machine affects all of them.
    for _ in 0..options.starts {
        for figures in &mut all {
            figures.starts.push(start::start(&figures.binary, &figures.environment).await?);
        }
    }
    say("binary          bootstrap        zip   instructions to ready       peak   cold start");
    for it in &all {
        say(&it.line());
    }

    let latency = latency::compare(&all, options.requests).await?;
    let hello = all.iter().find(|it| it.name == HELLO).map(Measurements::cold_start_ms).unwrap_or_default();
    let ratios: BTreeMap<_, _> = all.iter().map(|it| (it.name, it.cold_start_ms() / hello)).collect();
    say(&format!("cold start of auth: {:.2} times that of hello", ratios["auth"]));

    let exceeded: Vec<_> =
        all.iter().filter(|it| it.name != HELLO).flat_map(|it| it.exceeded(ratios[it.name])).collect();
    let figures = json!({
        "binaries": all.iter().map(Measurements::json).collect::<Vec<_>>(),
        "cold_start_by_hello": ratios,
        "latency": latency,
        "limits": {
            "bootstrap_bytes": BOOTSTRAP_BYTES,
            "zip_bytes": ZIP_BYTES,
            "instructions": INSTRUCTIONS,
            "instructions_for_dynamodb": INSTRUCTIONS_FOR_DYNAMODB,
            "peak_bytes": PEAK_BYTES,
            "cold_start_by_hello": COLD_STARTS,
        },
        "exceeded": exceeded,
    });
    if let Some(file) = &options.json {
        fs::write(file, format!("{figures:#}\n"))?;
    }
    ensure!(exceeded.is_empty(), "\nabove the limit: {}", exceeded.join("; "));
    Ok(())
}

impl Measurements {
    fn measure_size(name: &'static str, built: &Path, store: &str) -> Result<Self> {
        let mut environment = if name == HELLO { BTreeMap::new() } else { environment(name)? };
        environment.insert("AWS_ENDPOINT_URL".to_owned(), store.to_owned());
        let binary = built.join(name);
        let bytes = fs::read(&binary)?;
        Ok(Self {
            name,
            binary,
            environment,
            bootstrap_bytes: bytes.len() as u64,
            zip_bytes: size::zipped(&bytes)?,
            instructions: Vec::new(),
            starts: Vec::new(),
        })
    }

    fn max_instructions(&self) -> u64 {
        self.instructions.iter().copied().max().unwrap_or_default()
    }

    fn spread(&self) -> u64 {
        self.max_instructions() - self.instructions.iter().copied().min().unwrap_or_default()
    }

    fn peak_bytes(&self) -> u64 {
        self.starts.iter().map(|it| it.peak_bytes).max().unwrap_or_default()
    }

    fn cold_start_ms(&self) -> f64 {
        let mut times: Vec<_> = self.starts.iter().map(|it| it.took).collect();
        times.sort_unstable();
        millis(percentile(&times, 50))
    }

    fn line(&self) -> String {
        format!(
            "{:12} {:9.2} MB {:7.2} MB {:9.3} M (± {:5.3} M) {:7.1} MB {:9.2} ms",
            self.name,
            millions(self.bootstrap_bytes),
            millions(self.zip_bytes),
            millions(self.max_instructions()),
            millions(self.spread()),
            millions(self.peak_bytes()),
            self.cold_start_ms(),
        )
    }

    fn json(&self) -> Value {
        json!({
            "name": self.name,
            "bootstrap_bytes": self.bootstrap_bytes,
            "zip_bytes": self.zip_bytes,
            "instructions": self.instructions,
            "peak_bytes": self.peak_bytes(),
            "cold_start_ms": self.cold_start_ms(),
        })
    }

    fn exceeded(&self, cold_starts: f64) -> Vec<String> {
        let needs_little = DYNAMODB_ONLY.contains(&self.name);
        let instructions = if needs_little { INSTRUCTIONS_FOR_DYNAMODB } else { INSTRUCTIONS };
        let limits = [
            ("bytes", self.bootstrap_bytes, BOOTSTRAP_BYTES),
            ("bytes zipped", self.zip_bytes, ZIP_BYTES),
            ("instructions to ready", self.max_instructions(), instructions),
            ("bytes of memory", self.peak_bytes(), PEAK_BYTES),
        ];
        let above = limits.into_iter().filter(|(_, found, limit)| limit < found);
        let above = above.map(|(what, found, limit)| format!("{} has {found} {what} of {limit}", self.name));
        let slow = COLD_STARTS < cold_starts;
        let slow =
            slow.then(|| format!("{} starts in {cold_starts:.2} times hello's time of {COLD_STARTS}", self.name));
        above.chain(slow).collect()
    }
}

fn millis(time: Duration) -> f64 {
    time.as_secs_f64() * 1000.0
}

#[expect(clippy::cast_precision_loss, reason = "figures to read")]
fn millions(number: u64) -> f64 {
    number as f64 / 1e6
}
