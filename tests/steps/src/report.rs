use std::{
    fs,
    io::{self, Write},
    path::Path,
    time::Duration,
};

use serde_json::{Map, Value, json};

use crate::error::{Result, TestError};

pub struct Line {
    /// Area and name.
    pub name: String,
    pub took: Duration,
    /// `None` when it passed.
    pub error: Option<TestError>,
}

#[derive(Default)]
pub struct Report {
    lines: Vec<Line>,
    /// By name. Measured values neither pass nor fail.
    figures: Vec<(String, i64)>,
}

impl Report {
    pub fn add(&mut self, line: Line) {
        let verdict = if line.error.is_some() { "FAIL" } else { "ok  " };
        say(&format!("{verdict} {:6.1} s  {}", line.took.as_secs_f64(), line.name));
        self.lines.push(line);
    }

    pub fn add_figure(&mut self, name: String, value: i64) {
        say(&format!("     {value:6}    {name}"));
        self.figures.push((name, value));
    }

    /// The results of the other report are already printed.
    pub fn extend(&mut self, other: Self) {
        self.lines.extend(other.lines);
        self.figures.extend(other.figures);
    }

    pub fn is_empty(&self) -> bool {
        self.lines.is_empty()
    }

    pub fn failed(&self) -> usize {
        self.lines.iter().filter(|it| it.error.is_some()).count()
    }

    /// Prints the failures and, last, `N passed, N failed`. Returns whether all passed.
    pub fn finish(&self, json_file: Option<&Path>) -> Result<bool> {
        for line in &self.lines {
            if let Some(error) = &line.error {
                say(&format!("\nFAIL {}\n      {error}", line.name));
            }
        }
        if let Some(file) = json_file {
            fs::write(file, format!("{:#}\n", self.json()))?;
        }
        say(&format!("\n{} passed, {} failed", self.lines.len() - self.failed(), self.failed()));
        Ok(self.failed() == 0)
    }

    fn json(&self) -> Value {
        let checks: Vec<_> = self
            .lines
            .iter()
            .map(|it| {
                json!({
                    "name": it.name,
                    "passed": it.error.is_none(),
                    "seconds": it.took.as_secs_f64(),
                    "error": it.error.as_ref().map(ToString::to_string),
                })
            })
            .collect();
        let figures: Map<_, _> = self.figures.iter().map(|(name, value)| (name.clone(), json!(value))).collect();
        let passed = self.lines.len() - self.failed();
        json!({ "passed": passed, "failed": self.failed(), "checks": checks, "figures": figures })
    }
}

pub fn say(text: &str) {
    let _ = writeln!(io::stdout().lock(), "{text}");
}
