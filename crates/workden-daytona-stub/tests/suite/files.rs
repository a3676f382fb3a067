//! File calls of the toolbox, and that commands see the same files.

use serde_json::{Value, json};

use crate::client::{Client, started};

async fn run(client: &Client, line: &str) -> String {
    let got = client.toolbox("POST", "/process/execute", Some(&json!({ "command": line }))).await.ok();
    got["result"].as_str().unwrap().to_owned()
}

async fn upload(client: &Client, files: &[(&str, &[u8])]) -> (u16, Value) {
    let mut body = Vec::new();
    for (at, (path, content)) in files.iter().enumerate() {
        let head = "--b\r\nContent-Disposition: form-data; name=";
        body.extend(format!("{head}\"files[{at}].path\"\r\n\r\n{path}\r\n").into_bytes());
        body.extend(format!("{head}\"files[{at}].file\"; filename=\"x\"\r\n\r\n").into_bytes());
        body.extend([content, &b"\r\n"[..]].concat());
    }
    body.extend(b"--b--\r\n");
    let path = format!("/toolbox/{}/files/bulk-upload", client.id);
    let key = format!("Bearer {}", client.stub.api_key());
    let headers = [("Authorization", key.as_str()), ("Content-Type", "multipart/form-data; boundary=b")];
    let got = client.try_send("POST", &path, &headers, body).await.unwrap();
    (got.status, got.json())
}

#[tokio::test]
async fn what_is_uploaded_is_what_commands_and_downloads_have() {
    let client = started().await;
    let all: Vec<u8> = (0..=255).collect();
    let (status, _) = upload(&client, &[("a/b/bytes", &all), ("/home/daytona/empty", b""), ("/tmp/t", b"tmp")]).await;
    assert_eq!(status, 200);
    assert_eq!(run(&client, "wc -c <a/b/bytes; cat /tmp/t; ls -A").await, "256\ntmpa\nempty\n");
    assert_eq!(client.toolbox("GET", "/files/download?path=a/b/bytes", None).await.bytes, all);
    let large = vec![b'x'; 8 << 20];
    assert_eq!(upload(&client, &[("large", &large)]).await.0, 200);
    assert_eq!(client.toolbox("GET", "/files/download?path=large", None).await.bytes.len(), large.len());
    let (status, answer) = upload(&client, &[("/proc/x", b"no"), ("yes", b"yes")]).await;
    assert_eq!((status, &answer["files"]), (400, &json!([{ "path": "yes" }])));
    assert_eq!(answer["errors"].as_array().unwrap().len(), 1);
}

#[tokio::test]
async fn many_files_come_as_parts_and_missing_ones_as_errors() {
    let client = started().await;
    upload(&client, &[("a \"b\"", b"one"), ("two", b"2\r\n")]).await;
    let paths = json!({ "paths": ["a \"b\"", "missing", "/home/daytona/two"] });
    let got = client.toolbox("POST", "/files/bulk-download", Some(&paths)).await;
    assert_eq!(got.headers["content-type"], "multipart/form-data; boundary=DAYTONA-FILE-BOUNDARY");
    let text = String::from_utf8(got.bytes.to_vec()).unwrap();
    assert!(text.ends_with("\r\n--DAYTONA-FILE-BOUNDARY--\r\n"), "{text}");
    let parts: Vec<&str> = text.split("--DAYTONA-FILE-BOUNDARY").collect();
    assert_eq!(parts.len(), 5, "{text}");
    assert!(parts[1].contains("name=\"file\"; filename=\"a \\\"b\\\"\""), "{text}");
    assert!(parts[1].contains("Content-Length: 3\r\n") && parts[1].ends_with("\r\n\r\none\r\n"), "{text}");
    assert!(parts[2].contains("name=\"error\"; filename=\"missing\"") && parts[2].contains("404"), "{text}");
    assert!(parts[3].ends_with("\r\n\r\n2\r\n\r\n"), "{text}");
}

