//! Writes `tests/figures.md`: the results of tests and benches, with the commit and the machine.

use std::{
    fmt::Write as _,
    fs,
    process::{Command, ExitCode},
};

use clap::Parser;
use serde_json::Value;
use steps::{ROOT, ensure, error::Result, program::done, report::say, tools::run};

/// Rewrites tests/figures.md.
///
/// Reads the results of `tests/all`, which must have passed on these sources, and of `tests/image`
/// with a program of them, and runs the benches that these do not run: about forty minutes.
#[derive(Parser)]
#[command(name = "scorecard")]
struct Options {
    /// Use the results of the last bench run
    #[arg(long)]
    no_benches: bool,
    /// Posts of the large account in the local stack's bench
    #[arg(long, default_value = "20000")]
    large: String,
}

fn main() -> ExitCode {
    done(write(&Options::parse()))
}

fn write(options: &Options) -> Result {
    let all = results("all")?;
    let sources = command_output("git", &["rev-parse", "--short=10", "HEAD"])?;
    ensure!(
        all["sources"] == sources.as_str() && all["failed"] == 0 && all["left_out"] == 0,
        "the last run of tests/all was of {}, with {} failed and {} steps left out, and these are {sources}: run tests/all",
        all["sources"],
        all["failed"],
        all["left_out"]
    );
    if !options.no_benches {
        bench("local", &["--large", &options.large])?;
        bench("machine", &["machine"])?;
        bench("streaming", &["streaming"])?;
    }
    let mut text = String::new();
    head(&mut text, &sources)?;
    steps(&mut text, &all)?;
    simulation(&mut text, &results("simulation")?, &results("mutations")?)?;
    functions(&mut text, &results("binaries")?)?;
    local_stack(&mut text, &results("local")?)?;
    machine(&mut text, &results("machine")?)?;
    durability(&mut text)?;
    package(&mut text, &results("image")?)?;
    streaming(&mut text, &results("streaming")?)?;
    fs::write(format!("{ROOT}/tests/figures.md"), text)?;
    say("tests/figures.md is written");
    Ok(())
}

fn bench(name: &str, arguments: &[&str]) -> Result {
    let file = format!("target/tests/{name}.json");
    say(&format!("     tests/bench {}", arguments.join(" ")));
    run(Command::new("tests/bench").args(arguments).args(["--json", &file]).current_dir(ROOT)).map(drop)
}

fn results(name: &str) -> Result<Value> {
    let file = format!("{ROOT}/target/tests/{name}.json");
    ensure!(fs::exists(&file)?, "{file} is not there: tests/all, tests/image and tests/scorecard write such files");
    Ok(serde_json::from_str(&fs::read_to_string(file)?)?)
}

fn command_output(program: &str, arguments: &[&str]) -> Result<String> {
    Ok(run(Command::new(program).args(arguments).current_dir(ROOT))?.trim().to_owned())
}

fn head(text: &mut String, sources: &str) -> Result {
    let date = command_output("date", &["--utc", "+%Y-%m-%d"])?;
    let line = |file: &str, name: &str| -> Result<String> {
        let all = fs::read_to_string(file)?;
        let found = all.lines().find_map(|it| it.strip_prefix(name)).unwrap_or_default();
        Ok(found.trim_start_matches([':', ' ', '\t']).to_owned())
    };
    let processor = line("/proc/cpuinfo", "model name")?;
    let memory: u64 = line("/proc/meminfo", "MemTotal")?.trim_end_matches(" kB").parse()?;
    let cores = std::thread::available_parallelism()?;
    let compiler = command_output("rustc", &["--version"])?;
    writeln!(text, "# Figures\n")?;
    writeln!(
        text,
        "Written by `tests/scorecard`, never by hand: on {date}, of the sources `{sources}`, on {cores} cores of"
    )?;
    writeln!(text, "{processor} with {} GiB of memory, with {compiler}.", memory >> 20)?;
    Ok(())
}

fn heading(text: &mut String, intro: &str, columns: &[&str]) -> Result {
    let line = |cells: &[&str]| format!("| {} |", cells.join(" | "));
    let under: Vec<_> = columns.iter().enumerate().map(|(at, _)| if at == 0 { "---" } else { "---:" }).collect();
    writeln!(text, "\n{intro}\n\n{}\n{}", line(columns), line(&under))?;
    Ok(())
}

fn steps(text: &mut String, all: &Value) -> Result {
    let minutes = number(&all["seconds"]) / 60.0;
    let intro = format!(
        "## Every test\n\n`tests/all`: {} passed, {} failed, in {minutes:.1} minutes; steps run side by side.\nProcessor time is the sum over all cores.",
        all["passed"], all["failed"]
    );
    heading(text, &intro, &["step", "waited, s", "built, s", "ran, s", "processor, s", "passed"])?;
    for it in list(&all["steps"]) {
        let times = ["waited_s", "built_s", "ran_s", "processor_s"].map(|name| format!("{:.0}", number(&it[name])));
        let passed = it["skipped"].as_str().map_or_else(|| it["passed"].to_string(), |why| format!("skipped: {why}"));
        writeln!(text, "| {} | {} | {passed} |", name(it), times.join(" | "))?;
    }
    Ok(())
}

