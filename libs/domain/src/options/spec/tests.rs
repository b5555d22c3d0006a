use super::form::MAX_ADDRESS;
use super::*;

const SPECS: &[OptionSpec] = &[
    OptionSpec::new("visibility", OptionKind::OneOf(&["public", "private"]), "Who sees it."),
    OptionSpec::new("content_warning", OptionKind::Text { max: 5 }, "Stands before it."),
    OptionSpec::new("sensitive", OptionKind::Flag, "Hides its files."),
    OptionSpec::new("board", OptionKind::Choice { max: 3 }, "Where it stands."),
    OptionSpec::new("language", OptionKind::Language, "Its language.").required(),
];

fn vocabulary() -> PlatformOptions {
    PlatformOptions::new([("example", SPECS)])
}

fn options<const N: usize>(given: [(&str, OptionValue); N]) -> Options {
    given.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
}

fn text(it: &str) -> OptionValue {
    OptionValue::Text(it.to_owned())
}

fn messages(errors: &ValidationErrors) -> Vec<&str> {
    errors.iter().map(|it| it.1).collect()
}

#[test]
fn unknown_option_error_suggests_the_nearest_name() {
    let mut errors = ValidationErrors::new();
    let given = options([("visible", text("public")), ("language", text("en"))]);
    let names = || given.iter().map(|(name, _)| name);
    vocabulary().check_names("example", names(), "platforms.0.options", &mut errors);
    vocabulary().check_names("other", names(), "options", &mut errors);
    assert_eq!(
        messages(&errors),
        [
            "platforms.0.options.visible is not an option of example; use one of visibility, content_warning, sensitive, \
             board, language",
            "options.language is not an option of other; it has no options",
            "options.visible is not an option of other; it has no options",
        ]
    );
}

#[test]
fn values_have_their_type_and_required_ones_are_present() {
    let errors_in = |given: Options| {
        let mut errors = ValidationErrors::new();
        vocabulary().check_values("example", &given, "o", &mut errors);
        errors.iter().map(|it| it.1.to_owned()).collect::<Vec<_>>()
    };
    let good = options([
        ("visibility", text("private")),
        ("content_warning", text("5 🚣🚣")),
        ("sensitive", OptionValue::Flag(true)),
        ("language", text("zh-Hant-TW")),
    ]);
    assert_eq!(errors_in(good), Vec::<String>::new());
    let bad = options([
        ("visibility", text("secret")),
        ("content_warning", text("longer")),
        ("sensitive", text("true")),
        ("board", text("long")),
        ("language", text("english_")),
    ]);
    assert_eq!(
        errors_in(bad),
        [
            "o.visibility must be one of public, private",
            "o.content_warning may have at most 5 characters; this has 6",
            "o.sensitive must be true or false",
            "o.board may have at most 3 characters; this has 4",
            "o.language must be a language tag, such as en or pt-BR",
        ]
    );
    assert_eq!(
        errors_in(options([("content_warning", text(" "))])),
        ["o.content_warning may not be blank", "o.language is required on example",]
    );
}

#[test]
fn url_has_an_allowed_start_and_no_white_space() {
    const STARTS: &[&str] = &["https://", "at://"];
    for address in ["https://example.com/a", "at://did:plc:a/b"] {
        assert!(is_address(STARTS, address), "{address}");
    }
    let long = format!("https://{}", "a".repeat(MAX_ADDRESS));
    for no in ["", "https://", "http://example.com", "example.com", "https://a b", "https://a\n", &long] {
        assert!(!is_address(STARTS, no), "{no}");
    }
    let spec = OptionSpec::new("quote_url", OptionKind::Address(STARTS), "Quoted.");
    assert_eq!(spec.schema()["pattern"], "^(https://|at://)\\S+$");
    let error = spec.fault(&text("example.com")).unwrap();
    assert_eq!(error, "must be a URL that starts with https:// or at://");
}

#[test]
fn url_may_require_a_format() {
    const FORM: AddressForm = AddressForm {
        starts: &["https://", "at://"],
        has: |it| it.ends_with("/post"),
        examples: &["https://example.com/post", "at://example/post"],
    };
    let spec = OptionSpec::new("quote_url", OptionKind::AddressOf(&FORM), "Quoted.");
    for example in FORM.examples {
        assert_eq!(spec.fault(&text(example)), None);
    }
    for no in ["https://example.com/", "http://example.com/post", "https://a b/post", "example.com/post"] {
        let error = spec.fault(&text(no)).unwrap();
        assert_eq!(error, "must look like https://example.com/post or at://example/post", "{no}");
    }
    assert!(spec.fault(&OptionValue::Flag(true)).is_some());
    let schema = spec.schema();
    assert_eq!((&schema["pattern"], &schema["examples"]), (&json!("^(https://|at://)\\S+$"), &json!(FORM.examples)));
}

