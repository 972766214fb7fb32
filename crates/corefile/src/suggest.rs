//! "Did you mean": the known word nearest to an unknown one.

/// The candidate with the smallest edit distance to `word`, if it is small enough. One edit inserts, deletes or replaces
/// a letter, or swaps two.
pub fn nearest<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let letters = word.chars().count();
    // Two edits turn a word of three letters into nearly any other.
    let allowed = if letters <= 3 { 1 } else { (letters / 3).max(2) };
    candidates
        .into_iter()
        .filter(|candidate| *candidate != word)
        .map(|candidate| (distance(&word.to_lowercase(), &candidate.to_lowercase()), candidate))
        .filter(|(edits, _)| *edits <= allowed)
        .min_by_key(|(edits, _)| *edits)
        .map(|(_, candidate)| candidate)
}

/// Help text naming the nearest candidate.
pub fn did_you_mean<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<String> {
    nearest(word, candidates).map(|candidate| format!("did you mean '{candidate}'?"))
}

/// Damerau-Levenshtein distance, restricted: no substring is edited twice (optimal string alignment).
fn distance(a: &str, b: &str) -> usize {
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
    let mut rows = vec![vec![0; b.len() + 1]; a.len() + 1];
    for (i, row) in rows.iter_mut().enumerate() {
        row[0] = i;
    }
    for (j, cell) in rows[0].iter_mut().enumerate() {
        *cell = j;
    }
    for i in 1..=a.len() {
        for j in 1..=b.len() {
            let wrong = usize::from(a[i - 1] != b[j - 1]);
            let mut best = (rows[i - 1][j] + 1).min(rows[i][j - 1] + 1).min(rows[i - 1][j - 1] + wrong);
            if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                best = best.min(rows[i - 2][j - 2] + 1);
            }
            rows[i][j] = best;
        }
    }
    rows[a.len()][b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(word: &str, expected: Option<&str>) {
        let known =
            ["forward", "cache", "errors", "erratic", "log", "kubernetes", "file", "auto", "any", "acl"];
        assert_eq!(nearest(word, known), expected, "{word}");
    }

    #[test]
    fn misspellings() {
        check("foward", Some("forward"));
        check("fowrard", Some("forward"));
        check("Forward", Some("forward"));
        check("error", Some("errors"));
        check("kubrentes", Some("kubernetes"));
        check("lgo", Some("log"));
        check("lo", Some("log"));
        check("xyz", None);
        check("proxy", None);
        check("example.org", None);
    }

    #[test]
    fn distances() {
        for (a, b, edits) in [("", "abc", 3), ("abc", "abc", 0), ("abcd", "acbd", 1), ("ca", "abc", 3)] {
            assert_eq!(distance(a, b), edits, "{a} {b}");
        }
    }
}
