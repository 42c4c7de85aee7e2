//! The program itself.

use std::io::{BufRead, BufReader, Read};
use std::net::TcpListener;
use std::process::{Command, Stdio};

fn program() -> Command {
    Command::new(env!("CARGO_BIN_EXE_gardenia-explore"))
}

#[test]
fn a_busy_port_is_reported_and_the_address_printed() {
    let busy = TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let port = busy.local_addr().unwrap().port();
    let mut child = program()
        .args(["--no-open", "--port", &port.to_string()])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
    child.kill().unwrap();
    child.wait().unwrap();
    let mut told = String::new();
    child.stderr.take().unwrap().read_to_string(&mut told).unwrap();
    assert!(line.starts_with("http://127.0.0.1:") && !line.contains(&format!(":{port}/")), "{line}");
    assert!(told.contains(&format!("port {port} is busy; using ")), "{told}");
}

#[test]
fn an_open_address_needs_a_token_and_a_file_must_exist() {
    for (args, word) in [
        (&["--host", "0.0.0.0", "--no-open"][..], "--token random"),
        (&["--token", "abc", "--no-open"][..], "at least 8"),
        (&["missing.gdn", "--no-open"][..], "missing.gdn"),
    ] {
        let out = program().args(args).output().unwrap();
        let told = String::from_utf8_lossy(&out.stderr).into_owned();
        assert!(out.status.code() == Some(2) && told.contains(word), "{args:?}: {told}");
    }
}
