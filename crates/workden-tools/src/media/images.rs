//! Images: looked through, and made smaller where they are larger than a model sees.
//!
//! What an image says about itself is looked at before anything is decoded: a few bytes can say that they
//! are a billion pixels, and decoders believe them.

use std::io::Cursor;

use bytes::Bytes;
use image::{
    DynamicImage, ImageDecoder, ImageFormat, ImageReader, Limits, codecs::jpeg::JpegEncoder, imageops::FilterType,
    metadata::Orientation,
};

use super::{Media, decode_thread::CancelFlag};

/// The longest edge that a model sees, in pixels.
const LONGEST_EDGE: u32 = 1_568;
/// Bytes that an image may have when it is decoded.
const DECODED_BYTES: u64 = 256 * 1024 * 1024;
/// Pixels of an image that is still decoded.
const MOST_PIXELS: u64 = 50_000_000;
/// The same for a JPEG that comes in several passes: its decoder holds twice as much again meanwhile.
const MOST_PIXELS_IN_PASSES: u64 = 40_000_000;
/// Passes of such a JPEG. Each goes over all of the image, however few bytes it has.
const MOST_PASSES: usize = 200;
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

/// Why an image is not shown.
#[derive(Debug)]
pub(super) enum NotShown {
    /// It cannot be decoded, or nobody waits for it any more.
    Damaged,
    /// It has this width and height.
    TooLarge(u32, u32),
}

/// The image, no longer than the longest edge.
///
/// It is decoded in any case: a model's provider ends the run over an image that it cannot read.
pub(super) fn shown(media: Media, bytes: Bytes, cancelled: &CancelFlag) -> Result<Shown, NotShown> {
    let format = match media {
        Media::Png => ImageFormat::Png,
        Media::Jpeg => ImageFormat::Jpeg,
        Media::Gif => ImageFormat::Gif,
        Media::Webp => ImageFormat::WebP,
        Media::Pdf => return Err(NotShown::Damaged),
    };
    let mut reader = ImageReader::with_format(Cursor::new(&bytes[..]), format);
    let mut limits = Limits::default();
    // Edges are looked at below, where there is something to say about them.
    (limits.max_alloc, limits.max_image_width, limits.max_image_height) = (Some(DECODED_BYTES), None, None);
    reader.limits(limits);
    let mut decoder = reader.into_decoder().map_err(|_| NotShown::Damaged)?;
    let stored = decoder.dimensions();
    let passes = if media == Media::Jpeg { passes_of(&bytes) } else { 1 };
    let most = if passes > 1 { MOST_PIXELS_IN_PASSES } else { MOST_PIXELS };
    if u64::from(stored.0) * u64::from(stored.1) > most || decoder.total_bytes() > DECODED_BYTES {
        return Err(NotShown::TooLarge(stored.0, stored.1));
    }
    if passes > MOST_PASSES {
        return Err(NotShown::Damaged);
    }
    let orientation = decoder.orientation().ok();
    decoded(decoder, media, &bytes, cancelled, orientation).ok_or(NotShown::Damaged)
}

fn decoded(
    decoder: impl ImageDecoder,
    media: Media,
    bytes: &Bytes,
    cancelled: &CancelFlag,
    orientation: Option<Orientation>,
) -> Option<Shown> {
    cancelled.check()?;
    let image = DynamicImage::from_decoder(decoder).ok()?;
    cancelled.check()?;
    let stored = (image.width(), image.height());
    if stored.0.max(stored.1) <= LONGEST_EDGE {
        return Some(Shown { media_type: media.media_type(), bytes: bytes.clone(), size: stored, shown: stored });
    }
    let mut smaller = made_smaller(image);
    cancelled.check()?;
    // What is written below has no room for a note on how it is to be turned. It is turned when it is
    // small: a second copy of the whole is what there is no room for.
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
    Some(Shown { media_type: media.media_type(), bytes: encoded.into(), size, shown })
}

/// The image at the longest edge, in two steps where it is much larger: the fine one holds the image
/// besides as numbers that are sixteen bytes a pixel.
fn made_smaller(image: DynamicImage) -> DynamicImage {
    let halfway = 2 * LONGEST_EDGE;
    let image = if image.width().max(image.height()) > halfway { image.thumbnail(halfway, halfway) } else { image };
    image.resize(LONGEST_EDGE, LONGEST_EDGE, FilterType::Triangle)
}

/// In how many passes a JPEG may come: its scans, of which one is enough unless it is progressive.
fn passes_of(bytes: &[u8]) -> usize {
    let markers = |wanted: u8| bytes.windows(2).filter(|two| two[0] == 0xFF && two[1] == wanted).count();
    // Start of a frame that is progressive. Inside of what is coded no such pair can stand.
    if markers(0xC2) == 0 { 1 } else { markers(0xDA).max(2) }
}
