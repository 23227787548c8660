//! A TCP proxy on loopback between a load and its server. It can cut, stall or swallow the traffic at once,
//! after a number of bytes, or after certain messages.

use std::io::{ErrorKind, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use super::Address;

/// Interval at which a change of the mode is noticed.
const TICK: Duration = Duration::from_millis(5);

/// Treatment of the bytes of all connections, including later ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mode {
    Pass,
    /// Reads nothing.
    Stall,
    /// Reads everything, and forwards nothing.
    Swallow,
    /// Reads everything, and forwards only what clients send.
    Deafen,
    /// Closes connections on both sides, and new ones at once.
    Cut,
    /// Forwards nothing, but sends clients an error that the server's disk is full, as a panicking server
    /// does. New connections are closed at once.
    Full,
}

/// A proxy that lives as long as the test.
pub(crate) struct Proxy {
    state: Arc<State>,
    url: String,
    at: SocketAddr,
}

struct State {
    mode: Mutex<Mode>,
    /// Number of bytes from clients to the server.
    sent: AtomicU64,
    /// Number of times that the server has answered a client.
    answers: AtomicU64,
    /// The mode to change to after a number of sent bytes.
    then: Mutex<Option<(u64, Mode)>>,
    /// The mode to change to after certain texts.
    on: Mutex<Option<Words>>,
    /// Number of open directions of connections.
    open: AtomicUsize,
    ended: AtomicBool,
}

/// Texts that one client sends, one after the other.
struct Words {
    texts: Vec<Vec<u8>>,
    mode: Mode,
}

/// Greater than the length of any of these texts.
const LONGEST_TEXT: usize = 64;

impl Proxy {
    /// Starts to listen for the server of `url`.
    pub(crate) fn before(url: &str) -> Self {
        Self::before_at(url, 0)
    }

    /// Starts to listen on this port.
    pub(crate) fn before_at(url: &str, own_port: u16) -> Self {
        let Address { host, port, .. } = Address::from_url(url);
        let server = format!("{host}:{port}");
        let listener = TcpListener::bind(("127.0.0.1", own_port)).unwrap();
        let at = listener.local_addr().unwrap();
        let state = Arc::new(State {
            mode: Mutex::new(Mode::Pass),
            sent: AtomicU64::new(0),
            answers: AtomicU64::new(0),
            then: Mutex::new(None),
            on: Mutex::new(None),
            open: AtomicUsize::new(0),
            ended: AtomicBool::new(false),
        });
        let accepting = Arc::clone(&state);
        let url = url.replace(&format!("@{server}"), &format!("@{at}"));
        assert!(url.contains(&at.to_string()), "{url}");
        thread::spawn(move || {
            while let Ok((client, _)) = listener.accept() {
                if accepting.ended.load(SeqCst) {
                    break;
                }
                join(&accepting, client, &server);
            }
        });
        Self { state, url, at }
    }

    /// Returns the server's URL through the proxy.
    pub(crate) fn url(&self) -> &str {
        &self.url
    }

    /// Changes the mode at once and for good, and cancels later changes. Connections that a mode closes are
    /// closed before the next mode begins.
    pub(crate) fn set(&self, mode: Mode) {
        *self.state.then.lock().unwrap() = None;
        *self.state.on.lock().unwrap() = None;
        while self.mode().closes() && self.state.open.load(SeqCst) > 0 {
            thread::sleep(TICK);
        }
        *self.state.mode.lock().unwrap() = mode;
    }

    /// Changes the mode as soon as one client has sent all of `texts` in this order. If nothing is forwarded
    /// in the new mode, the last text is not forwarded either.
    pub(crate) fn set_on(&self, texts: &[&str], mode: Mode) {
        let texts = texts.iter().map(|text| text.as_bytes().to_vec()).collect();
        *self.state.on.lock().unwrap() = Some(Words { texts, mode });
    }

    /// Changes the mode as soon as clients have sent `bytes` more. Only a part of the last message arrives.
    pub(crate) fn set_after(&self, bytes: u64, mode: Mode) {
        let end = self.state.sent.load(SeqCst) + bytes;
        *self.state.then.lock().unwrap() = Some((end, mode));
    }

    pub(crate) fn mode(&self) -> Mode {
        self.state.mode()
    }

    /// Returns how often clients have waited for an answer. Messages that were sent together count once.
    pub(crate) fn answers(&self) -> u64 {
        self.state.answers.load(SeqCst)
    }

    /// Returns the number of bytes that clients have sent.
    pub(crate) fn sent(&self) -> u64 {
        self.state.sent.load(SeqCst)
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.set(Mode::Cut);
        self.state.ended.store(true, SeqCst);
        // Wakes the thread that accepts connections.
        let _ = TcpStream::connect(self.at);
    }
}

