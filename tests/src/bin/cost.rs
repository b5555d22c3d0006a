//! Prints what an idle deployment costs in a month.

use std::process::ExitCode;

use clap::Parser;
use tests::{error::Result, idle_cost::IdleCost, program::done, report::say, template::Template};

/// What an idle deployment costs in a month, in US dollars, counted from `template.yaml` with the
/// defaults of its parameters.
///
/// The second amount deducts the free tier that does not expire, if nothing else in the account
/// uses it. README.md and docs/deploying.md quote these amounts.
#[derive(Parser)]
#[command(name = "cost")]
struct Options {
    /// Print also how many units of each price are consumed
    #[arg(long)]
    units: bool,
}

fn main() -> ExitCode {
    done(print(&Options::parse()))
}

fn print(options: &Options) -> Result {
    let cost = IdleCost::from_template(&Template::read()?)?;
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
