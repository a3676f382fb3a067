//! Values of requests, as their description has them. A whole number has 64 bits and a sign, and `5.0` is one: clients that
//! count in floating point send it. An object is not a list, from which serde would take its fields by position.

use serde::{
    Deserialize, Deserializer,
    de::{Error as _, Unexpected, Visitor},
    forward_to_deserialize_any,
};

/// Numbers beyond this are not exact in floating point.
const EXACT: f64 = 9_007_199_254_740_992.0;

/// Reads a whole number.
pub(crate) fn whole<'de, D: Deserializer<'de>, N: TryFrom<i64>>(deserializer: D) -> Result<N, D::Error> {
    let number = deserializer.deserialize_i64(WholeNumber)?;
    N::try_from(number).map_err(|_| D::Error::invalid_value(Unexpected::Signed(number), &WholeNumber))
}

/// Reads a whole number, or nothing.
pub(crate) fn optional_whole<'de, D: Deserializer<'de>, N: TryFrom<i64>>(d: D) -> Result<Option<N>, D::Error> {
    struct Whole<N>(N);

    impl<'de, N: TryFrom<i64>> Deserialize<'de> for Whole<N> {
        fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
            whole(deserializer).map(Self)
        }
    }

    Ok(Option::<Whole<N>>::deserialize(d)?.map(|Whole(number)| number))
}

/// Reads an object.
pub(crate) fn object<'de, D: Deserializer<'de>, T: Deserialize<'de>>(deserializer: D) -> Result<T, D::Error> {
    T::deserialize(NoList(deserializer))
}

/// Reads an object, or nothing.
pub(crate) fn optional_object<'de, D, T>(deserializer: D) -> Result<Option<T>, D::Error>
where
    D: Deserializer<'de>,
    T: Deserialize<'de>,
{
    Ok(Option::<Described<T>>::deserialize(deserializer)?.map(|Described(value)| value))
}

/// Reads a list of objects.
pub(crate) fn objects<'de, D: Deserializer<'de>, T: Deserialize<'de>>(deserializer: D) -> Result<Vec<T>, D::Error> {
    Ok(Vec::<Described<T>>::deserialize(deserializer)?.into_iter().map(|Described(value)| value).collect())
}

/// An object within another value.
struct Described<T>(T);

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Described<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        object(deserializer).map(Self)
    }
}

/// Gives a struct its fields by name only.
struct NoList<D>(D);

impl<'de, D: Deserializer<'de>> Deserializer<'de> for NoList<D> {
    type Error = D::Error;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, D::Error> {
        self.0.deserialize_any(visitor)
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, D::Error> {
        self.0.deserialize_map(visitor)
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf option unit unit_struct
        newtype_struct seq tuple tuple_struct map enum identifier ignored_any
    }
}

struct WholeNumber;

impl Visitor<'_> for WholeNumber {
    type Value = i64;

    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("a whole number within its limits")
    }

    fn visit_i64<E>(self, number: i64) -> Result<i64, E> {
        Ok(number)
    }

    fn visit_u64<E: serde::de::Error>(self, number: u64) -> Result<i64, E> {
        i64::try_from(number).map_err(|_| E::invalid_value(Unexpected::Unsigned(number), &self))
    }

    fn visit_f64<E: serde::de::Error>(self, number: f64) -> Result<i64, E> {
        match number.fract() == 0.0 && number.abs() <= EXACT {
            #[expect(clippy::cast_possible_truncation, reason = "it is whole and within bounds")]
            true => Ok(number as i64),
            false => Err(E::invalid_value(Unexpected::Float(number), &self)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, Default, PartialEq, Deserialize)]
    #[serde(default)]
    struct Numbers {
        #[serde(deserialize_with = "whole")]
        size: u16,
        #[serde(deserialize_with = "optional_whole")]
        time: Option<u64>,
    }

    #[test]
    fn an_object_is_not_a_list() {
        #[derive(Debug, Default, PartialEq, Deserialize)]
        #[serde(default)]
        struct Outer {
            #[serde(deserialize_with = "object")]
            one: Numbers,
            #[serde(deserialize_with = "optional_object")]
            other: Option<Numbers>,
            #[serde(deserialize_with = "objects")]
            all: Vec<Numbers>,
        }

        let read = |json: &str| serde_json::from_str::<Outer>(json).ok();
        let one = |size| Numbers { size, time: None };
        let expected = Outer { one: one(1), other: Some(one(2)), all: vec![one(3)] };
        assert_eq!(read(r#"{"one": {"size": 1}, "other": {"size": 2}, "all": [{"size": 3}]}"#), Some(expected));
        assert_eq!(read(r#"{"other": null}"#), Some(Outer::default()));
        for json in [r#"{"one": [1]}"#, r#"{"other": [1, null]}"#, r#"{"all": [[1, null]]}"#, r#"{"one": null}"#] {
            assert_eq!(read(json), None, "{json}");
        }
    }

    #[test]
    fn a_number_is_whole_and_within_its_limits() {
        let read = |json: &str| serde_json::from_str(json).map(|Numbers { size, time }| (size, time)).ok();
        for (json, expected) in [
            ("{}", Some((0, None))),
            (r#"{"size": 7, "time": null}"#, Some((7, None))),
            (r#"{"size": 7.0, "time": 1e3}"#, Some((7, Some(1000)))),
            (r#"{"time": 9223372036854775807}"#, Some((0, Some(9_223_372_036_854_775_807)))),
            (r#"{"time": 9223372036854775808}"#, None),
            (r#"{"time": 1e300}"#, None),
            (r#"{"time": 1.5}"#, None),
            (r#"{"time": -1}"#, None),
            (r#"{"time": "1"}"#, None),
            (r#"{"size": 65536}"#, None),
            (r#"{"size": null}"#, None),
        ] {
            assert_eq!(read(json), expected, "{json}");
        }
    }
}
