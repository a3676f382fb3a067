//! The objects of a PDF, found by going through the file once.
//!
//! The tables that say where objects are are not looked at: they can name one place a million times, and
//! one object inside of another. What stands later in the file is newer, which is what an update relies
//! on. Everything that is built is counted before.

use std::collections::BTreeMap;

use lopdf::{Dictionary, Document, Object, ObjectId, ObjectStream, Stream};

use super::{
    MOST_PARTS,
    lexing::{find, is_blank, is_word, object_at, skip_blanks, skip_blanks_near},
};
use crate::off_thread::Abandoned;

/// Bytes that one stream of objects may have when it is unpacked.
const PACK_BYTES: usize = 8 * 1024 * 1024;
/// The same for all of them.
const ALL_PACK_BYTES: usize = 48 * 1024 * 1024;
/// What a stream of objects is called here, so that it is unpacked here and nowhere else.
const PACK: &[u8] = b"WorkdenPack";
/// How often the file may be gone through in vain, for objects that never end.
const VAIN_TIMES: usize = 8;

/// What was found so far.
struct Found<'a> {
    document: Document,
    /// Where each object stands, or the stream that it was in.
    places: BTreeMap<ObjectId, usize>,
    parts_left: usize,
    /// Bytes that may still be gone through in vain.
    vain_left: usize,
    abandoned: &'a Abandoned,
}

/// The document, without what is encrypted with a password; `None` when it is damaged or has too much in
/// it.
pub(super) fn load(bytes: &[u8], abandoned: &Abandoned) -> Option<Document> {
    let document = Document::new();
    let vain_left = bytes.len().saturating_mul(VAIN_TIMES);
    let mut found = Found { document, places: BTreeMap::new(), parts_left: MOST_PARTS, vain_left, abandoned };
    found.go_through(bytes)?;
    if found.document.is_encrypted() {
        // Many are encrypted with an empty password, which only asks not to print them.
        let _ = found.document.decrypt("");
        if found.document.is_encrypted() {
            return None;
        }
    }
    found.unpack()?;
    Some(found.document)
}

