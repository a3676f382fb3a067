//! The explanation of a failed edit: the nearest lines, and how they differ.
//!
//! A near miss is only shown, never applied: an edit at a guessed place can damage the file.

use strsim::normalized_levenshtein;
use unicode_normalization::UnicodeNormalization;

use super::encoding::Encoding;
use crate::{Error, ErrorKind, Refusal, VirtualPath};

/// Content beyond this is not compared line by line.
const COMPARED_BYTES: usize = 4 * 1024 * 1024;
/// Lines beyond this are not compared for similarity, which is the costly part.
const LIKENED_LINES: usize = 5_000;
/// Pairs of characters beyond this are not compared for similarity.
const LIKENED_PAIRS: usize = 60_000_000;
/// The same limit for parts of lines.
const LIKENED_PART_PAIRS: usize = 20_000_000;
/// The weight of a similar part of a line, relative to a similar whole line.
const PART_COUNTS: f64 = 0.95;
/// Comparisons of two lines, with long lines counting for more, before the search for a reason ends.
const COMPARISON_STEPS: usize = 4_000_000;
/// Characters of one line that are compared or shown.
const LINE_CHARS: usize = 200;
/// Lines shown of the nearest place.
const SHOWN_LINES: usize = 6;
/// Lines and parts of lines below this similarity are not shown: below it, a text that is nowhere in the file resembles
/// some line by accident, and a wrong place is worse than none.
const WORTH_SHOWING: f64 = 0.7;
/// Words that a text needs to be compared with parts of lines. Almost every two words are somewhere in a long file.
const PART_WORDS: usize = 3;
/// Characters of a line that count as a likeness when another line contains them. Shorter ones, like `}`, are everywhere.
const CONTAINED_CHARS: usize = 8;

/// Returns the refusal for a text that does not occur exactly once, with the shown part of the text.
pub(super) fn as_data(path: &VirtualPath, matches: u64, old: &str) -> Refusal {
    Refusal::Edit { path: path.clone(), matches, old_text: old.chars().take(LINE_CHARS).collect() }
}

/// Returns the error for a text that does not occur in the content.
pub(super) fn not_found(path: &VirtualPath, content: &[u8], old: &str) -> Error {
    let head = &content[..content.len().min(COMPARED_BYTES)];
    let text = Encoding::Utf8.decode_lossy(head);
    let error = |why: String| {
        Error::new(ErrorKind::NoMatch, format!("cannot edit `{path}`: {} not found{why}", quoted(old)))
            .refused_for(as_data(path, 0, old))
    };
    if text.is_empty() {
        return error(": the file is empty".to_owned()).hint("write the file instead");
    }
    // An empty string after the last line break is not a line.
    let have: Vec<&str> = text.strip_suffix('\n').unwrap_or(&text).split('\n').collect();
    let want: Vec<&str> = old.strip_suffix('\n').unwrap_or(old).split('\n').collect();

    if let Some(numberless) = without_line_numbers(&want)
        && text.contains(&numberless)
    {
        return error(" as given".to_owned())
            .hint("the text has line numbers of a numbered read in it; leave the numbers and tabs out");
    }
    let unescaped = old.replace("\\n", "\n").replace("\\t", "\t");
    if unescaped != old && text.contains(&unescaped) {
        return error(" as given".to_owned())
            .hint("the text has `\\n` or `\\t` as two characters; give a real line break or tab");
    }
    if let Some(unended) = old.strip_suffix('\n')
        && content.len() <= COMPARED_BYTES
        && text.ends_with(unended)
    {
        return error(" as given".to_owned())
            .hint("the file ends without a line break; leave it out at the end of the text");
    }
    let mut steps = COMPARISON_STEPS;
    for difference in DIFFERENCES {
        if let Some(at) = find_lines(&have, &want, difference.alike, &mut steps) {
            return error(format!(
                "; {} come{} near:\n{}",
                place(at, want.len()),
                plural(&want),
                numbered(&have, at, want.len())
            ))
            .hint(difference.hint);
        }
    }
    match most_alike(&have, &want) {
        Some(at) => {
            let shown = want.len().min(have.len() - at);
            let verb = if shown > 1 { "are" } else { "is" };
            error(format!("; the nearest {verb} {}:\n{}", place(at, shown), numbered(&have, at, shown)))
                .hint("read the file again and copy the text exactly")
        }
        None => error(", and nothing like it".to_owned()).hint("read the file again, or search for a part of the text"),
    }
}