#[tokio::test]
async fn folders_moves_modes_and_deletions_are_what_commands_see() {
    let client = started().await;
    let call = async |method: &str, path: &str| client.toolbox(method, path, None).await.status;
    assert_eq!(call("POST", "/files/folder?path=d/e&mode=0750").await, 201);
    assert_eq!(call("POST", "/files/folder?path=d/e&mode=0750").await, 201);
    assert_eq!(call("POST", "/files/folder?path=d/f&mode=99").await, 400);
    upload(&client, &[("d/e/f", b"text")]).await;
    assert_eq!(call("POST", "/files/permissions?path=d/e/f&mode=600").await, 200);
    let info = client.toolbox("GET", "/files/info?path=d/e/f", None).await.ok();
    let fields = ["name", "size", "mode", "permissions", "isDir"].map(|name| info[name].clone());
    assert_eq!(fields, [json!("f"), json!(4), json!("-rw-------"), json!("0600"), json!(false)]);
    assert_eq!(client.toolbox("GET", "/files/info?path=d/e", None).await.ok()["mode"], "drwxr-x---");
    assert_eq!(call("POST", "/files/move?source=d/e/f&destination=g").await, 200);
    assert_eq!(call("POST", "/files/move?source=d/e/f&destination=g").await, 404);
    assert_eq!(call("GET", "/files/info?path=d/e/f").await, 404);
    assert_eq!(call("DELETE", "/files?path=d").await, 400);
    assert_eq!(call("DELETE", "/files?path=d&recursive=true").await, 204);
    assert_eq!(call("DELETE", "/files?path=d&recursive=true").await, 404);
    assert_eq!(call("DELETE", "/files?path=g").await, 204);
    assert_eq!(call("GET", "/files?path=nowhere").await, 404);
    assert_eq!(run(&client, "ls -A").await, "");
}

#[tokio::test]
async fn a_listing_has_each_entry_and_a_depth() {
    let client = started().await;
    run(&client, "mkdir -p d/e; echo x >d/e/f; ln -s missing link; echo >.hidden").await;
    let names = |listed: Value, name: &str| -> Vec<String> {
        listed.as_array().unwrap().iter().map(|entry| entry[name].as_str().unwrap().to_owned()).collect()
    };
    let listed = client.toolbox("GET", "/files?path=", None).await.ok();
    assert_eq!(names(listed, "name"), [".hidden", "d", "link"]);
    let listed = client.toolbox("GET", "/files?path=/home/daytona/d&depth=2", None).await.ok();
    assert_eq!(names(listed, "path"), ["/home/daytona/d/e", "/home/daytona/d/e/f"]);
    assert_eq!(client.toolbox("GET", "/files?path=d/e/f", None).await.status, 400);
}

#[tokio::test]
async fn searches_are_literal_by_base_name_and_replace_everything() {
    let client = started().await;
    upload(&client, &[("a.txt", b"x.y\nxzy\nx.y: z\n"), ("d/b.txt", b"none"), ("d/bin", b"x.y\0")]).await;
    let found = client.toolbox("GET", "/files/find?path=/home/daytona&pattern=x.y", None).await.ok();
    let at = "/home/daytona/a.txt";
    assert_eq!(
        found,
        json!([{ "file": at, "line": 1, "content": "x.y" }, { "file": at, "line": 3, "content": "x.y: z" }])
    );
    assert_eq!(client.toolbox("GET", "/files/find?path=d&pattern=nothing", None).await.ok(), json!([]));
    assert_eq!(client.toolbox("GET", "/files/find?path=nowhere&pattern=x", None).await.status, 404);
    let found = client.toolbox("GET", "/files/search?path=/home/daytona&pattern=*.txt", None).await.ok();
    assert_eq!(found["files"], json!([at, "/home/daytona/d/b.txt"]));
    let request = json!({ "files": ["a.txt", "missing"], "pattern": "x.y", "newValue": "&" });
    let replaced = client.toolbox("POST", "/files/replace", Some(&request)).await.ok();
    assert_eq!((&replaced[0]["success"], &replaced[1]["success"]), (&json!(true), &json!(false)));
    assert_eq!(run(&client, "cat a.txt").await, "&\nxzy\n&: z\n");
}
