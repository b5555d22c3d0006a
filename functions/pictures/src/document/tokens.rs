//! The few tokens outside of objects: numbers and keywords, separated by white space and comments.
//! Source: ISO 32000-1, 7.2.

#[derive(Clone, Copy, Debug)]
pub(super) struct Tokens<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Tokens<'a> {
    pub(super) fn at(bytes: &'a [u8], at: usize) -> Self {
        Self { bytes, at: at.min(bytes.len()) }
    }

    pub(super) fn rest(&self) -> &'a [u8] {
        &self.bytes[self.at..]
    }

    pub(super) fn skip_white_space(&mut self) {
        while let Some(byte) = self.bytes.get(self.at) {
            match byte {
                b'\0' | b'\t' | b'\n' | b'\x0C' | b'\r' | b' ' => self.at += 1,
                b'%' => {
                    let line = self.rest().iter().take_while(|it| !matches!(it, b'\r' | b'\n')).count();
                    self.at += line;
                }
                _ => break,
            }
        }
    }

    /// Without a sign.
    pub(super) fn number<N: TryFrom<u64>>(&mut self) -> Option<N> {
        self.skip_white_space();
        // Offsets have ten digits; more than 18 might overflow.
        let length = self.rest().iter().take(19).take_while(|it| it.is_ascii_digit()).count();
        if !(1..=18).contains(&length) {
            return None;
        }
        let number = self.rest()[..length].iter().fold(0, |sum, it| sum * 10 + u64::from(it - b'0'));
        self.at += length;
        N::try_from(number).ok()
    }

    /// Whether the next token begins with this keyword, which is then skipped.
    pub(super) fn keyword(&mut self, keyword: &[u8]) -> bool {
        self.skip_white_space();
        let is_next = self.rest().starts_with(keyword);
        if is_next {
            self.at += keyword.len();
        }
        is_next
    }
}
