//! Streams: a dictionary, and bytes that are usually compressed. Source: ISO 32000-1, 7.3.8 and 7.4.

use std::io::Read;

use flate2::read::ZlibDecoder;
use hayro_syntax::object::{Array, Dict, FromBytes, Name, Number};

use super::Unreadable;
use super::budget::Budget;

/// The dictionary has a few short entries; only a list of changed objects may be longer.
const MAX_DICTIONARY_BYTES: usize = 256 << 10;

pub(super) struct Stream<'a> {
    pub(super) dictionary: Dict<'a>,
    /// To the end of the file.
    rest: &'a [u8],
}

impl<'a> Stream<'a> {
    /// `None` if the object is not a stream that begins with its dictionary.
    pub(super) fn parse(object: &'a [u8], budget: &mut Budget) -> Result<Option<Self>, Unreadable> {
        let start = &object[..object.len().min(MAX_DICTIONARY_BYTES)];
        let Some(length) = find(start, b"stream") else { return Ok(None) };
        budget.parsed(length)?;
        let Some(dictionary) = Dict::from_bytes(&start[..length]) else { return Ok(None) };
        let rest = &object[length + b"stream".len()..];
        let rest = rest.strip_prefix(b"\r\n").or_else(|| rest.strip_prefix(b"\n"));
        let rest = rest.ok_or(Unreadable::Damaged("no line break before the bytes of a stream"))?;
        Ok(Some(Self { dictionary, rest }))
    }

    pub(super) fn decode(&self, budget: &mut Budget) -> Result<Vec<u8>, Unreadable> {
        let bytes = match filter(&self.dictionary) {
            Filter::None => {
                let length = number(&self.dictionary, b"Length").and_then(|it| self.rest.get(..it));
                let bytes = length.ok_or(Unreadable::Damaged("a stream has no valid length"))?;
                budget.inflated(bytes.len())?;
                return Ok(bytes.to_vec());
            }
            Filter::Flate => inflate(self.rest, budget)?,
            Filter::Other => return Err(Unreadable::Damaged("an unusual filter")),
        };
        let Some(parameters) = parameters(&self.dictionary) else { return Ok(bytes) };
        match number(&parameters, b"Predictor").unwrap_or(1) {
            1 => Ok(bytes),
            10..=15 => without_predictor(&bytes, number(&parameters, b"Columns").unwrap_or(1)),
            _ => Err(Unreadable::Damaged("an unusual predictor")),
        }
    }
}

enum Filter {
    None,
    Flate,
    /// Software does not write it for the streams that are read here.
    Other,
}

fn filter(dictionary: &Dict<'_>) -> Filter {
    if !dictionary.contains_key(b"Filter") {
        return Filter::None;
    }
    let name = dictionary.get::<Name<'_>>(b"Filter").or_else(|| {
        let mut names = dictionary.get::<Array<'_>>(b"Filter")?.iter::<Name<'_>>();
        names.next().filter(|_| names.next().is_none())
    });
    if name.is_some_and(|it| it.as_ref() == b"FlateDecode") { Filter::Flate } else { Filter::Other }
}

fn parameters<'a>(dictionary: &Dict<'a>) -> Option<Dict<'a>> {
    dictionary
        .get::<Dict<'_>>(b"DecodeParms")
        .or_else(|| dictionary.get::<Array<'_>>(b"DecodeParms")?.iter::<Dict<'_>>().next())
}

/// `None` for negative numbers and references.
pub(super) fn number<N: TryFrom<i64>>(dictionary: &Dict<'_>, key: &[u8]) -> Option<N> {
    N::try_from(dictionary.get::<Number>(key)?.as_i64()).ok()
}

/// Compressed data has its own end, so the length of the stream is not needed.
fn inflate(bytes: &[u8], budget: &mut Budget) -> Result<Vec<u8>, Unreadable> {
    let limit = budget.left_to_inflate() as u64 + 1;
    let mut inflated = Vec::new();
    let read = ZlibDecoder::new(bytes).take(limit).read_to_end(&mut inflated);
    budget.inflated(inflated.len())?;
    read.map_err(|_| Unreadable::Damaged("a stream cannot be decompressed"))?;
    Ok(inflated)
}

/// Reverses the filters of PNG, with one byte for each column. Source: RFC 2083, 6.
fn without_predictor(bytes: &[u8], columns: usize) -> Result<Vec<u8>, Unreadable> {
    let damaged = Unreadable::Damaged("an invalid predictor");
    if columns == 0 || bytes.len() < columns {
        return Err(damaged);
    }
    let mut decoded: Vec<u8> = Vec::with_capacity(bytes.len());
    let mut above = vec![0; columns];
    for row in bytes.chunks_exact(columns.saturating_add(1)) {
        let (method, row) = (row[0], &row[1..]);
        let (mut left, mut above_left) = (0_u8, 0_u8);
        for (byte, above) in row.iter().zip(&mut above) {
            let predicted = match method {
                0 => 0,
                1 => left,
                2 => *above,
                3 => left.midpoint(*above),
                4 => nearest(left, *above, above_left),
                _ => return Err(damaged),
            };
            above_left = *above;
            left = byte.wrapping_add(predicted);
            *above = left;
        }
        decoded.extend_from_slice(&above);
    }
    Ok(decoded)
}

/// The neighbor that is nearest to `left + above - above_left`: the Paeth predictor.
fn nearest(left: u8, above: u8, above_left: u8) -> u8 {
    let [a, b, c] = [left, above, above_left].map(i16::from);
    let estimate = a + b - c;
    let [from_left, from_above, from_above_left] = [a, b, c].map(|it| estimate.abs_diff(it));
    if from_left <= from_above && from_left <= from_above_left {
        left
    } else if from_above <= from_above_left {
        above
    } else {
        above_left
    }
}

pub(super) fn find(bytes: &[u8], wanted: &[u8]) -> Option<usize> {
    bytes.windows(wanted.len()).position(|it| it == wanted)
}
