//! Documents made here, intact and hostile.

use std::fmt::Write as _;
use std::io::Write as _;
use std::time::{Duration, Instant};

use flate2::Compression;
use flate2::write::{DeflateEncoder, ZlibEncoder};
use proptest::prelude::*;

use super::*;

/// A file of objects, each at a known offset.
struct File {
    bytes: Vec<u8>,
    /// The number of each object, and its offset.
    offsets: Vec<(u32, usize)>,
}

impl File {
    fn new() -> Self {
        Self { bytes: b"%PDF-1.7\n%\xE2\xE3\xCF\xD3\n".to_vec(), offsets: Vec::new() }
    }

    fn object(mut self, number: u32, content: impl AsRef<[u8]>) -> Self {
        self.offsets.push((number, self.bytes.len()));
        self.bytes.extend_from_slice(format!("{number} 0 obj\n").as_bytes());
        self.bytes.extend_from_slice(content.as_ref());
        self.bytes.extend_from_slice(b"\nendobj\n");
        self
    }

    /// A compressed stream with these entries in its dictionary.
    fn stream(self, number: u32, entries: &str, content: &[u8]) -> Self {
        let compressed = zlib(content);
        let head = format!("<</Filter/FlateDecode/Length {} {entries}>>\nstream\n", compressed.len());
        self.object(number, [head.as_bytes(), &compressed, b"\nendstream"].concat())
    }

    /// With a cross-reference table, and these entries in the trailer.
    fn with_table(mut self, trailer: &str) -> Vec<u8> {
        let at = self.bytes.len();
        self.bytes.extend_from_slice(b"xref\n0 1\n0000000000 65535 f \n");
        for (number, offset) in &self.offsets {
            self.bytes.extend_from_slice(format!("{number} 1\n{offset:010} 00000 n \n").as_bytes());
        }
        let end = format!("trailer\n<</Size 9999/Root 1 0 R{trailer}>>\nstartxref\n{at}\n%%EOF\n");
        self.bytes.extend_from_slice(end.as_bytes());
        self.bytes
    }

    /// With a cross-reference stream, in which these objects are in object streams: number, stream,
    /// index.
    fn with_stream(self, in_streams: &[(u32, u32, u8)]) -> Vec<u8> {
        let (at, own) = (self.bytes.len(), 9_000);
        let mut entries: Vec<(u32, [u8; 6])> = in_streams
            .iter()
            .map(|(number, stream, index)| (*number, entry(2, *stream, *index)))
            .chain(self.offsets.iter().map(|(number, at)| (*number, entry(1, u32::try_from(*at).unwrap(), 0))))
            .chain([(own, entry(1, u32::try_from(at).unwrap(), 0))])
            .collect();
        entries.sort_unstable();
        let index = entries.iter().fold(String::new(), |mut index, (number, _)| {
            write!(index, "{number} 1 ").unwrap();
            index
        });
        // Each row is the difference to the row above.
        let (mut above, mut rows) = ([0; 6], Vec::new());
        for (_, row) in entries {
            rows.push(2);
            rows.extend(row.iter().zip(above).map(|(byte, above): (&u8, u8)| byte.wrapping_sub(above)));
            above = row;
        }
        let dictionary =
            format!("/Type/XRef/Size 9999/Root 1 0 R/W[1 4 1]/Index[{index}]/DecodeParms<</Predictor 12/Columns 6>>");
        let mut bytes = self.stream(own, &dictionary, &rows).bytes;
        bytes.extend_from_slice(format!("startxref\n{at}\n%%EOF\n").as_bytes());
        bytes
    }
}

fn entry(kind: u8, second: u32, third: u8) -> [u8; 6] {
    let [a, b, c, d] = second.to_be_bytes();
    [kind, a, b, c, d, third]
}

fn zlib(content: &[u8]) -> Vec<u8> {
    let mut encoder = ZlibEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(content).unwrap();
    encoder.finish().unwrap()
}

const CATALOG: &str = "<</Type/Catalog/Pages 2 0 R>>";

/// References to this many objects from 10 on.
fn kids(count: u32) -> String {
    (10..10 + count).fold(String::new(), |mut kids, number| {
        write!(kids, "{number} 0 R ").unwrap();
        kids
    })
}

/// A document of this many pages, whose tree claims `count`.
fn document(pages: u32, count: &str) -> File {
    let root = format!("<</Type/Pages/Count {count}/Kids[{}]>>", kids(pages));
    let file = File::new().object(1, CATALOG).object(2, root);
    (10..10 + pages).fold(file, |file, number| {
        file.object(number, "<</Type/Page/Parent 2 0 R/MediaBox[0 0 595 842]/Resources<<>>>>")
    })
}

