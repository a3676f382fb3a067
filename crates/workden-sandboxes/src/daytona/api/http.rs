//! `HttpClient`: calls to the service, repeated where that is safe.
//!
//! Invariant: no call takes longer than its time, or more memory than its limit, whatever the service sends; and a call
//! that may have had an effect is not repeated unless repeating changes nothing.

use std::time::{Duration, Instant};

use bytes::Bytes;
use http::{HeaderMap, HeaderValue, Method, Request, Response, header};
use http_body_util::{BodyExt, Full, LengthLimitError, Limited};
use hyper::body::Incoming;
use hyper_util::{
    client::legacy::{Client, Error as HttpError, connect::capture_connection},
    rt::TokioExecutor,
};
use tokio::time::{sleep, timeout};
use workden_core::{Error, ErrorKind, Result};

use super::{
    counted_stream::Heard,
    failure::{Failure, Progress, refused},
    key::ApiKey,
};
use crate::dial::Dialer;

/// How long a connection is kept without a call: servers close theirs after 5 s or more.
const IDLE_TIME: Duration = Duration::from_secs(4);
/// Bytes of an error.
const ERROR_BYTES: usize = 64 * 1024;
/// The pauses between two attempts: the first, and the longest.
const FIRST_PAUSE: Duration = Duration::from_millis(200);
const LONGEST_PAUSE: Duration = Duration::from_secs(3);
/// How long a call is repeated.
const PATIENCE: Duration = Duration::from_secs(20);
/// The version of the toolbox protocol: from 0.167.0 on the streams of a session come apart.
const SDK_VERSION: HeaderValue = HeaderValue::from_static("0.226.1");

/// The limits of one call.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CallLimits {
    /// The time in all, with repetitions.
    pub(crate) time: Duration,
    /// Bytes of the answer.
    pub(crate) bytes: usize,
}

impl CallLimits {
    /// For facts about sandboxes, and orders to them.
    pub(crate) const CONTROL: Self = Self { time: Duration::from_secs(30), bytes: 8 * 1024 * 1024 };
    /// For files.
    pub(crate) const FILES: Self = Self { time: Duration::from_secs(60), bytes: 64 * 1024 * 1024 };
}

/// When a call may be repeated, besides after a 429, which refuses it before it does anything.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Repeat {
    /// Always: it changes nothing, or the same again.
    Harmless,
    /// When no byte of an answer came.
    Unanswered,
    /// When there was no connection.
    Unconnected,
}

/// The body of a call.
#[derive(Clone, Debug, Default)]
pub(crate) struct Payload {
    pub(crate) content_type: Option<String>,
    pub(crate) bytes: Bytes,
    /// Whether it has a secret, so that no message may quote an answer, which may repeat it.
    pub(crate) is_secret: bool,
}

impl Payload {
    pub(crate) fn json(value: &impl serde::Serialize) -> Result<Self> {
        let bytes = serde_json::to_vec(value)
            .map_err(|error| Error::new(ErrorKind::InvalidArgument, format!("invalid request: {error}")))?;
        Ok(Self { content_type: Some("application/json".to_owned()), bytes: bytes.into(), is_secret: false })
    }
}

/// One call.
#[derive(Clone, Debug)]
pub(crate) struct Call<'a> {
    /// What it does, after "cannot".
    pub(crate) what: &'a str,
    pub(crate) method: Method,
    pub(crate) url: String,
    pub(crate) payload: Payload,
    pub(crate) limits: CallLimits,
    pub(crate) repeat: Repeat,
}

/// An answer with a status of success.
#[derive(Clone, Debug)]
pub(crate) struct Answer {
    pub(crate) headers: HeaderMap,
    pub(crate) body: Bytes,
}

/// The client. Clones share its connections.
#[derive(Clone, Debug)]
pub(crate) struct HttpClient {
    http: Client<Dialer, Full<Bytes>>,
    pub(super) dialer: Dialer,
    pub(super) key: ApiKey,
    authorization: HeaderValue,
}

impl HttpClient {
    pub(super) fn new(key: ApiKey) -> Result<Self> {
        let (dialer, authorization) = (Dialer::default(), key.authorization()?);
        let http = Client::builder(TokioExecutor::new()).pool_idle_timeout(IDLE_TIME).build(dialer.clone());
        Ok(Self { http, dialer, key, authorization })
    }

    /// Makes a call, and repeats it where that is safe.
    pub(crate) async fn call(&self, call: Call<'_>) -> Result<Answer, Failure> {
        let began = Instant::now();
        let mut pause = FIRST_PAUSE;
        loop {
            let left = call.limits.time.saturating_sub(began.elapsed());
            let (failure, asked) = match timeout(left, self.once(&call)).await {
                Ok(Ok(answer)) => return Ok(answer),
                Ok(Err(failed)) => failed,
                Err(_) => return Err(late(&call)),
            };
            let wait = asked.unwrap_or_default().max(jittered(pause));
            let is_over = began.elapsed().saturating_add(wait) > PATIENCE.min(call.limits.time);
            if !may_repeat(call.repeat, failure.progress) || is_over {
                return Err(failure);
            }
            tracing::debug!(what = call.what, error = %failure.error, "Daytona did not answer; trying again");
            sleep(wait).await;
            pause = pause.saturating_mul(2).min(LONGEST_PAUSE);
        }
    }

