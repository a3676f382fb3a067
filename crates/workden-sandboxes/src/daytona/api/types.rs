//! The shapes of API v0. Fields that workden does not use are left out, and every other field may be missing or null:
//! servers of different ages answer.

use std::{collections::BTreeMap, fmt};

use serde::{Deserialize, Serialize};

/// What a new sandbox is made of.
#[derive(Clone, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct CreateSandbox {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) name: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) snapshot: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) build_info: Option<BuildInfo>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) user: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) target: Option<String>,
    pub(crate) env: BTreeMap<String, String>,
    pub(crate) labels: BTreeMap<String, String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) cpu: Option<u32>,
    /// In GiB, as the disk.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) memory: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) disk: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) gpu: Option<u32>,
    /// In minutes, as the other intervals.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) auto_stop_interval: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) auto_archive_interval: Option<u64>,
    /// Below zero for never; zero deletes it when it stops.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) auto_delete_interval: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) network_block_all: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) network_allow_list: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) volumes: Vec<VolumeMount>,
}

impl fmt::Debug for CreateSandbox {
    /// Leaves out the values of variables.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CreateSandbox")
            .field("name", &self.name)
            .field("snapshot", &self.snapshot)
            .field("build_info", &self.build_info)
            .finish_non_exhaustive()
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct BuildInfo {
    pub(crate) dockerfile_content: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct VolumeMount {
    pub(crate) volume_id: String,
    pub(crate) mount_path: String,
}

/// A sandbox, as the service knows it.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct SandboxInfo {
    pub(crate) id: String,
    #[serde(default)]
    pub(crate) name: Option<String>,
    #[serde(default)]
    pub(crate) state: Option<SandboxState>,
    #[serde(default)]
    pub(crate) error_reason: Option<String>,
    #[serde(default)]
    pub(crate) labels: Option<BTreeMap<String, String>>,
    #[serde(default)]
    pub(crate) toolbox_proxy_url: Option<String>,
    #[serde(default)]
    pub(crate) network_block_all: Option<bool>,
    #[serde(default)]
    pub(crate) network_allow_list: Option<String>,
    #[serde(default)]
    pub(crate) created_at: Option<String>,
}

impl SandboxInfo {
    pub(crate) fn state(&self) -> SandboxState {
        self.state.unwrap_or(SandboxState::Unknown)
    }

    pub(crate) fn label(&self, name: &str) -> Option<&str> {
        self.labels.as_ref()?.get(name).map(String::as_str)
    }
}

/// The state of a sandbox.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum SandboxState {
    Creating,
    PullingSnapshot,
    BuildingSnapshot,
    PendingBuild,
    Starting,
    Started,
    Stopping,
    Stopped,
    Archiving,
    Archived,
    Restoring,
    Pausing,
    Paused,
    Resuming,
    Resizing,
    Snapshotting,
    Forking,
    Destroying,
    Destroyed,
    Error,
    BuildFailed,
    #[serde(other)]
    Unknown,
}

/// A page of sandboxes. Older servers send the list alone.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
pub(crate) enum SandboxPage {
    Page {
        items: Vec<SandboxInfo>,
        #[serde(default, rename = "nextCursor")]
        next_cursor: Option<String>,
    },
    All(Vec<SandboxInfo>),
}

/// The address of a port, and the token that opens it.
#[derive(Deserialize)]
pub(crate) struct PreviewLink {
    pub(crate) url: String,
    #[serde(default)]
    pub(crate) token: Option<String>,
}

#[derive(Debug, Deserialize)]
pub(crate) struct ToolboxUrl {
    pub(crate) url: String,
}

/// A file or a directory.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct FileInfo {
    pub(crate) name: String,
    pub(crate) size: Option<i64>,
    /// As Go prints it: the first letter is the kind.
    pub(crate) mode: Option<String>,
    pub(crate) modified_at: Option<String>,
    pub(crate) mod_time: Option<String>,
    pub(crate) is_dir: bool,
}

#[derive(Debug, Serialize)]
pub(crate) struct ExecuteRequest<'a> {
    pub(crate) command: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) cwd: Option<&'a str>,
    /// In seconds.
    pub(crate) timeout: u64,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ExecuteAnswer {
    #[serde(default)]
    pub(crate) exit_code: Option<i32>,
    #[serde(default)]
    pub(crate) result: Option<String>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct SessionCommand<'a> {
    pub(crate) command: &'a str,
    pub(crate) run_async: bool,
    pub(crate) suppress_input_echo: bool,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct StartedCommand {
    #[serde(default)]
    pub(crate) cmd_id: Option<String>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct CommandStatus {
    #[serde(default)]
    pub(crate) exit_code: Option<i32>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct SessionInfo {
    #[serde(default)]
    pub(crate) session_id: String,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct CommandLogs {
    pub(crate) output: Option<String>,
    pub(crate) stdout: Option<String>,
    pub(crate) stderr: Option<String>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sandboxes_of_older_and_newer_servers_are_read() {
        let text = r#"{"id":"1","state":"new_state","labels":null,"errorReason":null,"more":{}}"#;
        let info: SandboxInfo = serde_json::from_str(text).unwrap();
        assert_eq!((info.state(), info.label("a"), &info.name), (SandboxState::Unknown, None, &None));
        let page: SandboxPage = serde_json::from_str(r#"{"items":[{"id":"1","state":"started"}]}"#).unwrap();
        assert!(matches!(page, SandboxPage::Page { items, .. } if items[0].state() == SandboxState::Started));
        let all: SandboxPage = serde_json::from_str(r#"[{"id":"1","state":"build_failed"}]"#).unwrap();
        assert!(matches!(all, SandboxPage::All(items) if items[0].state() == SandboxState::BuildFailed));
    }

    #[test]
    fn what_is_not_set_is_not_sent() {
        let told = serde_json::to_value(CreateSandbox::default()).unwrap();
        assert_eq!(told, serde_json::json!({"env": {}, "labels": {}}));
    }
}
