//! Images made to exhaust memory, each read by a process that looks at its own peak.
//!
//! A binary of its own with one test: the peak is that of the whole process.

#![cfg(target_os = "linux")]
#![expect(clippy::unwrap_used, clippy::panic, clippy::print_stdout, reason = "a test that cannot go on ends")]

use std::{sync::Arc, time::Duration};

use image::{
    ExtendedColorType, ImageEncoder,
    codecs::{
        jpeg::JpegEncoder,
        png::{CompressionType, FilterType, PngEncoder},
    },
};
use serde_json::{Value, json};
use workden_core::{Backend, BackendExt, Expect, VirtualPath};
use workden_files::memory;
use workden_tools::{ToolAnswer, ToolFailure, ToolTarget, Toolset, ToolsetOptions};

/// Megabytes that the process may hold during one call, the file and the reserve of the allocator included.
const ONE_CALL: u64 = 450;
/// How long decoding may take, on a machine that does other things besides.
const DECODE_TIMEOUT: Duration = Duration::from_secs(600);

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

    /// Reads such a file, and checks the peak.
    async fn measured(&self, name: &str, content: Vec<u8>) -> String {
        let size = content.len() / 1024;
        self.put(content).await;
        reset_most();
        let answer = self.read().await.map_or_else(|failure| failure.text, |answer| answer.text);
        let most = most();
        let start: String = answer.chars().take(90).collect();
        println!("{name}: {size} KiB, {most} MB: {start:?}");
        assert!(most < ONE_CALL, "{name} took {most} MB");
        answer
    }
}

/// The peak of the process since the last reset, in megabytes.
fn most() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let most = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap().trim();
    most.trim_end_matches("kB").trim().parse::<u64>().unwrap() / 1024
}

/// Resets the peak.
fn reset_most() {
    std::fs::write("/proc/self/clear_refs", "5").unwrap();
}

fn png(width: u32, height: u32) -> Vec<u8> {
    let mut file = Vec::new();
    let pixels = vec![7; width as usize * height as usize * 4];
    let encoder = PngEncoder::new_with_quality(&mut file, CompressionType::Fast, FilterType::Sub);
    encoder.write_image(&pixels, width, height, ExtendedColorType::Rgba8).unwrap();
    file
}

/// A PNG whose header claims other dimensions than its data has.
fn png_that_claims(width: u32, height: u32) -> Vec<u8> {
    let mut file = png(1, 1);
    file[16..20].copy_from_slice(&width.to_be_bytes());
    file[20..24].copy_from_slice(&height.to_be_bytes());
    let checksum = crc32(&file[12..29]);
    file[29..33].copy_from_slice(&checksum.to_be_bytes());
    file
}

fn crc32(bytes: &[u8]) -> u32 {
    !bytes.iter().fold(!0, |crc, byte| {
        (0..8).fold(crc ^ u32::from(*byte), |crc, _| if crc & 1 == 1 { (crc >> 1) ^ 0xEDB8_8320 } else { crc >> 1 })
    })
}

fn photograph() -> Vec<u8> {
    let mut file = Vec::new();
    let pixels = vec![99; 8000 * 6000 * 3];
    JpegEncoder::new(&mut file).write_image(&pixels, 8000, 6000, ExtendedColorType::Rgb8).unwrap();
    file
}

/// A progressive JPEG with a header and no data.
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
    options.decode_timeout = DECODE_TIMEOUT;
    let files: Arc<dyn Backend> = Arc::new(memory());
    let desk = Desk { tools: Toolset::new(ToolTarget::backend(Arc::clone(&files)), options).unwrap(), files };
    images(&desk).await;
    many_at_once(&desk).await;
}

async fn images(desk: &Desk) {
    for (name, file, size) in [
        ("the header of a JPEG", head_of_jpeg(32_767), "32767x32767"),
        ("the header of a large PNG", png_that_claims(11_000, 11_000), "11000x11000"),
    ] {
        let answer = desk.measured(name, file).await;
        let expected = format!(
            "Error: cannot show 'file': {size} pixels are too many to decode\nhint: scale it down with a command, and read \
             the copy"
        );
        assert_eq!(answer, expected);
    }
    let answer = desk.measured("the header of a smaller JPEG", head_of_jpeg(6_300)).await;
    assert!(answer.contains("file"), "{answer}");
    let answer = desk.measured("a usual photograph", photograph()).await;
    assert!(answer.ends_with("8000x6000 pixels, shown at 1568x1176"), "{answer}");
    let answer = desk.measured("the largest PNG", png(7_000, 7_000)).await;
    assert!(answer.ends_with("7000x7000 pixels, shown at 1568x1568"), "{answer}");
}

/// Cancelled and concurrent calls hold no more than two calls do.
async fn many_at_once(desk: &Desk) {
    desk.put(png(7_000, 7_000)).await;
    reset_most();
    let arguments: Value = json!({ "path": "file" });
    for _ in 0..2 {
        let call = desk.tools.call("read_file", arguments.clone());
        drop(tokio::time::timeout(Duration::from_millis(30), call).await);
    }
    let call = || desk.tools.call("read_file", arguments.clone());
    let (a, b, c, d) = tokio::join!(call(), call(), call(), call());
    for answer in [a, b, c, d] {
        let answer = answer.unwrap_or_else(|failure| panic!("{failure}"));
        assert!(answer.text.contains("7000x7000"), "{}", answer.text);
    }
    let most = most();
    println!("many at once: {most} MB");
    assert!(most < 2 * ONE_CALL, "many at once took {most} MB");
}