    /// Makes a call once. A failure comes with the time that the service asks to wait.
    async fn once(&self, call: &Call<'_>) -> Result<Answer, (Failure, Option<Duration>)> {
        let mut request =
            self.request(call).map_err(|error| (Failure { error, progress: Progress::NoConnection }, None))?;
        let captured = capture_connection(&mut request);
        let no_answer = || match captured.connection_metadata().as_ref() {
            None => Progress::NoConnection,
            Some(connected) => {
                let mut extras = http::Extensions::new();
                connected.get_extras(&mut extras);
                match extras.get::<Heard>() {
                    Some(heard) if heard.is_nothing() => Progress::NoAnswer,
                    _ => Progress::PartOfAnswer,
                }
            }
        };
        let answer = match self.http.request(request).await {
            Ok(answer) => answer,
            Err(error) => {
                let progress = if error.is_connect() { Progress::NoConnection } else { no_answer() };
                return Err((self.broken(call, &error, progress), None));
            }
        };
        let asked = retry_after(answer.headers());
        self.received(call, answer).await.map_err(|failure| (failure, asked))
    }

    fn request(&self, call: &Call<'_>) -> Result<Request<Full<Bytes>>> {
        let mut request = Request::builder()
            .method(&call.method)
            .uri(&call.url)
            .header(header::AUTHORIZATION, &self.authorization)
            .header("x-daytona-source", "workden")
            .header("x-daytona-sdk-version", SDK_VERSION);
        if let Some(kind) = &call.payload.content_type {
            request = request.header(header::CONTENT_TYPE, kind);
        }
        request.body(Full::new(call.payload.bytes.clone())).map_err(|_| {
            Error::new(ErrorKind::InvalidArgument, format!("cannot {}: invalid address", call.what))
                .hint("check the API URL: it starts with `https://`")
        })
    }

    async fn received(&self, call: &Call<'_>, answer: Response<Incoming>) -> Result<Answer, Failure> {
        let (head, body) = answer.into_parts();
        let most = if head.status.is_success() { call.limits.bytes } else { ERROR_BYTES };
        let body = match Limited::new(body, most).collect().await {
            Ok(body) => body.to_bytes(),
            Err(_) if !head.status.is_success() => Bytes::new(),
            Err(error) if error.is::<LengthLimitError>() => {
                let sentence = format!("cannot {}: the answer is larger than {most} bytes", call.what);
                let error = Error::new(ErrorKind::TooLarge, sentence).hint("use a command to get a part of it");
                // It would be as large again.
                return Err(Failure { error, progress: Progress::Answer(head.status.as_u16()) });
            }
            Err(error) => return Err(self.broken(call, &*error, Progress::PartOfAnswer)),
        };
        if head.status.is_success() {
            return Ok(Answer { headers: head.headers, body });
        }
        let said = if call.payload.is_secret { &[][..] } else { &body };
        Err(refused(&self.key, call.what, head.status, said))
    }

    /// Returns the failure of a connection that was not made, or broke.
    fn broken(&self, call: &Call<'_>, error: &(dyn std::error::Error + 'static), progress: Progress) -> Failure {
        let mut cause = error;
        while let Some(next) = cause.source() {
            cause = next;
        }
        let why = self.key.shown(&cause.to_string());
        let what = match progress {
            Progress::NoConnection => "Daytona cannot be reached",
            _ if error.downcast_ref::<HttpError>().is_some() => "Daytona did not answer",
            _ => "the answer of Daytona broke off",
        };
        let error = Error::new(ErrorKind::Unreachable, format!("cannot {}: {what}: {why}", call.what))
            .hint("check the API URL and the network; the next call tries again");
        Failure { error, progress }
    }
}

fn late(call: &Call<'_>) -> Failure {
    let sentence = format!("cannot {}: no answer of Daytona within {} s", call.what, call.limits.time.as_secs());
    Failure { error: Error::new(ErrorKind::TimedOut, sentence), progress: Progress::PartOfAnswer }
}

fn may_repeat(repeat: Repeat, progress: Progress) -> bool {
    match progress {
        Progress::NoConnection | Progress::Answer(429) => true,
        Progress::NoAnswer => repeat != Repeat::Unconnected,
        Progress::PartOfAnswer => repeat == Repeat::Harmless,
        Progress::Answer(status) => repeat == Repeat::Harmless && matches!(status, 500 | 502 | 503 | 504),
    }
}

/// Returns how long the service asks to wait.
fn retry_after(headers: &HeaderMap) -> Option<Duration> {
    let seconds = headers.get(header::RETRY_AFTER)?.to_str().ok()?.trim().parse().ok()?;
    Some(Duration::from_secs(seconds))
}

/// Returns a time between three quarters and five quarters of this one, so that many clients do not ask at once.
pub(crate) fn jittered(time: Duration) -> Duration {
    let mut random = [0];
    let _ = getrandom::fill(&mut random);
    time.mul_f64(0.75 + f64::from(random[0]) / 512.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_is_repeated_only_where_that_is_safe() {
        use Progress::{Answer, NoAnswer, NoConnection, PartOfAnswer};
        use Repeat::{Harmless, Unanswered, Unconnected};
        for (progress, harmless, unanswered, unconnected) in [
            (NoConnection, true, true, true),
            (Answer(429), true, true, true),
            (NoAnswer, true, true, false),
            (PartOfAnswer, true, false, false),
            (Answer(503), true, false, false),
            (Answer(404), false, false, false),
            (Answer(501), false, false, false),
        ] {
            let may = [Harmless, Unanswered, Unconnected].map(|repeat| may_repeat(repeat, progress));
            assert_eq!(may, [harmless, unanswered, unconnected], "{progress:?}");
        }
    }

    #[test]
    fn pauses_differ_a_little() {
        for _ in 0..100 {
            let time = jittered(Duration::from_secs(4));
            assert!(time >= Duration::from_secs(3) && time <= Duration::from_secs(5), "{time:?}");
        }
    }
}
