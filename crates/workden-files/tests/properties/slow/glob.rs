//! Path patterns by brute force: braces written out as texts, then names matched by trying.

/// Every pattern without braces that `pattern` stands for; `None` when its braces do not pair up
/// or a class is not closed.
pub(crate) fn without_braces(pattern: &str) -> Option<Vec<String>> {
    let chars: Vec<char> = pattern.chars().collect();
    let (texts, end) = expand(&chars, 0, false)?;
    (end == chars.len()).then_some(texts)
}

/// Reads up to the end, or to the brace that closes an `inner` part.
fn expand(chars: &[char], mut at: usize, inner: bool) -> Option<(Vec<String>, usize)> {
    let mut finished = Vec::new();
    let mut current = vec![String::new()];
    while at < chars.len() {
        let piece: Vec<String> = match chars[at] {
            '{' => {
                let (texts, close) = expand(chars, at + 1, true)?;
                at = close;
                texts
            }
            '}' if inner => {
                finished.append(&mut current);
                return Some((finished, at));
            }
            '}' => return None,
            ',' if inner => {
                finished.append(&mut current);
                current = vec![String::new()];
                at += 1;
                continue;
            }
            '\\' => {
                let escaped = *chars.get(at + 1)?;
                at += 1;
                vec![if escaped == '/' { "/".to_owned() } else { format!("\\{escaped}") }]
            }
            '[' => {
                let close = class_end(chars, at)?;
                let class: String = chars[at..=close].iter().collect();
                at = close;
                vec![class]
            }
            c => vec![c.to_string()],
        };
        current = current.iter().flat_map(|head| piece.iter().map(move |tail| format!("{head}{tail}"))).collect();
        at += 1;
    }
    if inner { None } else { Some((current, at)) }
}

/// Where the class that opens at `open` closes.
fn class_end(chars: &[char], open: usize) -> Option<usize> {
    let negation = usize::from(matches!(chars.get(open + 1), Some('!' | '^')));
    let body = open + 1 + negation;
    // The first character of a class is one of it, whatever it is.
    (body + 1..chars.len()).find(|at| chars[*at] == ']')
}

/// The names of a pattern without braces, `.` and empty ones left out. A `/` in a class is no
/// separator.
pub(crate) fn names(pattern: &str) -> Option<Vec<String>> {
    let chars: Vec<char> = pattern.chars().collect();
    let mut names = vec![String::new()];
    let mut at = 0;
    while at < chars.len() {
        let end = match chars[at] {
            '/' => {
                names.push(String::new());
                at += 1;
                continue;
            }
            '[' => class_end(&chars, at)?,
            '\\' => at + 1,
            _ => at,
        };
        names.last_mut()?.extend(chars.get(at..=end)?);
        at = end + 1;
    }
    names.retain(|name| !name.is_empty() && name != "." && name != "\\.");
    Some(names)
}

/// Whether a list of pattern names matches a list of names.
pub(crate) fn names_match(pattern: &[String], path: &[&str]) -> bool {
    match (pattern.split_first(), path.split_first()) {
        (None, _) => path.is_empty(),
        (Some((first, rest)), _) if first == "**" => match rest {
            [] => !path.is_empty(),
            _ => (0..=path.len()).any(|skipped| names_match(rest, &path[skipped..])),
        },
        (Some(_), None) => false,
        (Some((first, rest)), Some((name, below))) => {
            let first: Vec<char> = first.chars().collect();
            let name: Vec<char> = name.chars().collect();
            name_matches(&first, &name) && names_match(rest, below)
        }
    }
}

fn name_matches(pattern: &[char], name: &[char]) -> bool {
    match pattern {
        [] => name.is_empty(),
        ['*', rest @ ..] => (0..=name.len()).any(|skipped| name_matches(rest, &name[skipped..])),
        ['?', rest @ ..] => !name.is_empty() && name_matches(rest, &name[1..]),
        ['\\', c, rest @ ..] => name.first() == Some(c) && name_matches(rest, &name[1..]),
        ['[', ..] => {
            let Some(end) = class_end(pattern, 0) else { return false };
            !name.is_empty() && in_class(&pattern[1..end], name[0]) && name_matches(&pattern[end + 1..], &name[1..])
        }
        [c, rest @ ..] => name.first() == Some(c) && name_matches(rest, &name[1..]),
    }
}

fn in_class(class: &[char], c: char) -> bool {
    let (negated, body) = match class {
        ['!' | '^', body @ ..] => (true, body),
        body => (false, body),
    };
    let mut found = false;
    let mut at = 0;
    while at < body.len() {
        let is_range = at + 2 < body.len() && body[at + 1] == '-';
        if is_range {
            found |= (body[at]..=body[at + 2]).contains(&c);
            at += 3;
        } else {
            found |= body[at] == c;
            at += 1;
        }
    }
    found != negated
}

/// Whether a class anywhere in the pattern has a range that runs backwards.
pub(crate) fn has_backward_range(pattern: &str) -> bool {
    let chars: Vec<char> = pattern.chars().collect();
    let mut at = 0;
    while at < chars.len() {
        match chars[at] {
            '\\' => at += 1,
            '[' => {
                let Some(end) = class_end(&chars, at) else { return false };
                let negation = usize::from(matches!(chars[at + 1], '!' | '^'));
                let body = &chars[at + 1 + negation..end];
                let mut within = 0;
                while within + 2 < body.len() {
                    if body[within + 1] == '-' {
                        if body[within] > body[within + 2] {
                            return true;
                        }
                        within += 3;
                    } else {
                        within += 1;
                    }
                }
                at = end;
            }
            _ => {}
        }
        at += 1;
    }
    false
}

/// Whether `path` (names from the root) matches `pattern` as seen from `base`; `None` when the
/// pattern is to be refused.
pub(crate) fn is_match(pattern: &str, base: &[&str], path: &[&str]) -> Option<bool> {
    if pattern.contains('\0') || has_backward_range(pattern) {
        return None;
    }
    let texts = without_braces(pattern)?;
    let absolute = pattern.starts_with('/');
    if texts.iter().any(|text| text.starts_with('/') != absolute) {
        return None;
    }
    let mut lists = texts.iter().map(|text| names(text)).collect::<Option<Vec<_>>>()?;
    let is_dotdot = |name: &String| name.replace('\\', "") == ".." && !name.contains("\\\\");
    if lists.iter().flatten().any(is_dotdot) {
        return None;
    }
    lists.retain(|list| !list.is_empty());
    if lists.is_empty() {
        return None;
    }
    let relative = if absolute { Some(path) } else { path.strip_prefix(base) };
    Some(relative.is_some_and(|path| !path.is_empty() && lists.iter().any(|list| names_match(list, path))))
}
