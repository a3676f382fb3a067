//! Images: decoded, and scaled down to the size that a model sees.
//!
//! The header is checked before anything is decoded: a few bytes can claim a billion pixels, and decoders believe them.

use std::io::Cursor;

use bytes::Bytes;
use image::{
    DynamicImage, ImageDecoder, ImageFormat, ImageReader, Limits, codecs::jpeg::JpegEncoder, imageops::FilterType,
    metadata::Orientation,
};

use super::{Media, decode_thread::CancelFlag};

/// The longest edge of an attached image, in pixels.
const LONGEST_EDGE: u32 = 1_568;
/// Bytes of a decoded image.
const DECODED_BYTES: u64 = 256 * 1024 * 1024;
/// Pixels of an image that is decoded.
const MAX_PIXELS: u64 = 50_000_000;
/// Pixels of a progressive JPEG, whose decoder holds twice as much again.
const MAX_PIXELS_PROGRESSIVE: u64 = 40_000_000;
/// Scans of a progressive JPEG. Each goes over the whole image, however few bytes it has.
const MAX_SCANS: usize = 200;
/// Quality of a scaled JPEG.
const JPEG_QUALITY: u8 = 85;

/// An image for a model.
#[derive(Debug)]
pub(super) struct ScaledImage {
    pub(super) media_type: &'static str,
    pub(super) bytes: Bytes,
    /// Width and height of the file.
    pub(super) size: (u32, u32),
    /// Width and height of the attached image.
    pub(super) shown: (u32, u32),
}

/// Why an image is not attached.
#[derive(Debug)]
pub(super) enum ImageError {
    /// The image cannot be decoded, or the call was cancelled.
    Damaged,
    /// The image has this width and height.
    TooLarge(u32, u32),
}

/// Decodes an image, and scales it down to the longest edge.
///
/// A small image is decoded as well: a provider ends the run over an image that it cannot read.
pub(super) fn scaled(media: Media, bytes: Bytes, cancelled: &CancelFlag) -> Result<ScaledImage, ImageError> {
    let format = match media {
        Media::Png => ImageFormat::Png,
        Media::Jpeg => ImageFormat::Jpeg,
        Media::Gif => ImageFormat::Gif,
        Media::Webp => ImageFormat::WebP,
        Media::Pdf => return Err(ImageError::Damaged),
    };
    let mut reader = ImageReader::with_format(Cursor::new(&bytes[..]), format);
    let mut limits = Limits::default();
    // The dimensions are checked below, with an error that names them.
    (limits.max_alloc, limits.max_image_width, limits.max_image_height) = (Some(DECODED_BYTES), None, None);
    reader.limits(limits);
    let mut decoder = reader.into_decoder().map_err(|_| ImageError::Damaged)?;
    let stored = decoder.dimensions();
    let scans = if media == Media::Jpeg { scans_of(&bytes) } else { 1 };
    let limit = if scans > 1 { MAX_PIXELS_PROGRESSIVE } else { MAX_PIXELS };
    if u64::from(stored.0) * u64::from(stored.1) > limit || decoder.total_bytes() > DECODED_BYTES {
        return Err(ImageError::TooLarge(stored.0, stored.1));
    }
    if scans > MAX_SCANS {
        return Err(ImageError::Damaged);
    }
    let orientation = decoder.orientation().ok();
    decoded(decoder, media, &bytes, cancelled, orientation).ok_or(ImageError::Damaged)
}

fn decoded(
    decoder: impl ImageDecoder,
    media: Media,
    bytes: &Bytes,
    cancelled: &CancelFlag,
    orientation: Option<Orientation>,
) -> Option<ScaledImage> {
    cancelled.check()?;
    let image = DynamicImage::from_decoder(decoder).ok()?;
    cancelled.check()?;
    let stored = (image.width(), image.height());
    if stored.0.max(stored.1) <= LONGEST_EDGE {
        return Some(ScaledImage { media_type: media.media_type(), bytes: bytes.clone(), size: stored, shown: stored });
    }
    let mut smaller = scaled_down(image);
    cancelled.check()?;
    // The encoded file has no orientation tag, so the image itself is turned, when it is small: a second copy of the
    // whole would exceed the memory limit.
    let mut size = stored;
    if let Some(orientation) = orientation {
        smaller.apply_orientation(orientation);
        let turned = matches!(
            orientation,
            Orientation::Rotate90 | Orientation::Rotate270 | Orientation::Rotate90FlipH | Orientation::Rotate270FlipH
        );
        if turned {
            size = (stored.1, stored.0);
        }
    }
    let shown = (smaller.width(), smaller.height());
    let mut encoded = Vec::new();
    let media = match media {
        Media::Jpeg => {
            JpegEncoder::new_with_quality(&mut encoded, JPEG_QUALITY).encode_image(&smaller.to_rgb8()).ok()?;
            Media::Jpeg
        }
        _ => {
            smaller.write_to(&mut Cursor::new(&mut encoded), ImageFormat::Png).ok()?;
            Media::Png
        }
    };
    Some(ScaledImage { media_type: media.media_type(), bytes: encoded.into(), size, shown })
}

/// Scales an image to the longest edge, in two steps if it is much larger: the finer filter needs sixteen bytes a pixel.
fn scaled_down(image: DynamicImage) -> DynamicImage {
    let halfway = 2 * LONGEST_EDGE;
    let image = if image.width().max(image.height()) > halfway { image.thumbnail(halfway, halfway) } else { image };
    image.resize(LONGEST_EDGE, LONGEST_EDGE, FilterType::Triangle)
}

/// Counts the scans of a JPEG; 1 unless it is progressive.
fn scans_of(bytes: &[u8]) -> usize {
    let markers = |wanted: u8| bytes.windows(2).filter(|two| two[0] == 0xFF && two[1] == wanted).count();
    // The marker of a progressive frame, which cannot occur in coded data.
    if markers(0xC2) == 0 { 1 } else { markers(0xDA).max(2) }
}
