//! Reads return the written bytes, whole or in part.

use std::io::Read;

use workden_core::{Backend, BackendExt, ByteRange, ErrorKind, Opened, Removal};

use crate::{
    Outcome,
    check::list_checks,
    typed::{at, holds, path, put},
    verdict::{equal, refused},
};

list_checks! { reading:
    content_comes_back_as_it_was_written,
    a_megabyte_of_noise_comes_back_as_it_was_written,
    a_part_is_read_by_offset_and_length,
    a_part_past_the_end_is_empty_or_shorter,
    a_whole_beyond_its_ceiling_is_too_large,
    reading_says_how_large_the_file_is_and_when_it_changed,
    an_open_file_holds_what_a_read_gives,
}

/// Returns a megabyte of pseudorandom bytes.
pub(crate) fn noise() -> Vec<u8> {
    let mut state = 0x9E37_79B9_7F4A_7C15_u64;
    let next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state.to_le_bytes()
    };
    std::iter::repeat_with(next).take(131_072).flatten().collect()
}

/// Line endings, NUL, a byte-order mark, bytes that are not text, and empty content are all kept.
pub async fn content_comes_back_as_it_was_written(files: &dyn Backend) -> Outcome {
    let contents: [&[u8]; 9] = [
        b"",
        b"\n",
        b"no newline at the end",
        b"a\r\nb\r\n",
        b"a\rb\nc\r\n\r",
        b"\0a\0\0b\0",
        b"\xEF\xBB\xBFmark",
        b"\xFF\xFEh\0i\0",
        b"caf\xE9 \xF0\x28\x8C\xBC \xED\xA0\x80",
    ];
    for (number, content) in contents.into_iter().enumerate() {
        let typed = format!("/{number}");
        put(files, &typed, content).await?;
        holds(files, &typed, content).await?;
    }
    let every_byte: Vec<u8> = (0..=u8::MAX).collect();
    put(files, "/every", every_byte.clone()).await?;
    holds(files, "/every", every_byte).await
}

/// The content is larger than any buffer.
pub async fn a_megabyte_of_noise_comes_back_as_it_was_written(files: &dyn Backend) -> Outcome {
    put(files, "/noise", noise()).await?;
    holds(files, "/noise", noise()).await
}

/// Offset and length count bytes.
pub async fn a_part_is_read_by_offset_and_length(files: &dyn Backend) -> Outcome {
    put(files, "/f", "0123456789").await?;
    let here = at(files, "/f").await?;
    for (offset, length, expected) in
        [(0, 10, "0123456789"), (0, 3, "012"), (3, 4, "3456"), (9, 1, "9"), (4, 0, ""), (0, 0, "")]
    {
        let part = files.read(&here, ByteRange::Part { offset, length }).await?;
        equal(format!("{length} bytes at {offset}"), part.bytes, expected.as_bytes())?;
        equal("the size beside a part", part.size, 10)?;
    }
    put(files, "/noise", noise()).await?;
    let part = files.read(&at(files, "/noise").await?, ByteRange::Part { offset: 700_001, length: 100_000 }).await?;
    equal("100,000 bytes at 700,001", part.bytes, &noise()[700_001..800_001])
}

/// No offset or length, however large, is an error.
pub async fn a_part_past_the_end_is_empty_or_shorter(files: &dyn Backend) -> Outcome {
    put(files, "/f", "0123456789").await?;
    let here = at(files, "/f").await?;
    for (offset, length, expected) in [
        (8, 10, "89"),
        (10, 1, ""),
        (11, 5, ""),
        (u64::MAX, 1, ""),
        (2, u64::MAX, "23456789"),
        (u64::MAX, u64::MAX, ""),
    ] {
        let part = files.read(&here, ByteRange::Part { offset, length }).await?;
        equal(format!("{length} bytes at {offset}"), part.bytes, expected.as_bytes())?;
        equal("the size beside a part", part.size, 10)?;
    }
    Ok(())
}

/// Content of exactly the ceiling is read.
pub async fn a_whole_beyond_its_ceiling_is_too_large(files: &dyn Backend) -> Outcome {
    put(files, "/f", "0123456789").await?;
    put(files, "/empty", "").await?;
    let here = at(files, "/f").await?;
    for most in [0, 1, 9] {
        refused(
            format!("read 10 bytes where {most} is the most"),
            files.read(&here, ByteRange::Whole { most }).await,
            ErrorKind::TooLarge,
        )?;
    }
    for most in [10, 11, u64::MAX] {
        equal("the whole", files.read(&here, ByteRange::Whole { most }).await?.bytes, &b"0123456789"[..])?;
    }
    let empty = files.read(&at(files, "/empty").await?, ByteRange::Whole { most: 0 }).await?;
    equal("the whole of an empty file", empty.bytes, &b""[..])
}

/// A read reports the same size and time as `stat`.
pub async fn reading_says_how_large_the_file_is_and_when_it_changed(files: &dyn Backend) -> Outcome {
    put(files, "/f", "12345").await?;
    let entry = files.entry(&path("/f")?).await?;
    let whole = files.read(&at(files, "/f").await?, ByteRange::whole()).await?;
    equal("the size", whole.size, 5)?;
    equal("the size that stat says", entry.size, Some(whole.size))?;
    equal("the time of change", whole.modified, entry.modified)
}

/// An open file gives the same content, under the same conditions, as a read.
pub async fn an_open_file_holds_what_a_read_gives(files: &dyn Backend) -> Outcome {
    put(files, "/noise", noise()).await?;
    put(files, "/empty", "").await?;
    for typed in ["/noise", "/empty"] {
        let here = at(files, typed).await?;
        let whole = files.read(&here, ByteRange::whole()).await?;
        let content = match files.open(&here, whole.size).await? {
            Opened::Content(bytes) => Some(bytes.to_vec()),
            Opened::File { mut file, size } => {
                equal("the size of an open file", size, whole.size)?;
                let mut content = Vec::new();
                file.read_to_end(&mut content).ok().map(|_| content)
            }
        };
        equal("what is in an open file", content, Some(whole.bytes.to_vec()))?;
    }
    let here = at(files, "/noise").await?;
    refused("open a file where 9 is the most", files.open(&here, 9).await, ErrorKind::TooLarge)?;
    refused("open a directory", files.open(&at(files, "/").await?, 9).await, ErrorKind::IsDirectory)?;
    put(files, "/gone", "x").await?;
    let gone = at(files, "/gone").await?;
    files.remove(&gone, Removal::One).await?;
    refused("open what is gone", files.open(&gone, 9).await, ErrorKind::NotFound)?;
    Ok(())
}