fn simulation(text: &mut String, it: &Value, mutations: &Value) -> Result {
    let intro = "## Publishing in simulation\n\n`tests/simulate --seeds 300` and `tests/simulate --mutations`";
    heading(text, intro, &["what", "figure"])?;
    let rows = [
        ("seeds, each with faults by chance", it["seeds"].to_string()),
        ("faults injected", it["faults"].to_string()),
        ("runs with a process killed at one call, or at two", it["crash_points"].to_string()),
        ("posts lost", it["lost"].to_string()),
        ("posts doubled", it["doubled"].to_string()),
        ("posts stuck", it["stuck"].to_string()),
        ("posts early", it["early"].to_string()),
        ("other invariants broken", it["broken"].to_string()),
        (
            "ways of breaking the protocol, and noticed",
            format!("{} of {}", mutations["mutations_caught"], mutations["mutations"]),
        ),
        ("lateness p50, p99, ms (virtual time)", format!("{}, {}", it["lateness_p50_ms"], it["lateness_p99_ms"])),
        (
            "computed: a million posts due in one minute, 64 shards, 1,000 environments with batches of 50 ready: the \
             last begins after, s",
            format!("{:.1}", number(&it["million_drained_s"])),
        ),
        (
            "computed: the same posts, if the event source scales up from idle: the last begins after, s",
            format!("{:.0}", number(&it["million_drained_from_idle_s"])),
        ),
        (
            "measured: write units of DynamoDB per post of these, without permits and roll-ups",
            format!("{:.2}", number(&it["write_units_per_post"])),
        ),
        (
            "computed: read units to plan the million, in pages of 1,000",
            format!("{:.0}", number(&it["read_units_to_plan"])),
        ),
        (
            "computed: the hottest partition in a second with four standard deviations above the mean, % of its limit",
            format!("{:.0}", 100.0 * number(&it["hottest_partition_share"])),
        ),
        (
            "computed: environments that a user with 10,000 posts on servers that take 40 s can occupy, of 20",
            format!("{:.0}", number(&it["environments_of_a_noisy_user"])),
        ),
        (
            "computed: lateness of other users' posts next to that user, with 20 environments ready: at most, ms",
            format!("{:.0}", number(&it["beside_a_noisy_user_at_most_ms"])),
        ),
    ];
    for (what, figure) in rows {
        writeln!(text, "| {what} | {figure} |")?;
    }
    Ok(())
}

fn functions(text: &mut String, all: &Value) -> Result {
    let limits = &all["limits"];
    let intro = format!(
        "## The functions as they are deployed\n\n`tests/bench binaries`. Instructions until a function asks for its first \
         event, with a store\nover plain HTTP (a TLS handshake adds about 2.3 million); cold start in those of a function \
         that does nothing,\nin the same run. Limits: {:.1} million instructions (auth {:.1}), {:.0} MB of memory, {} × the \
         cold start, {:.0} MB\nand {:.0} MB zipped.",
        number(&limits["instructions"]) / 1e6,
        number(&limits["instructions_for_dynamodb"]) / 1e6,
        number(&limits["peak_bytes"]) / 1e6,
        limits["cold_start_by_hello"],
        number(&limits["bootstrap_bytes"]) / 1e6,
        number(&limits["zip_bytes"]) / 1e6,
    );
    heading(text, &intro, &["function", "instructions, M", "memory, MB", "cold start", "MB", "MB zipped"])?;
    for it in list(&all["binaries"]) {
        let instructions = list(&it["instructions"]).iter().map(number).fold(0.0, f64::max) / 1e6;
        let [peak, size, zip] = ["peak_bytes", "bootstrap_bytes", "zip_bytes"].map(|name| number(&it[name]) / 1e6);
        let start = number(&all["cold_start_by_hello"][name(it)]);
        writeln!(text, "| {} | {instructions:.2} | {peak:.1} | {start:.2} × | {size:.2} | {zip:.2} |", name(it))?;
    }
    Ok(())
}

