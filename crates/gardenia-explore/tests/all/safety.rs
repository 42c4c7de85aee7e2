//! Who is refused, and what.

use crate::client::Running;
use explore::{Guard, Options, Refusal, listen, weight};
use gardenia::{AnyFilter, Bloom};
use serde_json::json;
use std::net::{IpAddr, Ipv4Addr};

#[test]
fn the_page_is_under_400_kilobytes() {
    assert!(weight() < 400_000, "{}", weight());
    assert!(weight() > 10_000, "{}", weight());
}

#[test]
fn the_labs_report_is_served_with_a_policy_of_its_own() {
    let server = Running::new(Options::default());
    let (status, report) = server.send("GET", "/lab.html", "", b"");
    assert!(status == 200 && report.contains("<section id=\"km-figure-1\""), "{status}");
    let policy = |path: &str| {
        use std::io::{Read, Write};
        let mut stream = std::net::TcpStream::connect(server.address()).unwrap();
        write!(stream, "HEAD {path} HTTP/1.1\r\nHost: {}\r\nConnection: close\r\n\r\n", server.address())
            .unwrap();
        let mut head = String::new();
        stream.read_to_string(&mut head).unwrap();
        head.lines().find(|line| line.starts_with("Content-Security-Policy")).unwrap().to_owned()
    };
    assert!(
        policy("/lab.html").contains("default-src 'none'; style-src 'unsafe-inline'"),
        "{}",
        policy("/lab.html")
    );
    assert!(!policy("/").contains("unsafe"), "{}", policy("/"));
    // What one asks for on demand does not weigh on the page.
    assert!(report.len() > weight());
}

#[test]
fn another_host_and_another_site_are_refused() {
    let server = Running::new(Options::default());
    let port = server.address().port();
    let status = |head: &str| {
        server.raw(&format!("GET /api/kinds HTTP/1.1\r\n{head}Connection: close\r\n\r\n"), b"").0
    };
    assert_eq!(status(&format!("Host: 127.0.0.1:{port}\r\n")), 200);
    assert_eq!(status(&format!("Host: localhost:{port}\r\n")), 200);
    // DNS rebinding: a stranger's name that leads here.
    assert_eq!(status(&format!("Host: evil.example:{port}\r\n")), 403);
    assert_eq!(status("Host: 127.0.0.1:1\r\n"), 403);
    assert_eq!(status(""), 403);
    assert_eq!(status(&format!("Host: 127.0.0.1:{port}\r\nOrigin: http://evil.example\r\n")), 403);
    assert_eq!(status(&format!("Host: 127.0.0.1:{port}\r\nOrigin: null\r\n")), 403);
    assert_eq!(status(&format!("Host: 127.0.0.1:{port}\r\nOrigin: http://127.0.0.1:{port}\r\n")), 200);
    assert_eq!(status(&format!("Host: 127.0.0.1:{port}\r\nSec-Fetch-Site: cross-site\r\n")), 403);
}

#[test]
fn a_token_is_demanded_where_there_is_one() {
    let server = Running::new(Options { token: Some("sesamesesame".into()), ..Options::default() });
    assert_eq!(server.send("GET", "/api/kinds", "", b"").0, 403);
    assert_eq!(server.send("GET", "/", "", b"").0, 403);
    assert_eq!(server.send("GET", "/?token=sesamesesame", "", b"").0, 200);
    assert_eq!(server.send("GET", "/api/kinds?token=sesame", "", b"").0, 403);
    assert_eq!(server.send("GET", "/api/kinds", "X-Token: sesamesesame\r\n", b"").0, 200);
    // At every address of the machine: any address may be asked, but no name.
    let every = Guard::new(IpAddr::V4(Ipv4Addr::UNSPECIFIED), 4267, Some("sesamesesame".into()));
    let asked =
        |host: &str, origin: Option<&str>| every.refusal(Some(host), origin, None, Some("sesamesesame"));
    assert_eq!(asked("192.168.1.5:4267", Some("http://192.168.1.5:4267")), None);
    assert_eq!(asked("[fe80::1]:4267", None), None);
    assert_eq!(asked("192.168.1.5:80", None), Some(Refusal::Host));
    assert_eq!(asked("evil.example:4267", None), Some(Refusal::Host));
    assert_eq!(asked("192.168.1.5:4267", Some("http://evil.example:4267")), Some(Refusal::Site));
    let guard = Guard::new(IpAddr::V4(Ipv4Addr::new(10, 0, 0, 7)), 80, Some("sesamesesame".into()));
    assert!(guard.refusal(Some("10.0.0.7:80"), None, None, Some("sesamesesame")).is_none());
    assert!(guard.refusal(Some("10.0.0.7:80"), None, None, None).is_some());
}

