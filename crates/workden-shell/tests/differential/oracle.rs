//! The commands and files that `brush-parser`, a parser of another make, reads in a script.
//!
//! A shell runs only the branches that it takes; this oracle sees all of them, so that a script is
//! compared whole. Invariant: every `match` over its tree is exhaustive, so that a new version with
//! new nodes does not compile until they are handled here.

use brush_parser::{
    ParserOptions,
    ast::{
        AndOr, CaseItem, Command, CommandPrefixOrSuffixItem as Piece, CompoundCommand, CompoundList, ElseClause,
        ExtendedTestExpr, IoFileRedirectTarget, IoRedirect, Pipeline, SimpleCommand, Word,
    },
    word::{WordPiece, WordPieceWithSource},
};

/// A word with its quotes taken off; `None` where the shell decides what it becomes.
pub(crate) type Text = Option<String>;

/// Everything in a script that runs or is opened.
#[derive(Debug, Default)]
pub(crate) struct Reading {
    /// The words of each simple command.
    pub(crate) commands: Vec<Vec<Text>>,
    /// The targets of redirections that open files.
    pub(crate) files: Vec<Text>,
}

/// Reads a script; `None` when the oracle does not accept it, or a script nested in it.
pub(crate) fn read(script: &str) -> Option<Reading> {
    let mut reader = Reader { options: options(), reading: Reading::default() };
    reader.script(script)?;
    Some(reader.reading)
}

/// As bash is by default, and as the analysis reads.
fn options() -> ParserOptions {
    ParserOptions { enable_extended_globbing: false, ..ParserOptions::default() }
}

struct Reader {
    options: ParserOptions,
    reading: Reading,
}

impl Reader {
    fn script(&mut self, script: &str) -> Option<()> {
        let tokens = brush_parser::uncached_tokenize_str(script, &self.options.tokenizer_options()).ok()?;
        let program = brush_parser::parse_tokens(&tokens, &self.options).ok()?;
        program.complete_commands.iter().try_for_each(|list| self.list(list))
    }

    fn list(&mut self, list: &CompoundList) -> Option<()> {
        for item in &list.0 {
            self.pipeline(&item.0.first)?;
            for next in &item.0.additional {
                match next {
                    AndOr::And(pipeline) | AndOr::Or(pipeline) => self.pipeline(pipeline)?,
                }
            }
        }
        Some(())
    }

    fn pipeline(&mut self, pipeline: &Pipeline) -> Option<()> {
        pipeline.seq.iter().try_for_each(|command| self.command(command))
    }

    fn command(&mut self, command: &Command) -> Option<()> {
        match command {
            Command::Simple(simple) => self.simple(simple),
            Command::Compound(compound, redirects) => {
                self.compound(compound)?;
                self.redirects(redirects.iter().flat_map(|list| &list.0))
            }
            Command::Function(function) => {
                self.compound(&function.body.0)?;
                self.redirects(function.body.1.iter().flat_map(|list| &list.0))
            }
            Command::ExtendedTest(test, redirects) => {
                self.test(&test.expr)?;
                self.redirects(redirects.iter().flat_map(|list| &list.0))
            }
        }
    }

    fn simple(&mut self, simple: &SimpleCommand) -> Option<()> {
        let SimpleCommand { prefix, word_or_name, suffix } = simple;
        let mut words = Vec::new();
        let name = word_or_name.iter().map(|word| Piece::Word(word.clone()));
        let before = prefix.iter().flat_map(|prefix| &prefix.0).cloned();
        let after = suffix.iter().flat_map(|suffix| &suffix.0).cloned();
        let assigned = before.clone().count();
        for (at, piece) in before.chain(name).chain(after).enumerate() {
            match &piece {
                Piece::IoRedirect(redirect) => self.redirects([redirect])?,
                Piece::AssignmentWord(_, word) if at < assigned => _ = self.word(word)?,
                Piece::AssignmentWord(_, word) | Piece::Word(word) => words.push(self.word(word)?),
                Piece::ProcessSubstitution(_, commands) => {
                    words.push(None);
                    self.list(&commands.list)?;
                }
            }
        }
        if !words.is_empty() {
            self.reading.commands.push(words);
        }
        Some(())
    }

