//! Small files that a post may carry, valid enough for any decoder.

use std::io::Cursor;

use domain::id::MediaId;
use domain::media::{Attachment, MimeType, PictureBounds, PictureTypes, Pixels};
use image::codecs::jpeg::JpegEncoder;
use image::{DynamicImage, ImageFormat, Rgb, RgbImage, imageops};
use platforms::{FittedPicture, Picture};

#[derive(Clone, Debug)]
pub struct Sample {
    pub attachment: Attachment,
    pub bytes: Vec<u8>,
}

/// The shortest GIF that every decoder reads: one pixel.
const GIF: &[u8] =
    b"GIF89a\x01\0\x01\0\x80\0\0\xff\xff\xff\0\0\0!\xf9\x04\x01\0\0\0\0,\0\0\0\0\x01\0\x01\0\0\x02\x02D\x01\0;";

/// Different numbers give different files.
pub fn sample(mime_type: MimeType, number: u8) -> Sample {
    let bytes = match mime_type {
        MimeType::Jpeg => picture(number, ImageFormat::Jpeg),
        MimeType::Png => picture(number, ImageFormat::Png),
        MimeType::Webp => picture(number, ImageFormat::WebP),
        MimeType::Gif => GIF.to_vec(),
        MimeType::Mp4 => video(*b"isom", number),
        MimeType::Quicktime => video(*b"qt  ", number),
        MimeType::Pdf => document(number),
    };
    let size_bytes = bytes.len() as u64;
    let media_id = MediaId::new(u64::from(number) + 1).unwrap();
    let attachment = Attachment { media_id, mime_type, size_bytes, alt_text: None, facts: None };
    Sample { attachment, bytes }
}

/// Decoders ignore the zeros at its end.
pub fn sample_with_size(mime_type: MimeType, size_bytes: usize) -> Sample {
    let mut file = sample(mime_type, 1);
    file.bytes.resize(size_bytes, 0);
    file.attachment.size_bytes = size_bytes as u64;
    file
}

/// A picture fitted by roughly the rules of the media service.
pub(super) fn fitted(bytes: &[u8], bounds: PictureBounds) -> FittedPicture {
    let Ok(mut picture) = image::load_from_memory(bytes) else {
        return FittedPicture::Refused("the file is damaged".to_owned());
    };
    loop {
        let side = picture.width().max(picture.height()).min(bounds.max_side);
        picture = picture.thumbnail(side, side);
        let (mime_type, bytes) = encode(&add_borders(&picture, bounds), bounds.types);
        if bytes.len() as u64 <= bounds.max_bytes {
            return FittedPicture::Picture(Picture { mime_type, bytes: bytes.into() });
        }
        picture = picture.thumbnail(side * 3 / 4, side * 3 / 4);
    }
}

fn add_borders(picture: &DynamicImage, bounds: PictureBounds) -> DynamicImage {
    let (width, height) = (picture.width(), picture.height());
    let canvas = bounds.canvas(Pixels { width, height });
    let mut sheet = RgbImage::from_pixel(canvas.width, canvas.height, Rgb([255; 3]));
    let (left, top) = ((canvas.width - width) / 2, (canvas.height - height) / 2);
    imageops::overlay(&mut sheet, &picture.to_rgb8(), left.into(), top.into());
    sheet.into()
}

fn encode(picture: &DynamicImage, types: PictureTypes) -> (MimeType, Vec<u8>) {
    let mut file = Cursor::new(Vec::new());
    match types {
        PictureTypes::JpegOrPng => {
            picture.write_to(&mut file, ImageFormat::Png).unwrap();
            (MimeType::Png, file.into_inner())
        }
        PictureTypes::Jpeg => {
            picture.write_with_encoder(JpegEncoder::new_with_quality(&mut file, 98)).unwrap();
            (MimeType::Jpeg, file.into_inner())
        }
    }
}

fn picture(number: u8, format: ImageFormat) -> Vec<u8> {
    let pixel = |x: u32, y: u32| Rgb([number.wrapping_mul(40), (x * 4).to_le_bytes()[0], (y * 5).to_le_bytes()[0]]);
    let mut bytes = Cursor::new(Vec::new());
    DynamicImage::ImageRgb8(RgbImage::from_fn(64, 48, pixel)).write_to(&mut bytes, format).unwrap();
    bytes.into_inner()
}

/// A document with one empty page.
fn document(number: u8) -> Vec<u8> {
    let objects = [
        "<</Type/Catalog/Pages 2 0 R>>".to_owned(),
        "<</Type/Pages/Kids[3 0 R]/Count 1>>".to_owned(),
        format!("<</Type/Page/Parent 2 0 R/MediaBox[0 0 595 {}]/Resources<<>>>>", 800 + u32::from(number)),
    ];
    let (mut file, mut table) = ("%PDF-1.4\n".to_owned(), "0000000000 65535 f \n".to_owned());
    for (number, object) in (1..).zip(objects) {
        table.extend([format!("{:010} 00000 n \n", file.len())]);
        file.extend([format!("{number} 0 obj\n{object}\nendobj\n")]);
    }
    let at = file.len();
    format!("{file}xref\n0 4\n{table}trailer\n<</Size 4/Root 1 0 R>>\nstartxref\n{at}\n%%EOF\n").into_bytes()
}

/// A video file without any frames.
fn video(brand: [u8; 4], number: u8) -> Vec<u8> {
    let boxed = |name: &[u8; 4], content: &[u8]| {
        let length = u32::try_from(content.len() + 8).unwrap().to_be_bytes();
        [&length[..], name, content].concat()
    };
    let first = [&brand[..], &[0, 0, 2, 0], &brand[..]].concat();
    [boxed(b"ftyp", &first), boxed(b"moov", &[0; 32]), boxed(b"mdat", &vec![number; 2048])].concat()
}
