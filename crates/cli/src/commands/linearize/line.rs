//! One line of a recorded history, described in docs/json.md.

use serde::Deserialize;
use serde::de::{self, Deserializer, Visitor};
use std::borrow::Cow;
use std::fmt;

/// Every field that a line may have.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Line<'a> {
    #[serde(borrow, default)]
    pub(super) schema: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    pub(super) unit: Option<Cow<'a, str>>,
    #[serde(borrow, default, deserialize_with = "given")]
    pub(super) id: Option<Scalar<'a>>,
    #[serde(borrow, default, deserialize_with = "given")]
    pub(super) client: Option<Scalar<'a>>,
    #[serde(borrow, default)]
    pub(super) op: Option<Cow<'a, str>>,
    #[serde(borrow, default, deserialize_with = "given")]
    pub(super) key: Option<Scalar<'a>>,
    #[serde(borrow, default, deserialize_with = "given")]
    pub(super) value: Option<Scalar<'a>>,
    #[serde(borrow, default, deserialize_with = "given")]
    pub(super) old: Option<Scalar<'a>>,
    #[serde(borrow, default, deserialize_with = "given")]
    pub(super) new: Option<Scalar<'a>>,
    #[serde(borrow, default, deserialize_with = "given")]
    pub(super) result: Option<Scalar<'a>>,
    #[serde(default, deserialize_with = "time")]
    pub(super) call: Option<u64>,
    #[serde(default, rename = "return", deserialize_with = "time")]
    pub(super) returned: Option<u64>,
}

/// A value other than a list or an object.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Scalar<'a> {
    Nothing,
    Truth(bool),
    Number(i64),
    Text(Cow<'a, str>),
}

impl fmt::Display for Scalar<'_> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Scalar::Nothing => out.write_str("null"),
            Scalar::Truth(truth) => write!(out, "{truth}"),
            Scalar::Number(number) => write!(out, "{number}"),
            Scalar::Text(text) => write!(out, "{text:?}"),
        }
    }
}

/// A field that is present, even if `null`.
fn given<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Scalar<'de>>, D::Error> {
    from.deserialize_any(AnyScalar).map(Some)
}

struct AnyScalar;

impl<'de> Visitor<'de> for AnyScalar {
    type Value = Scalar<'de>;

    fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("a whole number, text, true, false or null")
    }

    fn visit_unit<E: de::Error>(self) -> Result<Scalar<'de>, E> {
        Ok(Scalar::Nothing)
    }

    fn visit_bool<E: de::Error>(self, truth: bool) -> Result<Scalar<'de>, E> {
        Ok(Scalar::Truth(truth))
    }

    fn visit_i64<E: de::Error>(self, number: i64) -> Result<Scalar<'de>, E> {
        Ok(Scalar::Number(number))
    }

    fn visit_u64<E: de::Error>(self, number: u64) -> Result<Scalar<'de>, E> {
        i64::try_from(number)
            .map(Scalar::Number)
            .map_err(|_| E::custom(format!("{number} is beyond {}: write it as text", i64::MAX)))
    }

    fn visit_f64<E: de::Error>(self, number: f64) -> Result<Scalar<'de>, E> {
        let why = format!("{number:?} is not a whole number of 64 bits: write it as text");
        Err(E::custom(why))
    }

    fn visit_borrowed_str<E: de::Error>(self, text: &'de str) -> Result<Scalar<'de>, E> {
        Ok(Scalar::Text(Cow::Borrowed(text)))
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<Scalar<'de>, E> {
        Ok(Scalar::Text(Cow::Owned(text.to_owned())))
    }
}

/// A time. `null` counts as absent.
fn time<'de, D: Deserializer<'de>>(from: D) -> Result<Option<u64>, D::Error> {
    from.deserialize_any(AnyTime)
}

struct AnyTime;

impl Visitor<'_> for AnyTime {
    type Value = Option<u64>;

    fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("a time")
    }

    fn visit_unit<E: de::Error>(self) -> Result<Option<u64>, E> {
        Ok(None)
    }

    fn visit_i64<E: de::Error>(self, number: i64) -> Result<Option<u64>, E> {
        u64::try_from(number).map(Some).or_else(|_| not_a_time(number))
    }

    fn visit_u64<E: de::Error>(self, number: u64) -> Result<Option<u64>, E> {
        if number > i64::MAX as u64 { not_a_time(number) } else { Ok(Some(number)) }
    }

    fn visit_f64<E: de::Error>(self, number: f64) -> Result<Option<u64>, E> {
        not_a_time(format!("{number:?}"))
    }

    fn visit_bool<E: de::Error>(self, truth: bool) -> Result<Option<u64>, E> {
        not_a_time(truth)
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<Option<u64>, E> {
        not_a_time(format!("{text:?}"))
    }
}

fn not_a_time<E: de::Error>(said: impl fmt::Display) -> Result<Option<u64>, E> {
    Err(E::custom(format!("{said} is not a time")))
}
