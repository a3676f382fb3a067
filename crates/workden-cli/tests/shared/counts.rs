//! How often a test repeats something.

/// Returns the first number, or the second if `WORKDEN_TEST_LONG=1` asks for the full count.
pub(crate) fn times<N>(usual: N, long: N) -> N {
    if std::env::var("WORKDEN_TEST_LONG").is_ok_and(|value| value == "1") { long } else { usual }
}
