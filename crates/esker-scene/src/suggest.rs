//! The nearest known word to a misspelt one.

/// The candidate nearest to `word`, if it is near enough to be what was meant.
///
/// Distance counts insertions, deletions, replacements and swaps of
/// neighbours; one in three letters may be wrong. A word that a candidate
/// begins with, or that begins with it, counts as near too (`stiff`, `rolling_friction`).
pub(crate) fn nearest<'a>(
    word: &str,
    candidates: impl IntoIterator<Item = &'a str>,
) -> Option<&'a str> {
    let normal = normalise(word);
    if normal.is_empty() || normal.len() > 64 {
        return None;
    }
    candidates
        .into_iter()
        .map(|candidate| (distance(&normal, &normalise(candidate)), candidate))
        .filter(|(distance, candidate)| {
            let allowed = normal.len().max(candidate.chars().count()).div_ceil(3);
            let longest_prefix = normal.len() >= 4 && {
                let typed: String = normal.iter().collect();
                candidate.starts_with(&typed) || typed.starts_with(*candidate)
            };
            *distance <= allowed || longest_prefix
        })
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, candidate)| candidate)
}

/// Upper case, hyphens and spaces are no reason for a distance.
fn normalise(word: &str) -> Vec<char> {
    word.chars()
        .map(|c| match c {
            '-' | ' ' => '_',
            c => c.to_ascii_lowercase(),
        })
        .collect()
}

/// Optimal string alignment distance.
fn distance(a: &[char], b: &[char]) -> usize {
    let mut before: Vec<usize> = Vec::new();
    let mut last: Vec<usize> = (0..=b.len()).collect();
    for i in 1..=a.len() {
        let mut row = vec![i];
        for j in 1..=b.len() {
            let same = usize::from(a[i - 1] != b[j - 1]);
            let mut best = (last[j - 1] + same).min(last[j] + 1).min(row[j - 1] + 1);
            if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                best = best.min(before[j - 2] + 1);
            }
            row.push(best);
        }
        before = std::mem::replace(&mut last, row);
    }
    last[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn misspelt_words_find_what_was_meant() {
        let keys = ["friction", "rolling", "restitution", "density", "materials"];
        assert_eq!(nearest("frction", keys), Some("friction"));
        assert_eq!(nearest("Friction", keys), Some("friction"));
        assert_eq!(nearest("densiyt", keys), Some("density"));
        assert_eq!(nearest("material", keys), Some("materials"));
        assert_eq!(nearest("rolling-friction", keys), Some("rolling"));
        assert_eq!(nearest("xyz", keys), None);
        assert_eq!(nearest("", keys), None);
    }
}