fn pages(bytes: &[u8]) -> DocumentFacts {
    let begun = Instant::now();
    let facts = inspect(bytes);
    assert!(begun.elapsed() < Duration::from_secs(20), "the inspection took {:?}", begun.elapsed());
    facts
}

const fn readable(pages: u32) -> DocumentFacts {
    DocumentFacts::Readable { pages }
}

#[test]
fn pages_are_counted() {
    for count in [1, 2, 300, 301] {
        assert_eq!(pages(&document(count, &count.to_string()).with_table("")), readable(count));
    }
}

#[test]
fn claimed_number_of_pages_is_not_trusted() {
    for claim in ["2147483648", "99999999999999999999", "-1", "0", "(many)", "7 0 R"] {
        assert_eq!(pages(&document(3, claim).with_table("")), readable(3), "{claim}");
    }
}

#[test]
fn nested_page_tree_is_counted() {
    let file = File::new()
        .object(1, CATALOG)
        .object(2, "<</Type/Pages/Kids[3 0 R 4 0 R]/Count 3>>")
        // Without types, as some software writes it; the children are in an object of their own.
        .object(3, "<</Kids 5 0 R>>")
        .object(4, "<</Parent 2 0 R>>")
        .object(5, "[6 0 R 7 0 R]")
        .object(6, "<</Type/Page>>")
        .object(7, "<</Type /Page % a comment >> \n /Note (>> endob\\)j)>>");
    assert_eq!(pages(&file.with_table("")), readable(3));
}

#[test]
fn cross_reference_and_object_streams_are_read() {
    let objects = [CATALOG, "<</Type/Pages/Count 2/Kids[10 0 R 11 0 R]>>", "<</Type/Page>>"];
    let (mut head, mut body) = (String::new(), String::new());
    for (number, object) in [1, 2, 10].into_iter().zip(objects) {
        write!(head, "{number} {} ", body.len()).unwrap();
        body.push_str(object);
        body.push('\n');
    }
    let content = format!("{head}{body}");
    let entries = format!("/Type/ObjStm/N 3/First {}", head.len());
    let file = File::new().stream(5, &entries, content.as_bytes()).object(11, "<</Type/Page>>");
    assert_eq!(pages(&file.with_stream(&[(1, 5, 0), (2, 5, 1), (10, 5, 2)])), readable(2));
}

/// A change replaces objects and refers to the older cross-references.
#[test]
fn changed_document_has_its_newest_pages() {
    let mut bytes = document(2, "2").with_table("");
    let first =
        String::from_utf8_lossy(&bytes).rsplit("startxref\n").next().unwrap().lines().next().unwrap().to_owned();
    let root = bytes.len();
    bytes.extend_from_slice(b"2 0 obj <</Type/Pages/Kids[10 0 R]>> endobj\n");
    let at = bytes.len();
    let table = format!(
        "xref\n2 1\n{root:010} 00000 n \n11 1\n0000000000 00001 f \ntrailer <</Root 1 0 R/Prev {first}>>\nstartxref\n{at}\n%%EOF"
    );
    bytes.extend_from_slice(table.as_bytes());
    assert_eq!(pages(&bytes), readable(1));
}

/// The first page comes first, with cross-references of its own that refer to the others.
#[test]
fn linearized_document_is_read() {
    let mut bytes = b"%PDF-1.7\n".to_vec();
    let mut add = |content: &str| {
        let at = bytes.len();
        bytes.extend_from_slice(content.as_bytes());
        at
    };
    add("9 0 obj <</Linearized 1/L 999/N 2/O 10>> endobj\n");
    // Offsets have ten digits, so the places of the two that are not known yet stay the same.
    let first =
        add("xref\n1 1\n1111111111 00000 n \n10 1\n2222222222 00000 n \ntrailer <</Root 1 0 R/Prev 3333333333>>\n");
    add("startxref\n0\n%%EOF\n");
    let catalog = add("1 0 obj <</Type/Catalog/Pages 2 0 R>> endobj\n");
    let page = add("10 0 obj <</Type/Page>> endobj\n");
    let root = add("2 0 obj <</Type/Pages/Kids[10 0 R 11 0 R]>> endobj\n");
    let second = add("11 0 obj <</Type/Page>> endobj\n");
    let rest = add(&format!(
        "xref\n2 1\n{root:010} 00000 n \n11 1\n{second:010} 00000 n \ntrailer <<>>\nstartxref\n{first}\n%%EOF\n"
    ));
    let text = String::from_utf8(bytes).unwrap();
    let text = text.replace("1111111111", &format!("{catalog:010}")).replace("2222222222", &format!("{page:010}"));
    assert_eq!(pages(text.replace("3333333333", &format!("{rest:010}")).as_bytes()), readable(2));
}

