//! The known name that a mistyped one probably means.

/// Returns the known name that differs from `typed` by one slip in every three letters at most: a letter that is missing,
/// added or wrong, or two in the wrong order. Case makes no difference.
#[must_use]
pub fn nearest<'n>(typed: &str, known: impl IntoIterator<Item = &'n str>) -> Option<&'n str> {
    let typed = typed.to_lowercase();
    let slips = |name: &str| strsim::osa_distance(&typed, &name.to_lowercase());
    let most = match typed.chars().count() {
        0 => return None,
        1 => 0,
        letters => (letters / 3).max(1),
    };
    let close = known.into_iter().filter(|name| slips(name) <= most);
    close.min_by_key(|name| slips(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slip_is_recognised_and_another_word_is_not() {
        let known = ["default", "permissive", "readonly", "strict", "mcp", "run", "tool"];
        for (typed, meant) in [
            ("defualt", Some("default")),
            ("Default", Some("default")),
            ("default", Some("default")),
            ("permisive", Some("permissive")),
            ("read-only", Some("readonly")),
            ("mpc", Some("mcp")),
            ("rnu", Some("run")),
            ("tol", Some("tool")),
            ("tols", None),
            ("", None),
            ("m", None),
            ("x", None),
            ("lax", None),
            ("shell", None),
            ("exec", None),
        ] {
            assert_eq!(nearest(typed, known), meant, "{typed}");
        }
    }
}
