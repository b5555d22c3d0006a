//! The shape of JSON values: the fields of objects and the types of values, without the values. Two
//! responses to the same call have the same shape, whatever account or post they are about.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::{self, Display, Formatter};

use serde_json::{Map, Value};

/// Represents every key that is an id, in an object that is used as a map.
const ID: &str = "{id}";

/// The shape of one value, or of several that were merged.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Shape {
    /// Without null, which is compatible with every type. Empty if only null was seen.
    types: BTreeSet<Type>,
    fields: BTreeMap<String, FieldShape>,
    /// The elements of all arrays; `None` where all arrays were empty.
    elements: Option<Box<Shape>>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct FieldShape {
    shape: Shape,
    /// Whether an object was seen without the field, or with null in it.
    is_optional: bool,
}

/// A JSON type. Integers and fractions are one type: `1` and `1.5` are often values of the same
/// field.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Type {
    Boolean,
    Number,
    String,
    Array,
    Object,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// A JSON pointer, in which `*` matches the elements of an array and `{id}` matches keys that
    /// are ids.
    pub path: String,
    pub kind: DifferenceKind,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DifferenceKind {
    /// Every expected object has the field, and no actual one does.
    Missing,
    /// An actual object has the field, and no expected one does.
    Unexpected,
    /// No type of the one value is a type of the other.
    Types { expected: BTreeSet<Type>, actual: BTreeSet<Type> },
}

impl Shape {
    /// The shape of a value. The elements of an array are merged into one shape, and so are the values of keys that
    /// are ids.
    #[must_use]
    pub fn from_value(value: &Value) -> Self {
        let with_type = |it| Self { types: BTreeSet::from([it]), ..Self::default() };
        match value {
            Value::Null => Self::default(),
            Value::Bool(_) => with_type(Type::Boolean),
            Value::Number(_) => with_type(Type::Number),
            Value::String(_) => with_type(Type::String),
            Value::Array(elements) => {
                let elements = elements.iter().map(Self::from_value).reduce(Self::merge).map(Box::new);
                Self { elements, ..with_type(Type::Array) }
            }
            Value::Object(fields) => Self { fields: FieldShape::from_object(fields), ..with_type(Type::Object) },
        }
    }

    /// One shape for two values of the same kind. What only one of them has is optional.
    #[must_use]
    pub fn merge(self, other: Self) -> Self {
        let both_are_objects = [&self, &other].iter().all(|it| it.types.contains(&Type::Object));
        let mut fields = self.fields;
        let mut only_in_one: BTreeSet<String> = fields.keys().cloned().collect();
        for (key, field) in other.fields {
            if let Some(before) = fields.remove(&key) {
                only_in_one.remove(&key);
                fields.insert(key, before.merge(field));
            } else {
                only_in_one.insert(key.clone());
                fields.insert(key, field);
            }
        }
        for (_, field) in fields.iter_mut().filter(|(key, _)| both_are_objects && only_in_one.contains(*key)) {
            field.is_optional = true;
        }
        let elements = match (self.elements, other.elements) {
            (Some(one), Some(another)) => Some(Box::new(one.merge(*another))),
            (one, another) => one.or(another),
        };
        Self { types: &self.types | &other.types, fields, elements }
    }
}

impl FieldShape {
    fn from_object(object: &Map<String, Value>) -> BTreeMap<String, Self> {
        let mut fields = BTreeMap::new();
        for (key, value) in object {
            let key = if is_id(key) { ID } else { key };
            let field = Self { shape: Shape::from_value(value), is_optional: value.is_null() };
            let merged = match fields.remove(key) {
                Some(before) => field.merge(before),
                None => field,
            };
            fields.insert(key.to_owned(), merged);
        }
        fields
    }

    fn merge(self, other: Self) -> Self {
        Self { shape: self.shape.merge(other.shape), is_optional: self.is_optional || other.is_optional }
    }
}

/// Whether a key is an id, such as `17841405822304914`, `!room:example.org` or a hash, and not a name.
fn is_id(key: &str) -> bool {
    let digits = key.chars().filter(char::is_ascii_digit).count();
    let is_number = 0 < digits && digits == key.len();
    is_number || 4 <= digits || key.starts_with(['!', '@', '#', '$']) || key.contains("://")
}

/// Where `actual` differs from `expected`, in the order of the paths. Null is compatible with every type and with an
/// absent field. What is only in some of the expected objects may be absent.
#[must_use]
pub fn differences(expected: &Shape, actual: &Shape) -> Vec<Difference> {
    let mut found = Vec::new();
    compare(expected, actual, "", &mut found);
    found
}

