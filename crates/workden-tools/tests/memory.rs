//! Files that are made to exhaust memory, each read by a process that looks at the most it has held.
//!
//! A binary of its own, with one test: the most is that of the whole process.

#![cfg(target_os = "linux")]
#![expect(clippy::unwrap_used, clippy::panic, clippy::print_stdout, reason = "a test that cannot go on ends")]

use std::{
    io::{Cursor, Write},
    sync::Arc,
    time::{Duration, Instant},
};

use flate2::{Compression, write::ZlibEncoder};
use image::{ExtendedColorType, ImageEncoder, ImageFormat, RgbImage, codecs::png::PngEncoder};
use serde_json::{Value, json};
use workden_core::{Backend, BackendExt, Expect, VirtualPath};
use workden_files::memory;
use workden_tools::{Place, ToolAnswer, ToolFailure, Toolset, ToolsetOptions};

/// Megabytes that the process may have at most during one call, the file and all that an allocator keeps for
/// later among them.
const ONE_CALL: u64 = 450;
/// How long a call may take, on a machine that does other things besides.
const TIME: Duration = Duration::from_secs(25);

struct Desk {
    tools: Toolset,
    files: Arc<dyn Backend>,
}

impl Desk {
    async fn put(&self, content: Vec<u8>) {
        let path = VirtualPath::parse("/file").unwrap();
        self.files.write_path(&path, content.into(), Expect::Anything).await.unwrap();
    }

    async fn read(&self) -> Result<ToolAnswer, ToolFailure> {
        self.tools.call("read_file", json!({ "path": "file" })).await
    }

    /// Reads such a file, and looks at what that has cost.
    async fn measured(&self, name: &str, content: Vec<u8>) -> String {
        let size = content.len() / 1024;
        self.put(content).await;
        reset_most();
        let started = Instant::now();
        let answer = self.read().await.map_or_else(|failure| failure.text, |answer| answer.text);
        let (most, took) = (most(), started.elapsed());
        let start: String = answer.chars().take(90).collect();
        println!("{name}: {size} KiB, {most} MB, {took:.1?}: {start:?}");
        assert!(most < ONE_CALL, "{name} took {most} MB");
        assert!(took < TIME, "{name} took {took:?}");
        answer
    }
}

/// Megabytes that the process has held at most.
fn most() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let most = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap().trim();
    most.trim_end_matches("kB").trim().parse::<u64>().unwrap() / 1024
}

/// Starts to count anew.
fn reset_most() {
    std::fs::write("/proc/self/clear_refs", "5").unwrap();
}

/// `count` times the same, packed.
fn packed(before: &str, repeated: &str, count: usize, after: &str) -> Vec<u8> {
    let mut packer = ZlibEncoder::new(Vec::new(), Compression::best());
    packer.write_all(before.as_bytes()).unwrap();
    let many = repeated.repeat(1000);
    for _ in 0..count / 1000 {
        packer.write_all(many.as_bytes()).unwrap();
    }
    packer.write_all(after.as_bytes()).unwrap();
    packer.finish().unwrap()
}

fn stream(dictionary: &str, data: &[u8]) -> Vec<u8> {
    let start = format!("<< /Length {} /Filter /FlateDecode {dictionary} >>\nstream\n", data.len());
    [start.as_bytes(), data, b"\nendstream"].concat()
}

/// A PDF of one page whose contents are object 4 and whose font is object 5, with these objects from 4 on.
fn pdf(objects: Vec<Vec<u8>>) -> Vec<u8> {
    let page = "<< /Type /Page /Parent 2 0 R /Contents 4 0 R /Resources << /Font << /F1 5 0 R >> >> >>";
    let first = ["<< /Type /Catalog /Pages 2 0 R >>", "<< /Type /Pages /Kids [3 0 R] /Count 1 >>", page];
    let all = first.into_iter().map(|text| text.as_bytes().to_vec()).chain(objects);
    let mut file = b"%PDF-1.5\n%\0\n".to_vec();
    let mut offsets = Vec::new();
    for (index, object) in all.enumerate() {
        offsets.push(file.len());
        file.extend(format!("{} 0 obj\n", index + 1).into_bytes());
        file.extend(object);
        file.extend(b"\nendobj\n");
    }
    let table = file.len();
    let size = offsets.len() + 1;
    file.extend(format!("xref\n0 {size}\n0000000000 65535 f \n").into_bytes());
    for offset in offsets {
        file.extend(format!("{offset:010} 00000 n \n").into_bytes());
    }
    file.extend(format!("trailer\n<< /Size {size} /Root 1 0 R >>\nstartxref\n{table}\n%%EOF\n").into_bytes());
    file
}

