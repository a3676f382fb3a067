//! `Answer`: the lines of one answer on their way from the kernel to the client.
//!
//! Lines wait as UTF-8, with their share of the budget, and leave as ASCII, a piece at a time. One client takes every
//! line separator of Unicode for the end of a line, and another decodes each piece of an answer by itself. A client
//! that does not read loses its answer, so that what waits for it does not wait for ever.

use std::{
    future::poll_fn,
    io,
    sync::{Arc, Mutex, PoisonError, Weak},
    task::{Context, Poll, Waker, ready},
    time::Duration,
};

use bytes::Bytes;
use tokio::sync::mpsc;

use super::budget::Share;

/// Lines of an answer that wait for its client.
const WAITING_LINES: usize = 16;
/// Bytes of a line that leave at once.
const PIECE: usize = 32 << 10;
/// How often a client is looked after, and how often it may be found not to read.
const LOOK: Duration = Duration::from_secs(15);
const MOST_LOOKS: usize = 4;

/// A line that waits, with its end.
#[derive(Debug)]
struct Line {
    text: String,
    _share: Option<Share>,
}

/// What waits for a client; `None` once its answer was given up.
type Slot = Mutex<Option<Waiting>>;

#[derive(Debug)]
struct Waiting {
    lines: mpsc::Receiver<Line>,
    /// The line that leaves, and how much of it has left.
    current: Option<(Line, usize)>,
    /// How often the client asked for more.
    asked: usize,
    waker: Option<Waker>,
}

/// The end of the client: dropped, nothing waits for the code.
#[derive(Debug)]
pub(super) struct Answer(Arc<Slot>);

/// The end of the kernel.
#[derive(Debug)]
pub(super) struct Client {
    lines: mpsc::Sender<Line>,
    /// The place for the sentence of a failure, which never waits.
    last: mpsc::OwnedPermit<Line>,
    slot: Weak<Slot>,
}

impl Answer {
    /// Returns both ends of a new answer, or `None` if the channel has no room, which it has.
    pub(super) fn new() -> Option<(Client, Self)> {
        let (sender, lines) = mpsc::channel(WAITING_LINES + 1);
        let last = sender.clone().try_reserve_owned().ok()?;
        let slot = Arc::new(Mutex::new(Some(Waiting { lines, current: None, asked: 0, waker: None })));
        Some((Client { lines: sender, last, slot: Arc::downgrade(&slot) }, Self(slot)))
    }

    /// Gives the answer up if the client does not read it.
    pub(super) fn look_after(&self) {
        let slot = Arc::downgrade(&self.0);
        tokio::spawn(async move {
            let (mut asked, mut looks) = (0, 0);
            loop {
                tokio::time::sleep(LOOK).await;
                let Some(slot) = slot.upgrade() else { return };
                match lock(&slot).as_ref() {
                    None => return,
                    Some(waiting) if waiting.asked == asked && waiting.has_lines() => looks += 1,
                    Some(waiting) => (asked, looks) = (waiting.asked, 0),
                }
                if looks == MOST_LOOKS {
                    give_up(&slot);
                }
            }
        });
    }

    /// Returns the next piece; `None` at the end.
    pub(super) async fn next(&self) -> Option<io::Result<Bytes>> {
        poll_fn(|context| match lock(&self.0).as_mut() {
            None => Poll::Ready(Some(Err(io::ErrorKind::TimedOut.into()))),
            Some(waiting) => waiting.poll_next(context).map(|piece| piece.map(Ok)),
        })
        .await
    }
}

impl Waiting {
    fn has_lines(&self) -> bool {
        self.current.is_some() || !self.lines.is_empty()
    }

    fn poll_next(&mut self, context: &Context<'_>) -> Poll<Option<Bytes>> {
        self.asked += 1;
        self.waker = Some(context.waker().clone());
        let (line, from) = match self.current.take() {
            Some(current) => current,
            None => match ready!(self.lines.poll_recv(&mut Context::from_waker(context.waker()))) {
                Some(line) => (line, 0),
                None => return Poll::Ready(None),
            },
        };
        let mut to = line.text.len().min(from + PIECE);
        while !line.text.is_char_boundary(to) {
            to -= 1;
        }
        let piece = ascii(&line.text[from..to]);
        if to < line.text.len() {
            self.current = Some((line, to));
        }
        Poll::Ready(Some(piece))
    }
}

