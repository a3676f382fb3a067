//! Compiles the pattern of a grep; an error shows the position of a mistake in a regular expression.

use grep_regex::{RegexMatcher, RegexMatcherBuilder};
use regex_syntax::ast::ErrorKind as AstErrorKind;
use workden_core::{
    Error, ErrorKind, Result, limits,
    search::{LetterCase, Pattern, Span, Syntax},
};

/// Compiles a pattern.
///
/// # Errors
///
/// Returns `InvalidPattern`, with the position and an alternative.
pub(crate) fn compile(pattern: &Pattern) -> Result<RegexMatcher> {
    if pattern.text.is_empty() {
        return Err(Error::new(ErrorKind::InvalidPattern, "an empty pattern would match every line")
            .hint("give a text or a regular expression to look for"));
    }
    let most = match pattern.syntax {
        Syntax::Regex => limits::REGEX_BYTES,
        Syntax::Literal => limits::LITERAL_BYTES,
    };
    if pattern.text.len() > most {
        let sentence = format!("the pattern has {} bytes, and {most} is the most", pattern.text.len());
        return Err(Error::new(ErrorKind::InvalidPattern, sentence).hint("look for a part of it"));
    }
    if pattern.syntax == Syntax::Regex {
        check_syntax(&pattern.text)?;
    }
    let mut builder = RegexMatcherBuilder::new();
    builder
        .multi_line(true)
        .fixed_strings(pattern.syntax == Syntax::Literal)
        .size_limit(limits::COMPILED_PATTERN_BYTES)
        .dfa_size_limit(limits::COMPILED_PATTERN_BYTES);
    match pattern.case {
        LetterCase::Sensitive => {}
        LetterCase::Insensitive => _ = builder.case_insensitive(true),
        LetterCase::Smart => _ = builder.case_smart(true),
    }
    if pattern.span == Span::Line {
        builder.line_terminator(Some(b'\n'));
    }
    builder.build(&pattern.text).map_err(|error| match error.kind() {
        _ if pattern.syntax == Syntax::Literal && pattern.text.contains('\n') => {
            let sentence = "the text to look for has a newline in it, and a match stays within one line";
            Error::new(ErrorKind::InvalidPattern, sentence)
                .hint("ask for a multi-line search, or look for one of the lines")
        }
        _ if pattern.syntax == Syntax::Literal => {
            Error::new(ErrorKind::InvalidPattern, "the text to look for is too large to compile")
                .hint("look for a part of it")
        }
        grep_regex::ErrorKind::NotAllowed(_) | grep_regex::ErrorKind::InvalidLineTerminator(_) => {
            invalid(&pattern.text, "it has a newline in it, and a match stays within one line", None)
                .hint("ask for a multi-line search, or look for one of the lines")
        }
        _ => invalid(&pattern.text, "it is too large to compile", None).hint("use fewer or smaller repetitions"),
    })
}

fn check_syntax(text: &str) -> Result<()> {
    let parsed = regex_syntax::ParserBuilder::new().multi_line(true).utf8(false).build().parse(text);
    match parsed {
        Ok(_) => Ok(()),
        Err(regex_syntax::Error::Parse(error)) => {
            let (why, hint) = explain(error.kind());
            Err(invalid(text, &why, Some(error.span())).hint(hint))
        }
        Err(regex_syntax::Error::Translate(error)) => {
            Err(invalid(text, &error.kind().to_string(), Some(error.span())).hint(LITERAL_HINT))
        }
        Err(other) => Err(invalid(text, &other.to_string(), None).hint(LITERAL_HINT)),
    }
}

const LITERAL_HINT: &str =
    "to look for the text as it stands, ask for a literal search, or put `\\` before . + * ? ( ) [ ] { } | ^ $";

fn explain(kind: &AstErrorKind) -> (String, &'static str) {
    match kind {
        AstErrorKind::UnsupportedLookAround => (
            "look-around (`(?=`, `(?!`, `(?<=`, `(?<!`) is not supported, because it cannot be matched in linear time"
                .to_owned(),
            "match the wider text (`foobar` for `foo(?=bar)`), or search for one part and leave out lines by reading the matches",
        ),
        AstErrorKind::UnsupportedBackreference => (
            "backreferences (`\\1`) are not supported, because they cannot be matched in linear time".to_owned(),
            "spell the repeated part out, or write `\\\\1` for a backslash and a digit",
        ),
        other => (other.to_string(), LITERAL_HINT),
    }
}