fn font() -> Vec<u8> {
    b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>".to_vec()
}

fn page_of(content: Vec<u8>) -> Vec<u8> {
    pdf(vec![stream("", &content), font()])
}

/// A page of `count` times the code 0, with a table for it.
fn page_with_table(table: &str, count: usize) -> Vec<u8> {
    let table = format!(
        "/CIDInit /ProcSet findresource begin\n12 dict begin\nbegincmap\n/CMapType 2 def\n1 begincodespacerange\n<00> \
         <ff>\nendcodespacerange\n{table}\nendcmap\nCMapName currentdict /CMap defineresource pop\nend\nend\n"
    );
    let text = packed("BT /F1 12 Tf <", "00", count, "> Tj ET");
    let font = b"<< /Type /Font /Subtype /Type1 /BaseFont /A /ToUnicode 6 0 R >>".to_vec();
    pdf(vec![stream("", &text), font, stream("", &packed(&table, "", 0, ""))])
}

fn png(width: u32, height: u32) -> Vec<u8> {
    let mut file = Vec::new();
    let pixels = vec![7; width as usize * height as usize * 4];
    PngEncoder::new(&mut file).write_image(&pixels, width, height, ExtendedColorType::Rgba8).unwrap();
    file
}

fn picture(format: ImageFormat) -> Vec<u8> {
    let mut file = Cursor::new(Vec::new());
    RgbImage::from_pixel(8000, 6000, image::Rgb([9, 99, 199])).write_to(&mut file, format).unwrap();
    file.into_inner()
}

/// A JPEG in passes that has a head and nothing behind it.
fn head_of_jpeg(edge: u16) -> Vec<u8> {
    let mut file = b"\xFF\xD8\xFF\xE0\0\x10JFIF\0\x01\x01\0\0\x01\0\x01\0\0\xFF\xDB\0\x43\0".to_vec();
    file.extend([1; 64]);
    file.extend(b"\xFF\xC2\0\x11\x08");
    file.extend([edge.to_be_bytes(), edge.to_be_bytes()].concat());
    file.extend(b"\x03\x01\x44\0\x02\x11\0\x03\x11\0\xFF\xDA\0\x0C\x03\x01\0\x02\0\x03\0\0\0\0");
    file.extend([0; 100]);
    file.extend(b"\xFF\xD9");
    file
}

#[tokio::test(flavor = "multi_thread")]
async fn no_file_takes_more_memory_than_there_is_for_it() {
    let mut options = ToolsetOptions::default();
    options.documents = false;
    let files: Arc<dyn Backend> = Arc::new(memory());
    let desk = Desk { tools: Toolset::new(Place::backend(Arc::clone(&files)), options).unwrap(), files };
    documents(&desk).await;
    images(&desk).await;
    many_at_once(&desk).await;
}

