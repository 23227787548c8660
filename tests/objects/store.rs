//! An object store on loopback that fails on request. It answers like S3 where that is enough for reading: ranges,
//! conditions, and lists of a prefix.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

/// The number of keys in one answer to a list.
const PAGE: usize = 1000;

/// A server that can be reached only through a store as a proxy.
pub(crate) const PROXIED: &str = "http://store.invalid";

/// A treatment of a request for a part of an object.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Fault {
    /// Closes the connection in the middle of the answer.
    Cut,
    /// Keeps the connection open in the middle of the answer, and sends nothing more.
    Stall,
    /// Answers with this status.
    Status(u16),
    /// Answers with this status, and the service's name of the error.
    Code(u16, &'static str),
    /// Sends the whole object, whatever range was asked for.
    Whole,
    /// Replaces the object by another one of the same size, and forgets its condition: sends the new one.
    Replace,
    /// Replaces the object by its first half.
    Truncate,
    /// Removes the object.
    Delete,
    /// Sends a web page in place of the object.
    Page,
    /// Redirects the request to this port.
    Redirect(u16),
}

/// A store that lives as long as the test process.
pub(crate) struct Store {
    state: Arc<State>,
    pub(crate) port: u16,
}

#[derive(Default)]
struct State {
    objects: Mutex<BTreeMap<String, (Vec<u8>, u32)>>,
    /// The fault, the number of requests before it, and the number of requests that it befalls.
    fault: Mutex<Option<(Fault, usize, usize)>>,
    /// The request lines and headers of all requests.
    requests: Mutex<Vec<String>>,
    /// The number of bytes of objects that were sent.
    sent: Mutex<u64>,
    /// Whether answers have neither a tag nor a date.
    is_plain: AtomicBool,
}

impl Store {
    pub(crate) fn new() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let state = Arc::new(State::default());
        let of_thread = Arc::clone(&state);
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let state = Arc::clone(&of_thread);
                thread::spawn(move || drop(state.serve(stream)));
            }
        });
        Self { state, port }
    }

    /// Stores an object of the bucket `bucket`.
    pub(crate) fn put(&self, key: &str, bytes: impl Into<Vec<u8>>) {
        self.state.put(&format!("/bucket/{key}"), bytes.into());
    }

    /// Lets the requests for parts of objects fail, after the first `before`, `times` times.
    pub(crate) fn fail(&self, fault: Fault, before: usize, times: usize) {
        *self.state.fault.lock().unwrap() = Some((fault, before, times));
    }

    /// Sends objects with neither a tag nor a date from now on.
    pub(crate) fn be_plain(&self) {
        self.state.is_plain.store(true, Ordering::Relaxed);
    }

    /// Returns the requests so far, and forgets them.
    pub(crate) fn requests(&self) -> Vec<String> {
        std::mem::take(&mut self.state.requests.lock().unwrap())
    }

    /// Returns the number of bytes of objects that were sent so far, and sets it to 0.
    pub(crate) fn sent(&self) -> u64 {
        std::mem::take(&mut self.state.sent.lock().unwrap())
    }

    /// Returns the settings that lead the program to this store.
    pub(crate) fn environment(&self) -> Vec<(&'static str, String)> {
        vec![
            ("AWS_ENDPOINT_URL", format!("http://127.0.0.1:{}", self.port)),
            ("AWS_SKIP_SIGNATURE", "true".to_owned()),
        ]
    }
}

impl State {
    fn put(&self, path: &str, bytes: Vec<u8>) {
        let mut objects = self.objects.lock().unwrap();
        let version = objects.get(path).map_or(1, |(_, version)| version + 1);
        objects.insert(path.to_owned(), (bytes, version));
    }

    fn serve(&self, stream: TcpStream) -> std::io::Result<()> {
        let mut reader = BufReader::new(stream.try_clone()?);
        loop {
            let mut head = String::new();
            while !head.ends_with("\r\n\r\n") {
                if reader.read_line(&mut head)? == 0 {
                    return Ok(());
                }
            }
            self.requests.lock().unwrap().push(head.clone());
            if !self.answer(&head, &stream)? {
                return stream.shutdown(Shutdown::Both);
            }
        }
    }

