//! `gardenia-explore`: opens the explorer in the browser.

use anyhow::Context;
use clap::Parser;
use explore::{Options, Server, listen};
use gardenia_terminal::message::{hinted, say, usage};
use gardenia_terminal::{Outcome, exit_code};
use std::hash::{BuildHasher, Hasher};
use std::io::{ErrorKind, Write};
use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};

/// Plan, draw, probe and inspect filters on a page in the browser
///
/// Serves the page on this machine only. Nothing is sent anywhere else.
#[derive(Debug, Parser)]
#[command(
    name = "gardenia explore",
    version,
    after_help = "\
Examples:
  gardenia explore                        plan a filter and look inside small ones
  gardenia explore seen.gdn               inspect a file
  gardenia explore mon.gdn tue.gdn        compare two
  gardenia explore --no-open --port 9000  print the address only"
)]
struct Args {
    /// Filter files to inspect, of this library or another program
    files: Vec<PathBuf>,

    /// Port to listen at; if it is busy, the next free one [default: 4267]
    #[arg(long, value_name = "PORT", default_value_t = 4267, hide_default_value = true)]
    port: u16,

    /// Print the address and open no browser
    #[arg(long)]
    no_open: bool,

    /// Address to listen at; any but a loopback address needs --token [default: 127.0.0.1]
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1", hide_default_value = true)]
    host: IpAddr,

    /// Demand this word of every request, or `random` for one that is printed
    #[arg(long, value_name = "WORD")]
    token: Option<String>,

    /// Largest file that can be dropped on the page, in MiB [default: 256]
    #[arg(long, value_name = "MIB", default_value_t = 256, hide_default_value = true)]
    max_upload: u64,
}

fn main() -> ExitCode {
    match Args::try_parse() {
        Ok(args) => exit_code(run(args)),
        Err(error) => usage(&error),
    }
}

fn run(args: Args) -> anyhow::Result<Outcome> {
    let token = match args.token.as_deref() {
        Some("random") => Some(random_word()),
        Some(word) if word.len() < 8 || !word.bytes().all(|byte| byte.is_ascii_alphanumeric()) => {
            return Err(hinted("--token must have at least 8 letters and digits", "--token random"));
        }
        other => other.map(str::to_owned),
    };
    if !args.host.is_loopback() && token.is_none() {
        let reason = format!("--host {} can be reached from other machines", args.host);
        return Err(hinted(reason, "add --token random"));
    }
    args.files.iter().try_for_each(|file| check(file))?;
    let listener = listen(args.host, args.port).map_err(|error| {
        let hint = match error.kind() {
            ErrorKind::AddrNotAvailable => "--host must be an address of this machine",
            ErrorKind::PermissionDenied => "--port above 1023",
            _ => "--port 0 chooses a free one",
        };
        hinted(format!("cannot listen at {} port {}: {error}", args.host, args.port), hint)
    })?;
    let port = listener.local_addr()?.port();
    if port != args.port && args.port != 0 {
        say(&format!("port {} is busy; using {port}", args.port));
    }
    let options = Options { files: args.files, max_upload: args.max_upload << 20, token: token.clone() };
    let server = Server::new(listener, options)?;
    let query = token.map_or_else(String::new, |token| format!("?token={token}"));
    let address = format!("http://{}/{query}", server.address());
    writeln!(std::io::stdout(), "{address}").context("stdout")?;
    if args.no_open || !open_browser(&address) {
        say("open the address in a browser; stop with Ctrl+C");
    }
    server.run();
    Ok(Outcome::Done)
}

/// An error if a file cannot be read at all. What is wrong inside it is shown on the page.
fn check(file: &Path) -> anyhow::Result<()> {
    let opened = std::fs::File::open(file).with_context(|| file.display().to_string())?;
    if opened.metadata()?.is_dir() {
        let reason = format!("{}: is a directory", file.display());
        return Err(hinted(reason, "name the files in it"));
    }
    Ok(())
}

/// A word that nobody can guess: the standard library seeds its hashers from the system.
fn random_word() -> String {
    let word = || std::hash::RandomState::new().build_hasher().finish();
    format!("{:016x}{:016x}", word(), word())
}

/// Opens the address; false if there is nothing to open it with.
fn open_browser(address: &str) -> bool {
    let program = match std::env::consts::OS {
        "macos" => "open",
        "windows" => "explorer",
        _ if std::env::var_os("DISPLAY").is_none() && std::env::var_os("WAYLAND_DISPLAY").is_none() => {
            return false;
        }
        _ => "xdg-open",
    };
    let mut command = Command::new(program);
    command.arg(address).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command.spawn().is_ok()
}
