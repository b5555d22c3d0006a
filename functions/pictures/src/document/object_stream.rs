//! Object streams, which contain several objects. Source: ISO 32000-1, 7.5.7.

use super::Unreadable;
use super::budget::Budget;
use super::stream::{Stream, number};
use super::tokens::Tokens;

pub(super) struct ObjectStream {
    bytes: Vec<u8>,
    /// The number of each object, and its offset in `bytes`.
    objects: Vec<(u32, usize)>,
    /// All offsets in ascending order: where an object begins, the one before it ends.
    offsets: Vec<usize>,
}

impl ObjectStream {
    pub(super) fn read(stream: &Stream<'_>, budget: &mut Budget) -> Result<Self, Unreadable> {
        let damaged = Unreadable::Damaged("an invalid object stream");
        let count: usize = number(&stream.dictionary, b"N").ok_or(damaged)?;
        let first: usize = number(&stream.dictionary, b"First").ok_or(damaged)?;
        budget.entries(count)?;
        let bytes = stream.decode(budget)?;
        let mut tokens = Tokens::at(&bytes, 0);
        let objects = (0..count).map(|_| {
            let (number, offset) = (tokens.number()?, tokens.number::<usize>()?);
            Some((number, first.checked_add(offset)?))
        });
        let objects: Vec<(u32, usize)> = objects.collect::<Option<_>>().ok_or(damaged)?;
        let mut offsets: Vec<_> = objects.iter().map(|(_, offset)| *offset).collect();
        offsets.sort_unstable();
        Ok(Self { bytes, objects, offsets })
    }

    /// `None` if another object has this index.
    pub(super) fn object(&self, number: u32, index: usize) -> Option<&[u8]> {
        let (_, offset) = self.objects.get(index).filter(|(found, _)| *found == number)?;
        let next = self.offsets.partition_point(|it| it <= offset);
        let end = self.offsets.get(next).copied().unwrap_or(usize::MAX).min(self.bytes.len());
        self.bytes.get(*offset..end).map(<[u8]>::trim_ascii_start)
    }
}