    /// Answers a request. Returns whether the connection stays open.
    fn answer(&self, head: &str, mut stream: &TcpStream) -> std::io::Result<bool> {
        let target = head.split(' ').nth(1).unwrap_or_default();
        // A client sends the whole URL to a proxy.
        let target = target.strip_prefix(PROXIED).unwrap_or(target);
        let (path, query) = target.split_once('?').unwrap_or((target, ""));
        let path = decoded(path);
        if query.contains("list-type=2") {
            let list = self.list(query);
            return send(stream, "200 OK", &[], list.as_bytes()).map(|()| true);
        }
        let header = |name: &str| {
            let lines = head.lines().filter_map(|line| line.split_once(": "));
            lines.filter(|(key, _)| key.eq_ignore_ascii_case(name)).map(|(_, value)| value).next()
        };
        let range = header("range").and_then(|range| range.strip_prefix("bytes=")?.split_once('-'));
        let range = range.and_then(|(from, to)| Some((from.parse().ok()?, to.parse().ok()?)));
        let fault = self.fault(range);
        let found = self.objects.lock().unwrap().get(&path).cloned();
        let (bytes, version) = match (found, fault) {
            (Some((bytes, _)), Some(Fault::Replace)) => {
                let other: Vec<u8> = bytes.iter().rev().copied().collect();
                self.put(&path, other.clone());
                (other, 99)
            }
            (Some((bytes, version)), Some(Fault::Truncate)) => {
                self.put(&path, bytes[..bytes.len() / 2].to_vec());
                (bytes[..bytes.len() / 2].to_vec(), version)
            }
            (Some(_), Some(Fault::Delete)) => {
                self.objects.lock().unwrap().remove(&path);
                return error(stream, 404, "NoSuchKey").map(|()| true);
            }
            (Some(found), _) => found,
            (None, _) => return error(stream, 404, "NoSuchKey").map(|()| true),
        };
        let tag = format!("\"{version}\"");
        match fault {
            Some(Fault::Status(status)) => return error(stream, status, "Fault").map(|()| true),
            Some(Fault::Code(status, code)) => return error(stream, status, code).map(|()| true),
            Some(Fault::Redirect(port)) => {
                let location = format!("Location: http://127.0.0.1:{port}{target}");
                return send(stream, "307 Temporary Redirect", &[&location], b"").map(|()| true);
            }
            Some(Fault::Page) => {
                let page = b"<!DOCTYPE html><html><body>Please log in</body></html>";
                return send(stream, "200 OK", &["Content-Type: text/html"], page).map(|()| true);
            }
            _ => {}
        }
        if fault != Some(Fault::Replace) && header("if-match").is_some_and(|wanted| wanted != tag) {
            return error(stream, 412, "PreconditionFailed").map(|()| true);
        }
        let size = bytes.len();
        let tag = format!("ETag: {tag}");
        let dated = "Last-Modified: Sun, 29 Nov 2026 00:00:00 GMT";
        let (status, part, of_range) = match range.filter(|_| fault != Some(Fault::Whole)) {
            None => ("200 OK", &bytes[..], String::new()),
            Some((from, _)) if from >= size => {
                return error(stream, 416, "InvalidRange").map(|()| true);
            }
            Some((from, to)) => {
                let to: usize = std::cmp::min(to, size - 1);
                let range = format!("Content-Range: bytes {from}-{to}/{size}");
                ("206 Partial Content", &bytes[from..=to], range)
            }
        };
        let is_plain = self.is_plain.load(Ordering::Relaxed);
        let state = if is_plain { ["", ""] } else { [&*tag, dated] };
        let headers = state.into_iter().chain([&*of_range]);
        let headers: Vec<&str> = headers.filter(|header| !header.is_empty()).collect();
        *self.sent.lock().unwrap() += part.len() as u64;
        if let Some(Fault::Cut | Fault::Stall) = fault {
            let whole = answer(status, &headers, part);
            stream.write_all(&whole[..whole.len() - part.len().div_ceil(2)])?;
            if fault == Some(Fault::Stall) {
                thread::sleep(Duration::from_secs(5));
            }
            return Ok(false);
        }
        send(stream, status, &headers, part).map(|()| true)
    }