fn local_stack(text: &mut String, all: &Value) -> Result {
    let intro = format!(
        "## The service on a laptop\n\n`tests/bench`, client and service on the same cores, tables in memory. Ready after {} ms \
         with {} MB.",
        all["start"]["ready_ms"], all["start"]["resident_mb"]
    );
    heading(text, &intro, &["requests", "clients", "per second", "p50, ms", "p99, ms"])?;
    for it in list(&all["requests_per_second"]) {
        let [speed, p50, p99] = ["per_second", "p50_ms", "p99_ms"].map(|name| number(&it[name]));
        writeln!(text, "| {} | {} | {speed:.0} | {p50:.2} | {p99:.2} |", plain(&it["what"]), it["clients"])?;
    }
    let columns = ["operation", "calls", "one after the other", "capacity units"];
    heading(text, "What an operation asks of DynamoDB:", &columns)?;
    for it in list(&all["store_calls"]) {
        let (calls, steps, units) = (&it["calls"], &it["in_sequence"], &it["units"]);
        writeln!(text, "| {} | {calls} | {steps} | {units} |", plain(&it["operation"]))?;
    }
    Ok(())
}

fn machine(text: &mut String, all: &Value) -> Result {
    let (empty, full) = (&all["empty"], &all["full"]);
    let posts = full["posts"].to_string();
    let intro = "## One machine\n\n`tests/bench machine`: `social-server` with its data on a disk (`synchronous=FULL`), client and \
                 platform on the same two cores.";
    heading(text, intro, &["", "at first", &format!("with {posts} stored posts")])?;
    let row = |name: &str, figure: &str| format!("| {name} | {} | {} |", empty["start"][figure], full["start"][figure]);
    writeln!(text, "{}\n{}", row("ready after, ms", "ready_ms"), row("memory when ready, MB", "resident_mb"))?;
    let (after, end) = (&all["resident_mb_after_posts"], &full["resident_mb_at_the_end"]);
    writeln!(text, "| memory after 1,000 posts, then 600, MB | {after} | {end} |")?;
    for (few, many) in list(&empty["list"]).iter().zip(list(&full["list"])) {
        let ms = |it: &Value| {
            let [p50, p99] = ["p50_us", "p99_us"].map(|name| number(&it[name]) / 1e3);
            format!("{p50:.1}, {p99:.1}")
        };
        writeln!(text, "| {}: p50, p99 in ms | {} | {} |", plain(&few["what"]), ms(few), ms(many))?;
    }
    writeln!(text, "| database, MB | | {} |", full["database_mb"])?;
    let columns = ["posts due", "on the timeline", "earliest, ms", "p50", "p99", "latest"];
    heading(text, "How late posts were on the platform's timeline:", &columns)?;
    for (it, note) in [
        (&all["due_together"], ""),
        (&all["due_over_a_minute"], ""),
        (&full["due_over_a_minute"], ", with the stored posts"),
    ] {
        let figures = ["earliest_ms", "p50_ms", "p99_ms", "latest_ms"].map(|name| it[name].to_string()).join(" | ");
        writeln!(
            text,
            "| {} within {} s{note} | {} | {figures} |",
            it["posts"], it["within_s"], it["on_the_timeline"]
        )?;
    }
    Ok(())
}

fn durability(text: &mut String) -> Result {
    let log = fs::read_to_string(format!("{ROOT}/target/tests/durability.log"))?;
    let table = log.split_once("| check").and_then(|(_, it)| it.split_once("\n\n")).map(|it| it.0);
    ensure!(table.is_some(), "the step durability printed no table");
    let table = table.unwrap_or_default().replacen("\nStarts", "\n\nStarts", 1);
    writeln!(text, "\n## One machine after faults\n\n`target/debug/durability`\n\n| check{table}")?;
    Ok(())
}

fn package(text: &mut String, image: &Value) -> Result {
    let intro = "## The packages of one machine\n\n`tests/image` with the program of a release, and \
                 `systemd-analyze security`.";
    heading(text, intro, &["what", "figure"])?;
    for (name, figure) in image["figures"].as_object().into_iter().flatten() {
        writeln!(text, "| {} | {figure} |", name.rsplit(": ").next().unwrap_or(name))?;
    }
    let unit = "infra/server/package/social-server.service";
    let report = command_output("systemd-analyze", &["security", "--offline=true", "--no-pager", unit])?;
    let exposure = report.rsplit_once("social-server.service: ").and_then(|it| it.1.split(' ').next());
    writeln!(text, "| exposure of the systemd unit, 0 to 10 | {} |", exposure.unwrap_or("unknown"))?;
    Ok(())
}

fn streaming(text: &mut String, it: &Value) -> Result {
    let columns = ["MB", "seconds", "MB resident before", "at most", "limit of growth"];
    let intro =
        "## A large video\n\n`tests/bench streaming`: from our store to a fake of Mastodon, the whole local stack.";
    heading(text, intro, &columns)?;
    let (size, before, peak, limit) =
        (&it["megabytes"], &it["resident_mb_before"], &it["resident_mb_peak"], &it["limit_mb"]);
    writeln!(text, "| {size} | {:.1} | {before} | {peak} | {limit} |", number(&it["seconds"]))?;
    Ok(())
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

fn number(value: &Value) -> f64 {
    value.as_f64().unwrap_or_default()
}

fn name(value: &Value) -> &str {
    value["name"].as_str().unwrap_or_default()
}

fn plain(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}
