//! Windows of a whole text that is split at once, and lines looked at one by one.

/// The lines of a text, each with its newline.
pub(crate) fn with_endings(text: &str) -> Vec<String> {
    let mut lines = vec![String::new()];
    for c in text.chars() {
        lines.last_mut().into_iter().for_each(|line| line.push(c));
        if c == '\n' {
            lines.push(String::new());
        }
    }
    lines.retain(|line| !line.is_empty());
    lines
}

/// A window of lines under a ceiling of characters: its text, and whether it was cut after a line
/// (`Some(true)`) or inside its only one (`Some(false)`).
pub(crate) fn window(text: &str, offset: u64, limit: u64, max_chars: u64) -> (String, Option<bool>) {
    let lines = with_endings(text);
    let wanted: Vec<&String> = lines
        .iter()
        .enumerate()
        .filter(|(at, _)| *at as u64 >= offset && (*at as u64 - offset) < limit)
        .map(|(_, line)| line)
        .collect();
    let chars = |text: &str| text.chars().count() as u64;
    let whole: String = wanted.iter().map(|line| line.as_str()).collect();
    if chars(&whole) <= max_chars {
        return (whole, None);
    }
    let mut fits = String::new();
    for line in wanted {
        if chars(&fits) + chars(line) > max_chars {
            break;
        }
        fits.push_str(line);
    }
    if fits.is_empty() { (whole.chars().take(max_chars as usize).collect(), Some(false)) } else { (fits, Some(true)) }
}

/// Which lines (from 0) match, and which stand within `before` and `after` of one: `(line, is match)`.
pub(crate) fn around(matching: &[bool], before: usize, after: usize) -> Vec<(usize, bool)> {
    (0..matching.len())
        .filter_map(|at| {
            let near = (at.saturating_sub(after)..=at.saturating_add(before).min(matching.len() - 1))
                .any(|other| matching[other]);
            (matching[at] || near).then_some((at, matching[at]))
        })
        .collect()
}