fn compare(expected: &Shape, actual: &Shape, path: &str, found: &mut Vec<Difference>) {
    let mut differ = |path: &str, kind| found.push(Difference { path: path.to_owned(), kind });
    if expected.types.is_empty() || actual.types.is_empty() {
        return;
    }
    if expected.types.is_disjoint(&actual.types) {
        let (expected, actual) = (expected.types.clone(), actual.types.clone());
        return differ(path, DifferenceKind::Types { expected, actual });
    }
    let both_are_objects = expected.types.contains(&Type::Object) && actual.types.contains(&Type::Object);
    let keys: BTreeSet<&String> = expected.fields.keys().chain(actual.fields.keys()).collect();
    for key in keys.into_iter().filter(|_| both_are_objects) {
        let path = format!("{path}/{}", key.replace('~', "~0").replace('/', "~1"));
        match (expected.fields.get(key), actual.fields.get(key)) {
            (Some(expected), Some(actual)) => compare(&expected.shape, &actual.shape, &path, found),
            // An empty map has no keys.
            (Some(it), None) if !it.is_optional && key != ID => {
                found.push(Difference { path, kind: DifferenceKind::Missing });
            }
            (None, Some(it)) if !it.shape.types.is_empty() && key != ID => {
                found.push(Difference { path, kind: DifferenceKind::Unexpected });
            }
            _ => {}
        }
    }
    if let (Some(expected), Some(actual)) = (&expected.elements, &actual.elements) {
        compare(expected, actual, &format!("{path}/*"), found);
    }
}

impl Display for Difference {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let path = if self.path.is_empty() { "the value" } else { &self.path };
        match &self.kind {
            DifferenceKind::Missing => write!(f, "{path}: missing"),
            DifferenceKind::Unexpected => write!(f, "{path}: unexpected"),
            DifferenceKind::Types { expected, actual } => {
                write!(f, "{path}: {}, expected {}", names(actual), names(expected))
            }
        }
    }
}

fn names(types: &BTreeSet<Type>) -> String {
    types.iter().map(ToString::to_string).collect::<Vec<_>>().join(" or ")
}

impl Display for Type {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Boolean => "boolean",
            Self::Number => "number",
            Self::String => "string",
            Self::Array => "array",
            Self::Object => "object",
        })
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn describe_differences(expected: &Value, actual: &Value) -> Vec<String> {
        differences(&Shape::from_value(expected), &Shape::from_value(actual)).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn values_of_the_same_types_have_the_same_shape() {
        let one = json!({"id": 1, "tags": [], "author": {"name": "Ada"}});
        let another = json!({"id": 2.5, "tags": ["sea"], "author": {"name": "Grace"}});

        assert_eq!(describe_differences(&one, &another), [""; 0]);
    }

    #[test]
    fn fields_and_types_that_differ_are_named_with_their_path() {
        let expected = json!({"post": {"id": "1", "url": "https://a.example", "a/b": 1}});
        let actual = json!({"post": {"id": 1, "link": "https://a.example"}});

        let found = [
            "/post/a~1b: missing",
            "/post/id: number, expected string",
            "/post/link: unexpected",
            "/post/url: missing",
        ];
        assert_eq!(describe_differences(&expected, &actual), found);
        assert_eq!(describe_differences(&json!([]), &json!({})), ["the value: object, expected array"]);
    }

    #[test]
    fn null_is_compatible_with_every_type_and_with_an_absent_field() {
        let with_null = json!({"reply": null, "id": "1"});

        for other in [json!({"id": "1"}), json!({"id": "2", "reply": {"id": "1"}}), json!({"id": null})] {
            assert_eq!(describe_differences(&with_null, &other), [""; 0], "{other}");
        }
        assert_eq!(describe_differences(&json!({"id": "1"}), &with_null), [""; 0]);
    }

    #[test]
    fn elements_of_an_array_are_merged() {
        let expected = json!([{"id": 1, "image": "a"}, {"id": 2}, {"id": "3"}]);

        assert_eq!(describe_differences(&expected, &json!([{"id": "1"}])), [""; 0], "only some have an image");
        assert_eq!(
            describe_differences(&expected, &json!([{"id": true}])),
            ["/*/id: boolean, expected number or string"]
        );
        assert_eq!(describe_differences(&expected, &json!([{"id": 1}, {"name": 1}])), ["/*/name: unexpected"]);
        assert_eq!(describe_differences(&expected, &json!([{"name": 1}])), ["/*/id: missing", "/*/name: unexpected"]);
    }

    #[test]
    fn keys_that_are_ids_are_one_field() {
        let expected = json!({"!one:example.org": {"events": 1}, "!two:example.org": {"events": 2}});

        assert_eq!(describe_differences(&expected, &json!({"!three:example.org": {"events": 1}})), [""; 0]);
        assert_eq!(describe_differences(&expected, &json!({"!three:example.org": {}})), ["/{id}/events: missing"]);
        assert_eq!(describe_differences(&expected, &json!({})), [""; 0], "a map may be empty");
        assert_eq!(
            describe_differences(&json!({"v1": 1, "source_2": 1}), &json!({})),
            ["/source_2: missing", "/v1: missing"]
        );
    }

    #[test]
    fn values_of_the_same_kind_are_merged_into_one_shape() {
        let merged =
            Shape::from_value(&json!({"id": 1, "url": "a"})).merge(Shape::from_value(&json!({"id": 2, "media": []})));

        assert_eq!(differences(&merged, &Shape::from_value(&json!({"id": 3}))), []);
        assert_eq!(differences(&merged, &Shape::from_value(&json!({}))).len(), 1, "every one has an id");
    }
}
