//! Images and documents, made here.

use std::{fmt::Write, io::Cursor};

use image::{DynamicImage, ImageFormat, RgbImage};
use serde_json::json;
use workden_core::{BackendExt, ErrorKind, Expect, VirtualPath};
use workden_tools::{Attachment, ToolsetOptions};

use crate::desk::{Desk, both, in_memory};

async fn put(desk: &Desk, typed: &str, content: Vec<u8>) {
    let path = VirtualPath::parse(typed).unwrap();
    desk.files.write_path(&path, content.into(), Expect::Anything).await.unwrap();
}

fn picture(width: u32, height: u32, format: ImageFormat) -> Vec<u8> {
    let color = |x: u32, y: u32| image::Rgb([(x % 256) as u8, (y % 256) as u8, 90]);
    let mut encoded = Vec::new();
    let image = DynamicImage::ImageRgb8(RgbImage::from_fn(width, height, color));
    image.write_to(&mut Cursor::new(&mut encoded), format).unwrap();
    encoded
}

/// A PDF with one line of text on each page.
fn pdf(lines: &[&str]) -> Vec<u8> {
    let mut text = "%PDF-1.4\n".to_owned();
    let mut offsets = Vec::new();
    let mut add = |text: &mut String, body: String| {
        offsets.push(text.len());
        let _ = write!(text, "{} 0 obj\n{body}\nendobj\n", offsets.len());
    };
    let kids: Vec<String> = (0..lines.len()).map(|page| format!("{} 0 R", 4 + 2 * page)).collect();
    add(&mut text, "<< /Type /Catalog /Pages 2 0 R >>".to_owned());
    add(&mut text, format!("<< /Type /Pages /Kids [{}] /Count {} >>", kids.join(" "), lines.len()));
    add(&mut text, "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding >>".to_owned());
    for (page, line) in lines.iter().enumerate() {
        let resources = "/Resources << /Font << /F1 3 0 R >> >> /MediaBox [0 0 612 792]";
        add(&mut text, format!("<< /Type /Page /Parent 2 0 R {resources} /Contents {} 0 R >>", 5 + 2 * page));
        let stream = format!("BT /F1 12 Tf 72 700 Td ({line}) Tj ET");
        add(&mut text, format!("<< /Length {} >>\nstream\n{stream}\nendstream", stream.len()));
    }
    let start = text.len();
    let _ = write!(text, "xref\n0 {}\n0000000000 65535 f \n", offsets.len() + 1);
    for offset in &offsets {
        let _ = writeln!(text, "{offset:010} 00000 n ");
    }
    let _ = write!(text, "trailer\n<< /Size {} /Root 1 0 R >>\nstartxref\n{start}\n%%EOF\n", offsets.len() + 1);
    text.into_bytes()
}

#[tokio::test]
async fn a_small_image_comes_as_it_is() {
    for desk in both(&ToolsetOptions::default()) {
        for (format, media_type) in [
            (ImageFormat::Png, "image/png"),
            (ImageFormat::Jpeg, "image/jpeg"),
            (ImageFormat::Gif, "image/gif"),
            (ImageFormat::WebP, "image/webp"),
        ] {
            let file = picture(40, 30, format);
            // The bytes decide, not the name.
            for name in ["/a.png", "/picture", "/notes.txt"] {
                put(&desk, name, file.clone()).await;
                let answer = desk.call("read_file", json!({ "path": name })).await.unwrap();
                assert_eq!(answer.text, format!("Image {name}: {media_type}, 40x30 pixels"));
                let expected = Attachment::Image { media_type: media_type.to_owned(), bytes: file.clone().into() };
                assert_eq!((answer.attachments, answer.structured), (vec![expected], None));
            }
        }
    }
}

#[tokio::test]
async fn a_large_image_is_made_smaller() {
    let desk = in_memory(ToolsetOptions::default());
    for (format, media_type, size, shown) in [
        (ImageFormat::Png, "image/png", (3136, 784), (1568, 392)),
        (ImageFormat::Jpeg, "image/jpeg", (1000, 2000), (784, 1568)),
        (ImageFormat::Gif, "image/png", (1600, 10), (1568, 10)),
        (ImageFormat::Png, "image/png", (1568, 1568), (1568, 1568)),
    ] {
        put(&desk, "/big", picture(size.0, size.1, format)).await;
        let answer = desk.call("read_file", json!({ "path": "big" })).await.unwrap();
        let Attachment::Image { media_type: told, bytes } = &answer.attachments[0] else { panic!("{answer:?}") };
        assert_eq!(told, media_type);
        let decoded = image::load_from_memory(bytes).unwrap();
        assert_eq!((decoded.width(), decoded.height()), shown);
        let note = if size == shown { String::new() } else { format!(", shown at {}x{}", shown.0, shown.1) };
        assert_eq!(answer.text, format!("Image big: {media_type}, {}x{} pixels{note}", size.0, size.1));
    }
}

