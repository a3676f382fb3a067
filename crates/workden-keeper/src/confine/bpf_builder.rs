//! `BpfBuilder`: builds a seccomp program from its end. The target of a branch exists when the branch is added, so
//! all branches with the same answer share one return.
//!
//! Short programs matter: the kernel compiles a program each time it is installed, which is for every command, and
//! that is the slowest step of starting one.

use seccompiler::{BpfProgram, sock_filter};

const JUMP: u16 = 0x05;
const RETURN: u16 = 0x06;

/// The target of a branch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum JumpTarget {
    /// The end of the program, with this answer.
    Return(u32),
    /// A step that was added: the number of steps behind it.
    Step(usize),
}

/// A program whose end is built.
#[derive(Debug, Default)]
pub(super) struct BpfBuilder {
    /// The last step first.
    steps: BpfProgram,
    /// The positions of the most recent returns, by their answers.
    returns: Vec<(u32, usize)>,
}

impl BpfBuilder {
    /// Adds a step before all others.
    pub(super) fn step(&mut self, code: u16, k: u32) -> JumpTarget {
        self.push(sock_filter { code, jt: 0, jf: 0, k })
    }

    /// Adds a branch before all others.
    pub(super) fn branch(&mut self, code: u16, k: u32, then: JumpTarget, otherwise: JumpTarget) -> JumpTarget {
        // A far target is reached by a jump in between, which moves the other target one step further away.
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

    /// Makes this step the first one.
    pub(super) fn start_with(&mut self, target: JumpTarget) {
        if target != JumpTarget::Step(self.steps.len().saturating_sub(1)) || self.steps.is_empty() {
            self.bring_near(target);
        }
    }

    /// Returns the program in execution order.
    pub(super) fn finish(mut self) -> BpfProgram {
        self.steps.reverse();
        self.steps
    }

    fn push(&mut self, step: sock_filter) -> JumpTarget {
        self.steps.push(step);
        JumpTarget::Step(self.steps.len() - 1)
    }

    /// Returns the number of steps between the next one to be added and this target, if a branch can reach it.
    fn distance(&self, target: JumpTarget) -> Option<u8> {
        let at = match target {
            JumpTarget::Step(at) => self.near(at),
            JumpTarget::Return(answer) => self.returns.iter().find(|(known, _)| *known == answer)?.1,
        };
        u8::try_from(self.steps.len().checked_sub(at + 1)?).ok()
    }

    /// Returns a step, or the last jump to it.
    fn near(&self, at: usize) -> usize {
        let leads_there = |(from, step): (usize, &sock_filter)| {
            let reached = from.checked_sub(usize::try_from(step.k).ok()? + 1);
            (step.code == JUMP && reached == Some(at)).then_some(from)
        };
        self.steps.iter().enumerate().rev().take(2).find_map(leads_there).unwrap_or(at)
    }

    /// Adds a step equivalent to a target that is out of reach.
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
