//! Small files of each kind, generated so that the repository has no binary files.

pub fn png(width: u32, height: u32, [red, green, blue]: [u8; 3]) -> Vec<u8> {
    let row: Vec<u8> = std::iter::once(0).chain((0..width).flat_map(|_| [red, green, blue])).collect();
    let rows: Vec<u8> = (0..height).flat_map(|_| row.clone()).collect();
    encode_png(width, height, &zlib_stored(&rows))
}

fn encode_png(width: u32, height: u32, pixels: &[u8]) -> Vec<u8> {
    let mut header = Vec::new();
    header.extend(width.to_be_bytes());
    header.extend(height.to_be_bytes());
    header.extend([8, 2, 0, 0, 0]);

    let mut file = b"\x89PNG\r\n\x1a\n".to_vec();
    chunk(&mut file, *b"IHDR", &header);
    chunk(&mut file, *b"IDAT", pixels);
    chunk(&mut file, *b"IEND", &[]);
    file
}

/// With almost no data.
pub fn png_with_claimed_size(width: u32, height: u32) -> Vec<u8> {
    encode_png(width, height, &zlib_stored(&[0]))
}

/// Black, and about 150 times smaller than its pixels are in memory.
pub fn bomb(width: u32, height: u32) -> Vec<u8> {
    let bytes = u64::from(height) * (1 + 3 * u64::from(width));
    encode_png(width, height, &zeros(bytes))
}

/// The header claims this size; damaged pixels follow, and an end marker if `is_whole`.
pub fn damaged_jpeg(width: u16, height: u16, is_whole: bool) -> Vec<u8> {
    let mut file = b"\xff\xd8\xff\xe0\0\x10JFIF\0\x01\x01\0\0\x01\0\x01\0\0".to_vec();
    file.extend(b"\xff\xdb\0\x43\0");
    file.extend([1; 64]);
    file.extend(b"\xff\xc0\0\x0b\x08");
    file.extend(height.to_be_bytes());
    file.extend(width.to_be_bytes());
    file.extend(b"\x01\x01\x11\0\xff\xda\0\x08\x01\x01\0\0\x3f\0 no table says what this means");
    if is_whole {
        file.extend(b"\xff\xd9");
    }
    file
}

/// The smallest one: one transparent pixel.
pub fn gif() -> Vec<u8> {
    b"GIF89a\x01\0\x01\0\x80\0\0\0\0\0\xff\xff\xff!\xf9\x04\x01\0\0\0\0,\0\0\0\0\x01\0\x01\0\0\x02\x02D\x01\0;".to_vec()
}

/// The first box of a file, which is its signature.
pub fn mp4() -> Vec<u8> {
    let mut file = b"\0\0\0\x20ftypisom\0\0\x02\0isomiso2avc1mp41".to_vec();
    file.extend(b"\0\0\0\x08free\0\0\0\x08mdat");
    file
}

fn chunk(file: &mut Vec<u8>, kind: [u8; 4], data: &[u8]) {
    file.extend(length(data.len()).to_be_bytes());
    let start = file.len();
    file.extend(kind);
    file.extend(data);
    let sum = crc32(&file[start..]);
    file.extend(sum.to_be_bytes());
}

/// Without compression.
fn zlib_stored(data: &[u8]) -> Vec<u8> {
    let mut out = vec![0x78, 0x01];
    let blocks: Vec<_> = data.chunks(0xffff).collect();
    for (at, block) in blocks.iter().enumerate() {
        out.push(u8::from(at + 1 == blocks.len()));
        let size = u16::try_from(block.len()).unwrap_or(u16::MAX);
        out.extend(size.to_le_bytes());
        out.extend((!size).to_le_bytes());
        out.extend(*block);
    }
    out.extend(adler32(data).to_be_bytes());
    out
}

/// One literal, then the command to repeat it 258 times. Source: RFC 1951, 3.2.6.
fn zeros(count: u64) -> Vec<u8> {
    let (repeats, rest) = ((count - 1) / 258, (count - 1) % 258);
    let mut bits = Bits { bytes: vec![0x78, 0x01], used: 0 };
    // The last block, with the fixed Huffman codes.
    bits.push(0b011, 3);
    for _ in 0..=rest {
        bits.push_code(0x30, 8);
    }
    for _ in 0..repeats {
        // The length 258, and the distance 1.
        bits.push_code(0xC5, 8);
        bits.push_code(0, 5);
    }
    // The end of the block.
    bits.push_code(0, 7);
    let mut stream = bits.bytes;
    let sum = u32::try_from(count % 65_521).unwrap_or_default() << 16 | 1;
    stream.extend(sum.to_be_bytes());
    stream
}

struct Bits {
    bytes: Vec<u8>,
    used: u32,
}

impl Bits {
    /// Lowest bit first.
    fn push(&mut self, number: u32, bits: u32) {
        for at in 0..bits {
            if self.used.is_multiple_of(8) {
                self.bytes.push(0);
            }
            if let Some(last) = self.bytes.last_mut() {
                *last |= u8::from(number >> at & 1 == 1) << (self.used % 8);
            }
            self.used += 1;
        }
    }

    /// Highest bit first.
    fn push_code(&mut self, code: u32, bits: u32) {
        for at in (0..bits).rev() {
            self.push(code >> at & 1, 1);
        }
    }
}

fn adler32(data: &[u8]) -> u32 {
    let (low, high) = data.iter().fold((1_u32, 0_u32), |(low, high), byte| {
        let low = (low + u32::from(*byte)) % 65_521;
        (low, (high + low) % 65_521)
    });
    high << 16 | low
}

fn crc32(data: &[u8]) -> u32 {
    !data.iter().fold(u32::MAX, |sum, byte| {
        (0..8).fold(sum ^ u32::from(*byte), |sum, _| (sum >> 1) ^ (0xedb8_8320 & (sum & 1).wrapping_neg()))
    })
}

fn length(bytes: usize) -> u32 {
    u32::try_from(bytes).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn checksums_match_their_definitions() {
        assert_eq!(crc32(b"123456789"), 0xcbf4_3926);
        assert_eq!(adler32(b"Wikipedia"), 0x11e6_0398);
    }
}
