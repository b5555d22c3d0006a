use std::fmt;

use serde::{Deserialize, Serialize};

use super::Pixels;

/// Width to height, in hundredths of the height: 80 is 4:5, 191 is 1.91:1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Ratio(u32);

impl Ratio {
    pub const fn hundredths(width: u32) -> Self {
        Self(width)
    }

    pub const fn in_hundredths(self) -> u32 {
        self.0
    }

    pub(crate) fn width_for(self, height: u32) -> u32 {
        let width = (u64::from(self.0) * u64::from(height)).div_ceil(100);
        u32::try_from(width).unwrap_or(u32::MAX)
    }

    pub(crate) fn height_for(self, width: u32) -> u32 {
        let height = (u64::from(width) * 100).div_ceil(u64::from(self.0.max(1)));
        u32::try_from(height).unwrap_or(u32::MAX)
    }

    pub(crate) fn is_narrower_than(self, pixels: Pixels) -> bool {
        u64::from(self.0) * u64::from(pixels.height) < u64::from(pixels.width) * 100
    }

    pub(crate) fn is_wider_than(self, pixels: Pixels) -> bool {
        u64::from(pixels.width) * 100 < u64::from(self.0) * u64::from(pixels.height)
    }
}

impl fmt::Display for Ratio {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.0, self.0 / 100, self.0 % 100) {
            (56 | 57, ..) => f.write_str("9:16"),
            (80, ..) => f.write_str("4:5"),
            (177 | 178, ..) => f.write_str("16:9"),
            (_, whole, 0) => write!(f, "{whole}:1"),
            (_, whole, rest) => write!(f, "{whole}.{rest:02}:1"),
        }
    }
}
