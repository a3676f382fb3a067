//! Images come as images and documents as documents, with the bytes of the file.

use base64::{Engine, engine::general_purpose::STANDARD};
use serde_json::json;

use crate::clients::{Client, Era, inspector::OneShot, python::Python, served::Served};

/// Two red pixels and two blue ones.
const PICTURE: &str =
    "iVBORw0KGgoAAAANSUhEUgAAAAIAAAACCAIAAAD91JpzAAAAEUlEQVR4nGP4z8AARAxg8j8AG/ID/fPnS7EAAAAASUVORK5CYII=";
const DOCUMENT: &[u8] = b"%PDF-1.4\n%%EOF\n";

fn with_media(served: Served) -> Served {
    std::fs::write(served.at("picture.png"), STANDARD.decode(PICTURE).unwrap()).unwrap();
    std::fs::write(served.at("paper.pdf"), DOCUMENT).unwrap();
    served
}

fn shows_both(client: &mut dyn Client) {
    let picture = client.call("read_file", &json!({ "path": "picture.png" }));
    let shown = &picture["content"][1];
    assert_eq!((&shown["type"], &shown["mimeType"]), (&json!("image"), &json!("image/png")), "{picture}");
    assert_eq!(shown["data"], PICTURE);
    let paper = client.call("read_file", &json!({ "path": "paper.pdf" }));
    let shown = &paper["content"][1];
    assert_eq!(shown["type"], "resource", "{paper}");
    assert_eq!(shown["resource"]["mimeType"], "application/pdf");
    assert_eq!(shown["resource"]["blob"], STANDARD.encode(DOCUMENT));
}

#[test]
fn the_python_client_is_shown_an_image_and_a_document() {
    for (served, era) in Served::both(&[]).into_iter().zip([Era::Modern, Era::Handshake]) {
        let served = with_media(served);
        let mut client = Python::connect(&served, era);
        shows_both(&mut client);
        client.end();
    }
}

#[test]
fn the_inspector_is_shown_an_image_and_a_document() {
    let [pipes, http] = Served::both(&[]).map(with_media);
    shows_both(&mut OneShot::of(&pipes, Era::Modern));
    shows_both(&mut OneShot::of(&http, Era::Handshake));
}
