//! Configurations that would not mean what they seem to mean: errors with line and column.

use workden::Config;

#[test]
fn what_would_never_hold_is_an_error_where_it_stands() {
    for (text, expected) in [
        (
            "extends = \"permissive\"\n[rules]\ndefault = \"deny\"\n",
            "line 3, column 11: `default` is not supported with",
        ),
        ("[[mounts]]\nat = \"/a\"\ndirectory = \"\"\n", "line 3, column 13: `directory` is empty"),
        ("[rules.read]\nrules = [{ pattern = \"!b\", action = \"deny\" }]\n", "line 2, column 10: rule 1 of `read`"),
    ] {
        let error = Config::parse(text).unwrap_err().to_string();
        assert!(error.starts_with(expected), "{text:?}: {error}");
    }
}

#[test]
fn what_holds_is_read() {
    for text in [
        "extends = \"none\"\n[rules]\ndefault = \"deny\"\n",
        "extends = \"permissive\"\n[rules.write]\ndefault = \"deny\"\n",
        "[[mounts]]\nat = \"/a\"\ndirectory = \".\"\n",
    ] {
        assert!(Config::parse(text).is_ok(), "{text:?}");
    }
}
