//! Visible characters, and escapes for the others, for text by which a person decides.
//!
//! Invariant: text written with [`spell`] moves no cursor, reverses no text and hides nothing: every character is
//! either visible or escaped.

/// Characters that are invisible or change how others appear: the format characters of Unicode (Cf), the characters
/// that a renderer may ignore (Default_Ignorable_Code_Point), separators of lines and paragraphs, and blank letters and
/// symbols. Sorted.
const UNSEEN: &[(char, char)] = &[
    ('\u{ad}', '\u{ad}'),   // soft hyphen
    ('\u{34f}', '\u{34f}'), // combining grapheme joiner
    ('\u{600}', '\u{605}'), // signs that enclose Arabic numbers
    ('\u{61c}', '\u{61c}'), // Arabic letter mark
    ('\u{6dd}', '\u{6dd}'),
    ('\u{70f}', '\u{70f}'),
    ('\u{890}', '\u{891}'),
    ('\u{8e2}', '\u{8e2}'),
    ('\u{115f}', '\u{1160}'),   // fillers of Hangul
    ('\u{17b4}', '\u{17b5}'),   // vowels of Khmer that are not written
    ('\u{180b}', '\u{180f}'),   // selectors and the vowel separator of Mongolian
    ('\u{200b}', '\u{200f}'),   // no width, joiners, marks of direction
    ('\u{2028}', '\u{202e}'),   // separators, embeddings and overrides
    ('\u{2060}', '\u{206f}'),   // joiner, invisible operators, isolates
    ('\u{2800}', '\u{2800}'),   // Braille without a dot
    ('\u{3164}', '\u{3164}'),   // filler of Hangul
    ('\u{fdd0}', '\u{fdef}'),   // no characters
    ('\u{fe00}', '\u{fe0f}'),   // variation selectors
    ('\u{feff}', '\u{feff}'),   // byte order mark
    ('\u{ffa0}', '\u{ffa0}'),   // filler of Hangul, half as wide
    ('\u{fff0}', '\u{fffb}'),   // unassigned but ignorable, and annotations
    ('\u{110bd}', '\u{110bd}'), // signs that enclose Kaithi numbers
    ('\u{110cd}', '\u{110cd}'),
    ('\u{13430}', '\u{1343f}'), // how hieroglyphs are joined
    ('\u{16fe4}', '\u{16fe4}'), // filler of Khitan
    ('\u{1bca0}', '\u{1bca3}'), // how shorthand is joined
    ('\u{1d159}', '\u{1d159}'), // a note without a head
    ('\u{1d173}', '\u{1d17a}'), // how music is joined
    ('\u{e0000}', '\u{e0fff}'), // tags, more variation selectors, and what else is ignorable there
];

/// Whether a character is visible as one character in its place. A tab is; a line break is not.
#[must_use]
pub fn shows_itself(character: char) -> bool {
    // The last two code points of each plane are not characters.
    let is_none = u32::from(character) & 0xfffe == 0xfffe;
    let at = UNSEEN.partition_point(|(_, last)| *last < character);
    let is_unseen = UNSEEN.get(at).is_some_and(|(first, _)| *first <= character);
    character == '\t' || !(character.is_control() || is_none || is_unseen)
}

/// Appends a visible character as it is, and any other by its number (`\u{202e}`) or its short name (`\n`).
pub fn spell(text: &mut String, character: char) {
    if shows_itself(character) {
        text.push(character);
    } else {
        text.extend(character.escape_default());
    }
}

/// Returns the text on one line, with every character visible.
#[must_use]
pub fn line(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    text.chars().for_each(|character| spell(&mut shown, character));
    shown
}

/// Returns the first `most` characters with every character visible, except line breaks.
#[must_use]
pub fn lines(text: &str, most: usize) -> String {
    let mut shown = String::with_capacity(text.len().min(most));
    for character in text.chars().take(most) {
        match character {
            '\n' => shown.push('\n'),
            other => spell(&mut shown, other),
        }
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_seen_is_spelled_out() {
        let unseen = "\u{0}\r\n\u{1b}\u{7f}\u{85}\u{9b}\u{ad}\u{34f}\u{61c}\u{115f}\u{1160}\u{17b4}\u{180b}\u{180e}\
                      \u{180f}\u{200b}\u{200d}\u{200e}\u{2028}\u{2029}\u{202e}\u{2060}\u{2064}\u{2069}\u{206f}\u{2800}\
                      \u{3164}\u{fe00}\u{fe0f}\u{feff}\u{ffa0}\u{fff9}\u{ffff}\u{1bca0}\u{1d173}\u{e0001}\u{e0041}\
                      \u{e0042}\u{e007f}\u{e0100}\u{e01ef}\u{10ffff}";
        for character in unseen.chars() {
            let mut spelled = String::new();
            spell(&mut spelled, character);
            assert!(spelled.starts_with('\\') && spelled.is_ascii(), "{character:?}: {spelled}");
        }
        assert_eq!(line("true # \u{61c}\u{e0041}\n"), "true # \\u{61c}\\u{e0041}\\n");
    }

    #[test]
    fn what_people_write_stays_as_it_is() {
        let seen =
            "plain\ttext, `quoted` \\ déjà-vu Ωмега 漢字 한글 हिन्दी العربية עברית ไทย e\u{301} 😀 ─│ \u{a0}\u{3000}";
        assert_eq!(line(seen), seen);
    }

    #[test]
    fn the_table_is_in_order() {
        assert!(UNSEEN.iter().all(|(first, last)| first <= last));
        assert!(UNSEEN.windows(2).all(|pair| pair[0].1 < pair[1].0));
    }
}
