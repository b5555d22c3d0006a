//! The orientation of an image. Source: CIPA DC-008 (Exif 2.32), 4.6.4, tag 274, in a TIFF
//! structure.

pub(super) fn is_rotated(tiff: &[u8]) -> bool {
    orientation(tiff).is_some_and(|it| (5..=8).contains(&it))
}

fn orientation(tiff: &[u8]) -> Option<u16> {
    let is_little = match tiff.get(..4)? {
        b"II*\0" => true,
        b"MM\0*" => false,
        _ => return None,
    };
    let short = |at: usize| {
        let bytes = *tiff.get(at..)?.first_chunk::<2>()?;
        Some(if is_little { u16::from_le_bytes(bytes) } else { u16::from_be_bytes(bytes) })
    };
    let long = |at: usize| {
        let bytes = *tiff.get(at..)?.first_chunk::<4>()?;
        Some(if is_little { u32::from_le_bytes(bytes) } else { u32::from_be_bytes(bytes) })
    };
    let directory = usize::try_from(long(4)?).ok()?;
    let entries = directory.checked_add(2)?;
    // An entry has its tag, its type, its count, and a value of four bytes.
    let orientation_entry = (0..usize::from(short(directory)?)).find_map(|number| {
        let entry = entries.checked_add(number * 12)?;
        (short(entry)? == 0x0112 && short(entry + 2)? == 3).then_some(entry)
    })?;
    short(orientation_entry + 8)
}