/// Shortens a text for an error: its first line, of limited length.
pub(super) fn quoted(text: &str) -> String {
    let first = text.lines().find(|line| !line.trim().is_empty()).unwrap_or("");
    let more = if text.trim_end().lines().count() > 1 { " (and the lines after it)" } else { "" };
    format!("`{}`{more}", short(first.trim()))
}

fn short(line: &str) -> String {
    match line.char_indices().nth(LINE_CHARS) {
        Some((at, _)) => format!("{}...", &line[..at]),
        None => line.to_owned(),
    }
}

fn plural(want: &[&str]) -> &'static str {
    if want.len() == 1 { "s" } else { "" }
}

fn place(at: usize, lines: usize) -> String {
    match lines {
        0 | 1 => format!("line {}", at + 1),
        lines => format!("lines {} to {}", at + 1, at + lines),
    }
}

fn numbered(have: &[&str], at: usize, lines: usize) -> String {
    let shown = lines.min(SHOWN_LINES);
    let mut text: Vec<String> = have
        .iter()
        .enumerate()
        .skip(at)
        .take(shown)
        .map(|(index, line)| format!("{:>6}\t{}", index + 1, short(line).trim_end_matches('\r')))
        .collect();
    if shown < lines {
        text.push(format!("   ...\t({} more)", lines - shown));
    }
    text.join("\n")
}

/// A kind of difference between similar lines, tried in this order.
struct Difference {
    alike: fn(&str, &str) -> bool,
    hint: &'static str,
}

const DIFFERENCES: &[Difference] = &[
    Difference {
        alike: |have, want| strip_cr(have) == strip_cr(want),
        hint: "they differ in line endings: CRLF (\\r\\n) against LF (\\n); write them as the file has them",
    },
    Difference {
        alike: |have, want| have.trim_end() == want.trim_end(),
        hint: "they differ in white space at the end of lines",
    },
    Difference {
        alike: |have, want| have.trim() == want.trim(),
        hint: "they differ in indentation; tabs and spaces count",
    },
    Difference { alike: |have, want| words(have).eq(words(want)), hint: "they differ in white space inside the lines" },
    Difference {
        alike: |have, want| plain(have).eq(plain(want)),
        hint: "they differ in quotes, dashes or look-alike characters (\u{2018}\u{2019} against ', \u{201c}\u{201d} against \", \u{2013} against -)",
    },
    Difference { alike: |have, want| same_case(have, want), hint: "they differ in upper and lower case" },
];

fn strip_cr(line: &str) -> &str {
    line.strip_suffix('\r').unwrap_or(line)
}

fn words(line: &str) -> impl Iterator<Item = &str> {
    line.split_whitespace()
}

/// Returns the line with look-alikes folded and composed forms decomposed.
fn plain(line: &str) -> impl Iterator<Item = char> + '_ {
    line.trim().nfkd().map(|c| match c {
        '\u{2018}' | '\u{2019}' | '\u{201A}' | '\u{2032}' | '`' | '\u{b4}' => '\'',
        '\u{201C}' | '\u{201D}' | '\u{201E}' | '\u{2033}' => '"',
        '\u{2010}'..='\u{2015}' | '\u{2212}' => '-',
        other => other,
    })
}

fn same_case(have: &str, want: &str) -> bool {
    have.trim().chars().flat_map(char::to_lowercase).eq(want.trim().chars().flat_map(char::to_lowercase))
}

