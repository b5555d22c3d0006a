//! Images, videos and documents: their types, how a type is recognized, how large a file may be, and how it is
//! named.

mod alt_text;
mod attachment;
mod derived;
mod facts;
mod file_address;
mod filename;
mod header;
pub mod jpeg;
mod limits;
mod mime;
mod path;
mod png;
mod probe;
mod ratio;
mod webp;

pub use alt_text::{AltText, InvalidAltText};
pub use attachment::Attachment;
pub use derived::{Borders, DerivedPath, DocumentRequest, FileRequest, PictureBounds, PictureRequest, PictureTypes};
pub use facts::{DocumentFacts, Facts, Pixels, VideoCodec};
pub use file_address::{FileAddress, FileKey, PublicFile, ShortFileSecret};
pub use filename::{Filename, InvalidFilename};
pub use header::HEADER_BYTES;
pub use limits::{LINK_LIFETIME, MAX_FETCHED_PICTURE_BYTES, MediaLimits, human_size, last_upload_at};
pub use mime::{FileType, MimeType, SNIFF_BYTES};
pub use path::{InvalidMediaPath, MediaPath};
pub use probe::{PART_BYTES, Parts};
pub use ratio::Ratio;