#[test]
fn no_path_leads_to_the_disk() {
    let server = Running::new(Options::default());
    for path in [
        "/../Cargo.toml",
        "/..%2f..%2fetc/passwd",
        "//etc/passwd",
        "/page/../../src/main.rs",
        "/api/../x",
        "/%00",
        "/main.js/..",
    ] {
        let (status, body) = server.send("GET", path, "", b"");
        assert!(status == 404 || status == 400, "{path}: {status}");
        assert!(!body.contains("[package]") && !body.contains("root:"));
    }
    assert_eq!(server.send("GET", "/main.js", "", b"").0, 200);
    assert_eq!(server.send("POST", "/main.js", "", b"").0, 405);
    assert_eq!(server.send("GET", "/api/upload", "", b"").0, 405);
    assert_eq!(server.send("POST", "/api/plan", "", b"").0, 405);
    let (_, head) = server
        .raw(&format!("GET / HTTP/1.1\r\nHost: {}\r\nConnection: close\r\n\r\n", server.address()), b"");
    assert!(head.contains("<main"));
}

#[test]
fn uploads_are_bounded_and_hostile_ones_refused_in_the_librarys_words() {
    let server = Running::new(Options { max_upload: 200_000, ..Options::default() });
    let mut filter = Bloom::new(1_000, 0.01).unwrap();
    filter.insert("rose");
    let good = filter.to_bytes().unwrap();
    assert_eq!(server.post("/api/upload?name=a.gdn", &good).0, 200);
    let (status, told) = server.post("/api/upload?name=big.gdn", &vec![0; 200_001]);
    assert!(status == 413 && told["error"].as_str().unwrap().contains("--max-upload"), "{status} {told}");
    // A longer body than announced, and none at all.
    assert_eq!(server.post("/api/upload?name=empty", b"").0, 422);
    for cut in [1, 8, 40, good.len() / 2, good.len() - 1] {
        let (status, told) = server.post("/api/upload?name=cut.gdn", &good[..cut]);
        assert_eq!(status, 422, "{cut}: {told}");
        let error = AnyFilter::from_bytes(&good[..cut]).unwrap_err().to_string();
        if cut > 8 {
            assert_eq!(told["error"], format!("cut.gdn: {error}"));
        }
    }
    let mut state = 1u64;
    for at in 0..good.len().min(600) {
        let mut bad = good.clone();
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        bad[at] ^= (state >> 56) as u8 | 1;
        let (status, told) = server.post("/api/upload?name=bad.gdn", &bad);
        assert!(status == 422 || status == 200, "byte {at}: {status} {told}");
    }
    // Nothing hostile has stayed, and the server lives.
    let (_, files) = server.get("/api/files");
    assert!(files.as_array().unwrap().iter().all(|file| file["error"].is_null()), "{files}");
}

