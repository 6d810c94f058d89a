//! The part of an address behind the question mark.

use std::str::FromStr;

use crate::ViewError;

/// Names and values of a query. Pages of ours write none that would need an escape.
pub struct Query<'a>(Vec<(&'a str, &'a str)>);

impl<'a> Query<'a> {
    /// Reads a query.
    pub fn new(text: &'a str) -> Self {
        let pairs = text.split('&').filter(|part| !part.is_empty());
        Query(
            pairs
                .map(|part| part.split_once('=').unwrap_or((part, "")))
                .collect(),
        )
    }

    /// A value, if it is given.
    pub fn get(&self, name: &str) -> Option<&'a str> {
        let found = self.0.iter().find(|(key, _)| *key == name);
        found.map(|(_, value)| *value)
    }

    /// A value of a type, if it is given.
    pub fn parse<T: FromStr>(&self, name: &str) -> Result<Option<T>, ViewError> {
        match self.get(name) {
            None => Ok(None),
            Some(text) => match text.parse() {
                Ok(value) => Ok(Some(value)),
                Err(_) => Err(ViewError::Request(format!("\"{name}\" is not understood"))),
            },
        }
    }

    /// A list of values between commas, of at most so many; empty where it is not given.
    pub fn list<T: FromStr>(&self, name: &str, most: usize) -> Result<Vec<T>, ViewError> {
        let parts = self.get(name).unwrap_or("").split(',');
        let parts: Vec<&str> = parts.filter(|part| !part.is_empty()).collect();
        if parts.len() > most {
            return Err(ViewError::Request(format!(
                "\"{name}\" has more than {most} entries"
            )));
        }
        let values = parts.iter().map(|part| part.parse().ok());
        values
            .collect::<Option<_>>()
            .ok_or_else(|| ViewError::Request(format!("\"{name}\" is not understood")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_found_and_wrong_ones_refused() {
        let query = Query::new("step=12&picked=1,2&chains&color=speed");
        assert_eq!(query.parse::<u64>("step").unwrap(), Some(12));
        assert_eq!(query.parse::<u64>("after").unwrap(), None);
        assert!(query.parse::<u64>("color").is_err());
        assert_eq!(query.get("chains"), Some(""));
        assert_eq!(query.list::<u64>("picked", 2).unwrap(), [1, 2]);
        assert!(query.list::<u64>("picked", 1).is_err());
        assert!(query.list::<u64>("color", 8).is_err());
        assert!(Query::new("").get("x").is_none());
    }
}
