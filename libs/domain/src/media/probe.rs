//! Probing a file: reading its properties from as few bytes as possible.
//!
//! This module performs no I/O. The caller reads the parts that are requested, one after the other.
//! The file's own statements are used without verification. The cost is that of the parts that were
//! read, and the caller limits their number.

mod exif;
mod jpeg;
mod movie;
mod picture;

use std::ops::Range;

use super::{Facts, MimeType, Pixels};

/// The size of a requested part: the headers of most files are smaller.
pub const PART_BYTES: usize = 64 << 10;

#[derive(Clone, Debug)]
pub struct Parts {
    size_bytes: u64,
    parts: Vec<(u64, Vec<u8>)>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum ProbeError {
    Missing(Range<u64>),
    /// The file does not contain it, or not in a valid form.
    Unspecified,
}

impl Parts {
    pub fn new(size_bytes: u64, first_bytes: Vec<u8>) -> Self {
        Self { size_bytes, parts: vec![(0, first_bytes)] }
    }

    pub fn add(&mut self, start: u64, bytes: Vec<u8>) {
        self.parts.push((start, bytes));
    }

    /// # Errors
    /// The part that has to be read first: at most [`PART_BYTES`], within the file. A file that is
    /// damaged or unusual is no error, and has fewer properties.
    pub fn facts(&self, mime: MimeType) -> Result<Facts, Range<u64>> {
        let found = match mime {
            MimeType::Jpeg => jpeg::pixels(self).map(pixels),
            MimeType::Png => picture::png(self).map(pixels),
            MimeType::Webp => picture::webp(self).map(pixels),
            MimeType::Gif => picture::gif(self).map(pixels),
            MimeType::Mp4 | MimeType::Quicktime => movie::facts(self),
            // A document is inspected as a whole, in an isolated function.
            MimeType::Pdf => Ok(Facts::default()),
        };
        match found {
            Ok(facts) => Ok(facts),
            Err(ProbeError::Unspecified) => Ok(Facts::default()),
            Err(ProbeError::Missing(range)) => Err(range),
        }
    }

    pub fn known_facts(&self, mime: MimeType) -> Facts {
        self.facts(mime).unwrap_or_default()
    }

    fn get(&self, start: u64, length: usize) -> Result<&[u8], ProbeError> {
        let end =
            start.checked_add(length as u64).filter(|it| *it <= self.size_bytes).ok_or(ProbeError::Unspecified)?;
        let found = self.parts.iter().find_map(|(first, bytes)| {
            let from = usize::try_from(start.checked_sub(*first)?).ok()?;
            bytes.get(from..from.checked_add(length)?)
        });
        if let Some(found) = found {
            return Ok(found);
        }
        let whole = start.saturating_add(PART_BYTES as u64).min(self.size_bytes).max(end);
        // Longer than any requested part, or the part was shorter than requested: it would be
        // requested forever.
        let is_hopeless = PART_BYTES < length || self.parts.iter().any(|(first, _)| *first == start);
        Err(if is_hopeless { ProbeError::Unspecified } else { ProbeError::Missing(start..whole) })
    }

    fn array<const N: usize>(&self, start: u64) -> Result<[u8; N], ProbeError> {
        self.get(start, N)?.try_into().map_err(|_| ProbeError::Unspecified)
    }
}

fn pixels(pixels: Pixels) -> Facts {
    Facts { pixels: Some(pixels), ..Facts::default() }
}

#[cfg(test)]
mod tests;