impl Found<'_> {
    fn go_through(&mut self, bytes: &[u8]) -> Option<()> {
        let mut at = 0;
        let mut steps = 0_u32;
        while let Some(start) = next_keyword(bytes, at) {
            steps += 1;
            if steps.is_multiple_of(1024) {
                self.abandoned.go_on()?;
            }
            at = if bytes[start..].starts_with(b"trailer") {
                self.trailer(bytes, start + b"trailer".len())?
            } else {
                self.object(bytes, start)?
            };
        }
        Some(())
    }

    /// One object whose `obj` stands here; where to go on.
    fn object(&mut self, bytes: &[u8], keyword: usize) -> Option<usize> {
        let start = keyword + b"obj".len();
        let Some((id, place)) = id_before(bytes, keyword) else { return Some(start) };
        let extent = match object_at(bytes, start) {
            Ok(extent) => extent,
            Err(end) => return self.in_vain(start, end),
        };
        let text = &bytes[start..extent.end];
        let data = match data_after(bytes, extent.end) {
            None => None,
            Some(data) => match data_end(bytes, data, text) {
                None => return self.in_vain(data, bytes.len()),
                Some(end) => Some(data..end),
            },
        };
        let after = data.as_ref().map_or(extent.end, |data| data.end);
        if is_unneeded(text) {
            return Some(after);
        }
        self.parts_left = self.parts_left.checked_sub(extent.parts)?;
        let Some(object) = object(text) else { return Some(after) };
        let object = match (object, data) {
            (Object::Dictionary(dictionary), Some(_)) if dictionary.has_type(b"XRef") => {
                self.take_trailer(&dictionary);
                return Some(after);
            }
            (Object::Dictionary(mut dictionary), Some(data)) => {
                if dictionary.has_type(b"ObjStm") {
                    dictionary.set("Type", Object::Name(PACK.to_vec()));
                }
                // Images are most of many files, and nothing of their bytes is text.
                let is_image = dictionary.get(b"Subtype").and_then(Object::as_name).is_ok_and(|name| name == b"Image");
                let data = if is_image { Vec::new() } else { bytes[data].to_vec() };
                Object::Stream(Stream::new(dictionary, data))
            }
            (object, _) => object,
        };
        self.document.objects.insert(id, object);
        self.places.insert(id, place);
        Some(after)
    }

    /// Goes on here, after everything up to that end has been looked at for nothing.
    fn in_vain(&mut self, at: usize, end: usize) -> Option<usize> {
        self.vain_left = self.vain_left.checked_sub(end.saturating_sub(at))?;
        Some(at)
    }

    fn trailer(&mut self, bytes: &[u8], start: usize) -> Option<usize> {
        let extent = match object_at(bytes, start) {
            Ok(extent) => extent,
            Err(end) => return self.in_vain(start, end),
        };
        self.parts_left = self.parts_left.checked_sub(extent.parts)?;
        if let Some(Object::Dictionary(dictionary)) = object(&bytes[start..extent.end]) {
            self.take_trailer(&dictionary);
        }
        Some(extent.end)
    }

    fn take_trailer(&mut self, dictionary: &Dictionary) {
        for key in ["Root", "Encrypt", "ID"] {
            if let Ok(value) = dictionary.get(key.as_bytes()) {
                self.document.trailer.set(key, value.clone());
            }
        }
    }

    /// Unpacks the streams of objects, in the order in which they stand in the file.
    fn unpack(&mut self) -> Option<()> {
        let is_pack = |object: &Object| object.as_stream().is_ok_and(|stream| stream.dict.has_type(PACK));
        let packs = self.document.objects.iter().filter(|(_, object)| is_pack(object)).map(|(id, _)| *id);
        let mut packs: Vec<(usize, ObjectId)> =
            packs.map(|id| (self.places.get(&id).copied().unwrap_or_default(), id)).collect();
        packs.sort_unstable();
        let mut bytes_left = ALL_PACK_BYTES;
        for (place, id) in packs {
            self.abandoned.go_on()?;
            let Some(Object::Stream(stream)) = self.document.objects.remove(&id) else { continue };
            let content = match stream.get_plain_content_with_limit(PACK_BYTES.min(bytes_left)) {
                Ok(content) => content,
                Err(lopdf::Error::Decompress(lopdf::DecompressError::MemoryLimitExceeded { .. })) => return None,
                Err(_) => continue,
            };
            bytes_left -= content.len();
            let first = stream.dict.get(b"First").and_then(Object::as_i64).ok();
            let Some(first) = first.and_then(|first| usize::try_from(first).ok()) else { continue };
            self.unpack_one(place, &content, first)?;
        }
        Some(())
    }

    fn unpack_one(&mut self, place: usize, content: &[u8], first: usize) -> Option<()> {
        let Some((index, objects)) = content.split_at_checked(first) else { return Some(()) };
        let mut numbers = index.split(|byte| is_blank(*byte)).filter(|number| !number.is_empty()).map_while(number);
        let mut members = Vec::new();
        while let (Some(id), Some(offset)) = (numbers.next(), numbers.next()) {
            members.push((offset as usize, id));
        }
        members.sort_unstable();
        let mut end_of_last = 0;
        for (offset, number) in members {
            // One inside of another would be built twice, and with it everything that it has in it.
            if offset < end_of_last {
                continue;
            }
            // Behind one that never ends there is nothing that could be told from it.
            let Ok(extent) = object_at(objects, offset) else { break };
            end_of_last = extent.end;
            let id = (number, 0);
            let is_newer = self.places.get(&id).is_none_or(|other| *other <= place);
            let text = &objects[offset..extent.end];
            if !is_newer || is_unneeded(text) {
                continue;
            }
            self.parts_left = self.parts_left.checked_sub(extent.parts)?;
            if let Some(object) = object(text) {
                self.document.objects.insert(id, object);
                self.places.insert(id, place);
            }
        }
        Some(())
    }
}

/// The object that this text is, and nothing that stands behind it.
pub(super) fn object(text: &[u8]) -> Option<Object> {
    // A parser for one object is to be had as one for a stream of objects, with one in it.
    let index = b"1 0 ";
    let mut dictionary = Dictionary::new();
    dictionary.set("First", index.len() as u32);
    dictionary.set("N", 1);
    let stream = Stream::new(dictionary, [index, text].concat());
    ObjectStream::new(&stream).ok()?.objects.remove(&(1, 0))
}

