//! Approval callbacks in Python: a function that gets the question and answers now or later.

use pyo3::{prelude::*, types::PyTuple};
use workden_core::{ApprovalRequest, Result};
use workden_policy::approvals::{Approvals, Decision, Scope};

use crate::runtime;

/// Returns approvals that ask this function, if there is one. It gets the request as JSON and returns `True`, `False`,
/// `(answer, note)`, `None` if it cannot answer, or an awaitable of one of these.
pub(crate) fn approvals(asks: Option<Py<PyAny>>) -> Approvals {
    let Some(asks) = asks else { return Approvals::none() };
    let asks = std::sync::Arc::new(asks);
    Approvals::asking_later(move |request| {
        let asks = std::sync::Arc::clone(&asks);
        async move {
            match ask(&asks, &request).await {
                Ok(Ok(decision)) => decision,
                Ok(Err(raised)) => Decision::deny(format!("the approval callback failed: {raised}")),
                Err(error) => Decision::deny(error.sentence()),
            }
        }
    })
}

async fn ask(asks: &std::sync::Arc<Py<PyAny>>, request: &ApprovalRequest) -> Result<PyResult<Decision>> {
    let question = serde_json::to_string(request).unwrap_or_default();
    let (asks, question) = (std::sync::Arc::clone(asks), question);
    let answer = call(move |py| asks.bind(py).call1((question,)).map(Bound::unbind)).await?;
    Ok(answer.and_then(|answer| Python::attach(|py| decision(answer.bind(py)))))
}

fn decision(answer: &Bound<'_, PyAny>) -> PyResult<Decision> {
    if answer.is_none() {
        return Ok(Decision::Unanswered { how: "an approval callback is required".to_owned() });
    }
    let (approved, note) = match answer.cast::<PyTuple>() {
        Ok(both) => both.extract::<(bool, Option<String>)>()?,
        Err(_) => (answer.is_truthy()?, None),
    };
    Ok(match (approved, note) {
        (true, _) => Decision::Approve(Scope::Once),
        (false, Some(note)) => Decision::deny(note),
        (false, None) => Decision::Deny { note: None },
    })
}

/// Calls into Python during a native call, and awaits the answer if it is awaitable: in the event loop of the caller,
/// or, for a synchronous caller, in a new loop on another thread.
pub(crate) async fn call(
    function: impl FnOnce(Python<'_>) -> PyResult<Py<PyAny>> + Send + 'static,
) -> Result<PyResult<Py<PyAny>>> {
    let locals = runtime::awaited_by();
    // Python may block, and another thread may hold the interpreter lock: no runtime thread waits for it.
    let called = runtime::beside({
        let locals = locals.clone();
        move || Python::attach(|py| answered(py, function, locals.as_ref()))
    });
    Ok(match called.await? {
        Ok(Answer::Now(answer)) => Ok(answer),
        Ok(Answer::Later(awaited)) => awaited.await,
        Err(raised) => Err(raised),
    })
}

enum Answer {
    Now(Py<PyAny>),
    Later(std::pin::Pin<Box<dyn Future<Output = PyResult<Py<PyAny>>> + Send>>),
}

fn answered(
    py: Python<'_>,
    function: impl FnOnce(Python<'_>) -> PyResult<Py<PyAny>>,
    locals: Option<&pyo3_async_runtimes::TaskLocals>,
) -> PyResult<Answer> {
    let answer = function(py)?.into_bound(py);
    if !answer.hasattr(pyo3::intern!(py, "__await__"))? {
        return Ok(Answer::Now(answer.unbind()));
    }
    match locals {
        Some(locals) => {
            let awaited = pyo3_async_runtimes::into_future_with_locals(locals, answer)?;
            Ok(Answer::Later(Box::pin(awaited)))
        }
        None => {
            let run = py.import("workden._event_loop")?.getattr("run")?;
            run.call1((answer,)).map(|answer| Answer::Now(answer.unbind()))
        }
    }
}
