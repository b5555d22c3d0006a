//! Counts the pages by walking the tree that has them as leaves. Source: ISO 32000-1, 7.7.3.

use std::collections::{HashMap, HashSet};

use hayro_syntax::object::{Array, Dict, FromBytes, Name};

use super::Unreadable;
use super::budget::Budget;
use super::cross_reference::{CrossReferences, Location, object_at};
use super::object_stream::ObjectStream;
use super::stream::{Stream, find};

/// Enough for a node with a quarter of a million children.
const MAX_OBJECT_BYTES: usize = 3 << 20;

enum Node {
    Page,
    Pages { children: Vec<u32> },
}

struct Objects<'a> {
    bytes: &'a [u8],
    references: &'a CrossReferences,
    streams: HashMap<u32, ObjectStream>,
}

pub(super) fn count(bytes: &[u8], references: &CrossReferences, budget: &mut Budget) -> Result<u32, Unreadable> {
    let mut objects = Objects { bytes, references, streams: HashMap::new() };
    let root = objects.root_of_pages(budget)?;
    let (mut pages, mut visited, mut to_visit) = (0_u32, HashSet::new(), vec![root]);
    while let Some(number) = to_visit.pop() {
        budget.node()?;
        if !visited.insert(number) {
            return Err(Unreadable::Damaged("a page tree with a loop"));
        }
        match objects.node(number, budget)? {
            Node::Page => pages += 1,
            Node::Pages { children } => {
                // Bounds the memory of `to_visit`; each child is visited later.
                budget.entries(children.len())?;
                to_visit.extend(children);
            }
        }
    }
    if pages == 0 { Err(Unreadable::Damaged("no pages")) } else { Ok(pages) }
}

impl Objects<'_> {
    fn root_of_pages(&mut self, budget: &mut Budget) -> Result<u32, Unreadable> {
        let catalog = self.references.root;
        let pages = self.read(catalog, budget, |object| Some(Dict::from_bytes(object)?.get_ref(b"Pages")?.obj_number));
        pages?.ok_or(Unreadable::Damaged("no page tree"))
    }

    fn node(&mut self, number: u32, budget: &mut Budget) -> Result<Node, Unreadable> {
        enum Found {
            Node(Node),
            /// The children are in an object of their own.
            ChildrenAt(u32),
        }
        let found = self.read(number, budget, |object| {
            let dictionary = Dict::from_bytes(object)?;
            let name = dictionary.get::<Name<'_>>(b"Type");
            let has_children = match name.as_ref().map(AsRef::as_ref) {
                Some(b"Pages") => true,
                Some(b"Page") => false,
                Some(_) => return None,
                // Required, but some software leaves it out.
                None => dictionary.contains_key(b"Kids"),
            };
            if !has_children {
                return Some(Found::Node(Node::Page));
            }
            if let Some(at) = dictionary.get_ref(b"Kids") {
                return Some(Found::ChildrenAt(at.obj_number));
            }
            let children = children(&dictionary.get::<Array<'_>>(b"Kids")?)?;
            Some(Found::Node(Node::Pages { children }))
        })?;
        let damaged = Unreadable::Damaged("a page that is missing or invalid");
        match found.ok_or(damaged)? {
            Found::Node(node) => Ok(node),
            Found::ChildrenAt(at) => {
                let children = self.read(at, budget, |object| children(&Array::from_bytes(object)?))?;
                Ok(Node::Pages { children: children.ok_or(damaged)? })
            }
        }
    }

    /// `None` if the object does not exist or is something else.
    fn read<T>(
        &mut self,
        number: u32,
        budget: &mut Budget,
        read: impl FnOnce(&[u8]) -> Option<T>,
    ) -> Result<Option<T>, Unreadable> {
        let object = match self.references.location(number) {
            Some(Location::At(offset)) => {
                let found = object_at(self.bytes, offset).filter(|(found, _)| *found == number);
                found.map(|(_, object)| until_end(object))
            }
            Some(Location::In { stream, index }) => {
                self.load_stream(stream, budget)?;
                self.streams.get(&stream).and_then(|it| it.object(number, index))
            }
            Some(Location::Free) | None => None,
        };
        let Some(object) = object else { return Ok(None) };
        let object = &object[..object.len().min(MAX_OBJECT_BYTES)];
        budget.parsed(object.len())?;
        Ok(read(object))
    }

    fn load_stream(&mut self, number: u32, budget: &mut Budget) -> Result<(), Unreadable> {
        if self.streams.contains_key(&number) {
            return Ok(());
        }
        let damaged = Unreadable::Damaged("an object stream is missing");
        // An object stream may not be in another one.
        let Some(Location::At(offset)) = self.references.location(number) else { return Err(damaged) };
        let (_, object) = object_at(self.bytes, offset).filter(|(found, _)| *found == number).ok_or(damaged)?;
        let stream = Stream::parse(object, budget)?.ok_or(damaged)?;
        self.streams.insert(number, ObjectStream::read(&stream, budget)?);
        Ok(())
    }
}

/// The object without what follows, so that the cost of parsing it is known.
fn until_end(object: &[u8]) -> &[u8] {
    let object = &object[..object.len().min(MAX_OBJECT_BYTES)];
    &object[..find(object, b"endobj").unwrap_or(object.len())]
}

/// `None` if a child is not a reference.
fn children(array: &Array<'_>) -> Option<Vec<u32>> {
    array.raw_iter().map(|it| Some(it.as_obj_ref()?.obj_number)).collect()
}
