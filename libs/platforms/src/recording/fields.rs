//! Finds the fields of a value that a type reads.

use std::cell::RefCell;
use std::collections::BTreeSet;

use serde::de::value::StrDeserializer;
use serde::de::{DeserializeOwned, DeserializeSeed, Deserializer, IntoDeserializer, MapAccess, SeqAccess, Visitor};
use serde_json::{Error, Value};

/// JSON pointers, in which `*` means every element of an array.
pub(super) type Fields = RefCell<BTreeSet<String>>;

/// Reads a value, and adds the fields that the type reads. For a type that accepts any JSON, or one
/// of several forms, the fields are unknown, and none are added.
pub(super) fn read<T: DeserializeOwned>(value: &Value, fields: &Fields) -> Result<T, Error> {
    T::deserialize(Observed { value, path: String::new(), fields })
}

struct Observed<'a> {
    value: &'a Value,
    path: String,
    fields: &'a Fields,
}

impl<'a> Observed<'a> {
    fn mark_read(&self) {
        self.fields.borrow_mut().insert(self.path.clone());
    }

    fn within(&self, segment: &str, value: &'a Value) -> Self {
        let segment = segment.replace('~', "~0").replace('/', "~1");
        Self { value, path: format!("{}/{segment}", self.path), fields: self.fields }
    }
}

macro_rules! read_as_a_whole {
    ($($method:ident($($argument:ident: $type:ty),*))*) => {
        $(fn $method<V: Visitor<'de>>(self, $($argument: $type,)* visitor: V) -> Result<V::Value, Error> {
            self.mark_read();
            self.value.$method($($argument,)* visitor)
        })*
    };
}

impl<'de> Deserializer<'de> for Observed<'de> {
    type Error = Error;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        self.value.deserialize_any(visitor)
    }

    fn deserialize_ignored_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        visitor.visit_unit()
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        if self.value.is_null() { visitor.visit_none() } else { visitor.visit_some(self) }
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(self, _: &'static str, visitor: V) -> Result<V::Value, Error> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Error> {
        self.deserialize_map(visitor)
    }

    fn deserialize_map<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        match self.value {
            Value::Object(object) => visitor.visit_map(Entries { observed: self, rest: object.iter(), value: None }),
            other => other.deserialize_map(visitor),
        }
    }

    fn deserialize_seq<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        match self.value {
            Value::Array(elements) => visitor.visit_seq(Elements { observed: self, rest: elements.iter() }),
            other => other.deserialize_seq(visitor),
        }
    }

    read_as_a_whole! {
        deserialize_bool() deserialize_i8() deserialize_i16() deserialize_i32() deserialize_i64() deserialize_i128()
        deserialize_u8() deserialize_u16() deserialize_u32() deserialize_u64() deserialize_u128() deserialize_f32()
        deserialize_f64() deserialize_char() deserialize_str() deserialize_string() deserialize_bytes()
        deserialize_byte_buf() deserialize_unit() deserialize_identifier() deserialize_tuple(length: usize)
        deserialize_unit_struct(name: &'static str) deserialize_tuple_struct(name: &'static str, length: usize)
        deserialize_enum(name: &'static str, variants: &'static [&'static str])
    }
}

struct Entries<'a> {
    observed: Observed<'a>,
    rest: serde_json::map::Iter<'a>,
    value: Option<Observed<'a>>,
}

impl<'de> MapAccess<'de> for Entries<'de> {
    type Error = Error;

    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, seed: K) -> Result<Option<K::Value>, Error> {
        let Some((key, value)) = self.rest.next() else { return Ok(None) };
        self.value = Some(self.observed.within(key, value));
        let key: StrDeserializer<'_, Error> = key.as_str().into_deserializer();
        seed.deserialize(key).map(Some)
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value, Error> {
        seed.deserialize(self.value.take().unwrap())
    }
}

struct Elements<'a> {
    observed: Observed<'a>,
    rest: std::slice::Iter<'a, Value>,
}

impl<'de> SeqAccess<'de> for Elements<'de> {
    type Error = Error;

    fn next_element_seed<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Result<Option<T::Value>, Error> {
        self.rest.next().map(|it| seed.deserialize(self.observed.within("*", it))).transpose()
    }
}

#[cfg(test)]
mod tests {
    use serde::Deserialize;
    use serde_json::json;

    use super::*;

    #[derive(Deserialize)]
    #[allow(dead_code, reason = "only what is read counts")]
    struct Post {
        id: String,
        author: Option<Author>,
        #[serde(default)]
        files: Vec<Author>,
        extra: Value,
    }

    #[derive(Deserialize)]
    #[allow(dead_code, reason = "only what is read counts")]
    struct Author {
        name: String,
    }

    #[test]
    fn fields_that_the_type_has_are_read_and_no_others() {
        let author = json!({"name": "Ada", "born": 1815});
        let post = json!({"id": "1", "likes": 2, "author": author, "files": [author], "extra": {"name": "x"}});
        let fields = Fields::default();

        read::<Post>(&post, &fields).unwrap();

        let read: Vec<_> = fields.into_inner().into_iter().collect();
        assert_eq!(read, ["/author/name", "/files/*/name", "/id"]);
    }
}
