//! Programs for the kernel's filter, written from their end: whatever a branch leads to is there already
//! when the branch is written, so that all branches with the same answer can share its one return.
//!
//! That is worth the trouble because the kernel translates a program whenever one is installed, which is
//! for every command, and takes longer for it than for anything else that a command begins with.

use seccompiler::{BpfProgram, sock_filter};

const JUMP: u16 = 0x05;
const RETURN: u16 = 0x06;

/// Where a branch leads to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum JumpTarget {
    /// To the end of the program, with this answer.
    Return(u32),
    /// To a step that is written: the number of steps behind it.
    Step(usize),
}

/// A program of which the end is written.
#[derive(Debug, Default)]
pub(super) struct BpfBuilder {
    /// The last step first.
    steps: BpfProgram,
    /// Where the returns are that were written last, by their answers.
    returns: Vec<(u32, usize)>,
}

impl BpfBuilder {
    /// Writes a step before all others.
    pub(super) fn step(&mut self, code: u16, k: u32) -> JumpTarget {
        self.push(sock_filter { code, jt: 0, jf: 0, k })
    }

    /// Writes a branch before all others.
    pub(super) fn branch(&mut self, code: u16, k: u32, then: JumpTarget, otherwise: JumpTarget) -> JumpTarget {
        // What is far is reached by a step between, and that makes the other one farther by a step.
        let (mut jt, mut jf) = (None, None);
        while jt.is_none() || jf.is_none() {
            jt = self.distance(then);
            if jt.is_none() {
                self.bring_near(then);
                continue;
            }
            jf = self.distance(otherwise);
            if jf.is_none() {
                self.bring_near(otherwise);
                jt = None;
            }
        }
        self.push(sock_filter { code, jt: jt.unwrap_or(0), jf: jf.unwrap_or(0), k })
    }

    /// Makes sure that the first step is this one.
    pub(super) fn begin_with(&mut self, target: JumpTarget) {
        if target != JumpTarget::Step(self.steps.len().saturating_sub(1)) || self.steps.is_empty() {
            self.bring_near(target);
        }
    }

    /// The program, in its order.
    pub(super) fn finish(mut self) -> BpfProgram {
        self.steps.reverse();
        self.steps
    }

    fn push(&mut self, step: sock_filter) -> JumpTarget {
        self.steps.push(step);
        JumpTarget::Step(self.steps.len() - 1)
    }

    /// How many steps there are between one that is written next and this one, if a branch reaches so far.
    fn distance(&self, target: JumpTarget) -> Option<u8> {
        let at = match target {
            JumpTarget::Step(at) => self.near(at),
            JumpTarget::Return(answer) => self.returns.iter().find(|(known, _)| *known == answer)?.1,
        };
        u8::try_from(self.steps.len().checked_sub(at + 1)?).ok()
    }

    /// A step, or the last jump to it.
    fn near(&self, at: usize) -> usize {
        let leads_there = |(from, step): (usize, &sock_filter)| {
            let reached = from.checked_sub(usize::try_from(step.k).ok()? + 1);
            (step.code == JUMP && reached == Some(at)).then_some(from)
        };
        self.steps.iter().enumerate().rev().take(2).find_map(leads_there).unwrap_or(at)
    }

    /// Writes a step that is as good as the target, which is far away.
    fn bring_near(&mut self, target: JumpTarget) {
        match target {
            JumpTarget::Return(answer) => {
                self.returns.retain(|(known, _)| *known != answer);
                self.returns.push((answer, self.steps.len()));
                self.step(RETURN, answer);
            }
            JumpTarget::Step(at) => {
                let over = self.steps.len().saturating_sub(at + 1);
                self.step(JUMP, u32::try_from(over).unwrap_or(u32::MAX));
            }
        }
    }
}
