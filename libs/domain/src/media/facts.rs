//! What a file says of itself: how large it is on a screen, how long it runs.

use serde::{Deserialize, Serialize};

/// What a file says of itself, as far as it could be read without decoding it.
/// A platform may find otherwise, and what is not known is not checked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Facts {
    /// As it is shown: turned where the file says so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pixels: Option<Pixels>,
    /// Of a video, in milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub duration_ms: Option<u64>,
    /// Of a video, on average, in thousandths of a frame per second.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub milli_frames_per_second: Option<u32>,
    /// What the pictures of a video are coded with.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub codec: Option<VideoCodec>,
}

/// Width and height in pixels, neither of them 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pixels {
    /// From left to right.
    pub width: u32,
    /// From top to bottom.
    pub height: u32,
}

/// What the pictures of a video are coded with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum VideoCodec {
    /// H.264, also called AVC: what every platform takes.
    H264,
    /// H.265, also called HEVC.
    Hevc,
    /// VP9.
    Vp9,
    /// AV1.
    Av1,
    #[serde(other)]
    Other,
}

impl VideoCodec {
    /// As people call it.
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
    /// Those of a file; `None` where one side is 0.
    pub fn of(width: u32, height: u32) -> Option<Self> {
        (0 < width && 0 < height).then_some(Self { width, height })
    }

    pub fn count(self) -> u64 {
        u64::from(self.width) * u64::from(self.height)
    }

    /// The same, lying on their side.
    #[must_use]
    pub fn turned(self) -> Self {
        Self { width: self.height, height: self.width }
    }
}
