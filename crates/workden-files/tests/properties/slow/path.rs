//! A path as typed, resolved letter by letter onto a stack of names.

/// The names that `typed` means when it is read in `directory`; `None` when it is refused.
pub(crate) fn resolve(directory: &[String], typed: &str) -> Option<Vec<String>> {
    let mut names: Vec<String> = directory.to_vec();
    if typed.starts_with('/') {
        names.clear();
    }
    let mut name = String::new();
    for c in typed.chars().chain(['/']) {
        match c {
            '\0' => return None,
            '/' => {
                let done = std::mem::take(&mut name);
                if done == ".." {
                    names.pop()?;
                } else if !done.is_empty() && done != "." {
                    names.push(done);
                }
            }
            other => name.push(other),
        }
    }
    Some(names)
}

/// Names as one text.
pub(crate) fn text(names: &[String]) -> String {
    if names.is_empty() { "/".to_owned() } else { names.iter().map(|name| format!("/{name}")).collect() }
}