#[test]
fn encrypted_document_is_recognized() {
    let bytes = document(1, "1").with_table("/Encrypt 8 0 R");
    assert_eq!(pages(&bytes), DocumentFacts::Encrypted);
    let bytes = document(1, "1").with_table("/Encrypt<</Filter/Standard/V 4>>");
    assert_eq!(pages(&bytes), DocumentFacts::Encrypted);
}

#[test]
fn damaged_document_is_recognized() {
    let root = |root: &str| File::new().object(1, CATALOG).object(2, root).with_table("");
    for (name, bytes) in [
        ("empty file", Vec::new()),
        ("header alone", b"%PDF-1.7\n".to_vec()),
        ("plain text", b"This is no document, whatever its name ends in.\n".to_vec()),
        ("text after a header", b"%PDF-1.7\nThis is no document.\nstartxref\n12\n".to_vec()),
        ("no cross-references", document(1, "1").bytes),
        ("cross-references outside of the file", [document(1, "1").bytes, b"startxref\n99999999\n".to_vec()].concat()),
        ("no pages", document(0, "0").with_table("")),
        ("no catalog", document(1, "1").with_table("").replace(b"/Root", b"/Rood")),
        ("catalog without pages", File::new().object(1, "<</Type/Catalog>>").with_table("")),
        ("page that is missing", root("<</Type/Pages/Kids[99 0 R]>>")),
        ("tree that is its own child", root("<</Type/Pages/Kids[2 0 R]>>")),
        ("tree of something else", root("<</Type/Font>>")),
        ("page in place", root("<</Type/Pages/Kids[<</Type/Page>>]>>")),
        ("cross-references that refer to themselves", {
            let bytes = document(1, "1").with_table("/Prev 0000000000");
            let at = String::from_utf8_lossy(&bytes)
                .find("xref\n0 1")
                .map(|_| bytes.windows(8).position(|it| it == b"xref\n0 1"));
            bytes.replace(b"/Prev 0000000000", format!("/Prev {:010}", at.flatten().unwrap()).as_bytes())
        }),
    ] {
        assert_eq!(pages(&bytes), DocumentFacts::Damaged, "{name}");
    }
}

#[test]
fn truncated_document_is_damaged() {
    let whole = document(20, "20").with_table("");
    let end = whole.len() - b"\n%%EOF\n".len();
    for length in (0..end - 5).step_by(7) {
        assert_eq!(pages(&whole[..length]), DocumentFacts::Damaged, "{length}");
    }
}

#[test]
fn page_tree_with_a_loop_is_damaged() {
    let file = File::new()
        .object(1, CATALOG)
        .object(2, "<</Type/Pages/Kids[3 0 R]>>")
        .object(3, "<</Type/Pages/Kids[4 0 R 2 0 R]>>")
        .object(4, "<</Type/Page>>");
    assert_eq!(pages(&file.with_table("")), DocumentFacts::Damaged);
}

#[test]
fn deep_nesting_does_not_exhaust_the_stack() {
    for (open, close) in [("[", "]"), ("<</A", ">>"), ("(", ")")] {
        let nested = format!("<</Type/Pages/Kids {}{}>>", open.repeat(500_000), close.repeat(500_000));
        let bytes = File::new().object(1, CATALOG).object(2, nested).with_table("");
        assert_eq!(pages(&bytes), DocumentFacts::Damaged, "{open}");
    }
}

/// A tree of one child for each node.
#[test]
fn deep_page_tree_is_counted_without_recursion() {
    let file = (2..20_000_u32).fold(File::new().object(1, CATALOG), |file, number| {
        file.object(number, format!("<</Type/Pages/Kids[{} 0 R]>>", number + 1))
    });
    assert_eq!(pages(&file.object(20_000, "<</Type/Page>>").with_table("")), readable(1));
}

#[test]
fn stream_that_inflates_to_gigabytes_is_damaged() {
    // Repeats one compressed mebibyte, because compressing gigabytes takes a minute.
    let bomb = {
        let mut encoder = DeflateEncoder::new(Vec::new(), Compression::fast());
        encoder.write_all(&vec![b' '; 1 << 20]).unwrap();
        encoder.flush().unwrap();
        [b"\x78\x9C".to_vec(), encoder.get_ref().repeat(4 << 10)].concat()
    };
    let stream = |entries: &str| {
        let head = format!("<</Filter/FlateDecode/Length {} {entries}>>\nstream\n", bomb.len());
        [head.as_bytes(), &bomb, b"\nendstream"].concat()
    };
    let in_stream = File::new().object(5, stream("/Type/ObjStm/N 2/First 10")).with_stream(&[(1, 5, 0), (2, 5, 1)]);
    assert_eq!(pages(&in_stream), DocumentFacts::Damaged);

    let file = document(1, "1");
    let at = file.bytes.len();
    let entries = "/Type/XRef/Size 99/Root 1 0 R/W[1 4 1]";
    let mut bytes = file.object(7, stream(entries)).bytes;
    bytes.extend_from_slice(format!("startxref\n{at}\n%%EOF").as_bytes());
    assert_eq!(pages(&bytes), DocumentFacts::Damaged);
}

