//! Reading what a file says of itself, from as little of it as there is to it.
//!
//! Nothing is read here: whoever has the file brings the parts that are asked
//! for, one after the other. What a file says is believed as far as it goes, and
//! the cost of a file is that of the parts that were brought: how many those may
//! be, their bringer decides.

mod exif;
mod jpeg;
mod movie;
mod picture;

use std::ops::Range;

use super::{Facts, MimeType, Pixels};

/// How much is asked for at once: the heads of most files are smaller.
pub const PART_BYTES: usize = 64 << 10;

/// A file of which parts were read.
#[derive(Clone, Debug)]
pub struct Parts {
    size_bytes: u64,
    parts: Vec<(u64, Vec<u8>)>,
}

/// Why something of a file cannot be told.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Gap {
    /// This part has to be read first.
    Missing(Range<u64>),
    /// The file does not say it, or not as the format wants it.
    Unsaid,
}

impl Parts {
    /// A file that large, of which the beginning was read.
    pub fn of(size_bytes: u64, first_bytes: Vec<u8>) -> Self {
        Self { size_bytes, parts: vec![(0, first_bytes)] }
    }

    /// Brings another part, which begins here.
    pub fn bring(&mut self, start: u64, bytes: Vec<u8>) {
        self.parts.push((start, bytes));
    }

    /// What the file says of itself; or which part of it has to be brought
    /// first. It is never larger than [`PART_BYTES`], and lies within the file.
    ///
    /// # Errors
    /// The part that is missing. A file that is damaged or strange has no error
    /// but fewer facts.
    pub fn facts(&self, mime: MimeType) -> Result<Facts, Range<u64>> {
        let found = match mime {
            MimeType::Jpeg => jpeg::pixels(self).map(pixels),
            MimeType::Png => picture::png(self).map(pixels),
            MimeType::Webp => picture::webp(self).map(pixels),
            MimeType::Gif => picture::gif(self).map(pixels),
            MimeType::Mp4 | MimeType::Quicktime => movie::facts(self),
        };
        match found {
            Ok(facts) => Ok(facts),
            Err(Gap::Unsaid) => Ok(Facts::default()),
            Err(Gap::Missing(range)) => Err(range),
        }
    }

    /// What is known of it without any further part.
    pub fn facts_so_far(&self, mime: MimeType) -> Facts {
        self.facts(mime).unwrap_or_default()
    }

    /// These bytes of the file.
    fn get(&self, start: u64, length: usize) -> Result<&[u8], Gap> {
        let end = start.checked_add(length as u64).filter(|it| *it <= self.size_bytes).ok_or(Gap::Unsaid)?;
        let brought = self.parts.iter().find_map(|(first, bytes)| {
            let from = usize::try_from(start.checked_sub(*first)?).ok()?;
            bytes.get(from..from.checked_add(length)?)
        });
        if let Some(brought) = brought {
            return Ok(brought);
        }
        let whole = start.saturating_add(PART_BYTES as u64).min(self.size_bytes).max(end);
        // Longer than what is ever asked for, or what came was shorter than what
        // was asked for: it would be asked for without end.
        let is_hopeless = PART_BYTES < length || self.parts.iter().any(|(first, _)| *first == start);
        Err(if is_hopeless { Gap::Unsaid } else { Gap::Missing(start..whole) })
    }

    fn array<const N: usize>(&self, start: u64) -> Result<[u8; N], Gap> {
        self.get(start, N)?.try_into().map_err(|_| Gap::Unsaid)
    }
}

fn pixels(pixels: Pixels) -> Facts {
    Facts { pixels: Some(pixels), ..Facts::default() }
}

#[cfg(test)]
mod tests;
