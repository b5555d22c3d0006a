//! Properties read from a file: dimensions, duration, frame rate, codec, pages.

use serde::{Deserialize, Serialize};

/// Properties read from a file without decoding it. A platform may determine others, and unknown
/// ones are not checked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Facts {
    /// As displayed, after the rotation that the file states.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pixels: Option<Pixels>,
    /// Of a video, in milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub duration_ms: Option<u64>,
    /// Average frame rate of a video, in thousandths of a frame per second.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub milli_frames_per_second: Option<u32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub codec: Option<VideoCodec>,
    /// Of a document. Unlike the other properties, it is determined by parsing the whole file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub document: Option<DocumentFacts>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DocumentFacts {
    Readable {
        pages: u32,
    },
    /// Its content needs a password or a key.
    Encrypted,
    /// Not all pages could be found within the limits of the inspection.
    Damaged,
}

/// Width and height in pixels, neither of them 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pixels {
    pub width: u32,
    pub height: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum VideoCodec {
    /// H.264, also called AVC: what every platform accepts.
    H264,
    /// H.265, also called HEVC.
    Hevc,
    Vp9,
    Av1,
    #[serde(other)]
    Other,
}

impl VideoCodec {
    /// The name that users know.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::H264 => "H.264",
            Self::Hevc => "HEVC",
            Self::Vp9 => "VP9",
            Self::Av1 => "AV1",
            Self::Other => "another codec",
        }
    }
}

impl Pixels {
    pub fn new(width: u32, height: u32) -> Option<Self> {
        (0 < width && 0 < height).then_some(Self { width, height })
    }

    pub fn count(self) -> u64 {
        u64::from(self.width) * u64::from(self.height)
    }

    #[must_use]
    pub fn turned(self) -> Self {
        Self { width: self.height, height: self.width }
    }
}
