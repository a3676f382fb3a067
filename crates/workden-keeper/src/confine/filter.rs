//! Compiles a table of system calls into a seccomp program. The program finds a call by binary search: the kernel
//! tries every number once when the filter is installed, and evaluates the filter on every call later.

use std::collections::BTreeMap;

use seccompiler::BpfProgram;

use super::bpf_builder::{BpfBuilder, JumpTarget};

/// What happens to a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum SyscallAction {
    /// The call is made.
    Allow,
    /// The call fails with this error.
    Fail(libc::c_int),
    /// The call fails with the error of the first list whose tests all hold, and is made otherwise. With error 0 it
    /// is not made, and the program believes that it succeeded.
    FailIf(Vec<(libc::c_int, Vec<ArgumentTest>)>),
}

/// A test of an argument; of its lower half, unless stated otherwise.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ArgumentTest {
    /// The argument equals this value.
    Is(u8, u32),
    /// The argument differs from this value.
    IsNot(u8, u32),
    /// The upper half of the argument is not zero.
    HasUpper(u8),
    /// These bits of the argument have exactly these values.
    Masked {
        /// The index of the argument.
        argument: u8,
        /// The bits to compare.
        mask: u32,
        /// The values of those bits.
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
const IF_EQUAL: u16 = 0x15;
const IF_AT_LEAST: u16 = 0x35;
const IF_ANY_BIT: u16 = 0x45;

const NUMBER_AT: u32 = 0;
const ARCHITECTURE_AT: u32 = 4;
const ARGUMENTS_AT: u32 = 16;

/// Calls whose action does not depend on arguments, ordered by number.
pub(super) type Plain = [(u32, &'static SyscallAction)];

/// Compiles a program that gives each call in the table its action, then each of the plain ones, and every other call
/// `otherwise`. A call of another architecture kills the process.
pub(super) fn compile(
    plain: &Plain,
    table: &BTreeMap<libc::c_long, SyscallAction>,
    otherwise: &SyscallAction,
) -> BpfProgram {
    let ranges = ranges(plain, table, otherwise);
    let mut program = BpfBuilder::default();
    let search = search(&ranges, &mut program);
    program.start_with(search);
    let number = program.step(LOAD, NUMBER_AT);
    program.branch(IF_EQUAL, ARCHITECTURE, number, JumpTarget::Return(libc::SECCOMP_RET_KILL_PROCESS));
    program.step(LOAD, ARCHITECTURE_AT);
    program.finish()
}

/// Returns the calls as ranges of numbers: the start of each, and the action until the next.
fn ranges<'t>(
    plain: &Plain,
    table: &'t BTreeMap<libc::c_long, SyscallAction>,
    otherwise: &'t SyscallAction,
) -> Vec<(u32, &'t SyscallAction)> {
    let mut ranges = vec![(0, otherwise)];
    let mut add = |number: u32, verdict: &'t SyscallAction| {
        for (start, verdict) in [(number, verdict), (number + 1, otherwise)] {
            match ranges.last_mut() {
                Some(last) if last.0 == start => last.1 = verdict,
                _ => ranges.push((start, verdict)),
            }
        }
    };
    let mut table =
        table.iter().filter_map(|(number, verdict)| Some((u32::try_from(*number).ok()?, verdict))).peekable();
    for &(number, verdict) in plain {
        while let Some((before, verdict)) = table.next_if(|(next, _)| *next < number) {
            add(before, verdict);
        }
        let verdict = table.next_if(|(next, _)| *next == number).map_or(verdict, |(_, verdict)| verdict);
        add(number, verdict);
    }
    table.for_each(|(number, verdict)| add(number, verdict));
    ranges.dedup_by(|later, earlier| later.1 == earlier.1);
    ranges
}

/// Finds the range of the loaded number by binary search.
fn search(ranges: &[(u32, &SyscallAction)], program: &mut BpfBuilder) -> JumpTarget {
    match ranges {
        [] => JumpTarget::Return(libc::SECCOMP_RET_KILL_PROCESS),
        [(_, verdict)] => decide(verdict, program),
        _ => {
            let (lower, upper) = ranges.split_at(ranges.len() / 2);
            let middle = upper.first().map_or(0, |(start, _)| *start);
            let upper = search(upper, program);
            let lower = search(lower, program);
            program.branch(IF_AT_LEAST, middle, upper, lower)
        }
    }
}

fn decide(verdict: &SyscallAction, program: &mut BpfBuilder) -> JumpTarget {
    let allow = JumpTarget::Return(libc::SECCOMP_RET_ALLOW);
    let fail = |errno: libc::c_int| JumpTarget::Return(libc::SECCOMP_RET_ERRNO | errno.unsigned_abs());
    match verdict {
        SyscallAction::Allow => allow,
        SyscallAction::Fail(errno) => fail(*errno),
        SyscallAction::FailIf(lists) => lists.iter().enumerate().rev().fold(allow, |next, (index, (errno, tests))| {
            // The value that the previous list leaves loaded, whichever of its tests fails.
            let before = index.checked_sub(1).and_then(|index| lists.get(index)).map(|(_, tests)| tests.as_slice());
            all_hold(tests, before.and_then(left_loaded), fail(*errno), next, program)
        }),
    }
}

/// Continues at `then` when all tests hold, and at `otherwise` when one does not. `loaded` is the offset that is
/// loaded already, if any.
fn all_hold(
    tests: &[ArgumentTest],
    loaded: Option<u32>,
    then: JumpTarget,
    otherwise: JumpTarget,
    program: &mut BpfBuilder,
) -> JumpTarget {
    tests.iter().enumerate().rev().fold(then, |then, (index, test)| {
        let written = match *test {
            ArgumentTest::Is(_, value) => program.branch(IF_EQUAL, value, then, otherwise),
            ArgumentTest::IsNot(_, value) => program.branch(IF_EQUAL, value, otherwise, then),
            ArgumentTest::HasUpper(_) => program.branch(IF_EQUAL, 0, otherwise, then),
            ArgumentTest::HasAny(_, bits) => program.branch(IF_ANY_BIT, bits, then, otherwise),
            ArgumentTest::Masked { mask, bits, .. } => {
                program.branch(IF_EQUAL, bits, then, otherwise);
                program.step(AND, mask)
            }
        };
        let before = index.checked_sub(1).and_then(|index| tests.get(index)).map(std::slice::from_ref);
        match before.map_or(loaded, left_loaded) {
            Some(loaded) if loaded == test.place() => written,
            _ => program.step(LOAD, test.place()),
        }
    })
}

/// Returns the offset that stays loaded after these tests, whichever of them fails.
fn left_loaded(tests: &[ArgumentTest]) -> Option<u32> {
    let first = tests.first()?.place();
    let stays = |test: &ArgumentTest| test.place() == first && !matches!(test, ArgumentTest::Masked { .. });
    tests.iter().all(stays).then_some(first)
}

impl ArgumentTest {
    /// Returns the offset of the tested value. Both architectures store the lower half of an argument first.
    fn place(&self) -> u32 {
        let of = |argument: u8| ARGUMENTS_AT + 8 * u32::from(argument);
        match *self {
            Self::Is(argument, _) | Self::IsNot(argument, _) | Self::HasAny(argument, _) => of(argument),
            Self::Masked { argument, .. } => of(argument),
            Self::HasUpper(argument) => of(argument) + 4,
        }
    }
}

#[cfg(test)]
pub(super) mod tests {
    use seccompiler::sock_filter;

    use super::*;

    const JUMP: u16 = 0x05;
    const RETURN: u16 = 0x06;

    /// Returns the answer of a program to a call: an interpreter for the instructions that these programs use.
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
        let refuse = |lists: &[(libc::c_int, &[ArgumentTest])]| {
            SyscallAction::FailIf(lists.iter().map(|(errno, tests)| (*errno, tests.to_vec())).collect())
        };
        let mut table: BTreeMap<libc::c_long, SyscallAction> = (0..400)
            .map(|number| (number, if number % 3 == 0 { SyscallAction::Fail(1) } else { SyscallAction::Allow }))
            .collect();
        table.insert(
            7,
            refuse(&[
                (1, &[ArgumentTest::Is(0, 5), ArgumentTest::IsNot(1, 6)]),
                (1, &[ArgumentTest::Masked { argument: 2, mask: 12, bits: 8 }]),
                (0, &[ArgumentTest::HasUpper(3)]),
                (2, &[ArgumentTest::HasAny(4, 5)]),
            ]),
        );
        let program = compile(&[], &table, &SyscallAction::Fail(38));
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

    #[test]
    fn what_is_farther_than_a_branch_reaches_is_found_all_the_same() {
        let calls = 0..600_u32;
        let table: BTreeMap<libc::c_long, SyscallAction> = calls
            .clone()
            .map(|number| {
                let errno = 1 + libc::c_int::try_from(number % 7).unwrap();
                let tests = vec![
                    ArgumentTest::Is(0, number),
                    ArgumentTest::HasAny(0, u32::MAX),
                    ArgumentTest::IsNot(1, number),
                ];
                (number.into(), SyscallAction::FailIf(vec![(errno, tests), (9, vec![ArgumentTest::Is(1, 3)])]))
            })
            .collect();
        let program = compile(&[], &table, &SyscallAction::Fail(38));
        for number in calls {
            let itself = u64::from(number);
            let answer = |one, two| answer(&program, ARCHITECTURE, number, [one, two, 0, 0, 0, 0]);
            let wanted = if number == 0 { libc::SECCOMP_RET_ALLOW } else { libc::SECCOMP_RET_ERRNO | (1 + number % 7) };
            assert_eq!(answer(itself, itself + 1), wanted, "{number}");
            assert_eq!(answer(itself + 1, 3), libc::SECCOMP_RET_ERRNO | 9, "{number}");
            assert_eq!(answer(itself + 1, 4), libc::SECCOMP_RET_ALLOW, "{number}");
        }
        assert_eq!(answer(&program, ARCHITECTURE, 600, [0; 6]), libc::SECCOMP_RET_ERRNO | 38);
        assert!(usize::from(u8::MAX) < program.len());
    }

    #[test]
    fn what_is_in_the_table_comes_before_what_is_plain() {
        static PLAIN: [(u32, &SyscallAction); 3] =
            [(2, &SyscallAction::Allow), (3, &SyscallAction::Allow), (5, &SyscallAction::Fail(2))];
        let table =
            BTreeMap::from([(1, SyscallAction::Fail(1)), (3, SyscallAction::Fail(3)), (7, SyscallAction::Allow)]);
        let program = compile(&PLAIN, &table, &SyscallAction::Fail(38));
        let answers = (0..9).map(|number| answer(&program, ARCHITECTURE, number, [0; 6]));
        let errno = |errno| libc::SECCOMP_RET_ERRNO | errno;
        let allow = libc::SECCOMP_RET_ALLOW;
        assert!(answers.eq([errno(38), errno(1), allow, errno(3), errno(38), errno(2), errno(38), allow, errno(38)]));
    }
}
