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
fn errors_say_what_is_wrong_and_what_to_change() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().display().to_string();
    let directory = format!("gardenia: {path}: is a directory\nhint: name the files in it\n");
    for (args, expected) in [
        (
            &["--host", "0.0.0.0"][..],
            "gardenia: --host 0.0.0.0 can be reached from other machines\nhint: add --token random\n",
        ),
        (
            &["--token", "abc"],
            "gardenia: --token must have at least 8 letters and digits\nhint: --token random\n",
        ),
        (&["missing.gdn"], "gardenia: missing.gdn: No such file or directory\n"),
        (&[&path], &directory),
        (&["--port", "many"], "gardenia: invalid value 'many' for '--port <PORT>': "),
        (&["--host", "192.0.2.1", "--token", "random"], "gardenia: cannot listen at 192.0.2.1 port 4267: "),
    ] {
        let out = program().arg("--no-open").args(args).output().unwrap();
        let told = String::from_utf8_lossy(&out.stderr).into_owned();
        let right = if expected.ends_with('\n') { told == expected } else { told.starts_with(expected) };
        assert!(out.status.code() == Some(2) && right, "{args:?}: {told}");
        if args[0] == "--host" {
            assert!(told.contains("\nhint: "), "{told}");
        }
    }
}