    fn compound(&mut self, compound: &CompoundCommand) -> Option<()> {
        match compound {
            // The analysis doubts these.
            CompoundCommand::Arithmetic(_) => Some(()),
            CompoundCommand::ArithmeticForClause(command) => self.list(&command.body.list),
            CompoundCommand::BraceGroup(group) => self.list(&group.list),
            CompoundCommand::Subshell(subshell) => self.list(&subshell.list),
            CompoundCommand::ForClause(command) => {
                self.words(command.values.iter().flatten())?;
                self.list(&command.body.list)
            }
            CompoundCommand::CaseClause(command) => {
                self.word(&command.value)?;
                for CaseItem { patterns, cmd, .. } in &command.cases {
                    self.words(patterns)?;
                    cmd.iter().try_for_each(|list| self.list(list))?;
                }
                Some(())
            }
            CompoundCommand::IfClause(command) => {
                self.list(&command.condition)?;
                self.list(&command.then)?;
                for ElseClause { condition, body } in command.elses.iter().flatten() {
                    condition.iter().try_for_each(|list| self.list(list))?;
                    self.list(body)?;
                }
                Some(())
            }
            CompoundCommand::WhileClause(command) | CompoundCommand::UntilClause(command) => {
                self.list(&command.0)?;
                self.list(&command.1.list)
            }
            CompoundCommand::Coprocess(command) => self.command(&command.body),
        }
    }

    fn test(&mut self, test: &ExtendedTestExpr) -> Option<()> {
        match test {
            ExtendedTestExpr::And(left, right) | ExtendedTestExpr::Or(left, right) => {
                self.test(left)?;
                self.test(right)
            }
            ExtendedTestExpr::Not(inner) | ExtendedTestExpr::Parenthesized(inner) => self.test(inner),
            ExtendedTestExpr::UnaryTest(_, word) => self.words([word]),
            ExtendedTestExpr::BinaryTest(_, left, right) => self.words([left, right]),
        }
    }

    fn redirects<'tree>(&mut self, redirects: impl IntoIterator<Item = &'tree IoRedirect>) -> Option<()> {
        for redirect in redirects {
            let file = match redirect {
                IoRedirect::File(_, _, target) => match target {
                    IoFileRedirectTarget::Fd(_) => continue,
                    IoFileRedirectTarget::Filename(word) => word,
                    IoFileRedirectTarget::Duplicate(word) if is_descriptor(&word.value) => continue,
                    IoFileRedirectTarget::Duplicate(word) => word,
                    IoFileRedirectTarget::ProcessSubstitution(_, commands) => {
                        self.list(&commands.list)?;
                        continue;
                    }
                },
                IoRedirect::HereDocument(_, document) => {
                    if document.requires_expansion {
                        let pieces = brush_parser::word::parse_heredoc(&document.doc.value, &self.options).ok()?;
                        self.pieces(&pieces)?;
                    }
                    continue;
                }
                IoRedirect::HereString(_, word) => {
                    self.word(word)?;
                    continue;
                }
                IoRedirect::OutputAndError(word, _) => word,
            };
            let file = self.word(file)?;
            self.reading.files.push(file);
        }
        Some(())
    }

    fn words<'tree>(&mut self, words: impl IntoIterator<Item = &'tree Word>) -> Option<()> {
        words.into_iter().try_for_each(|word| self.word(word).map(drop))
    }

    fn word(&mut self, word: &Word) -> Option<Text> {
        let pieces = brush_parser::word::parse(&word.value, &self.options).ok()?;
        self.pieces(&pieces)
    }

    /// The text of a word, unless something in it is live. Scripts in it are read, too.
    fn pieces(&mut self, pieces: &[WordPieceWithSource]) -> Option<Text> {
        let mut text = Some(String::new());
        for piece in pieces {
            let piece = match &piece.piece {
                WordPiece::Text(plain) if plain.contains(['*', '?', '[', '{', '~']) => None,
                WordPiece::Text(plain) => Some(plain.replace("\\\n", "")),
                WordPiece::SingleQuotedText(quoted) => Some(quoted.clone()),
                // A backslash before a newline joins lines.
                WordPiece::EscapeSequence(escape) => Some(escape.get(1..).unwrap_or_default().replace('\n', "")),
                WordPiece::DoubleQuotedSequence(inner) | WordPiece::GettextDoubleQuotedSequence(inner) => {
                    self.pieces(inner)?
                }
                WordPiece::AnsiCQuotedText(_)
                | WordPiece::TildeExpansion(_)
                | WordPiece::ParameterExpansion(_)
                | WordPiece::ArithmeticExpression(_) => None,
                WordPiece::CommandSubstitution(script) | WordPiece::BackquotedCommandSubstitution(script) => {
                    self.script(script)?;
                    None
                }
            };
            text = text.zip(piece).map(|(text, piece)| text + &piece);
        }
        Some(text)
    }
}

/// Whether this text behind `>&` or `<&` is a descriptor: `1`, `-` or `1-`.
fn is_descriptor(text: &str) -> bool {
    text.strip_suffix('-').unwrap_or(text).bytes().all(|byte| byte.is_ascii_digit())
}
