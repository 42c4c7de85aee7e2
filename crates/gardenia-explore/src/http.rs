//! The little of HTTP/1.1 that a local page needs: a head, a body of known length, an answer in one
//! piece.
//!
//! A thread per connection, and a bound on their number. Heads are parsed by `httparse`. A body
//! that is sent in chunks is refused: no browser does that.

use std::io::{self, ErrorKind, Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

/// Bytes of a head, and its headers.
const MAX_HEAD: usize = 16 << 10;
const MAX_HEADERS: usize = 64;
/// Connections at a time: a browser opens six.
const MAX_CONNECTIONS: usize = 64;
/// How long a connection may be silent.
const IDLE: Duration = Duration::from_secs(20);
/// How long the rest of a refused body is read, so that the client gets to read why.
const DRAIN: Duration = Duration::from_secs(5);

/// A request without its body.
pub(crate) struct Head {
    pub(crate) method: String,
    /// Path and query.
    pub(crate) target: String,
    headers: Vec<(String, String)>,
}

impl Head {
    /// The value of a header; of one that comes twice the first.
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let mut all = self.headers.iter();
        all.find(|(field, _)| field.eq_ignore_ascii_case(name)).map(|(_, value)| value.as_str())
    }
}

/// An answer.
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) kind: &'static str,
    pub(crate) cache: &'static str,
    /// Further lines of the head.
    pub(crate) lines: &'static str,
    pub(crate) body: Vec<u8>,
}

/// What a server does with requests.
pub(crate) trait Service: Send + Sync + 'static {
    /// The answer to a request whose head says enough, or how many bytes its body may have.
    fn head(&self, head: &Head) -> Result<u64, Answer>;
    /// The answer to a request.
    fn answer(&self, head: &Head, body: Vec<u8>) -> Answer;
    /// A refusal in the server's own form.
    fn refuse(&self, status: u16, why: &str) -> Answer;
}

/// Accepts connections until `stop` is set, which is noticed at the next connection.
pub(crate) fn serve(listener: &TcpListener, stop: &AtomicBool, service: &Arc<impl Service>) {
    let open = Arc::new(AtomicUsize::new(0));
    for stream in listener.incoming() {
        if stop.load(Ordering::Relaxed) {
            return;
        }
        let Ok(stream) = stream else {
            // Out of descriptors, most likely: connections will end.
            std::thread::sleep(Duration::from_millis(20));
            continue;
        };
        if open.fetch_add(1, Ordering::Relaxed) >= MAX_CONNECTIONS {
            open.fetch_sub(1, Ordering::Relaxed);
            continue;
        }
        let (service, counted) = (service.clone(), Counted(open.clone()));
        std::thread::spawn(move || {
            let _counted = counted;
            let _ = converse(&stream, &*service);
        });
    }
}

/// Counts a connection until it is dropped.
struct Counted(Arc<AtomicUsize>);

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Answers the requests of one connection.
fn converse(mut stream: &TcpStream, service: &impl Service) -> io::Result<()> {
    stream.set_nodelay(true)?;
    stream.set_read_timeout(Some(IDLE))?;
    stream.set_write_timeout(Some(IDLE))?;
    let mut held = Vec::new();
    loop {
        let head = match read_head(stream, &mut held) {
            Ok(Some(head)) => head,
            Ok(None) => return Ok(()),
            Err(error) if error.kind() == ErrorKind::InvalidData => {
                return part(stream, service.refuse(400, "this is not HTTP"));
            }
            Err(error) => return Err(error),
        };
        let keep = !head.header("Connection").is_some_and(|value| value.eq_ignore_ascii_case("close"));
        let limit = match service.head(&head) {
            Ok(limit) => limit,
            Err(answer) => return part(stream, answer),
        };
        if head.header("Transfer-Encoding").is_some() {
            return part(stream, service.refuse(411, "send the body with a Content-Length"));
        }
        let len = match head.header("Content-Length").map(str::parse::<u64>) {
            None => 0,
            Some(Ok(len)) => len,
            Some(Err(_)) => {
                return part(stream, service.refuse(400, "Content-Length is not a number"));
            }
        };
        if len > limit {
            let why = format!(
                "the request has {len} bytes, and {limit} are allowed; start with a larger --max-upload, or name the file as an argument"
            );
            return part(stream, service.refuse(413, &why));
        }
        let mut body = std::mem::take(&mut held);
        held = body.split_off(body.len().min(len as usize));
        let missing = len - body.len() as u64;
        if stream.take(missing).read_to_end(&mut body)? as u64 != missing {
            return Ok(());
        }
        // A call that fails must not take the connection down without a word.
        let work = std::panic::AssertUnwindSafe(|| service.answer(&head, body));
        let answer = std::panic::catch_unwind(work)
            .unwrap_or_else(|_| service.refuse(500, "the explorer failed here; please report it"));
        write(stream, &answer, keep, head.method == "HEAD")?;
        if !keep {
            return stream.flush();
        }
    }
}

