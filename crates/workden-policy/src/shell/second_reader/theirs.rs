//! What `brush-parser` saw, from its tree.
//!
//! Invariant: every `match` is exhaustive, so that a node that a new version brings does not compile
//! until somebody has thought about it.

use std::borrow::Cow;

use brush_parser::{
    ParserOptions, Token,
    ast::{
        AndOr, AndOrList, CaseItem, Command, CommandPrefixOrSuffixItem as Piece, CompoundCommand, CompoundList,
        ElseClause, ExtendedTestExpr, IoFileRedirectKind, IoFileRedirectTarget, IoRedirect, Pipeline,
        ProcessSubstitutionKind, Program, SeparatorOperator, SimpleCommand, SubshellCommand, Word,
    },
};

use super::{
    super::guard::Refused,
    disagreement, effort,
    seen::{List, Seen, is_descriptor, is_operator_of_test},
};

/// The tree, if it accepts the text.
pub(super) fn parsed(text: &str) -> Result<Program, Refused> {
    // As bash is by default, and as our own parser reads.
    let options = ParserOptions { enable_extended_globbing: false, ..ParserOptions::default() };
    // Not `tokenize_str`, which keeps the texts of scripts in a cache for ever.
    let tokens = brush_parser::uncached_tokenize_str(text, &options.tokenizer_options());
    let tokens = tokens.map_err(|_| disagreement())?;
    // It panics on a descriptor that is no number to it.
    let odd = |pair: &[Token]| match pair {
        [Token::Word(word, _), Token::Operator(..)] => {
            word.bytes().all(|byte| byte.is_ascii_digit()) && word.parse::<i32>().is_err()
        }
        _ => false,
    };
    if tokens.windows(2).any(odd) {
        return Err(disagreement());
    }
    effort::bearable(&tokens)?;
    brush_parser::parse_tokens(&tokens, &options).map_err(|_| disagreement())
}

/// What is in the tree; nothing, if there is something in it that we have no word for.
pub(super) fn seen(program: &Program) -> Option<Vec<Seen<'_>>> {
    let mut theirs = Theirs(Vec::new());
    program.complete_commands.iter().try_for_each(|list| theirs.list(list))?;
    Some(theirs.0)
}

struct Theirs<'tree>(Vec<Seen<'tree>>);

impl<'tree> Theirs<'tree> {
    fn list(&mut self, list: &'tree CompoundList) -> Option<()> {
        for item in &list.0 {
            let AndOrList { first, additional } = &item.0;
            self.pipeline(first)?;
            for next in additional {
                let (join, pipeline) = match next {
                    AndOr::And(pipeline) => ("&&", pipeline),
                    AndOr::Or(pipeline) => ("||", pipeline),
                };
                self.0.mark(join);
                self.pipeline(pipeline)?;
            }
            self.0.mark(match item.1 {
                SeparatorOperator::Async => "&",
                SeparatorOperator::Sequence => ";",
            });
        }
        Some(())
    }

    fn pipeline(&mut self, pipeline: &'tree Pipeline) -> Option<()> {
        if pipeline.timed.is_some() {
            self.0.mark("time");
        }
        if pipeline.bang {
            self.0.mark("!");
        }
        for command in &pipeline.seq {
            self.0.mark("|");
            self.command(command)?;
        }
        Some(())
    }

    fn command(&mut self, command: &'tree Command) -> Option<()> {
        match command {
            Command::Simple(simple) => self.simple(simple),
            Command::Compound(compound, redirects) => {
                self.compound(compound)?;
                self.redirects(redirects.iter().flat_map(|list| &list.0))
            }
            Command::Function(function) => {
                self.0.mark("function");
                self.word(&function.fname);
                self.compound(&function.body.0)?;
                self.redirects(function.body.1.iter().flat_map(|list| &list.0))
            }
            Command::ExtendedTest(test, redirects) => {
                self.0.mark("[[");
                self.test(&test.expr);
                self.0.mark("]]");
                self.redirects(redirects.iter().flat_map(|list| &list.0))
            }
        }
    }

    fn simple(&mut self, simple: &'tree SimpleCommand) -> Option<()> {
        let SimpleCommand { prefix, word_or_name, suffix } = simple;
        let mut redirects = Vec::new();
        self.0.mark("simple");
        for piece in prefix.iter().flat_map(|prefix| &prefix.0) {
            match piece {
                Piece::IoRedirect(redirect) => redirects.push(redirect),
                Piece::AssignmentWord(_, word) => {
                    self.0.mark("assignment");
                    self.word(word);
                }
                // Neither comes before the name of a command.
                Piece::Word(_) | Piece::ProcessSubstitution(..) => return None,
            }
        }
        self.0.mark("words");
        word_or_name.iter().for_each(|word| self.word(word));
        for piece in suffix.iter().flat_map(|suffix| &suffix.0) {
            match piece {
                Piece::IoRedirect(redirect) => redirects.push(redirect),
                Piece::AssignmentWord(_, word) | Piece::Word(word) => self.word(word),
                Piece::ProcessSubstitution(kind, commands) => self.process(kind, commands)?,
            }
        }
        self.redirects(redirects)
    }

