//! Programs for the kernel's filter of system calls, made from a table. A call is found by halving
//! the table, so that the kernel, which tries every number once when the filter is installed, is
//! done with it quickly, and so is every call later.

use std::collections::BTreeMap;

use seccompiler::{BpfProgram, sock_filter};

/// What becomes of a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    /// It is made.
    Allow,
    /// It answers this error.
    Fail(libc::c_int),
    /// It fails with the error of the first of these lists of which all tests hold, and is made
    /// otherwise. With error 0 it is not made either, and the program believes that it was.
    FailIf(Vec<(libc::c_int, Vec<Test>)>),
}

/// Something about an argument; about its lower half, where nothing else is said.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Test {
    /// The argument is this.
    Is(u8, u32),
    /// The argument is not this.
    IsNot(u8, u32),
    /// The upper half of the argument is not zero.
    HasUpper(u8),
    /// Of these bits of the argument, just those are set.
    Masked {
        /// Which argument.
        argument: u8,
        /// Which bits are looked at.
        mask: u32,
        /// What they must be.
        bits: u32,
    },
    /// Any of these bits of the argument is set.
    HasAny(u8, u32),
}

#[cfg(target_arch = "x86_64")]
pub(super) const ARCHITECTURE: u32 = 0xc000_003e;
#[cfg(target_arch = "aarch64")]
pub(super) const ARCHITECTURE: u32 = 0xc000_00b7;

const LOAD: u16 = 0x20;
const AND: u16 = 0x54;
const JUMP: u16 = 0x05;
const IF_EQUAL: u16 = 0x15;
const IF_AT_LEAST: u16 = 0x35;
const IF_ANY_BIT: u16 = 0x45;
const RETURN: u16 = 0x06;

/// Room that will do for most ranges.
const STEPS_A_RANGE: usize = 4;

const NUMBER_AT: u32 = 0;
const ARCHITECTURE_AT: u32 = 4;
const ARGUMENTS_AT: u32 = 16;

/// A program that gives each call in the table its verdict, and every other one `otherwise`. A call
/// of another architecture ends the process.
pub(super) fn compile(table: &BTreeMap<libc::c_long, Verdict>, otherwise: &Verdict) -> BpfProgram {
    let ranges = ranges(table, otherwise);
    let mut program = Vec::with_capacity(ranges.len() * STEPS_A_RANGE);
    program.extend([
        step(LOAD, ARCHITECTURE_AT),
        branch(IF_EQUAL, ARCHITECTURE, 1, 0),
        step(RETURN, libc::SECCOMP_RET_KILL_PROCESS),
        step(LOAD, NUMBER_AT),
    ]);
    search(&ranges, &mut program);
    program
}

/// The table as ranges of numbers: where each begins, and what holds until the next.
fn ranges<'t>(table: &'t BTreeMap<libc::c_long, Verdict>, otherwise: &'t Verdict) -> Vec<(u32, &'t Verdict)> {
    let mut ranges = vec![(0, otherwise)];
    for (number, verdict) in table.iter().filter_map(|(number, verdict)| Some((u32::try_from(*number).ok()?, verdict)))
    {
        for (start, verdict) in [(number, verdict), (number + 1, otherwise)] {
            match ranges.last_mut() {
                Some(last) if last.0 == start => last.1 = verdict,
                _ => ranges.push((start, verdict)),
            }
        }
    }
    ranges.dedup_by(|later, earlier| later.1 == earlier.1);
    ranges
}

/// Finds the range of the loaded number by halving.
fn search(ranges: &[(u32, &Verdict)], program: &mut BpfProgram) {
    match ranges {
        [] => {}
        [(_, verdict)] => decide(verdict, program),
        _ => {
            let (lower, upper) = ranges.split_at(ranges.len() / 2);
            let middle = upper.first().map_or(0, |(start, _)| *start);
            let at = program.len();
            program.push(step(JUMP, 0));
            search(lower, program);
            let distance = program.len().saturating_sub(at + 1);
            // A branch reaches 255 steps far, a jump any number.
            match (u8::try_from(distance), program.get_mut(at)) {
                (Ok(distance), Some(first)) => *first = branch(IF_AT_LEAST, middle, distance, 0),
                (Err(_), Some(first)) => {
                    *first = branch(IF_AT_LEAST, middle, 0, 1);
                    program.insert(at + 1, step(JUMP, u32::try_from(distance).unwrap_or(u32::MAX)));
                }
                (_, None) => {}
            }
            search(upper, program);
        }
    }
}

fn decide(verdict: &Verdict, program: &mut BpfProgram) {
    let allow = step(RETURN, libc::SECCOMP_RET_ALLOW);
    let fail = |errno: libc::c_int| step(RETURN, libc::SECCOMP_RET_ERRNO | errno.unsigned_abs());
    match verdict {
        Verdict::Allow => program.push(allow),
        Verdict::Fail(errno) => program.push(fail(*errno)),
        Verdict::FailIf(lists) => {
            for (errno, tests) in lists {
                all_hold(tests, fail(*errno), program);
            }
            program.push(allow);
        }
    }
}

