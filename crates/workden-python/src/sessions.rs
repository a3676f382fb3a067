//! Sessions: the session manager of Rust over sandboxes that Python holds, valid ids, and directories for their files.
//!
//! The manager decides when a sandbox is opened, checked and stopped; a driver, an object in Python, does it. The
//! driver's methods may be async: they run in the event loop of the last caller.

use std::{
    collections::{BTreeMap, HashMap},
    fmt,
    path::PathBuf,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use async_trait::async_trait;
use futures_util::FutureExt;
use pyo3::{prelude::*, types::PyDict};
use pyo3_async_runtimes::TaskLocals;
use workden::sandboxes::toolchains::Toolchain;
use workden::sessions::{
    ExistingSandbox, IdleClock, LaunchRequest, Launched, Launcher, SessionId, SessionManager, SessionState, Workspaces,
};
use workden_core::{BackendExt, Error, ErrorKind, Result, forward_backend, forward_sandbox, sandbox::Usage};

use crate::{asking, failure, foreign::Foreign, per_process::PerProcess, runtime};

/// Longer than any session lives.
const FOREVER: Duration = Duration::from_secs(10 * 365 * 24 * 3600);
/// How long code in Python may take to start a sandbox (an image may have to be built), to tell whether it lives, and to
/// stop it. A sandbox that hangs must not keep the others from being cleaned up.
const MOST_START: Duration = Duration::from_secs(30 * 60);
const MOST_ANSWER: Duration = Duration::from_secs(60);
const MOST_STOP: Duration = Duration::from_secs(2 * 60);

/// Sandboxes of Python by session id.
#[pyclass(frozen, module = "workden._native")]
struct Sessions {
    driver: Arc<Driver>,
    /// A forked child has no sessions of its parent.
    manager: PerProcess<Arc<SessionManager>>,
}

/// The object in Python that opens, checks and stops sandboxes.
struct Driver {
    object: Py<PyAny>,
    /// The event loop of the last caller.
    caller: Mutex<Option<TaskLocals>>,
    sandboxes: Mutex<BTreeMap<String, Arc<Py<PyAny>>>>,
    /// Why sandboxes could not be stopped.
    running_on: Mutex<HashMap<String, Error>>,
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Driver {
    /// Calls a method with an id and, once there is one, a sandbox.
    async fn call<T>(
        self: &Arc<Self>,
        method: &'static str,
        id: &str,
        sandbox: Option<Arc<Py<PyAny>>>,
        read: impl FnOnce(Bound<'_, PyAny>) -> PyResult<T>,
    ) -> Result<T> {
        let (driver, id) = (Arc::clone(self), id.to_owned());
        let call = asking::call(move |py| {
            let object = driver.object.bind(py);
            let answer = match sandbox {
                Some(sandbox) => object.call_method1(method, (id, sandbox.bind(py))),
                None => object.call_method1(method, (id,)),
            };
            answer.map(Bound::unbind)
        });
        let caller = locked(&self.caller).clone();
        let answer = match caller {
            Some(caller) => runtime::on_behalf_of(caller, call).await?,
            None => call.await?,
        };
        Python::attach(|py| answer.and_then(|answer| read(answer.into_bound(py)))).map_err(failure::of_python)
    }
}

#[async_trait]
impl Launcher for PythonLauncher {
    async fn create(&self, order: &LaunchRequest) -> Result<Launched> {
        let name = order.session.as_ref().map_or_else(String::new, ToString::to_string);
        let opened = self.0.call("open", &name, None, |opened| Ok(opened.unbind())).await?;
        let object = Arc::new(opened);
        locked(&self.0.sandboxes).insert(name.clone(), Arc::clone(&object));
        let foreign = Foreign::new(Python::attach(|py| object.clone_ref(py)));
        let sandbox = HeldSandbox { driver: Arc::clone(&self.0), name: name.clone(), object, foreign };
        Ok(Launched { sandbox: Arc::new(sandbox), name })
    }

    async fn assign(&self, spare: Launched, _: &SessionId) -> Result<Launched> {
        Ok(spare)
    }

    async fn find(&self) -> Result<Vec<ExistingSandbox>> {
        Ok(Vec::new())
    }

    async fn adopt(&self, found: &ExistingSandbox) -> Result<Launched> {
        Err(Error::new(ErrorKind::NotFound, format!("sandbox `{}` not found", found.name)))
    }

    /// Fails for a sandbox that could not be stopped, so that its session stays.
    async fn remove(&self, name: &str) -> Result<()> {
        match locked(&self.0.running_on).remove(name) {
            Some(error) => Err(error),
            None => {
                locked(&self.0.sandboxes).remove(name);
                Ok(())
            }
        }
    }
}

struct PythonLauncher(Arc<Driver>);

/// A sandbox that Python holds. The manager asks only whether it is alive, and stops it.
struct HeldSandbox {
    driver: Arc<Driver>,
    name: String,
    object: Arc<Py<PyAny>>,
    foreign: Foreign,
}

impl fmt::Debug for HeldSandbox {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "HeldSandbox({})", self.name)
    }
}

forward_backend! {
    impl[] for HeldSandbox;
    looks: [|this| &this.foreign, |answer| answer],
    changes: [|this| &this.foreign, |answer| answer],
    host_files: own
}

forward_sandbox! {
    impl[] for HeldSandbox;
    looks: [|this| &this.foreign, |answer| answer],
    changes: [|this| &this.foreign, |answer| answer],
    forward: [execute spawn start_job jobs read_job kill_job connect_port watch isolation directory],
    {
        async fn usage(&self) -> Result<Usage> {
            let object = Some(Arc::clone(&self.object));
            let idle = self.driver.call("idle_for", &self.name, object, |idle| idle.extract::<Option<f64>>()).await?;
            let gone = || Error::new(ErrorKind::Gone, "the sandbox is not alive");
            Ok(Usage::default().idle(Duration::try_from_secs_f64(idle.ok_or_else(gone)?.max(0.0)).unwrap_or(FOREVER)))
        }

        async fn stop(&self) -> Result<()> {
            let object = Some(Arc::clone(&self.object));
            let stopped = self.driver.call("stop", &self.name, object, |_| Ok(())).await;
            if let Err(error) = &stopped {
                locked(&self.driver.running_on).insert(self.name.clone(), error.clone());
            }
            stopped
        }
    }
}

impl Sessions {
    fn manager(&self, py: Python<'_>) -> PyResult<Arc<SessionManager>> {
        *locked(&self.driver.caller) = Some(TaskLocals::with_running_loop(py)?.copy_context(py)?);
        let made = self.manager.get_or_make(|| {
            let builder = SessionManager::builder(PythonLauncher(Arc::clone(&self.driver)))
                .answer_deadline(MOST_ANSWER)
                .trust(Duration::ZERO)
                .idle_clock(IdleClock::Sandbox)
                .start_deadline(MOST_START)
                .stop_deadline(MOST_STOP);
            let missing = || Error::new(ErrorKind::Io, "the session manager did not start");
            builder.start().now_or_never().ok_or_else(missing)?.map(Arc::new)
        });
        made.cloned().map_err(failure::raised)
    }
}

#[pymethods]
impl Sessions {
    /// Creates a manager of the sandboxes of this driver.
    #[new]
    fn new(driver: Py<PyAny>) -> Self {
        let (caller, sandboxes, running_on) = Default::default();
        Self { driver: Arc::new(Driver { object: driver, caller, sandboxes, running_on }), manager: PerProcess::new() }
    }

    /// Returns an awaitable of the sandbox of a session, opened if there is none or if it is not alive.
    fn get_or_create<'py>(&self, py: Python<'py>, id: &str) -> PyResult<Bound<'py, PyAny>> {
        let id: SessionId = id.parse().map_err(failure::raised)?;
        let (manager, driver) = (self.manager(py)?, Arc::clone(&self.driver));
        runtime::awaitable(py, async move {
            let session = manager.get_or_create(&id, None).await?;
            let found = locked(&driver.sandboxes).get(session.name()).cloned();
            let found = found.ok_or_else(|| Error::new(ErrorKind::Gone, format!("the session `{id}` has ended")))?;
            Ok(Python::attach(|py| found.clone_ref(py)))
        })
    }

    /// Returns an awaitable of whether there was a session to end.
    fn release<'py>(&self, py: Python<'py>, id: &str) -> PyResult<Bound<'py, PyAny>> {
        let (manager, id) = (self.manager(py)?, id.parse::<SessionId>());
        // A sandbox that is being started must see the order, however soon it is ready.
        runtime::begun(py, async move {
            match id {
                Ok(id) => manager.release(&id).await,
                Err(_) => Ok(false),
            }
        })
    }

    /// Ends the sessions that were idle for longer than these limits, in seconds. Returns an awaitable of their number.
    fn cleanup_idle<'py>(&self, py: Python<'py>, limits: HashMap<String, f64>) -> PyResult<Bound<'py, PyAny>> {
        let manager = self.manager(py)?;
        runtime::awaitable(py, async move {
            let limit = |id: &SessionId| match limits.get(id.as_str()) {
                Some(seconds) => Duration::try_from_secs_f64(seconds.max(0.0)).ok(),
                None => Some(FOREVER),
            };
            Ok(manager.cleanup_idle_by(limit).await)
        })
    }

    /// Returns the ids of all sessions, those included that are being opened.
    fn ids(&self) -> Vec<String> {
        let all = self.manager.get().map(|manager| manager.sessions()).unwrap_or_default();
        all.into_iter().map(|session| session.id.to_string()).collect()
    }

    /// Returns the sandboxes of the sessions that are ready, by id.
    fn sandboxes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let held = PyDict::new(py);
        let sandboxes = locked(&self.driver.sandboxes);
        for session in self.manager.get().map(|manager| manager.sessions()).unwrap_or_default() {
            if let (SessionState::Ready, Some(sandbox)) = (session.state, sandboxes.get(session.id.as_str())) {
                held.set_item(session.id.as_str(), sandbox.bind(py))?;
            }
        }
        Ok(held)
    }
}

/// Raises a `Failure` for an invalid session id.
#[pyfunction]
fn check_session_id(id: &str) -> PyResult<()> {
    id.parse::<SessionId>().map(drop).map_err(failure::raised)
}

/// Returns the directory for the files of a session, `{root}/{id}/workspace`, created if it is missing. Links below the
/// root are not followed.
#[pyfunction]
fn session_workspace(py: Python<'_>, root: PathBuf, id: &str) -> PyResult<PathBuf> {
    let id: SessionId = id.parse().map_err(failure::raised)?;
    py.detach(|| Workspaces::new(root).prepare(&id)).map_err(failure::raised)
}

/// Raises a `Failure` if the host does not have a toolchain of this name.
#[pyfunction]
fn check_toolchain(py: Python<'_>, name: &str) -> PyResult<()> {
    let found = py.detach(|| Toolchain::find(name, &workden::sandboxes::HostEnvironment::from_process(), &[]));
    found.map(drop).map_err(failure::raised)
}

pub(crate) fn add_to(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<Sessions>()?;
    module.add_function(wrap_pyfunction!(check_session_id, module)?)?;
    module.add_function(wrap_pyfunction!(session_workspace, module)?)?;
    module.add_function(wrap_pyfunction!(check_toolchain, module)?)
}