/// Each stream is within the limit; all of them together are not.
#[test]
fn many_streams_share_one_limit() {
    let page = "<</Type/Page>>";
    let count = 100_u32;
    let content = format!("{{}} 0 {page}{}", " ".repeat(2 << 20));
    let mut in_streams = Vec::new();
    let root = format!("<</Type/Pages/Kids[{}]>>", kids(count));
    let file = (10..10 + count).fold(File::new().object(1, CATALOG).object(2, root), |file, number| {
        in_streams.push((number, 1_000 + number, 0));
        let content = content.replace("{}", &number.to_string());
        file.stream(1_000 + number, "/Type/ObjStm/N 1/First 5", content.as_bytes())
    });
    assert_eq!(pages(&file.with_stream(&in_streams)), DocumentFacts::Damaged);
}

/// Small numbers in the file that would need much memory or time if they were trusted.
#[test]
fn huge_claims_cost_nothing() {
    let objects = document(1, "1");
    let at = objects.bytes.len();
    let table = format!("xref\n0 4294967295\n0000000000 65535 f \ntrailer<</Root 1 0 R>>\nstartxref\n{at}\n");
    assert_eq!(pages(&[objects.bytes, table.into_bytes()].concat()), DocumentFacts::Damaged);

    for entries in [
        "/Size 2147483647/W[1 4 1]",
        "/Size 9/W[0 8 0]/Index[0 2147483647]",
        "/Size 9/W[99999999 1 1]",
        "/Size 9/W[0 0 0]",
        "/Size 9/W[1 4 1]/Index[4294967295 2]",
        "/Size 9/W[1 4 1]/DecodeParms<</Predictor 15/Columns 2147483647>>",
        "/Size 9/W[1 4 1]/DecodeParms<</Predictor 15/Columns 0>>",
    ] {
        let file = document(1, "1");
        let at = file.bytes.len();
        let mut bytes = file.stream(7, &format!("/Type/XRef/Root 1 0 R{entries}"), &[1; 60]).bytes;
        bytes.extend_from_slice(format!("startxref\n{at}\n").as_bytes());
        assert_eq!(pages(&bytes), DocumentFacts::Damaged, "{entries}");
    }

    for entries in ["/N 2147483647/First 9", "/N 1/First 2147483647", "/N 1/First -1", "/First 9", "/N 1"] {
        let file = File::new().stream(5, entries, b"1 0 <</Type/Catalog/Pages 2 0 R>>");
        assert_eq!(pages(&file.with_stream(&[(1, 5, 0), (2, 5, 0)])), DocumentFacts::Damaged, "{entries}");
    }
}

/// Every page is the same large object under another number, or near to its start.
#[test]
fn object_that_is_parsed_again_and_again_is_limited() {
    let padding = "/A 1".repeat(500_000);
    let root = format!("<</Type/Pages/Kids[{}]>>", kids(1_000));
    let mut file = File::new().object(1, CATALOG).object(2, root);
    for number in 10..1_010 {
        file.offsets.push((number, file.bytes.len()));
        file.bytes.extend_from_slice(format!("{number} 0 obj <<").as_bytes());
    }
    let file = file.object(9, format!("<</Type/Page{padding}>>"));
    assert_eq!(pages(&file.with_table("")), DocumentFacts::Damaged);
}

trait Replace {
    fn replace(&self, from: &[u8], to: &[u8]) -> Vec<u8>;
}

impl Replace for Vec<u8> {
    fn replace(&self, from: &[u8], to: &[u8]) -> Vec<u8> {
        let at = self.windows(from.len()).position(|it| it == from).unwrap();
        [&self[..at], to, &self[at + from.len()..]].concat()
    }
}

proptest! {
    #[test]
    fn any_change_is_read_without_a_panic(
        has_streams in any::<bool>(),
        changes in proptest::collection::vec((any::<proptest::sample::Index>(), any::<u8>()), 1..6),
    ) {
        let mut bytes = if has_streams {
            let file = File::new().stream(5, "/N 1/First 4", b"1 0 <</Type/Catalog/Pages 2 0 R>>");
            file.object(2, "<</Type/Pages/Kids[3 0 R]>>").object(3, "<</Type/Page>>").with_stream(&[(1, 5, 0)])
        } else {
            document(3, "3").with_table("")
        };
        for (at, value) in changes {
            let at = at.index(bytes.len());
            bytes[at] = value;
        }
        let counted = catch_unwind(AssertUnwindSafe(|| count_pages(&bytes)));
        prop_assert!(counted.is_ok());
    }
}