    /// Returns the fault that befalls a request for a part of an object. Looking at its first bytes does not count.
    fn fault(&self, range: Option<(usize, usize)>) -> Option<Fault> {
        let mut fault = self.fault.lock().unwrap();
        let (kind, before, times) = fault.as_mut()?;
        if range.is_some_and(|(from, to)| (from, to) == (0, 7)) || *times == 0 {
            return None;
        }
        if *before > 0 {
            *before -= 1;
            return None;
        }
        *times -= 1;
        Some(*kind)
    }

    fn list(&self, query: &str) -> String {
        let argument = |name: &str| {
            let pairs = query.split('&').filter_map(|pair| pair.split_once('='));
            pairs.filter(|(key, _)| *key == name).map(|(_, value)| decoded(value)).next()
        };
        let prefix = argument("prefix").unwrap_or_default();
        let after = argument("continuation-token").unwrap_or_default();
        let is_flat = argument("delimiter").is_none();
        let objects = self.objects.lock().unwrap();
        let first = format!("/bucket/{}", std::cmp::max(&prefix, &after));
        let keys = objects.range(first..).filter_map(|(path, (bytes, version))| {
            let key = path.strip_prefix("/bucket/")?;
            (key.starts_with(&prefix) && key > &*after).then_some((key, bytes.len(), version))
        });
        let (mut text, mut folders, mut count, mut last) =
            (String::new(), Vec::new(), 0, String::new());
        let mut is_whole = true;
        for (key, size, version) in keys {
            if count == PAGE {
                is_whole = false;
                break;
            }
            count += 1;
            last = key.to_owned();
            match key[prefix.len()..].split_once('/').filter(|_| !is_flat) {
                Some((folder, _)) => folders.push(format!("{prefix}{folder}/")),
                None => {
                    text += &format!(
                        "<Contents><Key>{}</Key><Size>{size}</Size><ETag>\"{version}\"</ETag>\
                     <LastModified>2026-11-29T00:00:00.000Z</LastModified></Contents>",
                        key.replace('&', "&amp;").replace('<', "&lt;")
                    )
                }
            }
        }
        folders.dedup();
        for folder in folders {
            text += &format!("<CommonPrefixes><Prefix>{folder}</Prefix></CommonPrefixes>");
        }
        if !is_whole {
            text += &format!("<NextContinuationToken>{last}</NextContinuationToken>");
        }
        format!(
            "<ListBucketResult><IsTruncated>{}</IsTruncated>{text}</ListBucketResult>",
            !is_whole
        )
    }
}

fn send(
    mut stream: &TcpStream,
    status: &str,
    headers: &[&str],
    body: &[u8],
) -> std::io::Result<()> {
    // One write is one packet, which the client does not wait to acknowledge.
    stream.write_all(&answer(status, headers, body))
}

fn answer(status: &str, headers: &[&str], body: &[u8]) -> Vec<u8> {
    let headers: String = headers.iter().map(|header| format!("{header}\r\n")).collect();
    let head = format!("HTTP/1.1 {status}\r\nContent-Length: {}\r\n{headers}\r\n", body.len());
    [head.as_bytes(), body].concat()
}

fn error(stream: &TcpStream, status: u16, code: &str) -> std::io::Result<()> {
    let body = format!("<Error><Code>{code}</Code><Message>no</Message></Error>");
    send(stream, &format!("{status} Error"), &[], body.as_bytes())
}

/// Decodes the bytes that a URL encodes by `%`.
fn decoded(text: &str) -> String {
    let bytes = text.as_bytes();
    let (mut decoded, mut at) = (Vec::new(), 0);
    while at < bytes.len() {
        let code = text.get(at + 1..at + 3).and_then(|code| u8::from_str_radix(code, 16).ok());
        match (bytes[at], code) {
            (b'%', Some(byte)) => {
                decoded.push(byte);
                at += 3;
            }
            (byte, _) => {
                decoded.push(byte);
                at += 1;
            }
        }
    }
    String::from_utf8_lossy(&decoded).into_owned()
}
