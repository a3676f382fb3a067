//! What `workden serve` prints when it listens: where, and what to paste into an agent, an SDK and a browser.

/// Returns the line with the address alone.
pub(super) fn address(url: &str) -> String {
    format!("workden: serving {url}\n")
}

/// Returns the text. `key` is that of a new service, which is shown once.
pub(super) fn text(url: &str, is_open: bool, key: Option<&str>) -> String {
    let mut lines = vec![format!("workden: serving {url}")];
    let shown = match (is_open, key) {
        (true, _) => {
            lines.push("workden: every program of this machine may use it, without a key".to_owned());
            "e2b_00".to_owned()
        }
        (false, Some(key)) => {
            lines.push(format!("workden: your key, shown once: {key}"));
            key.to_owned()
        }
        (false, None) => "YOUR-KEY".to_owned(),
    };
    let header = if is_open { String::new() } else { format!(" -H 'Authorization: Bearer {shown}'") };
    let mcp_header = if is_open { String::new() } else { format!(" --header 'Authorization: Bearer {shown}'") };
    // The browser does not send what follows `#`, and the page takes it out of the address.
    let page = if is_open || key.is_none() { format!("{url}/") } else { format!("{url}/#key={shown}") };
    lines.extend([
        String::new(),
        "See what agents do, in a browser:".to_owned(),
        format!("  {page}"),
        "Give it to an agent, over MCP:".to_owned(),
        format!("  claude mcp add --transport http workden {url}/v1/mcp{mcp_header}"),
        "Use the SDKs of E2B:".to_owned(),
        format!("  export E2B_API_URL={url} E2B_SANDBOX_URL={url} E2B_API_KEY={shown}"),
        "Create a session:".to_owned(),
        format!("  curl{header} {url}/v1/sessions --json '{{}}'"),
        "Read the API, also in a browser:".to_owned(),
        format!("  {url}/docs"),
        String::new(),
    ]);
    lines.join("\n") + "\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_new_service_shows_its_key_and_a_line_to_paste() {
        let text = text("http://127.0.0.1:1", false, Some("e2b_ab"));
        assert!(text.contains("your key, shown once: e2b_ab"), "{text}");
        assert!(text.contains("curl -H 'Authorization: Bearer e2b_ab' http://127.0.0.1:1/v1/sessions"), "{text}");
        let mcp = "workden http://127.0.0.1:1/v1/mcp --header 'Authorization: Bearer e2b_ab'";
        assert!(text.contains(mcp), "{text}");
        assert!(text.contains("E2B_SANDBOX_URL=http://127.0.0.1:1 E2B_API_KEY=e2b_ab\n"), "{text}");
        assert!(text.contains("  http://127.0.0.1:1/#key=e2b_ab\n"), "{text}");
        let open = super::text("http://127.0.0.1:1", true, None);
        assert!(open.contains("  http://127.0.0.1:1/\n"), "{open}");
        assert!(open.contains("E2B_API_KEY=e2b_00\n"), "the SDKs want a key, and it is not checked: {open}");
        assert!(open.contains("curl http://127.0.0.1:1/v1/sessions") && open.contains("without a key"), "{open}");
        assert!(super::text("http://127.0.0.1:1", false, None).contains("Bearer YOUR-KEY"));
    }
}
