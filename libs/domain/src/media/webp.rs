//! The size of a `WebP` file. Source: RFC 9649, 2.4 to 2.7.

pub(super) fn size(bytes: &[u8]) -> Option<(u32, u32)> {
    let chunk = bytes.strip_prefix(b"RIFF")?.get(4..)?.strip_prefix(b"WEBP")?;
    let (name, content) = chunk.split_first_chunk::<4>()?;
    let content = content.get(4..)?;
    let size = match name {
        // A tag of three bytes and a start code; the upper two bits of a side are its scale.
        b"VP8 " => {
            let [w0, w1, h0, h1] = *content.get(6..)?.first_chunk()?;
            (little([w0, w1 & 0x3F, 0]), little([h0, h1 & 0x3F, 0]))
        }
        // A signature, then 14 bits for each side, less one.
        b"VP8L" => {
            let bits = u32::from_le_bytes(*content.get(1..)?.first_chunk()?);
            ((bits & 0x3FFF) + 1, ((bits >> 14) & 0x3FFF) + 1)
        }
        // Flags, then 24 bits for each side, less one.
        b"VP8X" => {
            let [w0, w1, w2, h0, h1, h2] = *content.get(4..)?.first_chunk()?;
            (little([w0, w1, w2]) + 1, little([h0, h1, h2]) + 1)
        }
        _ => return None,
    };
    Some(size).filter(|(width, height)| 0 < *width && 0 < *height)
}

fn little([low, middle, high]: [u8; 3]) -> u32 {
    u32::from_le_bytes([low, middle, high, 0])
}
