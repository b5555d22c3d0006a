use clap::Command;

/// By command, such as `posts list`.
const EXAMPLES: &[(&str, &[&str])] = &[
    (
        "",
        &[
            "social login --url https://social.example",
            "social connect mastodon",
            "social post \"Hello from the harbor\" --to mastodon",
        ],
    ),
    ("login", &["social login --url https://social.example", "social --profile drafts login --drafts"]),
    ("logout", &["social logout", "social --profile drafts logout"]),
    ("status", &["social status"]),
    ("platforms", &["social platforms", "social platforms --json"]),
    ("connect", &["social connect mastodon", "social connect mastodon --for 7"]),
    (
        "connect-link",
        &[
            "social connect-link 7 --return-url https://product.example/connected",
            "social connect-link 7 --return-url https://product.example/connected --platform mastodon --expires-in 86400",
            "social connect-link 7 --return-url https://product.example/agreed --post 12",
        ],
    ),
    ("connections", &["social connections", "social connections show mastodon/harbour"]),
    ("connections list", &["social connections list"]),
    ("connections show", &["social connections show mastodon/harbour"]),
    (
        "connections choices",
        &["social connections choices pinterest board", "social connections choices slack channel news"],
    ),
    ("connections disconnect", &["social connections disconnect mastodon/harbour"]),
    ("profiles", &["social profiles create \"The Harbor\" --external-id customer-4711", "social profiles list"]),
    ("profiles list", &["social profiles list", "social profiles list --external-id customer-4711"]),
    ("profiles create", &["social profiles create \"The Harbor\" --external-id customer-4711"]),
    ("profiles rename", &["social profiles rename 7 \"The Lighthouse\""]),
    (
        "profiles export",
        &["social profiles export 7 harbor.tar", "social profiles export customer-4711 harbor.tar --json"],
    ),
    ("profiles delete", &["social profiles delete 7", "social profiles delete 7 --erase"]),
    (
        "post",
        &[
            "social post \"Hello from the harbor\" --to mastodon --watch",
            "social post \"A boat\" --to all --media boat.png --alt \"A boat at the pier\" --at \"tomorrow 9:00\"",
            "social post --draft --thread thread.txt",
        ],
    ),
    ("posts", &["social posts list", "social posts show 7"]),
    ("posts list", &["social posts list --status scheduled", "social posts list --label spring --page 2"]),
    ("posts show", &["social posts show 7", "social posts show 7 --watch"]),
    ("posts attempts", &["social posts attempts 7"]),
    ("posts edit", &["social posts edit 7 --text \"Another text\"", "social posts edit 7 --at \"friday 17:30\""]),
    ("posts cancel", &["social posts cancel 7"]),
    ("posts retry", &["social posts retry 7 --watch", "social posts retry 7 --at \"in 2 hours\""]),
    ("posts delete", &["social posts delete 7"]),
    ("import", &["social import posts.csv --dry-run", "social import posts.csv --zone Europe/Berlin"]),
    ("export", &["social export posts.csv", "social export --status draft --format jsonl"]),
    ("webhooks", &["social webhooks create https://social.example/hooks", "social webhooks list"]),
    ("webhooks list", &["social webhooks list"]),
    ("webhooks create", &["social webhooks create https://social.example/hooks --event post.published"]),
    ("webhooks show", &["social webhooks show 7"]),
    ("webhooks edit", &["social webhooks edit 7 --event post.failed", "social webhooks edit 7 --disable"]),
    ("webhooks delete", &["social webhooks delete 7"]),
    ("webhooks test", &["social webhooks test 7"]),
    ("webhooks rotate", &["social webhooks rotate 7"]),
    ("webhooks deliveries", &["social webhooks deliveries 7 --per-page 50"]),
    ("webhooks redeliver", &["social webhooks redeliver 7 msg_2bN"]),
    ("webhooks key", &["social webhooks key"]),
    ("listen", &["social listen --forward http://localhost:4000/hooks", "social listen 7"]),
    ("demo", &["social demo", "social demo --no-browser"]),
    ("mcp", &["social --profile drafts mcp --drafts", "social mcp --files ~/Pictures"]),
    ("completions", &["social completions bash > ~/.local/share/bash-completion/completions/social"]),
    ("man", &["social man ~/.local/share/man/man1"]),
];

/// Before the text that follows the options.
pub(super) fn with_examples(command: Command) -> Command {
    EXAMPLES.iter().fold(command, |command, (words, examples)| {
        let words: Vec<_> = words.split_whitespace().collect();
        add(command, &words, examples)
    })
}

fn add(command: Command, words: &[&'static str], examples: &[&str]) -> Command {
    if let [first, rest @ ..] = words {
        return command.mut_subcommand(*first, |it| add(it, rest, examples));
    }
    let after = command.get_after_help().map(|it| format!("\n\n{it}")).unwrap_or_default();
    command.after_help(format!("Examples:\n  {}{after}", examples.join("\n  ")))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a panic here is the failing assertion")]

    use clap::FromArgMatches;

    use super::super::{Arguments, command};
    use super::*;

    #[test]
    fn every_example_is_a_valid_command() {
        for line in EXAMPLES.iter().flat_map(|it| it.1) {
            let line = line.split(" > ").next().unwrap();
            // Every second part is in quotes.
            let parts = line.split('"').enumerate();
            let words =
                parts.flat_map(|(at, part)| if at % 2 == 1 { vec![part] } else { part.split_whitespace().collect() });
            let matches = command().try_get_matches_from(words);
            let parsed = matches.and_then(|it| Arguments::from_arg_matches(&it));
            assert_eq!(parsed.map(drop).map_err(|it| it.to_string()), Ok(()), "{line}");
        }
    }

    #[test]
    fn every_command_has_an_example() {
        fn check(command: &Command, path: &str) {
            let help = command.clone().render_long_help().to_string();
            assert!(help.contains("Examples:\n  social"), "{path} has no example");
            for subcommand in command.get_subcommands().filter(|it| it.get_name() != "help") {
                check(subcommand, &format!("{path} {}", subcommand.get_name()));
            }
        }
        check(&command(), "social");
    }
}
