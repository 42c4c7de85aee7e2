//! A spec as JSON and the like: `{"kind": "bloom", "items": 1000, "fpp": 0.01}`.
//!
//! With `serde_json` use its feature `float_roundtrip`: without it a rate may be read with another
//! last digit than was written.

use super::{Param, Spec, Takes, Value};
use alloc::string::String;
use core::fmt;
use serde::de::{Error, MapAccess, Visitor};
use serde::ser::SerializeMap;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

impl Serialize for Spec {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(1 + self.given().count()))?;
        map.serialize_entry("kind", self.kind().name())?;
        for param in self.given() {
            match self.get(param) {
                Some(Value::Whole(value)) => map.serialize_entry(param.word(), &value)?,
                Some(Value::Real(value)) => map.serialize_entry(param.word(), &value)?,
                Some(Value::Word(word)) => map.serialize_entry(param.word(), word)?,
                Some(Value::Given) | None => map.serialize_entry(param.word(), &true)?,
            }
        }
        map.end()
    }
}

impl<'de> Deserialize<'de> for Spec {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(Options)
    }
}

struct Options;

/// A value as formats know them: numbers, texts as people write them, and flags.
#[derive(Deserialize)]
#[serde(untagged)]
enum Raw {
    Whole(u64),
    Real(f64),
    Flag(bool),
    Text(String),
}

impl<'de> Visitor<'de> for Options {
    type Value = Spec;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a kind of filter and its options")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Spec, A::Error> {
        let mut kind: Option<Spec> = None;
        let mut options = alloc::vec::Vec::new();
        while let Some(name) = map.next_key::<String>()? {
            if name == "kind" {
                if kind.is_some() {
                    return Err(A::Error::duplicate_field("kind"));
                }
                let name: String = map.next_value()?;
                kind = Some(
                    Spec::named(&name).ok_or_else(|| A::Error::custom(alloc::format!("no kind {name:?}")))?,
                );
                continue;
            }
            let param = Param::from_word(&name)
                .ok_or_else(|| A::Error::custom(alloc::format!("no option {name:?}")))?;
            options.push((param, map.next_value::<Raw>()?));
        }
        let mut spec = kind.ok_or_else(|| A::Error::missing_field("kind"))?;
        for (param, raw) in options {
            // By two names of one option, or beside a kind whose name says it.
            if spec.has(param) {
                return Err(A::Error::custom(alloc::format!(
                    "{param} is given twice: leave out one of them"
                )));
            }
            spec = match (raw, param.takes()) {
                (Raw::Flag(false), Takes::Nothing) => spec,
                (Raw::Flag(true), Takes::Nothing) => spec.with(param, Value::Given),
                (Raw::Whole(value), _) => spec.with(param, Value::Whole(value)),
                (Raw::Real(value), _) => spec.with(param, Value::Real(value)),
                (Raw::Text(text), _) => spec.parse_option(param, &text).map_err(A::Error::custom)?,
                (Raw::Flag(_), _) => return Err(A::Error::custom(alloc::format!("{param} is no yes or no"))),
            };
        }
        spec.check().map_err(A::Error::custom)?;
        Ok(spec)
    }
}
