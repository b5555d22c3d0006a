//! The boxes of an MP4 or `QuickTime` file. Sources: ISO/IEC 14496-12, chapter 8; Apple's
//! `QuickTime` File Format, "Movie Atoms".

use std::ops::Range;

use super::super::{Facts, Pixels, VideoCodec};
use super::{Parts, ProbeError};

/// More boxes than a video has on one level.
const MAX_BOXES: usize = 1_000;

/// More tracks than a video has.
const MAX_TRACKS: usize = 20;

/// Properties of the first video track.
pub(super) fn facts(file: &Parts) -> Result<Facts, ProbeError> {
    let movie = find_box(file, 0..file.size_bytes, *b"moov")?.ok_or(ProbeError::Unspecified)?;
    let duration_ms = or_absent(movie_duration(file, movie.clone()))?;
    let mut rest = movie;
    for _ in 0..MAX_TRACKS {
        let Some(track) = find_box(file, rest.clone(), *b"trak")? else { break };
        rest.start = track.end;
        if let Some(video) = or_absent(pictures(file, track))? {
            return Ok(Facts { duration_ms: duration_ms.or(video.duration_ms), ..video });
        }
    }
    Ok(Facts { duration_ms, ..Facts::default() })
}

/// Damage in one place does not invalidate the other properties.
fn or_absent<T>(read: Result<T, ProbeError>) -> Result<Option<T>, ProbeError> {
    match read {
        Ok(read) => Ok(Some(read)),
        Err(ProbeError::Unspecified) => Ok(None),
        Err(missing @ ProbeError::Missing(_)) => Err(missing),
    }
}

fn pictures(file: &Parts, track: Range<u64>) -> Result<Facts, ProbeError> {
    let media = find_path(file, track.clone(), &[*b"mdia"])?;
    let handler = find_path(file, media.clone(), &[*b"hdlr"])?;
    if &file.array::<4>(handler.start + 8)? != b"vide" {
        return Err(ProbeError::Unspecified);
    }
    let tables = find_path(file, media.clone(), &[*b"minf", *b"stbl"])?;
    let sample_description = find_path(file, tables.clone(), &[*b"stsd"])?;
    let head = find_path(file, track, &[*b"tkhd"])?;
    let (scale, length) = scale_and_length(file, find_path(file, media, &[*b"mdhd"])?.start)?;
    let samples = or_absent(find_path(file, tables, &[*b"stsz"]).and_then(|it| long(file, it.start + 8)))?;
    let rate = samples.filter(|it| 0 < *it && 0 < length && 0 < scale).and_then(|samples| {
        let per_second = u128::from(samples) * u128::from(scale) * 1_000 / u128::from(length);
        u32::try_from(per_second).ok()
    });
    Ok(Facts {
        pixels: or_absent(shown(file, &head, &sample_description))?,
        duration_ms: milliseconds(scale, length),
        milli_frames_per_second: rate,
        codec: or_absent(codec(file, &sample_description))?,
        document: None,
    })
}

fn movie_duration(file: &Parts, movie: Range<u64>) -> Result<u64, ProbeError> {
    let (scale, length) = scale_and_length(file, find_path(file, movie.clone(), &[*b"mvhd"])?.start)?;
    if let Some(duration) = milliseconds(scale, length) {
        return Ok(duration);
    }
    let whole = find_path(file, movie, &[*b"mvex", *b"mehd"])?;
    let length = match version(file, whole.start)? {
        0 => long(file, whole.start + 4)?.into(),
        _ => u64::from_be_bytes(file.array(whole.start + 4)?),
    };
    milliseconds(scale, length).ok_or(ProbeError::Unspecified)
}

/// Width and height of a track, after the rotation by its matrix.
fn shown(file: &Parts, head: &Range<u64>, sample_description: &Range<u64>) -> Result<Pixels, ProbeError> {
    // After times, number, layer, group and volume.
    let matrix = head.start + if version(file, head.start)? == 0 { 40 } else { 52 };
    let [a, d] = [long(file, matrix)?, long(file, matrix + 16)?];
    // In units of 1/65,536 pixel.
    let (width, height) = (long(file, matrix + 36)? >> 16, long(file, matrix + 40)? >> 16);
    let stored = if let Some(shown) = Pixels::new(width, height) {
        shown
    } else {
        // The first sample description: its header, the fields of all descriptions, then 16 bytes.
        let [w0, w1, h0, h1] = file.array(sample_description.start + 8 + 32)?;
        let side = |high, low| u32::from(u16::from_be_bytes([high, low]));
        Pixels::new(side(w0, w1), side(h0, h1)).ok_or(ProbeError::Unspecified)?
    };
    Ok(if a == 0 && d == 0 { stored.turned() } else { stored })
}

fn codec(file: &Parts, sample_description: &Range<u64>) -> Result<VideoCodec, ProbeError> {
    Ok(match &file.array::<4>(sample_description.start + 12)? {
        b"avc1" | b"avc2" | b"avc3" | b"avc4" => VideoCodec::H264,
        b"hvc1" | b"hev1" | b"dvh1" | b"dvhe" => VideoCodec::Hevc,
        b"vp09" => VideoCodec::Vp9,
        b"av01" => VideoCodec::Av1,
        _ => VideoCodec::Other,
    })
}

/// Time units in a second, and the duration in these units: `mvhd` and `mdhd` start alike.
fn scale_and_length(file: &Parts, start: u64) -> Result<(u32, u64), ProbeError> {
    Ok(match version(file, start)? {
        0 => (long(file, start + 12)?, long(file, start + 16)?.into()),
        _ => (long(file, start + 20)?, u64::from_be_bytes(file.array(start + 24)?)),
    })
}

/// `None` where there is no duration, or the value means "unknown".
fn milliseconds(scale: u32, length: u64) -> Option<u64> {
    let is_unknown = length == 0 || length == u64::from(u32::MAX) || length == u64::MAX;
    let scale = u128::from(scale).max(1) * u128::from(!is_unknown);
    u64::try_from((u128::from(length) * 1_000).checked_div(scale)?).ok()
}

fn version(file: &Parts, start: u64) -> Result<u8, ProbeError> {
    Ok(file.array::<1>(start)?[0])
}

fn long(file: &Parts, start: u64) -> Result<u32, ProbeError> {
    file.array(start).map(u32::from_be_bytes)
}

fn find_path(file: &Parts, within: Range<u64>, names: &[[u8; 4]]) -> Result<Range<u64>, ProbeError> {
    names.iter().try_fold(within, |within, name| find_box(file, within, *name)?.ok_or(ProbeError::Unspecified))
}

fn find_box(file: &Parts, within: Range<u64>, name: [u8; 4]) -> Result<Option<Range<u64>>, ProbeError> {
    let mut at = within.start;
    for _ in 0..MAX_BOXES {
        if within.end.saturating_sub(at) < 8 {
            return Ok(None);
        }
        let [s0, s1, s2, s3, found @ ..] = file.array::<8>(at)?;
        let (content, end) = match u32::from_be_bytes([s0, s1, s2, s3]) {
            0 => (at + 8, within.end),
            1 => {
                let length = u64::from_be_bytes(file.array(at + 8)?);
                (at + 16, at.checked_add(length).ok_or(ProbeError::Unspecified)?)
            }
            length => (at + 8, at + u64::from(length)),
        };
        if end < content || within.end < end {
            return Err(ProbeError::Unspecified);
        }
        if found == name {
            return Ok(Some(content..end));
        }
        at = end;
    }
    Err(ProbeError::Unspecified)
}
