use std::path::Path;

#[test]
fn every_mutation_matches_the_source_once() {
    simulation::mutations::check(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")).unwrap();
}