#[tokio::test]
async fn images_have_a_ceiling_and_a_switch() {
    let mut options = ToolsetOptions::default();
    options.max_image_bytes = 1_000;
    let desk = in_memory(options.clone());
    put(&desk, "/a.png", [picture(4, 4, ImageFormat::Png), vec![0; 2 * 1024 * 1024]].concat()).await;
    let expected = "Error: Image 'a.png' too large (2.0MB, max 0.0MB)";
    desk.refuses("read_file", json!({ "path": "a.png" }), ErrorKind::TooLarge, expected).await;
    options.images = false;
    let desk = in_memory(options);
    put(&desk, "/a.png", picture(4, 4, ImageFormat::Png)).await;
    let expected = "Error: 'a.png' is an image (image/png), and the model does not accept images";
    desk.refuses("read_file", json!({ "path": "a.png" }), ErrorKind::Unsupported, expected).await;
    assert!(!desk.tools.list()[1].description.contains("Images"));
}

#[tokio::test]
async fn a_damaged_image_is_not_sent_on() {
    let desk = in_memory(ToolsetOptions::default());
    let mut file = picture(200, 200, ImageFormat::Png);
    file.truncate(file.len() / 2);
    put(&desk, "/a.png", file).await;
    let failure = desk.call("read_file", json!({ "path": "a.png" })).await.unwrap_err();
    assert!(failure.text.starts_with("Error: cannot show 'a.png': the image/png file is damaged"), "{failure}");
    // An image that claims to be enormous is not decoded.
    let mut bomb = picture(1, 1, ImageFormat::Png);
    bomb[16..24].copy_from_slice(&[0, 0, 0x7F, 0xFF, 0, 0, 0x7F, 0xFF]);
    put(&desk, "/bomb.png", bomb).await;
    assert_eq!(desk.call("read_file", json!({ "path": "bomb.png" })).await.unwrap_err().kind, ErrorKind::NotText);
}

#[tokio::test]
async fn text_that_begins_like_an_image_or_is_named_like_one_is_text() {
    let desk = in_memory(ToolsetOptions::default());
    put(&desk, "/gif.md", b"GIF89a is a format.\n".to_vec()).await;
    desk.says("read_file", json!({ "path": "gif.md" }), "     1\tGIF89a is a format.").await;
    put(&desk, "/notes.png", b"not a picture\n".to_vec()).await;
    desk.says("read_file", json!({ "path": "notes.png" }), "     1\tnot a picture").await;
    put(&desk, "/empty.pdf", Vec::new()).await;
    desk.says("read_file", json!({ "path": "empty.pdf" }), "(the file is empty)").await;
}

#[tokio::test]
async fn a_document_comes_as_it_is() {
    for desk in both(&ToolsetOptions::default()) {
        let file = pdf(&["Hello page one"]);
        for name in ["/d/a.pdf", "/d/a"] {
            put(&desk, name, file.clone()).await;
            let answer = desk.call("read_file", json!({ "path": name })).await.unwrap();
            assert_eq!(answer.text, format!("Document {name}: application/pdf, {} bytes", file.len()));
            let name = name.trim_start_matches("/d/").to_owned();
            let expected =
                Attachment::Document { media_type: "application/pdf".into(), name, bytes: file.clone().into() };
            assert_eq!(answer.attachments, [expected]);
        }
    }
}

#[tokio::test]
async fn a_document_without_a_sandbox_has_no_text() {
    let mut without = ToolsetOptions::default();
    without.documents = false;
    let desk = in_memory(without);
    put(&desk, "/a.pdf", pdf(&["Hello"])).await;
    let expected = "Error: cannot extract the text of 'a.pdf': the workspace runs no commands\nhint: install `pdftotext` \
                    (package poppler-utils) in the sandbox, or set the option `documents` if the model takes PDF files";
    desk.refuses("read_file", json!({ "path": "a.pdf" }), ErrorKind::Unsupported, expected).await;
    let desk = in_memory(ToolsetOptions::default());
    put(&desk, "/a.pdf", pdf(&["Hello"])).await;
    let expected = "Error: cannot extract the text of 'a.pdf': the workspace runs no commands\nhint: without `pages` you \
                    get the document itself";
    desk.refuses("read_file", json!({ "path": "a.pdf", "pages": "1" }), ErrorKind::Unsupported, expected).await;
    let mut small = ToolsetOptions::default();
    small.max_document_bytes = 100;
    let desk = in_memory(small);
    put(&desk, "/a.pdf", pdf(&["Hello"])).await;
    let expected = "Error: Document 'a.pdf' too large (0.0MB, max 0.0MB); its text cannot be extracted: the workspace \
                    runs no commands\nhint: install `pdftotext` (package poppler-utils) in the sandbox";
    desk.refuses("read_file", json!({ "path": "a.pdf" }), ErrorKind::TooLarge, expected).await;
}

#[tokio::test]
async fn pages_are_for_documents() {
    let desk = in_memory(ToolsetOptions::default());
    put(&desk, "/a.pdf", pdf(&["Hello"])).await;
    let expected = "Error: argument `pages` must be like 3 or 10-20, got \"x\" (in a call of read_file)";
    desk.refuses("read_file", json!({ "path": "a.pdf", "pages": "x" }), ErrorKind::InvalidArgument, expected).await;
    put(&desk, "/a.txt", b"text".to_vec()).await;
    let expected = "Error: 'a.txt' is not a PDF and has no pages; leave out the argument `pages`";
    desk.refuses("read_file", json!({ "path": "a.txt", "pages": "1" }), ErrorKind::InvalidArgument, expected).await;
}
