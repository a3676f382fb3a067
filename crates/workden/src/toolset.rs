//! The tools of a workspace, for a model.

use workden_policy::Operation;
use workden_tools::{ToolTarget, Toolset, ToolsetOptions};

use crate::{Result, Workspace};

impl Workspace {
    /// Returns the tools for an agent in this workspace. Every tool call passes the policy, the approvals and the
    /// records of the workspace; tools that the policy denies everywhere are left out.
    ///
    /// ```
    /// # tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(async {
    /// use serde_json::json;
    /// use workden::{Preset, Workspace, tools::ToolsetOptions};
    ///
    /// let workspace = Workspace::builder().preset(Preset::Readonly).build()?;
    /// let tools = workspace.toolset(ToolsetOptions::default())?;
    /// assert!(tools.names().any(|name| name == "read_file"));
    /// assert!(!tools.names().any(|name| name == "write_file" || name == "execute"));
    /// assert_eq!(tools.call("ls", json!({ "path": "/" })).await.unwrap().text, "Directory '/' is empty");
    /// # Ok::<(), workden::Error>(()) }).unwrap();
    /// ```
    ///
    /// # Errors
    ///
    /// As [`Toolset::new`].
    pub fn toolset(&self, options: ToolsetOptions) -> Result<Toolset> {
        let denied = Operation::ALL.into_iter().filter(|operation| self.policy().denies_everywhere(*operation));
        let mut place = ToolTarget::guarded(self.files().clone()).denied_everywhere(denied.map(Operation::name));
        if let Some(commands) = self.sandbox() {
            place = place.commands(commands.clone()).command_facts(self.command_facts().clone());
        }
        if let Some(directory) = self.named_directory() {
            place = place.working_directory(directory);
        }
        Toolset::new(place, options)
    }
}
