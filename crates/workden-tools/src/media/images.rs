//! Images: looked through, and made smaller where they are larger than a model sees.

use std::io::Cursor;

use bytes::Bytes;
use image::{
    DynamicImage, ImageDecoder, ImageFormat, ImageReader, Limits, codecs::jpeg::JpegEncoder, imageops::FilterType,
};

use super::Media;

/// The longest edge that a model sees, in pixels.
const LONGEST_EDGE: u32 = 1_568;
/// Bytes that decoding one image may take.
const DECODED_BYTES: u64 = 512 * 1024 * 1024;
/// Pixels along an edge of an image that is still decoded.
const MOST_PIXELS: u32 = 32_768;
/// Quality of a photograph that was made smaller.
const JPEG_QUALITY: u8 = 85;

/// An image as a model sees it.
#[derive(Debug)]
pub(super) struct Shown {
    pub(super) media_type: &'static str,
    pub(super) bytes: Bytes,
    /// Width and height of the file.
    pub(super) size: (u32, u32),
    /// Width and height of what is shown.
    pub(super) shown: (u32, u32),
}

/// The image, no longer than the longest edge; `None` when it is damaged or too large to decode.
///
/// It is decoded in any case: a model's provider ends the run over an image that it cannot read.
pub(super) fn shown(media: Media, bytes: Bytes) -> Option<Shown> {
    let format = match media {
        Media::Png => ImageFormat::Png,
        Media::Jpeg => ImageFormat::Jpeg,
        Media::Gif => ImageFormat::Gif,
        Media::Webp => ImageFormat::WebP,
        Media::Pdf => return None,
    };
    let mut reader = ImageReader::with_format(Cursor::new(&bytes[..]), format);
    let mut limits = Limits::default();
    limits.max_alloc = Some(DECODED_BYTES);
    limits.max_image_width = Some(MOST_PIXELS);
    limits.max_image_height = Some(MOST_PIXELS);
    reader.limits(limits);
    let mut decoder = reader.into_decoder().ok()?;
    let orientation = decoder.orientation().ok();
    let mut image = DynamicImage::from_decoder(decoder).ok()?;
    let stored = (image.width(), image.height());
    if stored.0.max(stored.1) <= LONGEST_EDGE {
        return Some(Shown { media_type: media.media_type(), bytes, size: stored, shown: stored });
    }
    // What is written below has no room for a note on how it is to be turned.
    if let Some(orientation) = orientation {
        image.apply_orientation(orientation);
    }
    let size = (image.width(), image.height());
    let smaller = image.resize(LONGEST_EDGE, LONGEST_EDGE, FilterType::Triangle);
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
    Some(Shown { media_type: media.media_type(), bytes: encoded.into(), size, shown })
}
