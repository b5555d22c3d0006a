//! Which programs contain parsers of users' files.

use std::process::Command;

use tests::template::{FUNCTIONS, ROOT};

/// By prefixes of their names.
const DECODERS: [&str; 6] = ["image", "png", "zune-", "jpeg", "webp", "hayro-"];

fn linked(function: &str) -> Vec<String> {
    let arguments = ["tree", "--offline", "--package", function, "--edges", "normal,build", "--prefix", "none"];
    let tree =
        Command::new(env!("CARGO")).args(arguments).args(["--format", "{p}"]).current_dir(ROOT).output().unwrap();
    assert!(tree.status.success(), "{function}: {}", String::from_utf8_lossy(&tree.stderr));
    let tree = String::from_utf8(tree.stdout).unwrap();
    tree.lines().filter_map(|it| it.split(' ').next()).map(str::to_owned).collect()
}

/// A malicious file can crash or take over the program that decodes it. So the decoding function
/// has no access to posts, credentials or tables.
#[test]
fn only_the_pictures_function_decodes_images() {
    for function in FUNCTIONS {
        let linked = linked(function);
        assert!(linked.iter().any(|it| it == "cloud"), "{function}: {linked:?}");
        let decoders: Vec<_> = linked.iter().filter(|it| DECODERS.iter().any(|name| it.starts_with(name))).collect();
        assert_eq!(!decoders.is_empty(), function == "pictures", "{function}: {decoders:?}");
        if function == "pictures" {
            let linked_by_others: Vec<_> = linked
                .iter()
                .filter(|it| ["platforms", "connecting", "publishing", "storage", "api"].contains(&it.as_str()))
                .collect();
            assert!(linked_by_others.is_empty(), "{linked_by_others:?}");
        }
    }
}
