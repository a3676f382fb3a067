//! New inputs from old ones, and from a dictionary of tokens that matter to a parser.

use crate::draw::SEPARATOR;

/// A small generator of random numbers (SplitMix64): the same seed gives the same run.
#[derive(Clone, Debug)]
pub struct Random(u64);

impl Random {
    /// Starts at `seed`.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// The next number.
    pub fn number(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    /// A number below `end`; 0 if `end` is 0.
    pub fn below(&mut self, end: usize) -> usize {
        if end == 0 { 0 } else { (self.number() % end as u64) as usize }
    }

    fn of<'a, T: ?Sized>(&mut self, all: &[&'a T]) -> Option<&'a T> {
        all.get(self.below(all.len())).copied()
    }
}

/// Tokens that mean something to one of the parsers.
const TOKENS: &[&[u8]] = &[
    &[SEPARATOR],
    b"/",
    b"..",
    b"../",
    b"./",
    b"//",
    b"\0",
    b"~",
    b".",
    b"a",
    b"b",
    b"ab",
    b"A",
    b" ",
    b"\t",
    b"\n",
    b"\r\n",
    b"\r",
    b"\n\n",
    b"a\n",
    b"b\r\n",
    b"a\nb\n",
    b"*",
    b"**",
    b"**/",
    b"/**",
    b"?",
    b"[",
    b"]",
    b"[a-c]",
    b"[!a]",
    b"[^/]",
    b"[]]",
    b"[z-a]",
    b"{",
    b"}",
    b"{a,b}",
    b"{,",
    b",",
    b"\\",
    b"!",
    b"(",
    b")",
    b"(a+)+",
    b"$(",
    b"${x:-",
    b"`",
    b"'",
    b"\"",
    b"$'",
    b"&&",
    b";",
    b";;",
    b"<<E\n",
    b"\nE\n",
    b"> f ",
    b"<(",
    b"((",
    b"[[ ",
    b"if a; then ",
    b"case x in a) ",
    b"{ ",
    b"; }",
    b"eval ",
    b"sh -c ",
    b"cd a;",
    b"\\\n",
    b"|",
    b"+",
    b"{2}",
    b"{1000}",
    b"\\w",
    b"\\b",
    b"\\pL",
    b"(?i)",
    b"(?s)",
    b"(?-u)",
    b"(?=",
    b"^",
    b"$",
    b"\\n",
    b"\\x00",
    b".*",
    b"[[:alpha:]]",
    b"&&",
    b"--",
    b"\xEF\xBB\xBF",
    b"\xFF\xFE",
    b"\xFE\xFF",
    b"\xFF\xFE\0\0",
    "é".as_bytes(),
    "日本".as_bytes(),
    "😀".as_bytes(),
    "\u{301}".as_bytes(),
    "\u{feff}".as_bytes(),
    "\u{2028}".as_bytes(),
    "\u{85}".as_bytes(),
    "\u{fffd}".as_bytes(),
    "İ".as_bytes(),
    "ß".as_bytes(),
    "\u{10ffff}".as_bytes(),
    "\u{1}".as_bytes(),
    b"\xE9",
    b"\xED\xA0\x80",
    b"\xC3",
    b"\xF0\x9F",
    b"\x80",
    b"\xA0",
    b"\x93\xFA\x96\x7B",
    b"\x81\x40",
    b"\xB0\xA1",
    b"\xC4\xE3\xBA\xC3",
    b"\x1B$B$3\x1B(B",
    b"\x81\x30\x81\x30",
    b"\x8F\xB0\xA1",
    b"\x00\xD8",
    b"\x3D\xD8\x00\xDE",
    b".workden-tmp-",
    b".git",
    b".gitignore",
    b"1:0c|",
    b"     1\t",
    b"{\"files\":{",
    b"\"content\":\"",
    b"\"encoding\":\"base64\"",
    b"\"directories\":[",
    b"\"2026-01-31T12:00:00Z\"",
    b"\\ud800",
    b"\\u0000",
    b"}}",
    b"null",
    b"[[[[",
];

/// Makes an input from a seed or another input, changed a few times.
pub fn mutated(random: &mut Random, pool: &[Vec<u8>]) -> Vec<u8> {
    let mut input = pool.get(random.below(pool.len())).cloned().unwrap_or_default();
    if random.below(8) == 0 {
        input.clear();
    }
    let changes = 1 + random.below(6);
    for _ in 0..changes {
        change(random, &mut input, pool);
    }
    input.truncate(LONGEST_INPUT);
    input
}

/// The longest input that is made.
const LONGEST_INPUT: usize = 16 * 1024;

fn change(random: &mut Random, input: &mut Vec<u8>, pool: &[Vec<u8>]) {
    let at = random.below(input.len() + 1);
    let end = (at + random.below(16)).min(input.len());
    match random.below(12) {
        0..=3 => {
            if let Some(token) = random.of(TOKENS) {
                input.splice(at..at, token.iter().copied());
            }
        }
        4 => {
            if let Some(token) = random.of(TOKENS) {
                input.splice(at..end, token.iter().copied());
            }
        }
        5 => {
            if let Some(byte) = input.get_mut(at) {
                *byte ^= 1 << random.below(8);
            }
        }
        6 => {
            let byte = random.below(256) as u8;
            input.insert(at, byte);
        }
        7 => drop(input.drain(at..end)),
        8 => {
            // Repeat a part, a few times or many: quadratic behaviour shows in repetition.
            let times = if random.below(20) == 0 { random.below(4_000) } else { random.below(8) };
            let piece = input[at..end].repeat(times);
            input.splice(at..at, piece);
        }
        9 => {
            if let Some(other) = pool.get(random.below(pool.len())) {
                let from = random.below(other.len() + 1);
                input.truncate(at);
                input.extend_from_slice(&other[from..]);
            }
        }
        10 => {
            let number = [0, 1, 0x7F, 0x80, 0xF6, 0xF7, 0xF8, 0xFF][random.below(8)];
            if let Some(byte) = input.get_mut(at.min(7)) {
                *byte = number;
            }
        }
        _ => {
            let other = random.below(input.len() + 1);
            let piece = input[at..end].to_vec();
            input.splice(other..other, piece);
        }
    }
}

/// Returns a minimised input that still fails.
pub fn minimised(input: &[u8], fails: impl Fn(&[u8]) -> bool) -> Vec<u8> {
    let mut smallest = input.to_vec();
    let mut step = smallest.len() / 2;
    let mut tries = 0;
    while step > 0 && tries < 2_000 {
        let mut at = 0;
        while at < smallest.len() && tries < 2_000 {
            let mut shorter = smallest.clone();
            shorter.drain(at..(at + step).min(shorter.len()));
            tries += 1;
            if fails(&shorter) { smallest = shorter } else { at += step }
        }
        step /= 2;
    }
    smallest
}