/// Finds consecutive lines that are all similar to the wanted lines.
///
/// Repeated lines make this quadratic, and so does a blank line, so the search ends when `steps` are used up: no answer
/// is better than a late one.
fn find_lines(have: &[&str], want: &[&str], alike: fn(&str, &str) -> bool, steps: &mut usize) -> Option<usize> {
    let (lead, first) = want.iter().enumerate().find(|(_, line)| !line.trim().is_empty())?;
    let mut is_alike = |have: &str, want: &str| {
        *steps = steps.saturating_sub(1 + (have.len() + want.len()) / 16);
        *steps > 0 && alike(have, want)
    };
    have.windows(want.len()).position(|lines| {
        is_alike(lines[lead], first) && lines.iter().zip(want).all(|(have, want)| is_alike(have, want))
    })
}

/// Finds the line that is most similar to the longest wanted line, which tells more than the others.
fn most_alike(have: &[&str], want: &[&str]) -> Option<usize> {
    let lines = want.iter().map(|line| line.trim()).enumerate().filter(|(_, line)| !line.is_empty());
    let (lead, wanted) = lines.rev().max_by_key(|(_, line)| line.chars().count())?;
    let wanted = short(wanted);
    let is_contained = |line: &str| wanted.chars().count() >= CONTAINED_CHARS && line.contains(&wanted);
    let mut best = (0.0, None);
    let mut pairs = LIKENED_PAIRS;
    let mut part_pairs = LIKENED_PART_PAIRS;
    for (at, line) in have.iter().enumerate().take(LIKENED_LINES) {
        let line = line.trim();
        if line.is_empty() {
            continue;
        }
        let likeness = if is_contained(line) {
            1.0
        } else {
            let line = short(line);
            let Some(left) = pairs.checked_sub(line.chars().count() * wanted.chars().count()) else { break };
            pairs = left;
            let part = likest_part(&line, &wanted, &mut part_pairs);
            let whole = normalized_levenshtein(&line, &wanted);
            if whole.max(part) < WORTH_SHOWING {
                continue;
            }
            whole.max(PART_COUNTS * part)
        };
        if likeness > best.0 {
            best = (likeness, Some(at.saturating_sub(lead)));
        }
    }
    best.1
}

/// Returns the similarity of the wanted text to the most similar part of a line with as many words. The comparison ends
/// when `pairs` of characters are used up.
fn likest_part(line: &str, wanted: &str, pairs: &mut usize) -> f64 {
    let count = words(wanted).count();
    let wanted_chars = wanted.chars().count();
    // The start and the end of each word.
    let at = |word: &str| word.as_ptr() as usize - line.as_ptr() as usize;
    let places: Vec<(usize, usize)> = words(line).map(|word| (at(word), at(word) + word.len())).collect();
    if count < PART_WORDS || places.len() <= count {
        return 0.0;
    }
    let mut best = 0.0_f64;
    for window in places.windows(count) {
        let part = &line[window[0].0..window[count - 1].1];
        let part_chars = part.chars().count();
        // The part is too long or too short to be worth showing, whatever it contains.
        if part_chars.min(wanted_chars) * 2 < part_chars.max(wanted_chars) {
            continue;
        }
        let Some(left) = pairs.checked_sub(part_chars * wanted_chars) else { break };
        *pairs = left;
        best = best.max(normalized_levenshtein(part, wanted));
    }
    best
}