/// Answers and ends the connection, with what the client still sends read for a while: otherwise it
/// might never see the answer.
fn part(mut stream: &TcpStream, answer: Answer) -> io::Result<()> {
    write(stream, &answer, false, false)?;
    stream.shutdown(Shutdown::Write)?;
    stream.set_read_timeout(Some(Duration::from_millis(500)))?;
    let (start, mut rest) = (Instant::now(), [0; 64 << 10]);
    while start.elapsed() < DRAIN && stream.read(&mut rest)? > 0 {}
    Ok(())
}

/// The next head; what follows it stays in `held`. `None` if the client has no more.
fn read_head(mut stream: &TcpStream, held: &mut Vec<u8>) -> io::Result<Option<Head>> {
    let begun = Instant::now();
    loop {
        let mut fields = [httparse::EMPTY_HEADER; MAX_HEADERS];
        let mut request = httparse::Request::new(&mut fields);
        match request.parse(held) {
            Ok(httparse::Status::Complete(end)) => {
                let text = |value: &[u8]| String::from_utf8_lossy(value).into_owned();
                let headers =
                    request.headers.iter().map(|field| (field.name.to_owned(), text(field.value))).collect();
                let (method, target) = (request.method.unwrap_or_default(), request.path.unwrap_or_default());
                let head = Head { method: method.to_owned(), target: target.to_owned(), headers };
                held.drain(..end);
                return Ok(Some(head));
            }
            Ok(httparse::Status::Partial) if held.len() < MAX_HEAD && begun.elapsed() < IDLE => {}
            _ => return Err(ErrorKind::InvalidData.into()),
        }
        let mut more = [0; 4096];
        match stream.read(&mut more) {
            Ok(0) => return Ok(None),
            Ok(count) => held.extend_from_slice(&more[..count]),
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}

fn write(mut stream: &TcpStream, answer: &Answer, keep: bool, bare: bool) -> io::Result<()> {
    let Answer { status, kind, cache, lines, body } = answer;
    let (reason, len) = (reason(*status), body.len());
    let ending = if keep { "keep-alive" } else { "close" };
    let mut all = format!(
        "HTTP/1.1 {status} {reason}\r\nContent-Type: {kind}\r\nContent-Length: {len}\r\nCache-Control: {cache}\r\nConnection: {ending}\r\n{lines}\r\n"
    )
    .into_bytes();
    if !bare {
        all.extend_from_slice(body);
    }
    stream.write_all(&all)
}

fn reason(status: u16) -> &'static str {
    match status {
        200 => "OK",
        403 => "Forbidden",
        404 => "Not Found",
        409 => "Conflict",
        411 => "Length Required",
        405 => "Method Not Allowed",
        413 => "Content Too Large",
        422 => "Unprocessable Content",
        429 => "Too Many Requests",
        500 => "Internal Server Error",
        _ => "Bad Request",
    }
}