/// Reaches `then` when all tests hold, and what comes after it otherwise.
fn all_hold(tests: &[Test], then: sock_filter, program: &mut BpfProgram) {
    let mut left: usize = tests.iter().map(Test::steps).sum::<usize>() + 1;
    for test in tests {
        left = left.saturating_sub(test.steps());
        // From behind the test to behind `then`; lists of tests are short.
        let past = u8::try_from(left).unwrap_or(u8::MAX);
        match *test {
            Test::Is(argument, value) => program.extend([load(argument), branch(IF_EQUAL, value, 0, past)]),
            Test::IsNot(argument, value) => program.extend([load(argument), branch(IF_EQUAL, value, past, 0)]),
            Test::HasUpper(argument) => program.extend([load_upper(argument), branch(IF_EQUAL, 0, past, 0)]),
            Test::HasAny(argument, bits) => program.extend([load(argument), branch(IF_ANY_BIT, bits, 0, past)]),
            Test::Masked { argument, mask, bits } => {
                program.extend([load(argument), step(AND, mask), branch(IF_EQUAL, bits, 0, past)]);
            }
        }
    }
    program.push(then);
}

impl Test {
    /// Of how many steps it is made.
    fn steps(&self) -> usize {
        match self {
            Self::Is(..) | Self::IsNot(..) | Self::HasUpper(_) | Self::HasAny(..) => 2,
            Self::Masked { .. } => 3,
        }
    }
}

/// Loads the lower half of an argument; both architectures have it first.
fn load(argument: u8) -> sock_filter {
    step(LOAD, ARGUMENTS_AT + 8 * u32::from(argument))
}

fn load_upper(argument: u8) -> sock_filter {
    step(LOAD, ARGUMENTS_AT + 8 * u32::from(argument) + 4)
}

fn step(code: u16, k: u32) -> sock_filter {
    sock_filter { code, jt: 0, jf: 0, k }
}

fn branch(code: u16, k: u32, jt: u8, jf: u8) -> sock_filter {
    sock_filter { code, jt, jf, k }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// What a program answers to a call: the kernel's machine, as far as these programs use it.
    pub(in super::super) fn answer(
        program: &[sock_filter],
        architecture: u32,
        number: u32,
        arguments: [u64; 6],
    ) -> u32 {
        let (mut at, mut loaded) = (0, 0_u32);
        loop {
            let sock_filter { code, jt, jf, k } = program[at];
            at += 1;
            match code {
                LOAD => {
                    loaded = match k {
                        NUMBER_AT => number,
                        ARCHITECTURE_AT => architecture,
                        _ => {
                            let argument = arguments[usize::try_from((k - ARGUMENTS_AT) / 8).unwrap()];
                            let half = if k % 8 == 0 { argument } else { argument >> 32 };
                            u32::try_from(half & 0xffff_ffff).unwrap()
                        }
                    }
                }
                AND => loaded &= k,
                JUMP => at += usize::try_from(k).unwrap(),
                IF_EQUAL => at += usize::from(if loaded == k { jt } else { jf }),
                IF_ANY_BIT => at += usize::from(if loaded & k != 0 { jt } else { jf }),
                IF_AT_LEAST => at += usize::from(if loaded >= k { jt } else { jf }),
                RETURN => return k,
                _ => panic!("{code}"),
            }
        }
    }

    #[test]
    fn every_call_gets_its_verdict() {
        let refuse = |lists: &[(libc::c_int, &[Test])]| {
            Verdict::FailIf(lists.iter().map(|(errno, tests)| (*errno, tests.to_vec())).collect())
        };
        let mut table: BTreeMap<libc::c_long, Verdict> =
            (0..400).map(|number| (number, if number % 3 == 0 { Verdict::Fail(1) } else { Verdict::Allow })).collect();
        table.insert(
            7,
            refuse(&[
                (1, &[Test::Is(0, 5), Test::IsNot(1, 6)]),
                (1, &[Test::Masked { argument: 2, mask: 12, bits: 8 }]),
                (0, &[Test::HasUpper(3)]),
                (2, &[Test::HasAny(4, 5)]),
            ]),
        );
        let program = compile(&table, &Verdict::Fail(38));
        let errno = |value| libc::SECCOMP_RET_ERRNO | value;
        for number in (0..400).filter(|number| *number != 7) {
            let wanted = if number % 3 == 0 { errno(1) } else { libc::SECCOMP_RET_ALLOW };
            assert_eq!(answer(&program, ARCHITECTURE, number, [0; 6]), wanted, "{number}");
        }
        for number in [400, 1000, 0x4000_0000, 0x4000_0001, u32::MAX] {
            assert_eq!(answer(&program, ARCHITECTURE, number, [0; 6]), errno(38), "{number}");
        }
        for (arguments, wanted) in [
            ([5, 0, 0, 0, 0, 0], errno(1)),
            ([5, 6, 0, 0, 0, 0], libc::SECCOMP_RET_ALLOW),
            ([4, 0, 0, 0, 0, 0], libc::SECCOMP_RET_ALLOW),
            ([0, 0, 8, 0, 0, 0], errno(1)),
            ([0, 0, 9, 0, 0, 0], errno(1)),
            ([0, 0, 12, 0, 0, 0], libc::SECCOMP_RET_ALLOW),
            ([1 << 32, 1 << 32, 1 << 32, 7, 1 << 32, 0], libc::SECCOMP_RET_ALLOW),
            ([0, 0, 0, 1 << 32, 0, 0], errno(0)),
            ([0, 0, 8, 1 << 63, 0, 0], errno(1)),
            ([0, 0, 0, 0, 1, 0], errno(2)),
            ([0, 0, 0, 0, 6, 0], errno(2)),
            ([0, 0, 0, 0, 10, 0], libc::SECCOMP_RET_ALLOW),
        ] {
            assert_eq!(answer(&program, ARCHITECTURE, 7, arguments), wanted, "{arguments:?}");
        }
        assert_eq!(answer(&program, 0x4000_0003, 1, [0; 6]), libc::SECCOMP_RET_KILL_PROCESS);
    }
}
