//! A TCP proxy on loopback between a load and its server, which can cut, stall or swallow what goes
//! through it, at once or when so many bytes have gone.

use std::io::{ErrorKind, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::SeqCst};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use crate::server::Address;

/// How soon a change is noticed.
const TICK: Duration = Duration::from_millis(5);

/// What becomes of the bytes of all connections, those that are still to come included.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mode {
    Pass,
    /// Nothing is read.
    Stall,
    /// All is read, and nothing arrives.
    Swallow,
    /// Connections are closed on both sides, new ones at once.
    Cut,
}

/// A proxy that lives as long as the test.
pub(crate) struct Proxy {
    state: Arc<State>,
    url: String,
    at: SocketAddr,
}

struct State {
    mode: Mutex<Mode>,
    /// Bytes from clients to the server.
    sent: AtomicU64,
    /// The mode that follows when so many are sent.
    then: Mutex<Option<(u64, Mode)>>,
    ended: AtomicBool,
}

impl Proxy {
    /// Begins to listen for the server of `url`.
    pub(crate) fn before(url: &str) -> Self {
        Self::before_at(url, 0)
    }

    /// The same on this port.
    pub(crate) fn before_at(url: &str, own_port: u16) -> Self {
        let Address { host, port, .. } = Address::of(url);
        let server = format!("{host}:{port}");
        let listener = TcpListener::bind(("127.0.0.1", own_port)).unwrap();
        let at = listener.local_addr().unwrap();
        let state = Arc::new(State {
            mode: Mutex::new(Mode::Pass),
            sent: AtomicU64::new(0),
            then: Mutex::new(None),
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

    /// The server's URL through the proxy.
    pub(crate) fn url(&self) -> &str {
        &self.url
    }

    /// Changes the mode at once.
    pub(crate) fn set(&self, mode: Mode) {
        *self.state.mode.lock().unwrap() = mode;
    }

    /// Changes the mode as soon as clients have sent `bytes` more; of the last message only a part
    /// arrives.
    pub(crate) fn set_after(&self, bytes: u64, mode: Mode) {
        let end = self.state.sent.load(SeqCst) + bytes;
        *self.state.then.lock().unwrap() = Some((end, mode));
    }

    pub(crate) fn mode(&self) -> Mode {
        *self.state.mode.lock().unwrap()
    }

    /// Bytes that clients have sent.
    pub(crate) fn sent(&self) -> u64 {
        self.state.sent.load(SeqCst)
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.set(Mode::Cut);
        self.state.ended.store(true, SeqCst);
        // Wakes who accepts.
        let _ = TcpStream::connect(self.at);
    }
}

fn join(state: &Arc<State>, client: TcpStream, server: &str) {
    let server = TcpStream::connect(server).unwrap();
    for (from, to, counts) in [(&client, &server, true), (&server, &client, false)] {
        let (from, to) = (from.try_clone().unwrap(), to.try_clone().unwrap());
        let state = Arc::clone(state);
        thread::spawn(move || {
            pump(&state, &from, &to, counts);
            let _ = from.shutdown(Shutdown::Both);
            let _ = to.shutdown(Shutdown::Both);
        });
    }
}

fn pump(state: &State, mut from: &TcpStream, mut to: &TcpStream, counts: bool) {
    from.set_read_timeout(Some(TICK)).unwrap();
    let mut buffer = vec![0; 64 << 10];
    loop {
        match *state.mode.lock().unwrap() {
            Mode::Cut => return,
            Mode::Stall => {
                thread::sleep(TICK);
                continue;
            }
            Mode::Pass | Mode::Swallow => {}
        }
        let length = match from.read(&mut buffer) {
            Ok(0) => return,
            Ok(length) => length,
            Err(error) if [ErrorKind::WouldBlock, ErrorKind::TimedOut].contains(&error.kind()) => {
                continue;
            }
            Err(_) => return,
        };
        let passed = if counts { state.pass(length) } else { length };
        let swallows = *state.mode.lock().unwrap() == Mode::Swallow && passed == length;
        if !swallows && to.write_all(&buffer[..passed]).is_err() {
            return;
        }
    }
}

impl State {
    /// How many of `length` bytes may pass before the mode changes.
    fn pass(&self, length: usize) -> usize {
        let before = self.sent.fetch_add(length as u64, SeqCst);
        let mut then = self.then.lock().unwrap();
        match *then {
            Some((end, mode)) if end < before + length as u64 => {
                *self.mode.lock().unwrap() = mode;
                *then = None;
                end.saturating_sub(before) as usize
            }
            _ => length,
        }
    }
}