#[test]
fn schema_agrees_with_validation() {
    let schema = schema(SPECS);
    assert_eq!(schema["required"], json!(["language"]));
    assert_eq!(schema["properties"]["visibility"]["enum"], json!(["public", "private"]));
    assert_eq!(schema["properties"]["content_warning"]["maxLength"], 5);
    assert_eq!(schema["properties"]["board"]["x-choices"], true);
    assert_eq!(schema["properties"]["sensitive"], json!({"type": "boolean", "description": "Hides its files."}));
}

#[test]
fn an_option_may_be_required_by_another() {
    const SPECS: &[OptionSpec] = &[
        OptionSpec::new("topic", OptionKind::OneOf(&["standard", "event"]), "What it is."),
        OptionSpec::new("event_title", OptionKind::Text { max: 58 }, "The event.").required_when("topic", &["event"]),
    ];
    let vocabulary = PlatformOptions::new([("example", SPECS)]);
    let errors_in = |given: Options| {
        let mut errors = ValidationErrors::new();
        vocabulary.check_values("example", &given, "o", &mut errors);
        errors.iter().map(|it| it.1.to_owned()).collect::<Vec<_>>()
    };

    assert_eq!(errors_in(options([])), Vec::<String>::new());
    assert_eq!(errors_in(options([("topic", text("standard"))])), Vec::<String>::new());
    let expected = "o.event_title is required on example if topic is event";
    assert_eq!(errors_in(options([("topic", text("event"))])), [expected]);
    let whole = options([("topic", text("event")), ("event_title", text("Regatta"))]);
    assert_eq!(errors_in(whole), Vec::<String>::new());
    let schema = schema(SPECS);
    assert_eq!(schema["required"], json!([]));
    let when = json!({"properties": {"topic": {"enum": ["event"]}}, "required": ["topic"]});
    assert_eq!(schema["allOf"], json!([{"if": when, "then": {"required": ["event_title"]}}]));
}

#[test]
fn language_tag_is_well_formed() {
    for tag in ["de", "nds", "pt-BR", "zh-Hant-TW", "es-419", "de-1996", "sl-rozaj"] {
        assert!(is_language(tag), "{tag}");
    }
    for no in
        ["", "d", "english", "de_DE", "de-", "-de", "d3", "de-x", "de-verylongsubtag", "en-12", "en-US-GB", "de-AT-x1"]
    {
        assert!(!is_language(no), "{no}");
    }
}

#[test]
fn list_has_limited_entries_that_are_neither_long_nor_blank() {
    const TAGS: &[OptionSpec] = &[OptionSpec::new("tags", OptionKind::Texts { most: 2, max: 3 }, "Its tags.")];
    let list = |list: &[&str]| OptionValue::List(list.iter().map(|it| (*it).to_owned()).collect());
    for (given, expected) in [
        (list(&[]), None),
        (list(&["sea", "🚣🚣🚣"]), None),
        (list(&["a", "b", "c"]), Some("o.tags may have at most 2 entries; this has 3")),
        (list(&["a", "boats"]), Some("o.tags may have entries of at most 3 characters; the longest of these has 5")),
        (list(&["a", " "]), Some("o.tags may not contain blank entries")),
        (text("sea"), Some("o.tags must be a list of strings")),
    ] {
        let mut errors = ValidationErrors::new();
        let given = options([("tags", given)]);
        PlatformOptions::new([("example", TAGS)]).check_values("example", &given, "o", &mut errors);
        assert_eq!(messages(&errors), Vec::from_iter(expected), "{given:?}");
    }
    let schema = schema(TAGS);
    assert_eq!(schema["properties"]["tags"]["maxItems"], 2);
    assert_eq!(schema["properties"]["tags"]["items"]["maxLength"], 3);
}

