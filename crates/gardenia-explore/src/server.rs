//! The server: finds a port, checks each request, hands it to the page's files or to the calls.

use crate::api;
use crate::assets;
use crate::guard::Guard;
use crate::http::{self, Answer, Head, Service};
use crate::job::Jobs;
use crate::store::Store;
use serde_json::{Value, json};
use std::io;
use std::net::{IpAddr, SocketAddr, TcpListener, TcpStream};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Bytes of a request that is not an upload.
const MAX_BODY: u64 = 1 << 20;
/// How many ports are tried after a busy one.
const TRIES: u16 = 100;

/// What scripts and pages of others may not do here, and what ours needs not.
macro_rules! lines {
    ($own:literal) => {
        concat!(
            "Content-Security-Policy: ",
            $own,
            "; object-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'\r\n",
            "X-Content-Type-Options: nosniff\r\nReferrer-Policy: no-referrer\r\nCross-Origin-Resource-Policy: same-origin\r\n"
        )
    };
}
const LINES: &str = lines!("default-src 'self'; img-src 'self' blob: data:");
/// The lab's report is one file with its style in it, and has no scripts.
const LAB_LINES: &str = lines!("default-src 'none'; style-src 'unsafe-inline'");

/// How a server is started.
#[derive(Clone, Debug)]
pub struct Options {
    /// Files to inspect.
    pub files: Vec<PathBuf>,
    /// Bytes of an upload.
    pub max_upload: u64,
    /// What every request must bring, if it is not only reached from this machine.
    pub token: Option<String>,
}

impl Default for Options {
    fn default() -> Self {
        Self { files: Vec::new(), max_upload: 256 << 20, token: None }
    }
}

/// Everything that requests share.
pub(crate) struct Shared {
    pub(crate) guard: Guard,
    pub(crate) store: Store,
    pub(crate) jobs: Jobs,
    pub(crate) max_upload: u64,
}

/// A server that listens.
pub struct Server {
    listener: TcpListener,
    stop: AtomicBool,
    shared: Arc<Shared>,
    address: SocketAddr,
}

/// Listens at `port`, or, if it is busy, at the next free one.
pub fn listen(address: IpAddr, port: u16) -> io::Result<TcpListener> {
    let mut busy = None;
    for port in port..=port.saturating_add(TRIES) {
        match TcpListener::bind((address, port)) {
            Err(error) if error.kind() == io::ErrorKind::AddrInUse => busy = Some(error),
            other => return other,
        }
    }
    Err(busy.unwrap_or_else(|| io::ErrorKind::AddrInUse.into()))
}

impl Server {
    /// A server on this listener.
    pub fn new(listener: TcpListener, options: Options) -> anyhow::Result<Self> {
        let address = listener.local_addr()?;
        let guard = Guard::new(address.ip(), address.port(), options.token);
        let store = Store::new(options.files, options.max_upload);
        let shared = Shared { guard, store, jobs: Jobs::default(), max_upload: options.max_upload };
        Ok(Self { listener, stop: AtomicBool::new(false), shared: Arc::new(shared), address })
    }

    /// Where it listens.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Answers requests until [`stop`](Self::stop) is called.
    pub fn run(&self) {
        http::serve(&self.listener, &self.stop, &self.shared);
    }

    /// Ends [`run`](Self::run).
    pub fn stop(&self) {
        self.stop.store(true, Ordering::Relaxed);
        // Wakes the loop.
        let _ = TcpStream::connect(self.address);
    }
}

/// A parameter of the address.
pub(crate) fn parameter(query: &str, name: &str) -> Option<String> {
    let pair = query.split('&').find_map(|pair| pair.strip_prefix(name)?.strip_prefix('='))?;
    let (mut bytes, mut rest) = (Vec::new(), pair.bytes());
    while let Some(byte) = rest.next() {
        bytes.push(match byte {
            b'+' => b' ',
            b'%' => {
                let mut digit = || (rest.next()? as char).to_digit(16);
                (digit()? * 16 + digit()?) as u8
            }
            byte => byte,
        });
    }
    String::from_utf8(bytes).ok()
}

/// Path and query.
fn split(target: &str) -> (&str, &str) {
    target.split_once('?').unwrap_or((target, ""))
}

fn refusal(status: u16, why: &str) -> Answer {
    sent(status, &json!({ "error": why }))
}

fn sent(status: u16, value: &Value) -> Answer {
    let body = value.to_string().into_bytes();
    Answer { status, kind: "application/json", cache: "no-store", lines: LINES, body }
}

impl Service for Shared {
    fn refuse(&self, status: u16, why: &str) -> Answer {
        refusal(status, why)
    }

    fn head(&self, head: &Head) -> Result<u64, Answer> {
        let (path, query) = split(&head.target);
        let asset = assets::find(path);
        let token = head.header("X-Token").map(str::to_owned).or_else(|| parameter(query, "token"));
        // Someone who follows a link comes from another site, and only gets the page.
        let site = head.header("Sec-Fetch-Site").filter(|_| asset.is_none());
        let refused = self.guard.refusal(head.header("Host"), head.header("Origin"), site, token.as_deref());
        if let Some(refused) = refused {
            // The page's scripts hold no secret, and come without the token; the page and its data need it.
            let open = refused.is_token() && asset.is_some() && path != "/";
            if !open {
                return Err(refusal(403, refused.why()));
            }
        }
        match (asset, path.strip_prefix("/api/")) {
            (Some(_), _) if !matches!(head.method.as_str(), "GET" | "HEAD") => Err(refusal(405, "only GET")),
            (Some(_), _) => Ok(0),
            (None, Some("upload" | "streams")) => Ok(self.max_upload),
            (None, Some(_)) => Ok(MAX_BODY),
            (None, None) => Err(refusal(404, "there is no such page")),
        }
    }

    fn answer(&self, head: &Head, body: Vec<u8>) -> Answer {
        let (path, query) = split(&head.target);
        if let Some(asset) = assets::find(path) {
            let lines = if asset.is_page { LINES } else { LAB_LINES };
            return Answer {
                status: 200,
                kind: asset.kind,
                cache: "no-cache",
                lines,
                body: asset.bytes.to_vec(),
            };
        }
        let name = path.strip_prefix("/api/").unwrap_or_default();
        let page = head.header("X-Page").unwrap_or_default();
        match api::answer(self, api::Call { name, query, body, page, is_post: head.method == "POST" }) {
            Ok(value) => sent(200, &value),
            Err(api::Refused { code, why }) => refusal(code, &why),
        }
    }
}
