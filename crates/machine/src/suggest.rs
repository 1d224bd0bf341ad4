//! The nearest right word.

/// The candidate nearest to `word`, if one is near enough to be meant: at most a third of the letters, and at least
/// two, inserted, removed, changed or swapped. Of several as near, the one that is most nearly as long: letters are
/// confused more often than left out.
pub(crate) fn nearest<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let allowed = (word.chars().count() / 3).max(2);
    candidates
        .into_iter()
        .map(|candidate| (strsim::osa_distance(&word.to_lowercase(), candidate), candidate))
        .filter(|(distance, candidate)| *distance <= allowed && *distance < candidate.chars().count())
        .min_by_key(|(distance, candidate)| (*distance, candidate.len().abs_diff(word.len())))
        .map(|(_, candidate)| candidate)
}

/// `; did you mean CANDIDATE?`, or nothing.
pub(crate) fn did_you_mean<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>) -> String {
    nearest(word, candidates).map_or_else(String::new, |candidate| format!("; did you mean {candidate}?"))
}
