//! Reads values of the library's JSON texts.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use crate::{Error, ErrorKind, Result};

/// An object of a JSON text, with the function that returned the text.
#[derive(Clone, Copy)]
pub(super) struct Object<'a> {
    function: &'static str,
    fields: &'a Map<String, Value>,
}

/// Parses a text and reads its object.
pub(super) fn read<T>(
    function: &'static str,
    text: &str,
    read: impl FnOnce(Object<'_>) -> Result<T>,
) -> Result<T> {
    let value = serde_json::from_str(text).map_err(|error| wrong(function, &error.to_string()))?;
    read(object(function, "the text", &value)?)
}

fn wrong(function: &str, message: &str) -> Error {
    let message = format!("the JSON has an unexpected form: {message}");
    Error::found(ErrorKind::Internal, function, message)
}

fn object<'a>(function: &'static str, what: &str, value: &'a Value) -> Result<Object<'a>> {
    let fields = value.as_object();
    let fields = fields.ok_or_else(|| wrong(function, &format!("{what} is not an object")))?;
    Ok(Object { function, fields })
}

impl<'a> Object<'a> {
    /// A value by its key, of the kind that `get` reads.
    fn value<T>(self, key: &str, get: impl FnOnce(&'a Value) -> Option<T>) -> Result<T> {
        let value = self.fields.get(key).and_then(get);
        value.ok_or_else(|| {
            wrong(
                self.function,
                &format!("{key} is missing or has another type"),
            )
        })
    }

    pub(super) fn text(self, key: &str) -> Result<String> {
        self.value(key, Value::as_str).map(str::to_owned)
    }

    pub(super) fn number(self, key: &str) -> Result<u64> {
        self.value(key, Value::as_u64)
    }

    pub(super) fn truth(self, key: &str) -> Result<bool> {
        self.value(key, Value::as_bool)
    }

    /// A Boolean; false if the text does not have it.
    pub(super) fn flag(self, key: &str) -> bool {
        self.fields
            .get(key)
            .and_then(Value::as_bool)
            .unwrap_or(false)
    }

    pub(super) fn object(self, key: &str) -> Result<Object<'a>> {
        object(self.function, key, self.value(key, Some)?)
    }

    fn list(self, key: &str) -> Result<&'a Vec<Value>> {
        self.value(key, Value::as_array)
    }

    pub(super) fn texts(self, key: &str) -> Result<Vec<String>> {
        self.each(key, |value| value.as_str().map(str::to_owned))
    }

    pub(super) fn numbers(self, key: &str) -> Result<Vec<u64>> {
        self.each(key, Value::as_u64)
    }

    fn each<T>(self, key: &str, get: impl Fn(&Value) -> Option<T>) -> Result<Vec<T>> {
        let found: Option<Vec<T>> = self.list(key)?.iter().map(get).collect();
        found.ok_or_else(|| wrong(self.function, &format!("{key} has another type")))
    }

    pub(super) fn objects(self, key: &str) -> Result<Vec<Object<'a>>> {
        let list = self.list(key)?.iter();
        list.map(|value| object(self.function, key, value))
            .collect()
    }

    /// The keys, each with the value that `get` reads.
    pub(super) fn map<T>(
        self,
        mut get: impl FnMut(Object<'a>, &str) -> Result<T>,
    ) -> Result<BTreeMap<String, T>> {
        let keys = self.fields.keys();
        keys.map(|key| Ok((key.clone(), get(self, key)?))).collect()
    }
}
