//! `Draw`: reads arguments from the bytes of a fuzz input. Any bytes are valid; after the last one, everything drawn is
//! empty or zero, so that a shorter input is a simpler case.

/// The rest of an input.
#[derive(Debug)]
pub struct Draw<'a> {
    bytes: &'a [u8],
}

impl<'a> Draw<'a> {
    /// Draws from these bytes.
    #[must_use]
    pub fn new(bytes: &'a [u8]) -> Self {
        Self { bytes }
    }

    /// One byte.
    pub fn byte(&mut self) -> u8 {
        match self.bytes.split_first() {
            Some((byte, rest)) => {
                self.bytes = rest;
                *byte
            }
            None => 0,
        }
    }

    /// A number that is often small, and sometimes as large as possible.
    pub fn number(&mut self) -> u64 {
        match self.byte() {
            small @ 0..=239 => u64::from(small % 16),
            240..=245 => u64::from(self.byte()) << 8 | u64::from(self.byte()),
            246 => u64::MAX,
            247 => u64::MAX - 1,
            248 => i64::MAX as u64,
            249 => u64::from(u32::MAX),
            250 => u64::from(u32::MAX) + 1,
            251 => 200_000,
            252 => 65_536,
            253 => 131_071,
            254 => 131_072,
            255 => 4_096,
        }
    }

    /// Bytes up to the next separator, or all that are left. The separator is a byte that has no special meaning in
    /// UTF-8 or any other encoding here.
    pub fn piece(&mut self) -> &'a [u8] {
        match self.bytes.iter().position(|byte| *byte == SEPARATOR) {
            Some(at) => {
                let (piece, rest) = self.bytes.split_at(at);
                self.bytes = rest.get(1..).unwrap_or_default();
                piece
            }
            None => std::mem::take(&mut self.bytes),
        }
    }

    /// A piece as text.
    pub fn text(&mut self) -> String {
        String::from_utf8_lossy(self.piece()).into_owned()
    }

    /// All that is left.
    pub fn rest(&mut self) -> &'a [u8] {
        std::mem::take(&mut self.bytes)
    }
}

/// Separates the pieces of an input.
pub const SEPARATOR: u8 = 0x1F;
