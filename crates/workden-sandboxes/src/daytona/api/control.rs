//! The control plane: sandboxes and their states.

use http::Method;
use serde::de::DeserializeOwned;
use workden_core::{Error, ErrorKind, Result};

use super::{
    Api, escaped,
    failure::{Failure, Progress},
    http::{Answer, Call, CallLimits, Payload, Repeat},
    types::{CreateSandbox, PreviewLink, SandboxInfo, SandboxPage, ToolboxUrl},
};

/// The most pages of one listing.
const PAGES: usize = 100;

impl Api {
    /// Creates a sandbox. The service may have created it although this fails: see [`Failure::had_no_effect`].
    pub(crate) async fn create(&self, request: &CreateSandbox) -> Result<SandboxInfo, Failure> {
        let payload = Payload::json(request).map_err(|error| Failure { error, progress: Progress::NoConnection })?;
        let call = Call { payload, ..self.control("create a sandbox", Method::POST, "/sandbox") };
        self.parsed(Call { repeat: Repeat::Unconnected, ..call }).await
    }

    /// Returns a sandbox by its id or name; `None` when there is none.
    pub(crate) async fn get(&self, id_or_name: &str) -> Result<Option<SandboxInfo>> {
        let what = format!("read the Daytona sandbox `{}`", self.shown(id_or_name));
        let path = format!("/sandbox/{}", escaped(id_or_name));
        match self.parsed(self.control(&what, Method::GET, &path)).await {
            Ok(info) => Ok(Some(info)),
            Err(failure) if failure.is(404) => Ok(None),
            Err(failure) => Err(failure.into()),
        }
    }

    /// Checks that the API answers and accepts the key.
    pub(crate) async fn check(&self) -> Result<()> {
        Ok(self
            .parsed::<SandboxPage>(self.control("list Daytona sandboxes", Method::GET, "/sandbox?limit=1"))
            .await
            .map(drop)?)
    }

    /// Returns all sandboxes with this label.
    pub(crate) async fn with_label(&self, name: &str, value: &str) -> Result<Vec<SandboxInfo>> {
        let labels = serde_json::json!({ name: value }).to_string();
        let (mut all, mut cursor) = (Vec::new(), None::<String>);
        for _ in 0..PAGES {
            let next = cursor.map_or_else(String::new, |cursor| format!("&cursor={}", escaped(&cursor)));
            let path = format!("/sandbox?limit=100&labels={}{next}", escaped(&labels));
            let call = self.control("list Daytona sandboxes", Method::GET, &path);
            match self.parsed(call).await? {
                SandboxPage::All(items) => {
                    all.extend(items);
                    break;
                }
                SandboxPage::Page { items, next_cursor } => {
                    all.extend(items);
                    cursor = next_cursor.filter(|cursor| !cursor.is_empty());
                    if cursor.is_none() {
                        break;
                    }
                }
            }
        }
        // A server that ignores the filter must not make workden touch other sandboxes.
        all.retain(|info: &SandboxInfo| info.label(name) == Some(value));
        Ok(all)
    }

    /// Starts a sandbox that is stopped; the state tells when it has started.
    pub(crate) async fn start(&self, id: &str) -> Result<(), Failure> {
        self.order("start", Method::POST, id, "/start").await
    }

    /// Stops a sandbox; the state tells when it has stopped.
    pub(crate) async fn stop(&self, id: &str) -> Result<(), Failure> {
        self.order("stop", Method::POST, id, "/stop").await
    }

    /// Deletes a sandbox.
    pub(crate) async fn delete(&self, id: &str) -> Result<(), Failure> {
        self.order("delete", Method::DELETE, id, "").await
    }

    /// Replaces the labels of a sandbox.
    pub(crate) async fn set_labels(&self, id: &str, labels: &std::collections::BTreeMap<String, String>) -> Result<()> {
        let what = format!("label the Daytona sandbox `{}`", self.shown(id));
        let payload = Payload::json(&serde_json::json!({ "labels": labels }))?;
        let call = self.control(&what, Method::PUT, &format!("/sandbox/{}/labels", escaped(id)));
        Ok(self.http.call(Call { payload, ..call }).await.map(drop)?)
    }

    /// Returns where the toolboxes of sandboxes are.
    pub(crate) async fn toolbox_url(&self, info: &SandboxInfo) -> Result<String> {
        let url = match info.toolbox_proxy_url.clone().filter(|url| !url.is_empty()) {
            Some(url) => url,
            None => {
                let path = format!("/sandbox/{}/toolbox-proxy-url", escaped(&info.id));
                let call = self.control("find the toolbox of the sandbox", Method::GET, &path);
                self.parsed::<ToolboxUrl>(call).await?.url
            }
        };
        // Every call to it carries the key.
        if self.is_safe(&url) {
            return Ok(format!("{}/{}", url.trim_end_matches('/'), escaped(&info.id)));
        }
        let sentence =
            format!("invalid address of the toolbox `{}`: the key would be sent unencrypted", self.shown(&url));
        Err(Error::new(ErrorKind::Unsupported, sentence).hint("use `https` for the API URL and the toolbox"))
    }

    /// Returns the address of a port of a sandbox.
    pub(crate) async fn preview(&self, id: &str, port: u16) -> Result<PreviewLink, Failure> {
        let path = format!("/sandbox/{}/ports/{port}/preview-url", escaped(id));
        let link: PreviewLink =
            self.parsed(self.control("find the address of the keeper's port", Method::GET, &path)).await?;
        if self.is_safe(&link.url) {
            return Ok(link);
        }
        let sentence = format!(
            "invalid address of the keeper's port `{}`: calls would be sent unencrypted",
            self.shown(&link.url)
        );
        Err(Error::new(ErrorKind::Unsupported, sentence).into())
    }

    async fn order(&self, verb: &str, method: Method, id: &str, then: &str) -> Result<(), Failure> {
        let what = format!("{verb} the Daytona sandbox `{}`", self.shown(id));
        let path = format!("/sandbox/{}{then}", escaped(id));
        self.http.call(self.control(&what, method, &path)).await.map(drop)
    }

    /// Returns a call of the control plane. A POST is repeated only if no answer came.
    fn control<'a>(&self, what: &'a str, method: Method, path: &str) -> Call<'a> {
        let repeat = if method == Method::POST { Repeat::Unanswered } else { Repeat::Harmless };
        let url = format!("{}{path}", self.url);
        Call { what, method, url, payload: Payload::default(), limits: CallLimits::CONTROL, repeat }
    }

    /// Makes a call, and parses its answer.
    pub(super) async fn parsed<T: DeserializeOwned>(&self, call: Call<'_>) -> Result<T, Failure> {
        let what = call.what.to_owned();
        let answer = self.http.call(call).await?;
        self.parse(&what, &answer)
    }

    pub(super) fn parse<T: DeserializeOwned>(&self, what: &str, answer: &Answer) -> Result<T, Failure> {
        serde_json::from_slice(&answer.body).map_err(|error| {
            let why = self.shown(&error.to_string());
            let error = Error::new(ErrorKind::Io, format!("cannot {what}: invalid answer of Daytona: {why}"))
                .hint("check the API URL: it must be the address of an API of version 0");
            Failure { error, progress: Progress::PartOfAnswer }
        })
    }
}