/// Returns the error with the pattern below the sentence, and the position marked if it fits on a line.
fn invalid(text: &str, why: &str, span: Option<&regex_syntax::ast::Span>) -> Error {
    const MARKED_CHARS: usize = 120;
    let mut sentence = format!("invalid regular expression: {why}");
    let one_line = !text.contains(char::is_control) && text.chars().count() <= MARKED_CHARS;
    match span {
        Some(span) if one_line => {
            let before = text[..span.start.offset].chars().count();
            let width = text[span.start.offset..span.end.offset].chars().count().max(1);
            sentence.push_str(&format!("\n    {text}\n    {}{}", " ".repeat(before), "^".repeat(width)));
        }
        Some(span) => sentence.push_str(&format!(" (at line {}, column {})", span.start.line, span.start.column)),
        None => {}
    }
    Error::new(ErrorKind::InvalidPattern, sentence)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(text: &str) -> String {
        let error = compile(&Pattern::regex(text)).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidPattern);
        assert!(error.hint_text().is_some());
        error.to_string()
    }

    #[test]
    fn a_text_over_two_lines_is_not_called_a_regular_expression() {
        let error = compile(&Pattern::literal("a\nb")).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidPattern);
        assert!(error.sentence().starts_with("the text to look for has a newline in it"), "{error}");
    }

    #[test]
    fn an_invalid_regex_shows_where_and_what_instead() {
        assert_eq!(
            refused("foo(?=bar)"),
            "invalid regular expression: look-around (`(?=`, `(?!`, `(?<=`, `(?<!`) is not supported, because it cannot be matched in linear time\n    \
             foo(?=bar)\n       ^^^\n\
             hint: match the wider text (`foobar` for `foo(?=bar)`), or search for one part and leave out lines by reading the matches"
        );
        assert!(refused("a(b").contains("    a(b\n     ^\n"), "{}", refused("a(b"));
        assert!(refused("(x)\\1").contains("backreferences"));
        assert!(refused("").contains("every line"));
        assert!(refused(&format!("{}(", "x".repeat(500))).contains("column 501"));
    }

    #[test]
    fn a_newline_wants_a_multi_line_search() {
        assert!(refused("a\\nb").contains("multi-line"));
        assert!(refused("a\nb").contains("multi-line"));
        let multi = Pattern { span: Span::MultiLine, ..Pattern::regex("a\\nb") };
        assert!(compile(&multi).is_ok());
    }

    #[test]
    fn a_pattern_that_explodes_is_refused() {
        assert!(refused("((a{1000}){1000}){1000}").contains("too large"));
    }

    #[test]
    fn a_literal_is_no_regex() {
        assert!(compile(&Pattern::literal("a(b[")).is_ok());
    }

    #[test]
    fn patterns_made_to_be_large_are_compiled_or_refused_in_bounded_time() {
        let bombs = [
            "(a{1000}){1000}".to_owned(),
            "((a{100}){100}){100}".to_owned(),
            "(?i)\\w{1000}".to_owned(),
            "\\pL".repeat(3_000),
            "\\pL".repeat(30_000),
            "[a-z]*".repeat(1_600),
            "a|".repeat(4_900) + "b",
            "(".repeat(4_000) + &")".repeat(4_000),
            "[[a]&&".repeat(1_600),
            "(?i:".repeat(2_000),
        ];
        for text in bombs {
            let started = std::time::Instant::now();
            for span in [Span::Line, Span::MultiLine] {
                if let Err(error) = compile(&Pattern { span, ..Pattern::regex(text.clone()) }) {
                    assert!(error.to_string().len() < 2_000, "{error}");
                }
            }
            let shown: String = text.chars().take(20).collect();
            assert!(started.elapsed().as_secs() < 60, "{shown}... took {:?}", started.elapsed());
        }
        assert!(compile(&Pattern::literal("é".repeat(30_000))).is_ok());
        assert_eq!(compile(&Pattern::literal("é".repeat(300_000))).unwrap_err().kind(), ErrorKind::InvalidPattern);
    }
}