/// Whether an object says nothing about the text of a page. There can be very many of these.
fn is_unneeded(text: &[u8]) -> bool {
    let names = |name: &[u8]| {
        find(text, 0, name).is_some_and(|at| !text.get(at + name.len()).is_some_and(|byte| is_word(*byte)))
    };
    names(b"/StructElem") || names(b"/Annot") && find(text, 0, b"/Page").is_none()
}

fn number(digits: &[u8]) -> Option<u32> {
    std::str::from_utf8(digits).ok()?.parse().ok()
}

/// Where the next `obj` or `trailer` stands.
fn next_keyword(bytes: &[u8], from: usize) -> Option<usize> {
    let mut at = from;
    loop {
        at += bytes.get(at..)?.iter().position(|byte| matches!(byte, b'o' | b't'))?;
        if bytes[at..].starts_with(b"obj") || bytes[at..].starts_with(b"trailer") {
            return Some(at);
        }
        at += 1;
    }
}

/// The two numbers that stand before an `obj`, and where they start.
fn id_before(bytes: &[u8], keyword: usize) -> Option<(ObjectId, usize)> {
    // Numbers are short, and so is what stands between them.
    let window = &bytes[keyword.saturating_sub(40)..keyword];
    let word = |window: &[u8]| -> Option<(u32, usize)> {
        let end = window.iter().rposition(|byte| !is_blank(*byte))? + 1;
        let start = window[..end].iter().rposition(|byte| !byte.is_ascii_digit()).map_or(0, |at| at + 1);
        Some((number(&window[start..end])?, start))
    };
    let (generation, start) = word(window)?;
    let (number, start) = word(&window[..start])?;
    Some(((number, u16::try_from(generation).ok()?), keyword - window.len() + start))
}

/// Where the data of a stream starts whose dictionary ends here.
fn data_after(bytes: &[u8], end: usize) -> Option<usize> {
    let at = skip_blanks_near(bytes, end);
    let rest = bytes.get(at..)?.strip_prefix(b"stream")?;
    let start = at + b"stream".len();
    let spaces = rest.iter().take_while(|byte| matches!(byte, b' ' | b'\t')).count();
    match &rest[spaces..] {
        [b'\r', b'\n', ..] => Some(start + spaces + 2),
        [b'\n' | b'\r', ..] => Some(start + spaces + 1),
        _ => None,
    }
}

/// Where it ends: where its dictionary says, or before the next `endstream` that ends an object.
fn data_end(bytes: &[u8], data: usize, dictionary: &[u8]) -> Option<usize> {
    if let Some(end) = length_in(dictionary).and_then(|length| data.checked_add(length))
        && end <= bytes.len()
        && bytes[skip_blanks_near(bytes, end)..].starts_with(b"endstream")
    {
        return Some(end);
    }
    let mut at = data;
    loop {
        let end = find(bytes, at, b"endstream")?;
        at = end + b"endstream".len();
        let next = skip_blanks_near(bytes, at);
        if bytes[next..].starts_with(b"endobj") || next == bytes.len() {
            let data = &bytes[data..end];
            let blank =
                if data.ends_with(b"\r\n") { 2 } else { usize::from(data.ends_with(b"\n") || data.ends_with(b"\r")) };
            return Some(end - blank);
        }
    }
}

/// The length that a dictionary names, when it names a number and not an object that has it.
fn length_in(dictionary: &[u8]) -> Option<usize> {
    let mut at = 0;
    loop {
        at = find(dictionary, at, b"/Length")? + b"/Length".len();
        let value = &dictionary[skip_blanks(dictionary, at)..];
        let digits = value.iter().take_while(|byte| byte.is_ascii_digit()).count();
        // Names that only start so: Length1.
        if digits == 0 || dictionary.get(at).is_some_and(u8::is_ascii_digit) {
            continue;
        }
        let behind = value[digits..].trim_ascii_start();
        return if behind.first().is_some_and(u8::is_ascii_digit) {
            None
        } else {
            number(&value[..digits])?.try_into().ok()
        };
    }
}
