//! Which programs carry decoders of pictures.

use std::process::Command;

use tests::template::{FUNCTIONS, ROOT};

/// Crates that decode pictures, by the beginnings of their names.
const DECODERS: [&str; 5] = ["image", "png", "zune-", "jpeg", "webp"];

/// What a function is linked with, by the names of the packages.
fn linked(function: &str) -> Vec<String> {
    let arguments = ["tree", "--offline", "--package", function, "--edges", "normal,build", "--prefix", "none"];
    let tree =
        Command::new(env!("CARGO")).args(arguments).args(["--format", "{p}"]).current_dir(ROOT).output().unwrap();
    assert!(tree.status.success(), "{function}: {}", String::from_utf8_lossy(&tree.stderr));
    let tree = String::from_utf8(tree.stdout).unwrap();
    tree.lines().filter_map(|it| it.split(' ').next()).map(str::to_owned).collect()
}

/// A file can be made to end whoever decodes it, or to take it over. So that is
/// a function that holds nothing: no post, no credentials, no table.
#[test]
fn only_the_pictures_function_decodes_images() {
    for function in FUNCTIONS {
        let linked = linked(function);
        assert!(linked.iter().any(|it| it == "cloud"), "{function}: {linked:?}");
        let decoders: Vec<_> = linked.iter().filter(|it| DECODERS.iter().any(|name| it.starts_with(name))).collect();
        assert_eq!(!decoders.is_empty(), function == "pictures", "{function}: {decoders:?}");
        if function == "pictures" {
            let of_others: Vec<_> = linked
                .iter()
                .filter(|it| ["platforms", "publishing", "storage", "api"].contains(&it.as_str()))
                .collect();
            assert!(of_others.is_empty(), "{of_others:?}");
        }
    }
}
