//! Stands in for the crate of this name, which the S3 client computes checksums
//! with: that one knows 24 kinds and brings tables for each, a tenth of a
//! function's binary. S3 has three kinds, and we call nothing that wants one.
//!
//! `[patch.crates-io]` in the workspace puts it there. A client that needs more
//! of the other's API does not compile.

/// A checksum by its name in the catalogue of CRC algorithms.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CrcAlgorithm {
    /// CRC-32/ISO-HDLC.
    Crc32IsoHdlc,
    /// CRC-32/ISCSI.
    Crc32Iscsi,
    /// CRC-64/NVME.
    Crc64Nvme,
}

/// A checksum in the making.
#[derive(Clone, Debug)]
pub struct Digest {
    table: &'static [u64; 256],
    /// All ones at the beginning, and taken out at the end.
    ones: u64,
    state: u64,
}

impl Digest {
    /// Of nothing yet.
    pub fn new(algorithm: CrcAlgorithm) -> Self {
        let (table, ones) = match algorithm {
            CrcAlgorithm::Crc32IsoHdlc => (&ISO_HDLC, u32::MAX.into()),
            CrcAlgorithm::Crc32Iscsi => (&ISCSI, u32::MAX.into()),
            CrcAlgorithm::Crc64Nvme => (&NVME, u64::MAX),
        };
        Self { table, ones, state: ones }
    }

    /// Goes on with these bytes.
    pub fn update(&mut self, data: &[u8]) {
        for byte in data {
            let [lowest, ..] = self.state.to_le_bytes();
            self.state = self.table[usize::from(lowest ^ byte)] ^ (self.state >> 8);
        }
    }

    /// The checksum of all bytes so far.
    pub fn finalize(&self) -> u64 {
        self.state ^ self.ones
    }
}

/// The checksum of these bytes.
pub fn checksum(algorithm: CrcAlgorithm, data: &[u8]) -> u64 {
    let mut digest = Digest::new(algorithm);
    digest.update(data);
    digest.finalize()
}

static ISO_HDLC: [u64; 256] = table(0xEDB8_8320);
static ISCSI: [u64; 256] = table(0x82F6_3B78);
static NVME: [u64; 256] = table(0x9A6C_9329_AC4B_C9B5);

/// What each byte makes of the state, by the polynomial with its bits reversed.
const fn table(polynomial: u64) -> [u64; 256] {
    let mut table = [0; 256];
    let mut byte = 0;
    while byte < 256 {
        let mut state = byte as u64;
        let mut bit = 0;
        while bit < 8 {
            state = if state & 1 == 1 { (state >> 1) ^ polynomial } else { state >> 1 };
            bit += 1;
        }
        table[byte] = state;
        byte += 1;
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;

    /// "Check" of each in the catalogue, reveng.sourceforge.io/crc-catalogue.
    #[test]
    fn checksums_are_those_of_the_catalogue() {
        for (algorithm, expected) in [
            (CrcAlgorithm::Crc32IsoHdlc, 0xCBF4_3926),
            (CrcAlgorithm::Crc32Iscsi, 0xE306_9283),
            (CrcAlgorithm::Crc64Nvme, 0xAE8B_1486_0A79_9888),
        ] {
            assert_eq!(checksum(algorithm, b"123456789"), expected, "{algorithm:?}");
        }
    }

    #[test]
    fn bytes_may_come_in_pieces() {
        let mut digest = Digest::new(CrcAlgorithm::Crc64Nvme);
        digest.update(b"1234");
        digest.update(b"");
        digest.update(b"56789");

        assert_eq!(digest.finalize(), checksum(CrcAlgorithm::Crc64Nvme, b"123456789"));
    }
}
