//! How many threads a command may use.

/// Cores that this process may use.
pub fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

/// The most threads to use where so many are asked for, or none in particular:
/// never more than cores, which would only wait for each other. Says so where
/// that is fewer than asked for.
pub fn most_threads(asked: Option<usize>) -> usize {
    let (most, word) = at_most(asked, cores());
    if let Some(word) = word {
        eprintln!("{word}");
    }
    most
}

fn at_most(asked: Option<usize>, cores: usize) -> (usize, Option<String>) {
    match asked {
        Some(asked) if asked > cores => {
            let word = format!(
                "note: {asked} threads asked for; using {cores}, one per core \
                 (more would wait for each other)"
            );
            (cores, Some(word))
        }
        Some(asked) => (asked.max(1), None),
        None => (cores, None),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn more_threads_than_cores_are_reduced_with_a_word() {
        let (most, word) = at_most(Some(1000), 2);
        assert_eq!(most, 2);
        assert!(word.is_some_and(|w| w.contains("1000 threads") && w.contains("using 2,")));
        assert_eq!(at_most(Some(2), 2), (2, None));
        assert_eq!(at_most(Some(0), 2), (1, None));
        assert_eq!(at_most(None, 6), (6, None));
    }
}
