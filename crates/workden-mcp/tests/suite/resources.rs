//! Files as resources, under the policy.

use base64::{Engine, engine::general_purpose::STANDARD};
use rmcp::model::{PaginatedRequestParams, ReadResourceRequestParams, ResourceContents};
use workden::{Preset, Workspace};
use workden_mcp::McpServer;

use crate::{
    client::{Client, Revision, User},
    test_workspace::{TestWorkspace, serving},
};

fn server(place: &TestWorkspace) -> McpServer {
    let workspace = Workspace::builder().root(place.directory.path()).preset(Preset::Permissive);
    serving(&workspace.build().unwrap())
}

async fn read(client: &Client, uri: &str) -> Result<ResourceContents, String> {
    let read = client.read_resource(ReadResourceRequestParams::new(uri)).await;
    read.map(|read| read.contents[0].clone()).map_err(|error| error.to_string())
}

#[tokio::test]
async fn files_are_listed_and_read_by_their_uris() {
    let place = TestWorkspace::new();
    place.write("src/a b.md", "# ü\n");
    place.write("data.bin", [0, 1, 2, 255]);
    for hidden in [".env", ".git/config"] {
        place.write(hidden, "SECRET\n");
    }
    for revision in [Revision::Handshake, Revision::Stateless] {
        let client = User::silent().connect(&server(&place), revision).await;
        let listed = client.list_all_resources().await.unwrap();
        let listed: Vec<_> = listed.iter().map(|file| (file.uri.as_str(), file.name.as_str(), file.size)).collect();
        assert_eq!(
            listed,
            [("workden:///data.bin", "data.bin", Some(4)), ("workden:///src/a%20b.md", "src/a b.md", Some(5))]
        );
        let ResourceContents::TextResourceContents { text, mime_type, .. } =
            read(&client, "workden:///src/a%20b.md").await.unwrap()
        else {
            panic!()
        };
        assert_eq!((text.as_str(), mime_type.as_deref()), ("# ü\n", Some("text/plain")));
        let ResourceContents::BlobResourceContents { blob, .. } = read(&client, "workden:///data.bin").await.unwrap()
        else {
            panic!()
        };
        assert_eq!(STANDARD.decode(blob).unwrap(), [0, 1, 2, 255]);
        let templates = client.list_all_resource_templates().await.unwrap();
        assert_eq!(templates[0].uri_template, "workden:///{+path}");
    }
}

#[tokio::test]
async fn a_file_that_may_not_be_read_is_not_a_resource() {
    let place = TestWorkspace::new();
    place.write(".env", "SECRET\n");
    std::os::unix::fs::symlink("/etc/passwd", place.path("passwd")).unwrap();
    std::os::unix::fs::symlink(".env", place.path("harmless")).unwrap();
    let client = User::silent().connect(&server(&place), Revision::Handshake).await;
    for uri in [
        "workden:///.env",
        "workden:///harmless",
        "workden:///passwd",
        "workden:///../../etc/passwd",
        "workden:///%2e%2e/etc/passwd",
        "file:///etc/passwd",
        "workden:///nothing.md",
        "workden:///",
        "workden:///a%00b",
    ] {
        let refused = read(&client, uri).await.unwrap_err();
        assert!(!refused.contains("SECRET") && !refused.contains("root:"), "{uri}: {refused}");
        assert!(!refused.contains(&place.directory.path().display().to_string()), "a path of the host: {refused}");
    }
    assert!(read(&client, "workden:///nothing.md").await.unwrap_err().contains("nothing.md"));
}

#[tokio::test]
async fn a_large_file_is_not_read_whole() {
    let place = TestWorkspace::new();
    std::fs::File::create(place.path("large.txt")).unwrap().set_len(9 * 1024 * 1024).unwrap();
    let client = User::silent().connect(&server(&place), Revision::Handshake).await;
    let refused = read(&client, "workden:///large.txt").await.unwrap_err();
    assert!(refused.contains("8388608") && refused.contains("read_file"), "{refused}");
}

#[tokio::test]
async fn many_files_come_in_pages() {
    let place = TestWorkspace::new();
    for number in 0..250 {
        place.write(&format!("f{number:03}.txt"), "x");
    }
    let client = User::silent().connect(&server(&place), Revision::Handshake).await;
    let first = client.list_resources(None).await.unwrap();
    assert_eq!((first.resources.len(), first.resources[99].name.as_str()), (100, "f099.txt"));
    // A file deleted in between does not move the next page.
    std::fs::remove_file(place.path("f000.txt")).unwrap();
    let next = PaginatedRequestParams::default().with_cursor(first.next_cursor);
    let second = client.list_resources(Some(next)).await.unwrap();
    assert_eq!(second.resources[0].name, "f100.txt");
    assert_eq!(client.list_all_resources().await.unwrap().len(), 249);
    let odd = PaginatedRequestParams::default().with_cursor(Some("'; drop".to_owned()));
    assert!(client.list_resources(Some(odd)).await.is_err());
}

#[tokio::test]
async fn a_server_over_tools_alone_has_no_resources() {
    let place = TestWorkspace::new();
    let toolset = place.builder().build().unwrap().toolset(workden::tools::ToolsetOptions::default()).unwrap();
    let client = User::silent().connect(&McpServer::over(toolset), Revision::Handshake).await;
    assert!(client.peer_info().unwrap().capabilities.resources.is_none());
    assert!(client.list_resources(None).await.is_err());
}