fn join(state: &Arc<State>, client: TcpStream, server: &str) {
    if state.mode().closes() {
        return;
    }
    let server = TcpStream::connect(server).unwrap();
    // Otherwise a short message waits for the answer to the previous one, which costs 40 ms.
    [&client, &server].into_iter().for_each(|end| end.set_nodelay(true).unwrap());
    state.open.fetch_add(2, SeqCst);
    let has_asked = Arc::new(AtomicBool::new(false));
    for (from, to, counts) in [(&client, &server, true), (&server, &client, false)] {
        let (from, to) = (from.try_clone().unwrap(), to.try_clone().unwrap());
        let (state, has_asked) = (Arc::clone(state), Arc::clone(&has_asked));
        thread::spawn(move || {
            pump(&state, (&from, &to), counts, &has_asked);
            let _ = from.shutdown(Shutdown::Both);
            let _ = to.shutdown(Shutdown::Both);
            state.open.fetch_sub(1, SeqCst);
        });
    }
}

fn pump(
    state: &State,
    (mut from, mut to): (&TcpStream, &TcpStream),
    counts: bool,
    has_asked: &AtomicBool,
) {
    from.set_read_timeout(Some(TICK)).unwrap();
    let mut buffer = vec![0; 64 << 10];
    let (mut message, mut is_told) = (Said::default(), false);
    loop {
        match state.mode() {
            Mode::Cut => return,
            Mode::Stall => {
                thread::sleep(TICK);
                continue;
            }
            _ => {}
        }
        let length = match from.read(&mut buffer) {
            Ok(0) => return,
            Ok(length) => length,
            Err(error) if [ErrorKind::WouldBlock, ErrorKind::TimedOut].contains(&error.kind()) => {
                // The server is silent, so none of its messages is half sent.
                if state.mode() == Mode::Full && !counts && !is_told {
                    is_told = true;
                    let _ = to.write_all(&disk_full()).and_then(|()| to.shutdown(Shutdown::Write));
                }
                continue;
            }
            Err(_) => return,
        };
        if has_asked.swap(counts, SeqCst) && !counts {
            state.answers.fetch_add(1, SeqCst);
        }
        let passed = if counts { state.pass(&buffer[..length], &mut message) } else { length };
        let swallows = match state.mode() {
            Mode::Swallow | Mode::Full => passed == length,
            Mode::Deafen => !counts,
            Mode::Pass | Mode::Stall | Mode::Cut => false,
        };
        if !swallows && to.write_all(&buffer[..passed]).is_err() {
            return;
        }
    }
}

impl Mode {
    /// Whether the mode closes all connections.
    fn closes(self) -> bool {
        matches!(self, Self::Cut | Self::Full)
    }
}

impl State {
    fn mode(&self) -> Mode {
        *self.mode.lock().unwrap()
    }

    /// Returns how many of a client's `bytes` may pass before the mode changes.
    fn pass(&self, bytes: &[u8], message: &mut Said) -> usize {
        let length = bytes.len() as u64;
        let before = self.sent.fetch_add(length, SeqCst);
        let mut passed = bytes.len();
        let mut then = self.then.lock().unwrap();
        if let Some((end, mode)) = *then
            && end < before + length
        {
            *self.mode.lock().unwrap() = mode;
            *then = None;
            passed = end.saturating_sub(before) as usize;
        }
        let mut on = self.on.lock().unwrap();
        if let Some(words) = &*on
            && let Some(place) = message.place_of(&words.texts, bytes)
        {
            *self.mode.lock().unwrap() = words.mode;
            if words.mode != Mode::Deafen {
                passed = passed.min(place);
            }
            *on = None;
        }
        passed
    }
}

/// The progress of one client through the texts that are waited for.
#[derive(Default)]
struct Said {
    texts: usize,
    /// The client's last bytes, in which the next text may have begun.
    recent: Vec<u8>,
}

impl Said {
    /// Returns the position in `bytes` at which the last of `texts` begins, if `bytes` end with it.
    fn place_of(&mut self, texts: &[Vec<u8>], bytes: &[u8]) -> Option<usize> {
        let before = self.recent.len();
        self.recent.extend_from_slice(bytes);
        let mut from = 0;
        while let Some(text) = texts.get(self.texts) {
            let mut windows = self.recent[from..].windows(text.len());
            let Some(at) = windows.position(|window| window == text) else { break };
            self.texts += 1;
            if self.texts == texts.len() {
                return Some((from + at).saturating_sub(before));
            }
            from += at + text.len();
        }
        let forgotten = self.recent.len().saturating_sub(LONGEST_TEXT).max(from);
        self.recent.drain(..forgotten);
        None
    }
}

/// Returns the message of a server that cannot write its log.
fn disk_full() -> Vec<u8> {
    let fields = [
        "SPANIC",
        "VPANIC",
        "C53100",
        "Mcould not write to file \"pg_wal/xlogtemp.1\": No space left on device",
    ];
    let fields: String = fields.iter().map(|field| format!("{field}\0")).collect();
    let length = (4 + fields.len() as u32 + 1).to_be_bytes();
    [b"E", &length[..], fields.as_bytes(), b"\0"].concat()
}
