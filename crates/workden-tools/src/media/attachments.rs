//! Images and documents as attachments of an answer: as they are, or scaled down.

use bytes::Bytes;
use workden_core::{Backend, ByteRange, ErrorKind, Symlink, VirtualPath, settled};

use super::{Media, SNIFFED_BYTES, page_range, pdf_text::NoText};
#[cfg(feature = "images")]
use super::{decode_thread::decode, images::ImageError};
use crate::{Attachment, ToolAnswer, ToolFailure, tool_context::ToolContext};

impl ToolContext<'_> {
    /// Detects the kind of a file, and returns its size.
    pub(crate) async fn sniffed(&self, path: &VirtualPath) -> workden_core::Result<(Option<Media>, u64)> {
        let head = ByteRange::Part { offset: 0, length: SNIFFED_BYTES };
        let head = settled!(self.files, path, Symlink::Follow, |at| self.files.read(&at, head).await)?;
        Ok((Media::sniff(&head.bytes), head.size))
    }

    /// Attaches an image or a document, or returns the text of a document.
    pub(crate) async fn attach(
        &self,
        typed: &str,
        path: &VirtualPath,
        media: Media,
        pages: Option<&str>,
    ) -> Result<ToolAnswer, ToolFailure> {
        match media {
            Media::Png | Media::Jpeg | Media::Gif | Media::Webp => self.attach_image(typed, path, media).await,
            Media::Pdf => self.attach_document(typed, path, pages).await,
        }
    }

    async fn attach_image(&self, typed: &str, path: &VirtualPath, media: Media) -> Result<ToolAnswer, ToolFailure> {
        let media_type = media.media_type();
        if !self.options.images {
            let text = format!("Error: '{typed}' is an image ({media_type}), and the model does not accept images");
            return Err(ToolFailure::new(ErrorKind::Unsupported, text));
        }
        let most = self.options.max_image_bytes;
        let bytes = self.whole(typed, path, most).await?.map_err(|size| too_large("Image", typed, size, most))?;
        self.scaled(typed, media, bytes).await
    }

    #[cfg(feature = "images")]
    async fn scaled(&self, typed: &str, media: Media, bytes: Bytes) -> Result<ToolAnswer, ToolFailure> {
        let decoded =
            decode(self.options.decode_timeout, move |cancelled| super::images::scaled(media, bytes, cancelled)).await;
        let shown = match decoded.unwrap_or(Err(ImageError::Damaged)) {
            Ok(shown) => shown,
            Err(ImageError::TooLarge(width, height)) => {
                let text = format!(
                    "Error: cannot show '{typed}': {width}x{height} pixels are too many to decode\nhint: scale it down with a \
                     command, and read the copy"
                );
                return Err(ToolFailure::new(ErrorKind::TooLarge, text));
            }
            Err(ImageError::Damaged) => {
                let media_type = media.media_type();
                let text = format!(
                    "Error: cannot show '{typed}': the {media_type} file is damaged or takes too long to decode"
                );
                return Err(ToolFailure::new(ErrorKind::NotText, text));
            }
        };
        let ((width, height), (wide, high)) = (shown.size, shown.shown);
        let mut text = format!("Image {typed}: {}, {width}x{height} pixels", shown.media_type);
        if shown.size != shown.shown {
            text.push_str(&format!(", shown at {wide}x{high}"));
        }
        Ok(ToolAnswer::text(text)
            .attach(Attachment::Image { media_type: shown.media_type.to_owned(), bytes: shown.bytes }))
    }

    #[cfg(not(feature = "images"))]
    #[expect(clippy::unused_async, reason = "the same signature as with the feature")]
    async fn scaled(&self, typed: &str, media: Media, bytes: Bytes) -> Result<ToolAnswer, ToolFailure> {
        let media_type = media.media_type();
        let text = format!("Image {typed}: {media_type}, {} bytes", bytes.len());
        Ok(ToolAnswer::text(text).attach(Attachment::Image { media_type: media_type.to_owned(), bytes }))
    }

    async fn attach_document(
        &self,
        typed: &str,
        path: &VirtualPath,
        named: Option<&str>,
    ) -> Result<ToolAnswer, ToolFailure> {
        let most = self.options.max_document_bytes;
        let mut size = None;
        if self.options.documents && named.is_none() {
            match self.whole(typed, path, most).await? {
                Ok(bytes) => {
                    let text = format!("Document {typed}: application/pdf, {} bytes", bytes.len());
                    let name = path.name().unwrap_or("document.pdf").to_owned();
                    let media_type = Media::Pdf.media_type().to_owned();
                    return Ok(ToolAnswer::text(text).attach(Attachment::Document { media_type, name, bytes }));
                }
                Err(too_large) => size = Some(too_large),
            }
        }
        let pages = match named {
            None => 1..=page_range::DEFAULT_PAGES,
            Some(named) => page_range::parse(named).ok_or_else(|| {
                let text =
                    format!("Error: argument `pages` must be like 3 or 10-20, got {named:?} (in a call of read_file)");
                ToolFailure::new(ErrorKind::InvalidArgument, text)
            })?,
        };
        let why = match self.pdf_text(typed, path, pages).await {
            Ok(answer) => return Ok(answer),
            Err(NoText::Failed(failure)) => return Err(failure),
            Err(NoText::Unavailable(why)) => why,
        };
        let install = "install `pdftotext` (package poppler-utils) in the sandbox";
        let mut failure = match size {
            Some(size) => too_large("Document", typed, size, most),
            None => {
                ToolFailure::new(ErrorKind::Unsupported, format!("Error: cannot extract the text of '{typed}': {why}"))
            }
        };
        failure.text.push_str(&match (size, self.options.documents) {
            (Some(_), _) => format!("; its text cannot be extracted: {why}\nhint: {install}"),
            (None, true) => "\nhint: without `pages` you get the document itself".to_owned(),
            (None, false) => format!("\nhint: {install}, or set the option `documents` if the model takes PDF files"),
        });
        Err(failure)
    }

    /// Reads a whole file; returns its size if that is more than `most`.
    async fn whole(&self, typed: &str, path: &VirtualPath, most: u64) -> Result<Result<Bytes, u64>, ToolFailure> {
        let failed = |error| self.failed(typed, error);
        let (_, size) = self.sniffed(path).await.map_err(failed)?;
        if size > most {
            return Ok(Err(size));
        }
        // The file may have grown: one byte more shows that.
        let part = ByteRange::Part { offset: 0, length: most.saturating_add(1) };
        let slice =
            settled!(self.files, path, Symlink::Follow, |at| self.files.read(&at, part).await).map_err(failed)?;
        Ok(if slice.bytes.len() as u64 <= most { Ok(slice.bytes) } else { Err(slice.size) })
    }
}

fn too_large(what: &str, typed: &str, size: u64, most: u64) -> ToolFailure {
    let text = format!("Error: {what} '{typed}' too large ({}, max {})", megabytes(size), megabytes(most));
    ToolFailure::new(ErrorKind::TooLarge, text)
}

/// Formats a size in megabytes, with one decimal.
fn megabytes(bytes: u64) -> String {
    let tenths = u128::from(bytes) * 10 / (1024 * 1024);
    format!("{}.{}MB", tenths / 10, tenths % 10)
}
