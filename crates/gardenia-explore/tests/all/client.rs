//! A server on a free port of 127.0.0.1, and the plainest of clients.

use explore::{Options, Server, listen};
use serde_json::Value;
use std::io::{Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::sync::Arc;
use std::time::Duration;

pub(crate) struct Running {
    server: Arc<Server>,
    thread: Option<std::thread::JoinHandle<()>>,
}

impl Running {
    pub(crate) fn new(options: Options) -> Self {
        let server = Arc::new(Server::new(listen(Ipv4Addr::LOCALHOST.into(), 0).unwrap(), options).unwrap());
        let own = server.clone();
        Self { server, thread: Some(std::thread::spawn(move || own.run())) }
    }

    pub(crate) fn address(&self) -> SocketAddr {
        self.server.address()
    }

    /// Sends these lines and bytes as they are: status and body.
    pub(crate) fn raw(&self, head: &str, body: &[u8]) -> (u16, String) {
        let mut stream = TcpStream::connect(self.address()).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
        stream.write_all(head.as_bytes()).unwrap();
        let _ = stream.write_all(body);
        let mut answer = Vec::new();
        let _ = stream.read_to_end(&mut answer);
        let answer = String::from_utf8_lossy(&answer).into_owned();
        let status = answer.split(' ').nth(1).and_then(|code| code.parse().ok()).unwrap_or(0);
        let body = answer.split_once("\r\n\r\n").map_or("", |(_, body)| body).to_owned();
        (status, body)
    }

    pub(crate) fn send(&self, method: &str, path: &str, headers: &str, body: &[u8]) -> (u16, String) {
        let (host, len) = (self.address(), body.len());
        let head = format!(
            "{method} {path} HTTP/1.1\r\nHost: {host}\r\nContent-Length: {len}\r\nConnection: close\r\n{headers}\r\n"
        );
        self.raw(&head, body)
    }

    pub(crate) fn get(&self, path: &str) -> (u16, Value) {
        let (status, body) = self.send("GET", path, "", b"");
        (status, serde_json::from_str(&body).unwrap_or(Value::String(body)))
    }

    pub(crate) fn post(&self, path: &str, body: &[u8]) -> (u16, Value) {
        let (status, body) = self.send("POST", path, "", body);
        (status, serde_json::from_str(&body).unwrap_or(Value::String(body)))
    }

    /// Starts a job and waits for its result; a refusal instead, with its status.
    pub(crate) fn job(&self, path: &str) -> (u16, Value) {
        let (status, told) = self.post(path, b"");
        if status != 200 {
            return (status, told);
        }
        let state = self.wait(&told);
        if state["error"].is_null() { (200, state["result"].clone()) } else { (200, state) }
    }

    /// Waits for a job to end.
    pub(crate) fn wait(&self, started: &Value) -> Value {
        let id = started["job"].as_u64().unwrap_or_else(|| panic!("no job: {started}"));
        loop {
            let (_, state) = self.get(&format!("/api/job?id={id}"));
            if state["finished"] == true {
                return state;
            }
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.server.stop();
        let _ = self.thread.take().map(std::thread::JoinHandle::join);
    }
}
