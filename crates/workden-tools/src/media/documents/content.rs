//! What a page does, one operation after the other: nothing is built but what is asked for, so that a page
//! of drawings costs no more than its bytes.

use std::ops::Range;

use super::lexing::{find, is_blank, is_word, object_at, skip_blanks};

/// Operands of one operation that are remembered: no operation that writes has more.
const MOST_OPERANDS: usize = 8;

/// The operations of a page.
pub(super) struct Operations<'a> {
    content: &'a [u8],
    at: usize,
}

/// One operation.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Operation<'a> {
    pub(super) operator: &'a [u8],
    /// Where its operands stand, with how many parts each has.
    pub(super) operands: Vec<(Range<usize>, usize)>,
}

impl<'a> Operations<'a> {
    pub(super) fn of(content: &'a [u8]) -> Self {
        Self { content, at: 0 }
    }

    /// Behind the data of an image that stands in the page itself.
    fn skip_image(&mut self) -> Option<()> {
        let mut at = self.at;
        loop {
            let end = find(self.content, at, b"EI")?;
            at = end + 2;
            let alone = |byte: Option<&u8>| byte.is_none_or(|byte| is_blank(*byte));
            if alone(self.content.get(end.wrapping_sub(1))) && alone(self.content.get(at)) {
                self.at = at;
                return Some(());
            }
        }
    }
}

impl<'a> Iterator for Operations<'a> {
    type Item = Operation<'a>;

    fn next(&mut self) -> Option<Self::Item> {
        let mut operands = Vec::new();
        loop {
            self.at = skip_blanks(self.content, self.at);
            let first = *self.content.get(self.at)?;
            let is_operator = is_word(first) && !first.is_ascii_digit() && !matches!(first, b'+' | b'-' | b'.');
            if is_operator {
                let rest = &self.content[self.at..];
                let operator = &rest[..rest.iter().take_while(|byte| is_word(**byte)).count()];
                self.at += operator.len();
                match operator {
                    b"true" | b"false" | b"null" => {}
                    b"ID" => {
                        self.skip_image()?;
                        operands.clear();
                    }
                    _ => return Some(Operation { operator, operands }),
                }
            } else {
                let extent = object_at(self.content, self.at).ok()?;
                if operands.len() == MOST_OPERANDS {
                    operands.remove(0);
                }
                operands.push((self.at..extent.end, extent.parts));
                self.at = extent.end;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn operations_have_what_stands_before_them() {
        let content = b"BT /F1 12 Tf % (x) Tj\n[(a) -120 (b)] TJ BI /W 1 ID ( [ EI\xFF EI Q 1 0 0 1 2 3 cm (c)' ET";
        let told: Vec<String> = Operations::of(content)
            .map(|operation| {
                let operands = operation.operands.iter().map(|(range, _)| &content[range.clone()]);
                let words = operands.chain([operation.operator]).map(String::from_utf8_lossy);
                words.collect::<Vec<_>>().join(" ")
            })
            .collect();
        let expected = ["BT", "/F1 12 Tf", "[(a) -120 (b)] TJ", "BI", "Q", "1 0 0 1 2 3 cm", "(c) '", "ET"];
        assert_eq!(told, expected);
        assert_eq!(Operations::of(b"q [1 2").count(), 1);
    }
}
