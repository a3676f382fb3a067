//! Showing a model an image or a document: as it is, made smaller, or as text.

use bytes::Bytes;
use workden_core::{Backend, ByteRange, ErrorKind, Symlink, VirtualPath, limits};

#[cfg(feature = "images")]
use super::images::NotShown;
use super::{Media, SNIFFED_BYTES, pages};
#[cfg(any(feature = "images", feature = "documents"))]
use crate::off_thread::off_thread;
use crate::{Content, ToolAnswer, ToolFailure, changing::settled, context::Context};

/// Bytes that a document may have whose text is read: its parts are held besides it.
const TEXT_BYTES: u64 = 64 * 1024 * 1024;

impl Context<'_> {
    /// What a file is, by its first bytes, and how many it has.
    pub(crate) async fn sniffed(&self, path: &VirtualPath) -> workden_core::Result<(Option<Media>, u64)> {
        let head = ByteRange::Part { offset: 0, length: SNIFFED_BYTES };
        let (_, head) = settled!(self, path, Symlink::Follow, |at| self.files.read(&at, head).await)?;
        Ok((Media::sniff(&head.bytes), head.size))
    }

    /// Shows a file that is no text.
    pub(crate) async fn show(
        &self,
        typed: &str,
        path: &VirtualPath,
        media: Media,
        pages: Option<&str>,
    ) -> Result<ToolAnswer, ToolFailure> {
        match media {
            Media::Png | Media::Jpeg | Media::Gif | Media::Webp => self.show_image(typed, path, media).await,
            Media::Pdf => self.show_document(typed, path, pages).await,
        }
    }

    async fn show_image(&self, typed: &str, path: &VirtualPath, media: Media) -> Result<ToolAnswer, ToolFailure> {
        let media_type = media.media_type();
        if !self.options.images {
            let text = format!("Error: '{typed}' is an image ({media_type}), and images are not shown here");
            return Err(ToolFailure::new(ErrorKind::Unsupported, text));
        }
        let most = self.options.max_image_bytes;
        let bytes = self.whole(typed, path, most).await?.map_err(|size| too_large("Image", typed, size, most))?;
        self.shown(typed, media, bytes).await
    }

    #[cfg(feature = "images")]
    async fn shown(&self, typed: &str, media: Media, bytes: Bytes) -> Result<ToolAnswer, ToolFailure> {
        let shown = off_thread(move |abandoned| super::images::shown(media, bytes, abandoned)).await;
        let shown = match shown.unwrap_or(Err(NotShown::Damaged)) {
            Ok(shown) => shown,
            Err(NotShown::TooLarge(width, height)) => {
                let text = format!(
                    "Error: cannot show '{typed}': it has {width}x{height} pixels, which is too large to decode here\nhint: \
                     make a smaller copy of it with a command, and read that"
                );
                return Err(ToolFailure::new(ErrorKind::TooLarge, text));
            }
            Err(NotShown::Damaged) => {
                let media_type = media.media_type();
                let text = format!(
                    "Error: cannot show '{typed}': it says that it is {media_type}, but it is damaged or takes too \
                     long to decode"
                );
                return Err(ToolFailure::new(ErrorKind::NotText, text));
            }
        };
        let ((width, height), (wide, high)) = (shown.size, shown.shown);
        let mut text = format!("Image {typed}: {}, {width}x{height} pixels", shown.media_type);
        if shown.size != shown.shown {
            text.push_str(&format!(", shown at {wide}x{high}"));
        }
        Ok(ToolAnswer::text(text).with(Content::Image { media_type: shown.media_type.to_owned(), bytes: shown.bytes }))
    }

    #[cfg(not(feature = "images"))]
    #[expect(clippy::unused_async, reason = "it decodes nothing, and has the same shape as what does")]
    async fn shown(&self, typed: &str, media: Media, bytes: Bytes) -> Result<ToolAnswer, ToolFailure> {
        let media_type = media.media_type();
        let text = format!("Image {typed}: {media_type}, {} bytes", bytes.len());
        Ok(ToolAnswer::text(text).with(Content::Image { media_type: media_type.to_owned(), bytes }))
    }

    async fn show_document(
        &self,
        typed: &str,
        path: &VirtualPath,
        named: Option<&str>,
    ) -> Result<ToolAnswer, ToolFailure> {
        if self.options.documents && named.is_none() {
            let most = self.options.max_document_bytes;
            if let Ok(bytes) = self.whole(typed, path, most).await? {
                let text = format!("Document {typed}: application/pdf, {} bytes", bytes.len());
                let name = path.name().unwrap_or("document.pdf").to_owned();
                let media_type = Media::Pdf.media_type().to_owned();
                return Ok(ToolAnswer::text(text).with(Content::Document { media_type, name, bytes }));
            }
        }
        let pages = match named {
            None => 1..=pages::USUAL_PAGES,
            Some(named) => pages::parse(named).ok_or_else(|| {
                let text =
                    format!("Error: argument `pages` must be like 3 or 10-20, got {named:?} (in a call of read_file)");
                ToolFailure::new(ErrorKind::InvalidArgument, text)
            })?,
        };
        let most = TEXT_BYTES.min(limits::READ_BYTES);
        let bytes = self.whole(typed, path, most).await?.map_err(|size| too_large("Document", typed, size, most))?;
        self.text_of(typed, bytes, pages).await
    }

    #[cfg(feature = "documents")]
    async fn text_of(
        &self,
        typed: &str,
        bytes: Bytes,
        pages: std::ops::RangeInclusive<u32>,
    ) -> Result<ToolAnswer, ToolFailure> {
        use std::fmt::Write;

        let ceiling = usize::try_from(limits::READ_CHARS).unwrap_or(usize::MAX);
        let wanted = pages.clone();
        let read =
            off_thread(move |abandoned| super::documents::text_of(&bytes, wanted, ceiling, abandoned)).await.flatten();
        let Some(read) = read else {
            let text =
                format!("Error: cannot read the text of '{typed}': the document is damaged, encrypted or too complex");
            return Err(ToolFailure::new(ErrorKind::NotText, text));
        };
        let (first, total) = (*pages.start(), read.total);
        if read.texts.is_empty() {
            let text = format!("Error: '{typed}' has {total} pages, and none from page {first} on");
            return Err(ToolFailure::new(ErrorKind::OutOfRange, text));
        }
        let mut text = String::new();
        let mut last = first;
        let mut left = ceiling;
        for (page, content) in (first..).zip(&read.texts) {
            last = page;
            let content = if content.is_empty() { "(no text on this page)" } else { content };
            let _ = write!(text, "\n--- page {page} ---\n");
            match content.char_indices().nth(left) {
                Some((end, _)) => {
                    text.push_str(&content[..end]);
                    let _ = write!(text, "\n... (the rest of page {page} is left out)");
                    break;
                }
                None => text.push_str(content),
            }
            left -= content.chars().count();
        }
        let mut answer = format!("PDF {typed}: pages {first}-{last} of {total}, as text{text}");
        if last < total {
            let next = last + 1;
            let until = last.saturating_add(pages::USUAL_PAGES).min(total);
            let _ = write!(answer, "\n\n... ({} more pages; pages=\"{next}-{until}\" shows the next)", total - last);
        }
        Ok(ToolAnswer::text(answer))
    }

    #[cfg(not(feature = "documents"))]
    #[expect(clippy::unused_async, reason = "it reads nothing, and has the same shape as what does")]
    async fn text_of(
        &self,
        typed: &str,
        _: Bytes,
        _: std::ops::RangeInclusive<u32>,
    ) -> Result<ToolAnswer, ToolFailure> {
        let text = format!("Error: '{typed}' is a PDF, and this program was built without a way to read its text");
        Err(ToolFailure::new(ErrorKind::Unsupported, text))
    }

    /// A whole file; its size when that is more than `most`.
    async fn whole(&self, typed: &str, path: &VirtualPath, most: u64) -> Result<Result<Bytes, u64>, ToolFailure> {
        let failed = |error| self.failed(typed, error);
        let (_, size) = self.sniffed(path).await.map_err(failed)?;
        if size > most {
            return Ok(Err(size));
        }
        // It may have grown: one byte more than is asked for shows that there is more.
        let part = ByteRange::Part { offset: 0, length: most.saturating_add(1) };
        let (_, slice) =
            settled!(self, path, Symlink::Follow, |at| self.files.read(&at, part).await).map_err(failed)?;
        Ok(if slice.bytes.len() as u64 <= most { Ok(slice.bytes) } else { Err(slice.size) })
    }
}

fn too_large(what: &str, typed: &str, size: u64, most: u64) -> ToolFailure {
    let text = format!("Error: {what} '{typed}' too large ({}, max {})", megabytes(size), megabytes(most));
    ToolFailure::new(ErrorKind::TooLarge, text)
}

/// As people say it, to a tenth.
fn megabytes(bytes: u64) -> String {
    let tenths = u128::from(bytes) * 10 / (1024 * 1024);
    format!("{}.{}MB", tenths / 10, tenths % 10)
}