#[test]
fn malformed_requests_do_not_end_the_server() {
    let server = Running::new(Options::default());
    for body in [&b""[..], b"{", b"[]", b"{\"spec\":1}", &[0xff; 100], &b"[".repeat(200_000)] {
        for call in ["inside", "query", "streams", "simulate"] {
            let (status, _) = server.post(&format!("/api/{call}"), body);
            assert!((400..500).contains(&status), "{call}: {status}");
        }
    }
    assert_eq!(server.post("/api/inside", &vec![b' '; (1 << 20) + 1]).0, 413);
    for path in ["/api/fill?id=x", "/api/job?id=1", "/api/job", "/api/none"] {
        assert!((400..500).contains(&server.get(path).0), "{path}");
    }
    for path in ["/api/file?id=99", "/api/verify?id=99", "/api/compare?a=1&b=2", "/api/compare"] {
        assert!((400..500).contains(&server.post(path, b"").0), "{path}");
        assert_eq!(server.get(path).0, 405, "{path}");
    }
    let huge = json!({ "spec": "bloom items=1e12", "steps": [], "key": null }).to_string();
    assert_eq!(server.post("/api/inside", huge.as_bytes()).0, 400);
    assert_eq!(server.get("/api/kinds").0, 200);
}

/// A browser opens six connections, keeps them, and asks on all of them at once.
#[test]
fn many_kept_connections_are_answered_at_once() {
    use std::io::{Read, Write};
    let server = Running::new(Options::default());
    let ask = format!("GET /icon.svg HTTP/1.1\r\nHost: {}\r\n\r\n", server.address());
    let mut kept: Vec<_> = (0..20).map(|_| std::net::TcpStream::connect(server.address()).unwrap()).collect();
    for _ in 0..5 {
        kept.iter_mut().for_each(|stream| stream.write_all(ask.as_bytes()).unwrap());
        for stream in &mut kept {
            stream.set_read_timeout(Some(std::time::Duration::from_secs(10))).unwrap();
            let mut answer = Vec::new();
            while !answer.ends_with(b"</svg>\n") {
                let mut part = [0; 4096];
                let count = stream.read(&mut part).expect("an answer on every connection");
                assert!(count > 0);
                answer.extend_from_slice(&part[..count]);
            }
            assert!(answer.starts_with(b"HTTP/1.1 200 OK"));
        }
    }
}

#[test]
fn what_is_not_http_is_refused() {
    let server = Running::new(Options::default());
    assert_eq!(server.raw("hello\r\n\r\n", b"").0, 400);
    assert_eq!(server.raw(&format!("GET / HTTP/1.1\r\nHost: {}", "x".repeat(40_000)), b"").0, 400);
    let host = server.address();
    let chunked =
        format!("POST /api/inside HTTP/1.1\r\nHost: {host}\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n");
    assert_eq!(server.raw(&chunked, b"").0, 411);
    let length = format!("POST /api/inside HTTP/1.1\r\nHost: {host}\r\nContent-Length: -1\r\n\r\n");
    assert_eq!(server.raw(&length, b"").0, 400);
    assert_eq!(server.get("/api/kinds").0, 200);
}

#[test]
fn a_page_has_one_heavy_job_at_a_time_and_can_stop_it() {
    let server = Running::new(Options::default());
    let body = json!({ "figure": "schemes", "c": 8, "n": 1_000_000, "k": 5, "seed": 1 }).to_string();
    let start = |page: &str| {
        let (status, told) =
            server.send("POST", "/api/simulate", &format!("X-Page: {page}\r\n"), body.as_bytes());
        (status, serde_json::from_str::<serde_json::Value>(&told).unwrap())
    };
    let (status, first) = start("a");
    assert_eq!(status, 200);
    assert_eq!(start("a").0, 429);
    let (status, other) = start("b");
    assert_eq!(status, 200);
    for job in [&first, &other] {
        assert_eq!(server.post(&format!("/api/stop?id={}", job["job"]), b"").0, 200);
        let ended = server.wait(job);
        assert_eq!(ended["stopped"], true);
        let done = ended["result"]["points"].as_array().map_or(0, Vec::len);
        assert!(done < 11 * 9, "{done} points: it was not stopped");
    }
    assert_eq!(start("a").0, 200);
}

#[test]
fn a_busy_port_gives_the_next_free_one() {
    let first = listen(Ipv4Addr::LOCALHOST.into(), 0).unwrap();
    let port = first.local_addr().unwrap().port();
    let next = listen(Ipv4Addr::LOCALHOST.into(), port).unwrap().local_addr().unwrap().port();
    assert!(next > port, "{next} {port}");
}