async fn documents(desk: &Desk) {
    let refused = "Error: cannot read the text of 'file': the document is damaged, encrypted or too complex";
    let pack = "/Type /ObjStm /N 1 /First 5";
    // Streams of objects, each one list of 29 million numbers; smaller ones; many objects that are one list.
    let large = stream(pack, &packed("10 0 [", "1 ", 29_000_000, "]"));
    let answer = desk.measured("large packs", pdf(vec![large.clone(), large.clone(), large.clone(), large])).await;
    assert!(answer.starts_with(refused), "{answer}");
    let small = stream(pack, &packed("10 0 [", "[]", 1_000_000, "]"));
    let answer = desk.measured("small packs", pdf(vec![small; 40])).await;
    assert!(answer.starts_with(refused), "{answer}");
    // As many as there may be, of those that cost most.
    for (name, costly, count) in [("lists", "[]", 590_000), ("tables", "<</a 1>>", 290_000), ("names", "/", 1_190_000)]
    {
        let costly = stream(pack, &packed("10 0 [", costly, count, "]"));
        let answer = desk.measured(name, pdf(vec![costly])).await;
        assert!(answer.ends_with("(no text on this page)"), "{answer}");
    }
    let index: String = (10..5_010).map(|number| format!("{number} 0 ")).collect();
    let packs = stream(
        &format!("/Type /ObjStm /N 5000 /First {}", index.len()),
        &packed(&format!("{index}["), "1 ", 100_000, "]"),
    );
    desk.measured("one list as many objects", pdf(vec![packs])).await;
    let raw = [&b"["[..], &b"[]".repeat(10_000_000), b"]"].concat();
    let answer = desk.measured("a large list", pdf(vec![raw])).await;
    assert!(answer.starts_with(refused), "{answer}");
    let unending = b"7 0 obj [ 8 0 obj << /A 1 >> stream\n".repeat(500_000);
    desk.measured("objects that never end", pdf(vec![unending])).await;

    // Pages: more than is unpacked, a list that is too long, many small operations, a table of all codes, codes
    // that stand for much.
    let answer = desk.measured("a large page", page_of(packed("BT /F1 12 Tf ", "(A) Tj ", 7_000_000, "ET"))).await;
    assert!(answer.ends_with("(this page is too complex to be read here)"), "{answer}");
    let answer = desk.measured("a long list", page_of(packed("BT /F1 12 Tf [", "()", 4_000_000, "] TJ ET"))).await;
    assert!(answer.ends_with("(this page is too complex to be read here)"), "{answer}");
    let answer = desk.measured("many strings", page_of(packed("BT /F1 12 Tf ", "(A) Tj ", 2_000_000, "ET"))).await;
    assert!(answer.contains("AAAA") && answer.contains("is left out"), "{}", answer.len());
    let table = "1 beginbfrange\n<00000000> <ffffffff> <0041>\nendbfrange";
    let answer = desk.measured("all codes", page_with_table(table, 1_000)).await;
    assert!(answer.ends_with("(no text on this page)"), "{answer}");
    let long = format!("1 beginbfchar\n<00> <{}>\nendbfchar", "0041".repeat(256));
    let answer = desk.measured("codes that stand for much", page_with_table(&long, 5_000_000)).await;
    assert!(answer.contains("AAAA") && answer.contains("is left out"), "{}", answer.len());
    let usual = "1 beginbfrange\n<00> <5e> <0041>\nendbfrange";
    let answer = desk.measured("a usual page", page_with_table(usual, 1_000)).await;
    assert_eq!(answer, format!("PDF file: pages 1-1 of 1, as text\n--- page 1 ---\n{}", "A".repeat(1_000)));
}

async fn images(desk: &Desk) {
    for (name, file, size) in [
        ("the head of a JPEG", head_of_jpeg(32_767), "32767x32767"),
        ("a large PNG", png(11_000, 11_000), "11000x11000"),
    ] {
        let answer = desk.measured(name, file).await;
        let expected = format!(
            "Error: cannot show 'file': it has {size} pixels, which is too large to decode here\nhint: make a smaller copy \
             of it with a command, and read that"
        );
        assert_eq!(answer, expected);
    }
    let answer = desk.measured("the head of a smaller JPEG", head_of_jpeg(6_300)).await;
    assert!(answer.contains("file"), "{answer}");
    for format in [ImageFormat::Png, ImageFormat::Jpeg] {
        let answer = desk.measured("a usual photograph", picture(format)).await;
        assert!(answer.ends_with("8000x6000 pixels, shown at 1568x1176"), "{answer}");
    }
    let answer = desk.measured("the largest PNG", png(7_000, 7_000)).await;
    assert!(answer.ends_with("7000x7000 pixels, shown at 1568x1568"), "{answer}");
}

/// Calls that are cancelled and calls at once hold no more than two do.
async fn many_at_once(desk: &Desk) {
    desk.put(png(7_000, 7_000)).await;
    reset_most();
    let arguments: Value = json!({ "path": "file" });
    for _ in 0..12 {
        let call = desk.tools.call("read_file", arguments.clone());
        drop(tokio::time::timeout(Duration::from_millis(30), call).await);
    }
    let call = || desk.tools.call("read_file", arguments.clone());
    let (a, b, c, d, e, f) = tokio::join!(call(), call(), call(), call(), call(), call());
    for answer in [a, b, c, d, e, f] {
        let answer = answer.unwrap_or_else(|failure| panic!("{failure}"));
        assert!(answer.text.contains("7000x7000"), "{}", answer.text);
    }
    let most = most();
    println!("many at once: {most} MB");
    assert!(most < 2 * ONE_CALL, "many at once took {most} MB");
}
