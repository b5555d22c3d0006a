//! Pictures and videos: their types, how a type is recognised, how large a
//! file may be, and how it is named.

mod attachment;
mod filename;
mod limits;
mod mime;
mod path;

pub use attachment::Attachment;
pub use filename::{Filename, InvalidFilename};
pub use limits::{MediaLimits, human_size};
pub use mime::{FileType, MimeType, SNIFF_BYTES};
pub use path::{InvalidMediaPath, MediaPath};
