//! Paths: one normal form, an order by component, and prefixes that come off as they went on.

use proptest::prelude::*;
use workden_core::{ErrorKind, VirtualPath};

use crate::{names, slow};

/// A path as a person might type it: names from a small alphabet, dots and slashes in odd places.
pub(crate) fn typed() -> impl Strategy<Value = String> {
    let part = prop_oneof![
        4 => "[a-c]{1,2}",
        1 => "[.]{1,3}",
        1 => Just(String::new()),
        1 => "[ab\u{1}./\\-é日~\\\\\n]{1,4}",
    ];
    (any::<bool>(), prop::collection::vec(part, 0..6))
        .prop_map(|(absolute, parts)| if absolute { format!("/{}", parts.join("/")) } else { parts.join("/") })
}

fn path() -> impl Strategy<Value = VirtualPath> {
    typed().prop_filter_map("climbs out", |typed| VirtualPath::parse(&typed).ok())
}

fn owned(path: &VirtualPath) -> Vec<String> {
    names(path).into_iter().map(str::to_owned).collect()
}

proptest! {
    #![proptest_config(crate::cases(2_000))]

    #[test]
    fn parsing_agrees_with_resolving_letter_by_letter(directory in path(), typed in typed()) {
        let expected = slow::path::resolve(&owned(&directory), &typed);
        let parsed = VirtualPath::parse_from(&directory, &typed);
        if let Err(error) = &parsed {
            prop_assert_eq!(error.kind(), ErrorKind::Escapes);
        }
        prop_assert_eq!(parsed.ok().map(|path| owned(&path)), expected);
    }

    #[test]
    fn any_text_parses_to_a_normal_form_or_is_refused(typed in any::<String>()) {
        let Ok(path) = VirtualPath::parse(&typed) else { return Ok(()) };
        prop_assert!(path.as_str().starts_with('/'));
        prop_assert!(path.is_root() || !path.as_str().ends_with('/'));
        prop_assert!(!path.as_str().contains('\0'));
        prop_assert!(names(&path).iter().all(|name| !matches!(*name, "" | "." | "..")));
        prop_assert_eq!(slow::path::text(&owned(&path)), path.as_str());
        prop_assert_eq!(VirtualPath::parse(path.as_str()).unwrap(), path);
    }

    #[test]
    fn paths_order_as_their_lists_of_names(one in path(), other in path()) {
        prop_assert_eq!(one.cmp(&other), owned(&one).cmp(&owned(&other)));
        prop_assert_eq!(one == other, owned(&one) == owned(&other));
    }

    #[test]
    fn long_paths_order_as_their_lists_of_names(shared in "[a/]{0,80}", one in "[ab/-]{0,40}", other in "[ab/-]{0,40}") {
        let one = VirtualPath::parse(&format!("{shared}{one}")).unwrap();
        let other = VirtualPath::parse(&format!("{shared}{other}")).unwrap();
        prop_assert_eq!(one.cmp(&other), owned(&one).cmp(&owned(&other)));
    }

    #[test]
    fn a_prefix_comes_off_as_it_went_on(prefix in path(), path in path()) {
        let joined = path.below(&prefix);
        prop_assert_eq!([owned(&prefix), owned(&path)].concat(), owned(&joined));
        prop_assert_eq!(joined.strip_prefix(&prefix), Some(path.clone()));
        prop_assert_eq!(path.is_within(&prefix), owned(&path).starts_with(&owned(&prefix)));
        prop_assert_eq!(path.strip_prefix(&prefix).map(|rest| rest.below(&prefix)), path.is_within(&prefix).then_some(path));
    }

    #[test]
    fn a_child_is_in_its_parent(path in path()) {
        match (path.parent(), path.name()) {
            (Some(parent), Some(name)) => {
                prop_assert_eq!(parent.child(name).unwrap(), path.clone());
                prop_assert_eq!(parent.depth() + 1, path.depth());
            }
            (parent, name) => prop_assert!(parent.is_none() && name.is_none() && path.is_root()),
        }
    }
}
