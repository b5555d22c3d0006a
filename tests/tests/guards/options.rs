//! The instructions name all platform options.

use std::collections::BTreeSet;

use domain::options::OptionKind;

use crate::read;

#[test]
fn instructions_list_every_platform_option_with_its_choices() {
    let table = read("docs/platforms/options.md");
    let mut name = "";
    let mut documented = BTreeSet::new();
    for cells in table.lines().map(|it| it.split('|').map(str::trim).collect::<Vec<_>>()).filter(|it| 4 < it.len()) {
        if !cells[1].is_empty() {
            name = cells[1].trim_matches('`');
        }
        documented.extend(cells[2].split(", ").map(|on| (name, on.trim_matches('`'), cells[3])));
    }
    let mut existing = BTreeSet::new();
    for (platform, options) in platforms::vocabulary().iter() {
        for option in options {
            let row = documented.iter().find(|it| (it.0, it.1) == (option.name, platform));
            let (_, _, values) = row.unwrap_or_else(|| panic!("{} of {platform} is not told", option.name));
            if let OptionKind::OneOf(choices) = option.kind {
                assert!(choices.iter().all(|it| values.contains(&format!("`{it}`"))), "{}: {values}", option.name);
            }
            existing.insert((option.name, platform));
        }
    }
    let documented: BTreeSet<_> =
        documented.into_iter().map(|it| (it.0, it.1)).filter(|it| it.0 != "option" && it.1 != "---").collect();
    assert_eq!(documented, existing);
}
