//! Where the objects of a document are: tables and streams of cross-references, the newest first.
//! Source: ISO 32000-1, 7.5.4 to 7.5.8.

use std::collections::hash_map::Entry;
use std::collections::{HashMap, HashSet};

use hayro_syntax::object::{Array, Dict, FromBytes, Number};

use super::Unreadable;
use super::budget::Budget;
use super::stream::{Stream, find, number};
use super::tokens::Tokens;

/// Bytes at the end of a file in which the offset of the newest section is searched.
const END_BYTES: usize = 4 << 10;

/// The keyword before the offset of the newest section. In a table, it also ends the trailer.
const NEWEST_SECTION: &[u8] = b"startxref";

const MAX_TRAILER_BYTES: usize = 256 << 10;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Location {
    /// An offset in the file.
    At(usize),
    /// A position in an object stream.
    In { stream: u32, index: usize },
    /// The object was deleted.
    Free,
}

pub(super) struct CrossReferences {
    locations: HashMap<u32, Location>,
    pub(super) is_encrypted: bool,
    /// The number of the catalog.
    pub(super) root: u32,
}

/// A section, without its entries.
struct Section {
    previous: Option<usize>,
    /// A stream with further entries, for readers that know streams.
    hybrid: Option<usize>,
    root: Option<u32>,
    is_encrypted: bool,
}

impl Section {
    fn new(trailer: &Dict<'_>) -> Self {
        Self {
            previous: number(trailer, b"Prev"),
            hybrid: number(trailer, b"XRefStm"),
            root: trailer.get_ref(b"Root").map(|it| it.obj_number),
            is_encrypted: trailer.contains_key(b"Encrypt"),
        }
    }
}

impl CrossReferences {
    pub(super) fn read(bytes: &[u8], budget: &mut Budget) -> Result<Self, Unreadable> {
        let mut read = Self { locations: HashMap::new(), is_encrypted: false, root: 0 };
        let mut root = None;
        let mut visited = HashSet::new();
        let mut next = Some(newest_section(bytes).ok_or(Unreadable::Damaged("no cross-references"))?);
        while let Some(offset) = next {
            budget.section()?;
            if !visited.insert(offset) {
                return Err(Unreadable::Damaged("cross-references that refer to each other"));
            }
            let section = read.section(bytes, offset, budget)?;
            if let Some(hybrid) = section.hybrid {
                budget.section()?;
                read.section(bytes, hybrid, budget)?;
            }
            read.is_encrypted |= section.is_encrypted;
            root = root.or(section.root);
            next = section.previous;
        }
        read.root = root.ok_or(Unreadable::Damaged("no catalog"))?;
        Ok(read)
    }

    pub(super) fn location(&self, number: u32) -> Option<Location> {
        self.locations.get(&number).copied()
    }

    fn section(&mut self, bytes: &[u8], offset: usize, budget: &mut Budget) -> Result<Section, Unreadable> {
        let mut tokens = Tokens::at(bytes, offset);
        if tokens.keyword(b"xref") { self.table(tokens, budget) } else { self.stream(bytes, offset, budget) }
    }

    /// The entry of the newest section counts.
    fn add(&mut self, number: u32, location: Location) {
        if let Entry::Vacant(vacant) = self.locations.entry(number) {
            vacant.insert(location);
        }
    }

    fn table(&mut self, mut tokens: Tokens<'_>, budget: &mut Budget) -> Result<Section, Unreadable> {
        let damaged = Unreadable::Damaged("an invalid cross-reference table");
        while !tokens.keyword(b"trailer") {
            let first: u32 = tokens.number().ok_or(damaged)?;
            let count: u32 = tokens.number().ok_or(damaged)?;
            for number in (0..count).map(|it| first.checked_add(it)) {
                budget.entries(1)?;
                let offset: usize = tokens.number().ok_or(damaged)?;
                let _generation: u32 = tokens.number().ok_or(damaged)?;
                let location = if tokens.keyword(b"n") {
                    Location::At(offset)
                } else if tokens.keyword(b"f") {
                    Location::Free
                } else {
                    return Err(damaged);
                };
                self.add(number.ok_or(damaged)?, location);
            }
        }
        tokens.skip_white_space();
        let trailer = &tokens.rest()[..tokens.rest().len().min(MAX_TRAILER_BYTES)];
        let trailer = &trailer[..find(trailer, NEWEST_SECTION).unwrap_or(trailer.len())];
        budget.parsed(trailer.len())?;
        Ok(Section::new(&Dict::from_bytes(trailer).ok_or(damaged)?))
    }

    fn stream(&mut self, bytes: &[u8], offset: usize, budget: &mut Budget) -> Result<Section, Unreadable> {
        let damaged = Unreadable::Damaged("an invalid cross-reference stream");
        let (_, object) = object_at(bytes, offset).ok_or(damaged)?;
        let stream = Stream::parse(object, budget)?.ok_or(damaged)?;
        let section = Section::new(&stream.dictionary);
        let widths: Vec<usize> = numbers(&stream.dictionary, b"W").ok_or(damaged)?;
        let [first, second, third] = widths[..] else { return Err(damaged) };
        if widths.iter().any(|it| 8 < *it) || second == 0 {
            return Err(damaged);
        }
        let ranges: Vec<u32> = match numbers(&stream.dictionary, b"Index") {
            Some(ranges) => ranges,
            None => vec![0, number(&stream.dictionary, b"Size").ok_or(damaged)?],
        };
        let decoded = stream.decode(budget)?;
        let mut entries = decoded.chunks_exact(first + second + third);
        for range in ranges.chunks_exact(2) {
            for number in (0..range[1]).map(|it| range[0].checked_add(it)) {
                let Some(entry) = entries.next() else { return Ok(section) };
                budget.entries(1)?;
                let (kind, rest) = entry.split_at(first);
                let (second, third) = rest.split_at(second);
                // Without the first field, all objects have their own offsets.
                let kind = if kind.is_empty() { 1 } else { big_endian(kind) };
                let location = match kind {
                    1 => Location::At(usize::try_from(big_endian(second)).map_err(|_| damaged)?),
                    2 => Location::In {
                        stream: u32::try_from(big_endian(second)).map_err(|_| damaged)?,
                        index: usize::try_from(big_endian(third)).map_err(|_| damaged)?,
                    },
                    // Further kinds are reserved: "references to the null object".
                    _ => Location::Free,
                };
                self.add(number.ok_or(damaged)?, location);
            }
        }
        Ok(section)
    }
}

/// The number of the object at an offset, and the bytes after its header.
pub(super) fn object_at(bytes: &[u8], offset: usize) -> Option<(u32, &[u8])> {
    let mut tokens = Tokens::at(bytes, offset);
    let number = tokens.number()?;
    let _generation: u32 = tokens.number()?;
    if !tokens.keyword(b"obj") {
        return None;
    }
    tokens.skip_white_space();
    Some((number, tokens.rest()))
}

fn newest_section(bytes: &[u8]) -> Option<usize> {
    let start = bytes.len().saturating_sub(END_BYTES);
    let last = bytes[start..].windows(NEWEST_SECTION.len()).rposition(|it| it == NEWEST_SECTION)?;
    Tokens::at(bytes, start + last + NEWEST_SECTION.len()).number()
}

fn numbers<N: TryFrom<i64>>(dictionary: &Dict<'_>, key: &[u8]) -> Option<Vec<N>> {
    dictionary.get::<Array<'_>>(key)?.iter::<Number>().map(|it| N::try_from(it.as_i64()).ok()).collect()
}

fn big_endian(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0, |sum, it| sum << 8 | u64::from(*it))
}
