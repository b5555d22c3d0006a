use std::process::ExitCode;

use clap::Parser;
use tests::{
    error::Result,
    monthly_cost::{MonthlyCost, Traffic},
    program::done,
    report::say,
    template::Template,
};

/// What a deployment costs in a month, in US dollars, counted from `template.yaml` with the defaults
/// of its parameters; without options, an idle one.
///
/// The second amount deducts the free tier that does not expire, if nothing else in the account
/// uses it. README.md, docs/deploying.md and docs/scale.md quote these amounts.
#[derive(Parser)]
#[command(name = "cost")]
struct Options {
    /// Print also how many units of each price are consumed
    #[arg(long)]
    units: bool,
    /// Posts in the month, each of one target without a file
    #[arg(long, default_value_t = 0.0)]
    posts: f64,
    /// Requests in the month, other than those that schedule the posts
    #[arg(long, default_value_t = 0.0)]
    requests: f64,
}

fn main() -> ExitCode {
    done(print(&Options::parse()))
}

fn print(options: &Options) -> Result {
    let traffic = Traffic { posts: options.posts, requests: options.requests };
    let cost = MonthlyCost::with_traffic(&Template::read()?, traffic)?;
    say(&format!("{:<18} {:>9} {:>9}", "", "a month", "with free"));
    for row in cost.rows() {
        say(&format!("{:<18} {:>9.2} {:>9.2}", row.name, row.dollars, row.dollars_beyond_free));
    }
    if options.units {
        say("");
        for (price, units) in cost.units() {
            say(&format!("{units:>12.3} {:<22} at {} per {}; {}", price.unit, price.dollars, price.per, price.source));
        }
    }
    Ok(())
}
