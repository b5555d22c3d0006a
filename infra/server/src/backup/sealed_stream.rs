//! A stream of bytes in pieces that are sealed one by one, so that memory is small for any size. Each piece
//! is bound to its stream and its place, and the last one is marked: a stream that was cut off, or whose
//! pieces were exchanged, does not open.
//!
//! The format: [`MAGIC`], the id of the stream (16 bytes), then for each piece its length (4 bytes, big
//! endian), a nonce of 12 bytes and the ciphertext of AES-256-GCM. The key is derived from the sealing key
//! and the id.

use std::io::{Error, ErrorKind, Read, Result, Write};

use cloud::seal::DataKey;
use domain::token::random_bytes;

use crate::sealing_key::SealingKey;

const MAGIC: &[u8; 16] = b"social backup 1\n";

/// Before a piece is sealed.
const PIECE: usize = 1024 * 1024;

/// Nonce and tag.
const OVERHEAD: usize = 12 + 16;

fn stream_key(key: &SealingKey, id: [u8; 16]) -> DataKey {
    DataKey::new(key.derived(&format!("backup {:032x}", u128::from_be_bytes(id))))
}

/// The context that a piece is bound to.
fn context(index: u64, is_last: bool) -> [u8; 9] {
    let mut context = [u8::from(is_last); 9];
    context[..8].copy_from_slice(&index.to_be_bytes());
    context
}

pub(crate) struct SealedWriter<W> {
    output: W,
    key: DataKey,
    piece: Vec<u8>,
    index: u64,
}

impl<W: Write> SealedWriter<W> {
    pub(crate) fn new(mut output: W, key: &SealingKey) -> Result<Self> {
        let id = random_bytes();
        output.write_all(MAGIC)?;
        output.write_all(&id)?;
        Ok(Self { output, key: stream_key(key, id), piece: Vec::with_capacity(PIECE), index: 0 })
    }

    fn seal(&mut self, is_last: bool) -> Result<()> {
        let sealed = self.key.encrypt(&self.piece, &context(self.index, is_last)).map_err(Error::other)?;
        let length = u32::try_from(sealed.len()).map_err(Error::other)?;
        self.output.write_all(&length.to_be_bytes())?;
        self.output.write_all(&sealed)?;
        self.piece.clear();
        self.index += 1;
        Ok(())
    }

    /// Seals the last piece, without which the stream cannot be read.
    pub(crate) fn finish(mut self) -> Result<W> {
        self.seal(true)?;
        self.output.flush()?;
        Ok(self.output)
    }
}

impl<W: Write> Write for SealedWriter<W> {
    fn write(&mut self, bytes: &[u8]) -> Result<usize> {
        if self.piece.len() == PIECE {
            self.seal(false)?;
        }
        let taken = bytes.len().min(PIECE - self.piece.len());
        self.piece.extend_from_slice(&bytes[..taken]);
        Ok(taken)
    }

    fn flush(&mut self) -> Result<()> {
        self.output.flush()
    }
}

pub(crate) struct SealedReader<R> {
    input: R,
    key: DataKey,
    piece: Vec<u8>,
    position: usize,
    index: u64,
    has_ended: bool,
}

impl<R: Read> SealedReader<R> {
    pub(crate) fn new(mut input: R, key: &SealingKey) -> Result<Self> {
        let (mut magic, mut id) = ([0; 16], [0; 16]);
        input.read_exact(&mut magic)?;
        if magic != *MAGIC {
            return Err(invalid("it is not a backup of this service"));
        }
        input.read_exact(&mut id)?;
        let key = stream_key(key, id);
        Ok(Self { input, key, piece: Vec::new(), position: 0, index: 0, has_ended: false })
    }

    fn open(&mut self) -> Result<()> {
        let mut length = [0; 4];
        self.input.read_exact(&mut length)?;
        let length = usize::try_from(u32::from_be_bytes(length)).map_err(Error::other)?;
        if PIECE + OVERHEAD < length {
            return Err(invalid("it is damaged"));
        }
        let mut sealed = vec![0; length];
        self.input.read_exact(&mut sealed)?;
        let opened = self.key.decrypt(&sealed, &context(self.index, false));
        let opened = opened
            .map(|it| (it, false))
            .or_else(|_| self.key.decrypt(&sealed, &context(self.index, true)).map(|it| (it, true)));
        let (piece, is_last) = opened.map_err(|_| invalid("it is damaged, or was made with another sealing key"))?;
        (self.piece, self.position, self.has_ended) = (piece, 0, is_last);
        self.index += 1;
        Ok(())
    }
}

fn invalid(reason: &'static str) -> Error {
    Error::new(ErrorKind::InvalidData, reason)
}

impl<R: Read> Read for SealedReader<R> {
    fn read(&mut self, bytes: &mut [u8]) -> Result<usize> {
        while self.position == self.piece.len() && !self.has_ended {
            self.open()?;
        }
        let taken = bytes.len().min(self.piece.len() - self.position);
        bytes[..taken].copy_from_slice(&self.piece[self.position..][..taken]);
        self.position += taken;
        Ok(taken)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sealed(key: &SealingKey, plain: &[u8]) -> Vec<u8> {
        let mut writer = SealedWriter::new(Vec::new(), key).unwrap();
        writer.write_all(plain).unwrap();
        writer.finish().unwrap()
    }

    fn opened(key: &SealingKey, sealed: &[u8]) -> Result<Vec<u8>> {
        let mut plain = Vec::new();
        SealedReader::new(sealed, key)?.read_to_end(&mut plain)?;
        Ok(plain)
    }

    #[test]
    fn stream_of_any_length_reads_back() {
        let key = SealingKey::random();
        for length in [0, 1, PIECE - 1, PIECE, PIECE + 1, 2 * PIECE + 7] {
            let plain: Vec<u8> = (0..length).map(|it| u8::try_from(it % 251).unwrap()).collect();
            assert!(opened(&key, &sealed(&key, &plain)).unwrap() == plain, "{length}");
        }
    }

    #[test]
    fn damaged_streams_are_refused() {
        let key = SealingKey::random();
        let whole = sealed(&key, &vec![7; 2 * PIECE + 7]);
        let sealed_piece = 4 + PIECE + OVERHEAD;
        let (start, first, second) = (32, 32 + sealed_piece, 32 + 2 * sealed_piece);
        let exchanged = [&whole[..start], &whole[first..second], &whole[start..first], &whole[second..]].concat();
        let mut flipped = whole.clone();
        flipped[first + 100] ^= 1;

        assert!(opened(&key, &whole).is_ok());
        for damaged in [&exchanged, &flipped, &whole[..second].to_vec(), &whole[..whole.len() - 1].to_vec()] {
            assert!(opened(&key, damaged).is_err());
        }
        assert!(opened(&SealingKey::random(), &whole).is_err());
    }
}