    fn compound(&mut self, compound: &'tree CompoundCommand) -> Option<()> {
        match compound {
            CompoundCommand::Arithmetic(_) => self.0.mark("(("),
            CompoundCommand::ArithmeticForClause(command) => {
                self.0.mark("for ((");
                self.block("do", &command.body.list)?;
            }
            CompoundCommand::BraceGroup(group) => self.block("{", &group.list)?,
            CompoundCommand::Subshell(subshell) => self.block("(", &subshell.list)?,
            CompoundCommand::ForClause(command) => {
                self.0.mark("for");
                self.0.word(Cow::Borrowed(&command.variable_name));
                command.values.iter().flatten().for_each(|word| self.word(word));
                self.block("do", &command.body.list)?;
            }
            CompoundCommand::CaseClause(command) => {
                self.0.mark("case");
                self.word(&command.value);
                for CaseItem { patterns, cmd, .. } in &command.cases {
                    self.0.mark("arm");
                    patterns.iter().for_each(|pattern| self.word(pattern));
                    self.0.mark("do");
                    cmd.iter().try_for_each(|list| self.list(list))?;
                    self.0.mark("end");
                }
                self.0.mark("esac");
            }
            CompoundCommand::IfClause(command) => {
                self.0.mark("if");
                self.block("branch", &command.condition)?;
                self.block("branch", &command.then)?;
                for ElseClause { condition, body } in command.elses.iter().flatten() {
                    condition.iter().try_for_each(|list| self.block("branch", list))?;
                    self.block("branch", body)?;
                }
                self.0.mark("fi");
            }
            CompoundCommand::WhileClause(command) | CompoundCommand::UntilClause(command) => {
                self.block("while", &command.0)?;
                self.block("do", &command.1.list)?;
            }
            CompoundCommand::Coprocess(command) => {
                self.0.mark("coproc");
                self.command(&command.body)?;
            }
        }
        Some(())
    }

    fn block(&mut self, opening: &'static str, list: &'tree CompoundList) -> Option<()> {
        self.0.mark(opening);
        self.list(list)?;
        self.0.mark("end");
        Some(())
    }

    fn test(&mut self, test: &'tree ExtendedTestExpr) {
        match test {
            ExtendedTestExpr::And(left, right) | ExtendedTestExpr::Or(left, right) => {
                self.test(left);
                self.test(right);
            }
            ExtendedTestExpr::Not(inner) | ExtendedTestExpr::Parenthesized(inner) => self.test(inner),
            ExtendedTestExpr::UnaryTest(_, word) => self.operand(word),
            ExtendedTestExpr::BinaryTest(_, left, right) => {
                self.operand(left);
                self.operand(right);
            }
        }
    }

    fn operand(&mut self, word: &'tree Word) {
        if !is_operator_of_test(&word.value) {
            self.word(word);
        }
    }

    fn redirects(&mut self, redirects: impl IntoIterator<Item = &'tree IoRedirect>) -> Option<()> {
        for redirect in redirects {
            let (from, operator, target) = match redirect {
                IoRedirect::File(from, kind, target) => {
                    let operator = match kind {
                        IoFileRedirectKind::Read | IoFileRedirectKind::DuplicateInput => "<",
                        IoFileRedirectKind::ReadAndWrite => "<>",
                        IoFileRedirectKind::Write
                        | IoFileRedirectKind::Append
                        | IoFileRedirectKind::Clobber
                        | IoFileRedirectKind::DuplicateOutput => ">",
                    };
                    match target {
                        // Only `|&` makes these, which is in the pipe for us.
                        IoFileRedirectTarget::Fd(_) => continue,
                        IoFileRedirectTarget::Filename(word) => (from, operator, word),
                        IoFileRedirectTarget::ProcessSubstitution(kind, commands) => {
                            self.redirection(from);
                            self.0.mark(operator);
                            self.process(kind, commands)?;
                            continue;
                        }
                        IoFileRedirectTarget::Duplicate(word) if is_descriptor(&word.value) => {
                            self.redirection(from);
                            self.0.mark(if operator == "<" { "<&" } else { ">&" });
                            continue;
                        }
                        IoFileRedirectTarget::Duplicate(word) => (from, operator, word),
                    }
                }
                IoRedirect::HereDocument(from, _) => {
                    self.redirection(from);
                    self.0.mark("<<");
                    continue;
                }
                IoRedirect::HereString(from, word) => (from, "<<<", word),
                IoRedirect::OutputAndError(word, _) => (&None, ">", word),
            };
            self.redirection(from);
            self.0.mark(operator);
            self.word(target);
        }
        Some(())
    }

    fn redirection(&mut self, from: &Option<i32>) {
        self.0.mark("redirection");
        if let Some(number) = from {
            self.0.text(Cow::Owned(number.to_string()));
        }
    }

    fn process(&mut self, kind: &ProcessSubstitutionKind, commands: &'tree SubshellCommand) -> Option<()> {
        let opening = match kind {
            ProcessSubstitutionKind::Read => "<(",
            ProcessSubstitutionKind::Write => ">(",
        };
        self.block(opening, &commands.list)
    }

    fn word(&mut self, word: &'tree Word) {
        self.0.word(Cow::Borrowed(&word.value));
    }
}