/// Returns the wanted lines without the numbers of a numbered or hashline read, if every line has one.
fn without_line_numbers(want: &[&str]) -> Option<String> {
    let stripped: Option<Vec<&str>> = want
        .iter()
        .map(|line| {
            let rest = line.trim_start().trim_start_matches(|c: char| c.is_ascii_digit());
            if rest.len() == line.trim_start().len() {
                return None;
            }
            rest.strip_prefix('\t')
                .or_else(|| rest.strip_prefix(':').and_then(|rest| rest.split_once('|')).map(|(_, line)| line))
        })
        .collect();
    stripped.map(|lines| lines.join("\n"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn explain(content: &str, old: &str) -> String {
        not_found(&VirtualPath::parse("/f").unwrap(), content.as_bytes(), old).to_string()
    }

    #[test]
    fn the_answer_says_how_the_nearest_lines_differ() {
        for (content, old, why) in [
            ("fn a() {\n\tlet x = 1;\n}\n", "fn a() {\n    let x = 1;\n}", "indentation"),
            ("let x = 1;  \nlet y;\n", "let x = 1;\nlet y;", "at the end of lines"),
            ("say(\u{201c}hi\u{201d})\n", "say(\"hi\")", "quotes"),
            ("a\r\nb\nc\n", "a\nb", "CRLF"),
            ("x = a  +  b\n", "x = a + b", "white space inside"),
            ("Hello World\n", "hello world", "upper and lower case"),
            ("cafe\u{301}\n", "caf\u{e9}", "look-alike"),
            ("one\ntwo\n", "     1\tone\n     2\ttwo", "line numbers"),
            ("one\ntwo\n", "1:ab|one\n2:cd|two", "line numbers"),
        ] {
            let answer = explain(content, old);
            assert!(answer.contains(why), "{answer}");
        }
    }

    #[test]
    fn a_similar_line_is_shown_with_its_number() {
        let answer = explain("def start():\n    pass\ndef handle_request(self):\n", "def handle_requests(self):");
        assert!(answer.contains("the nearest is line 3:\n     3\tdef handle_request(self):"), "{answer}");
    }

    #[test]
    fn a_part_of_a_line_is_found_by_its_words() {
        let answer = explain("# Today\n- [x] write the docs\n", "write the book");
        assert!(answer.contains("the nearest is line 2:\n     2\t- [x] write the docs"), "{answer}");
        let whole = explain("x = write the docs\nwrite the dook\n", "write the dock");
        assert!(whole.contains("the nearest is line 2"), "a whole line comes before a part: {whole}");
    }

    #[test]
    fn lines_are_counted_as_a_reader_counts_them() {
        let answer = explain("def one():\n    pass\n", "def once():\n    return\n    x\n");
        assert!(
            answer.contains("the nearest are lines 1 to 2:\n     1\tdef one():\n     2\t    pass\nhint"),
            "{answer}"
        );
    }

    #[test]
    fn what_a_model_types_by_mistake_is_called_by_its_name() {
        for (content, old, why) in [
            ("a\nb\n", "a\\nb", "`\\n` or `\\t` as two characters"),
            ("a\tb\n", "a\\tb", "`\\n` or `\\t` as two characters"),
            ("a\nb", "b\n", "ends without a line break"),
            ("", "x", "the file is empty"),
        ] {
            let answer = explain(content, old);
            assert!(answer.contains(why), "{answer}");
        }
    }

    #[test]
    fn nothing_like_it_says_so() {
        assert!(explain("abc\n", "zzzzzzzzzz").contains("nothing like it"));
        assert!(explain("abc", "\n\n").contains("nothing like it"));
        let prose = "Changes\n=======\n\n-   The changelog of\n    a change log, or\n# Change the log\n}\n# Chains\n";
        assert!(explain(prose, "# Changelog").contains("nothing like it"));
        assert!(explain(prose, "# Changelog\n}\n").contains("nothing like it"));
    }

    #[test]
    fn a_huge_file_is_explained_in_bounded_time() {
        let content = "some line of text that is not it at all\n".repeat(200_000);
        let started = std::time::Instant::now();
        explain(&content, "another line of text that is it");
        assert!(started.elapsed().as_secs() < 60);
    }

    #[test]
    fn texts_made_to_be_compared_forever_are_not() {
        let spaces = " ".repeat(100_000);
        for (content, old) in [
            ("a \n".repeat(200_000), "a\n".repeat(100_000) + "b"),
            ("y\n".repeat(200_000), spaces.clone() + "x"),
            ("y\n".repeat(200_000), format!("x{spaces}x")),
            ((spaces.clone() + "y\n").repeat(40), spaces.clone() + "x"),
            (("ab ".repeat(66) + "\n").repeat(5_000), "ba ".repeat(33)),
            (("\u{fdfa}".repeat(100) + "\n").repeat(1_000), "\u{fdfa}".repeat(99)),
        ] {
            let started = std::time::Instant::now();
            explain(&content, &old);
            assert!(started.elapsed().as_secs() < 60, "took {:?}", started.elapsed());
        }
    }
}