#[test]
fn poll_answers_are_several_and_distinct() {
    const ANSWERS: &[OptionSpec] =
        &[OptionSpec::new("answers", OptionKind::Ballot { least: 2, most: 3, max: 4 }, "Its answers.")];
    let list = |list: &[&str]| OptionValue::List(list.iter().map(|it| (*it).to_owned()).collect());
    for (given, expected) in [
        (list(&["yes", "no"]), None),
        (list(&["yes"]), Some("o.answers needs at least 2 entries; this has 1")),
        (list(&["a", "b", "c", "d"]), Some("o.answers may have at most 3 entries; this has 4")),
        (list(&["a", " "]), Some("o.answers may not contain blank entries")),
        (list(&["a", "maybe"]), Some("o.answers may have entries of at most 4 characters; the longest of these has 5")),
        (list(&["yes", "yes "]), Some("o.answers may not contain an entry twice")),
        (text("yes"), Some("o.answers must be a list of strings")),
    ] {
        let mut errors = ValidationErrors::new();
        let given = options([("answers", given)]);
        PlatformOptions::new([("example", ANSWERS)]).check_values("example", &given, "o", &mut errors);
        assert_eq!(messages(&errors), Vec::from_iter(expected), "{given:?}");
    }
    let schema = &schema(ANSWERS)["properties"]["answers"];
    assert_eq!(
        (&schema["minItems"], &schema["maxItems"], &schema["uniqueItems"]),
        (&json!(2), &json!(3), &json!(true))
    );
}

#[test]
fn text_may_require_a_format() {
    const FORM: TextForm = TextForm {
        pattern: "^[a-z]+$",
        has: |it| it.bytes().all(|it| it.is_ascii_lowercase()),
        max: 4,
        examples: &["boat", "sea"],
    };
    let (one, many) = (OptionKind::TextOf(&FORM), OptionKind::TextsOf { most: 2, form: &FORM });
    let error = |kind, given: OptionValue| OptionSpec::new("name", kind, "A name.").fault(&given);
    let list = |words: &[&str]| OptionValue::List(words.iter().map(|it| (*it).to_owned()).collect());
    let format_error = || Some("must look like boat or sea".to_owned());
    assert_eq!(error(one, text("boat")), None);
    for no in [text("Boat"), text("boats"), text(""), list(&["boat"])] {
        assert_eq!(error(one, no), format_error());
    }
    assert_eq!(error(many, list(&["boat", "sea"])), None);
    assert_eq!(error(many, list(&["boat", "a b"])), Some("must look like boat or sea; entry 2 does not".to_owned()));
    assert_eq!(error(many, list(&["sea", "sea"])), Some("may not contain an entry twice".to_owned()));
    assert_eq!(error(many, list(&["a", "b", "c"])), Some("may have at most 2 entries; this has 3".to_owned()));
    assert_eq!(error(many, text("sea")), Some("must be a list of strings".to_owned()));
    let schema = OptionSpec::new("names", many, "Names.").schema();
    assert_eq!((&schema["maxItems"], &schema["items"]["pattern"]), (&json!(2), &json!("^[a-z]+$")));
}

#[test]
fn excluded_words_are_refused_in_any_case() {
    let spec = OptionSpec::new("name", OptionKind::TextWithout { max: 9, words: &["sea", "oz"] }, "A name.");
    for (given, expected) in [
        ("boat", None),
        ("OverSEAS", Some("may not contain \"sea\"; remove that word")),
        ("ozone", Some("may not contain \"oz\"; remove that word")),
        (" ", Some("may not be blank")),
        ("far too long", Some("may have at most 9 characters; this has 12")),
    ] {
        assert_eq!(spec.fault(&text(given)).as_deref(), expected, "{given}");
    }
    assert_eq!(spec.fault(&OptionValue::Flag(true)), Some("must be a string".to_owned()));
    assert_eq!(spec.schema()["not"], json!({"pattern": "[Ss][Ee][Aa]|[Oo][Zz]"}));
}

#[test]
fn option_may_require_or_exclude_another() {
    const SPECS: &[OptionSpec] = &[
        OptionSpec::new("poll", OptionKind::Flag, "Asks.").not_with("quote"),
        OptionSpec::new("hours", OptionKind::Number { min: 1, max: 9 }, "For how long.").needs("poll"),
        OptionSpec::new("quote", OptionKind::Flag, "Quotes."),
    ];
    let (yes, hours) = (OptionValue::Flag(true), OptionValue::Number(2));
    for (given, expected) in [
        (options([("poll", yes.clone()), ("hours", hours.clone())]), None),
        (options([("quote", yes.clone())]), None),
        (options([("hours", hours)]), Some("o.hours has no effect without poll; add poll or remove this option")),
        (
            options([("poll", yes.clone()), ("quote", yes)]),
            Some("o.poll and quote cannot be used in one post; remove one of them"),
        ),
    ] {
        let mut errors = ValidationErrors::new();
        PlatformOptions::new([("example", SPECS)]).check_values("example", &given, "o", &mut errors);
        assert_eq!(messages(&errors), Vec::from_iter(expected), "{given:?}");
    }
    let schema = schema(SPECS);
    assert_eq!(schema["dependentRequired"], json!({"hours": ["poll"]}));
    assert_eq!(schema["allOf"], json!([{"not": {"required": ["poll", "quote"]}}]));
}
