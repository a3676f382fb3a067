//! How much work a text is for the second reader, which goes back where it has guessed wrong.
//!
//! Invariant: what is beyond the caps is refused before it is parsed. The caps come from measurements
//! of a release build on a busy machine: a token or a step took up to 1.3 microseconds.

use brush_parser::Token;

use super::super::guard::{Refused, too_much};

/// How many lines a text may have. 64,000 empty ones took 80 milliseconds to be cut into tokens.
const MOST_LINES: usize = 16_000;
/// How many steps the parser may need; close to it, 13 milliseconds were measured. Eight nested `case` without `;;` around 900 commands took 600
/// milliseconds: such an arm is read twice, and so are those in it, each time.
const MOST_STEPS: usize = 32_000;
/// How often anything doubles, so that the sum stays a number; also a cap on the stack.
const MOST_DOUBLINGS: usize = 20;
/// How many `!` follow each other: in `[[ ]]` each is a level of its stack.
const MOST_NEGATIONS: usize = 16;

/// Refuses a text that takes long to be cut into tokens.
pub(super) fn few_lines(text: &str) -> Result<(), Refused> {
    if text.bytes().filter(|byte| *byte == b'\n').count() > MOST_LINES {
        return Err(too_much(format!("over {MOST_LINES} lines")));
    }
    Ok(())
}

/// Refuses tokens that take long to be parsed, whatever they mean: each `case` doubles what is in it,
/// and each parenthesis in parentheses is tried as arithmetic with and without those around it.
pub(super) fn bearable(tokens: &[Token]) -> Result<(), Refused> {
    let (mut cases, mut parentheses, mut negations) = (0_usize, 0_usize, 0_usize);
    let mut steps = 0_usize;
    for token in tokens {
        negations = if matches!(token, Token::Word(word, _) if word == "!") { negations + 1 } else { 0 };
        let mut doublings = cases;
        match token {
            Token::Word(word, _) if word == "case" => cases += 1,
            Token::Word(word, _) if word == "esac" => cases = cases.saturating_sub(1),
            Token::Operator(operator, _) if operator == "(" => {
                doublings += parentheses;
                parentheses += 1;
            }
            Token::Operator(operator, _) if operator == ")" => parentheses = parentheses.saturating_sub(1),
            Token::Operator(..) | Token::Word(..) => {}
        }
        // Newlines are cheap, and there can be many.
        let newline = matches!(token, Token::Operator(operator, _) if operator == "\n");
        steps += if newline { 0 } else { 1 << doublings.min(MOST_DOUBLINGS) };
        if doublings > MOST_DOUBLINGS || steps > MOST_STEPS || negations > MOST_NEGATIONS {
            return Err(too_much("nested too deep for the second reader".to_owned()));
        }
    }
    Ok(())
}