impl Client {
    /// Whether nothing waits for the code.
    pub(super) fn has_left(&self) -> bool {
        self.lines.is_closed()
    }

    /// Returns when nothing waits for the code.
    pub(super) async fn left(&self) {
        self.lines.closed().await;
    }

    /// Hands a line over once there is room for it.
    pub(super) async fn send(&self, text: String, share: Share) {
        // That the client has left is noticed by `left`.
        let _ = self.lines.send(Line { text, _share: Some(share) }).await;
    }

    /// Ends the answer with the line of a failure.
    pub(super) fn fail(self, text: String) {
        drop(self.last.send(Line { text, _share: None }));
    }

    /// Gives the answer up: the client loses it, with what waits.
    pub(super) fn give_up(&self) {
        if let Some(slot) = self.slot.upgrade() {
            give_up(&slot);
        }
    }
}

fn lock(slot: &Slot) -> std::sync::MutexGuard<'_, Option<Waiting>> {
    slot.lock().unwrap_or_else(PoisonError::into_inner)
}

fn give_up(slot: &Slot) {
    let waiting = lock(slot).take();
    if let Some(waker) = waiting.and_then(|waiting| waiting.waker) {
        waker.wake();
    }
}

/// Returns a piece of JSON as ASCII. Other characters stand in strings only, where they have an escape; a carriage
/// return stands between values only, where it is a space.
fn ascii(text: &str) -> Bytes {
    let mut piece = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '\r' => piece.push(' '),
            _ if character.is_ascii() => piece.push(character),
            _ => {
                for unit in character.encode_utf16(&mut [0; 2]) {
                    piece.push_str("\\u");
                    for shift in [12, 8, 4, 0] {
                        piece.push(char::from_digit(u32::from(*unit >> shift) & 15, 16).unwrap_or('0'));
                    }
                }
            }
        }
    }
    piece.into()
}

#[cfg(test)]
mod tests {
    use super::{super::budget::Budget, *};

    #[tokio::test]
    async fn clients_read_ascii_only_in_pieces() {
        let (client, answer) = Answer::new().unwrap();
        let text = "é \u{2028}\u{85}\u{b} \u{1f600} \n".repeat(PIECE / 5);
        client.send(serde_json::to_string(&text).unwrap() + "\r\n", Budget::default().take(1).await).await;
        client.fail("{}\n".to_owned());
        let mut all = Vec::new();
        while let Some(piece) = answer.next().await {
            let piece = piece.unwrap();
            assert!(piece.is_ascii() && piece.len() <= 3 * PIECE);
            all.extend_from_slice(&piece);
        }
        let all = String::from_utf8(all).unwrap();
        let (line, last) = all.split_once('\n').unwrap();
        assert_eq!((serde_json::from_str::<String>(line).unwrap(), last), (text, "{}\n"));
    }

    #[tokio::test(start_paused = true)]
    async fn a_client_that_does_not_read_loses_its_answer() {
        let (budget, (client, answer)) = (Budget::default(), Answer::new().unwrap());
        answer.look_after();
        let all = 32 << 20;
        client.send("1\n".to_owned(), budget.take(all).await).await;
        // The share is free only once the line was dropped.
        drop(budget.take(all).await);
        client.left().await;
        assert!(client.has_left() && answer.next().await.unwrap().is_err());
        // One that waits for lines is not given up, and leaves when it is dropped.
        let (client, answer) = Answer::new().unwrap();
        answer.look_after();
        let next = async { answer.next().await.unwrap().unwrap() };
        let send = async {
            tokio::time::sleep(10 * LOOK).await;
            client.send("2\n".to_owned(), budget.take(2).await).await;
        };
        assert_eq!(tokio::join!(next, send).0, "2\n");
        assert!(!client.has_left());
        drop(answer);
        assert!(client.has_left());
    }
}
