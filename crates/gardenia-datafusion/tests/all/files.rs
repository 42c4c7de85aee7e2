//! Filters that other programs made: the command, and Redis. `crates/gardenia-datafusion/tests/run`
//! says where both are.

use crate::{answers, built, context, filter, hex, planning_error, table};
use datafusion::arrow::array::StringArray;
use gardenia::{AnyFilter, KeyHasher};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

fn from_environment(name: &str) -> String {
    std::env::var(name)
        .unwrap_or_else(|_| panic!("{name} is not set: use crates/gardenia-datafusion/tests/run"))
}

/// Runs the command with some input.
fn gardenia(args: &[&str], input: &str) {
    let mut command = Command::new(from_environment("GARDENIA_COMMAND"));
    let mut child = command.args(args).stdin(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
    assert!(child.wait().unwrap().success(), "{args:?}");
}

#[tokio::test]
async fn filters_of_the_command_are_asked_and_merged_in_sql() {
    let there = tempfile::tempdir().unwrap();
    let path = there.path().join("seen.gdn");
    let path = path.to_str().unwrap();
    gardenia(&["build", "-q", "--kind", "counting", "--items", "1000", "-o", path], "rose\ntulip\nrose\n");
    let ctx = context();
    table(&ctx, "t", vec![("x", Arc::new(StringArray::from(vec![Some("rose"), Some("thistle"), None])))], 1);
    let bytes = std::fs::read(path).unwrap();
    for filter in [hex(&bytes), format!("'{path}'")] {
        let query = format!("select filter_contains({filter}, x) from t");
        assert_eq!(answers(&ctx, &query).await, [Some(true), Some(false), None], "{query}");
        let query = format!(
            "select filter_count({filter}, 'rose') = 2 and filter_info({filter})['kind'] = 'counting'"
        );
        assert_eq!(answers(&ctx, &query).await, [Some(true)], "{query}");
    }
    // The command and SQL build the same filter from the same rows; the command notes how it made keys of lines, too.
    let rows = "(values ('rose'), ('tulip'), ('rose')) as t(x)";
    let ours = filter(&ctx, &format!("select filter_agg(x, 'counting items=1000') from {rows}")).await;
    let (ours, theirs) = (AnyFilter::from_bytes(&ours).unwrap(), AnyFilter::from_bytes(&bytes).unwrap());
    assert_eq!((ours == theirs, ours.spec()), (true, theirs.spec()));
    let more = "select filter_agg('lily', 'counting items=1000') as f";
    let union = format!("select filter_union(f) from ({more} union all select {} as f)", hex(&bytes));
    let union = hex(&filter(&ctx, &union).await);
    assert_eq!(
        answers(
            &ctx,
            &format!("select filter_contains({union}, 'lily') and filter_contains({union}, 'tulip')")
        )
        .await,
        [Some(true)]
    );
}

#[tokio::test]
async fn a_file_that_is_replaced_is_opened_again() {
    let there = tempfile::tempdir().unwrap();
    let path = there.path().join("f.gdn");
    let ctx = context();
    let query = format!("select filter_contains('{}', x) from (values (1), (2)) as t(x)", path.display());
    for keys in [[1, 1], [2, 2]] {
        let digests = keys.map(|key: i64| KeyHasher::default().digest_key(&key));
        built("bloom items=100 fpp=1e-6", &digests).save(&path).unwrap();
        assert_eq!(answers(&ctx, &query).await, [Some(keys[0] == 1), Some(keys[0] == 2)]);
    }
    std::fs::remove_file(&path).unwrap();
    let error = ctx.sql(&query).await.unwrap().collect().await.unwrap_err().to_string();
    assert!(error.contains("f.gdn") && error.contains("on every machine that runs the query"), "{error}");
    std::fs::write(&path, b"no filter").unwrap();
    let error = ctx.sql(&query).await.unwrap().collect().await.unwrap_err().to_string();
    assert!(error.contains("f.gdn"), "{error}");
    // Where a query is planned, the file need not be.
    let plan =
        ctx.sql("select filter_contains('/nowhere/f.gdn', x) from (values (1)) as t(x)").await.unwrap();
    assert!(plan.create_physical_plan().await.is_ok());
    let error = planning_error(&ctx, "select filter_contains(7, x) from (values (1)) as t(x)").await;
    assert!(error.contains("or the path of a .gdn file"), "{error}");
}

/// A server that ends with the test.
struct Redis {
    child: std::process::Child,
    stream: BufReader<TcpStream>,
}

impl Drop for Redis {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Redis {
    fn start(there: &Path) -> Self {
        let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let child = Command::new("redis-server")
            .args(["--bind", "127.0.0.1", "--save", "", "--port", &port.to_string()])
            .args(["--loadmodule", &from_environment("GARDENIA_MODULE")])
            .current_dir(there)
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        let end = Instant::now() + Duration::from_secs(60);
        loop {
            match TcpStream::connect(("127.0.0.1", port)) {
                Ok(stream) => return Self { child, stream: BufReader::new(stream) },
                Err(error) => assert!(Instant::now() < end, "redis-server: {error}"),
            }
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// Sends a command: its answer.
    fn call(&mut self, parts: &[&[u8]]) -> Vec<u8> {
        let mut request = format!("*{}\r\n", parts.len()).into_bytes();
        for part in parts {
            request.extend_from_slice(format!("${}\r\n", part.len()).as_bytes());
            request.extend_from_slice(part);
            request.extend_from_slice(b"\r\n");
        }
        self.stream.get_mut().write_all(&request).unwrap();
        self.answer()
    }

    /// The next answer; of a list, its last element.
    fn answer(&mut self) -> Vec<u8> {
        let mut line = String::new();
        self.stream.read_line(&mut line).unwrap();
        let number = || line[1..].trim_end().parse::<usize>().unwrap();
        match line.as_bytes()[0] {
            b'-' => panic!("{line}"),
            b'$' => {
                let mut bytes = vec![0; number() + 2];
                self.stream.read_exact(&mut bytes).unwrap();
                bytes.truncate(bytes.len() - 2);
                bytes
            }
            b'*' => (0..number()).map(|_| self.answer()).last().unwrap_or_default(),
            _ => line.into_bytes(),
        }
    }
}

#[tokio::test]
async fn filters_of_redis_are_asked_in_sql_and_go_back() {
    let there = tempfile::tempdir().unwrap();
    let mut redis = Redis::start(there.path());
    redis.call(&[b"GD.RESERVE", b"seen", b"KIND", b"blocked", b"ITEMS", b"1000", b"FPP", b"1e-4"]);
    redis.call(&[b"GD.ADD", b"seen", b"rose"]);
    redis.call(&[b"GD.ADD", b"seen", b"tulip"]);
    let bytes = redis.call(&[b"GD.DUMP", b"seen"]);
    let ctx = context();
    table(&ctx, "t", vec![("x", Arc::new(StringArray::from(vec!["tulip", "thistle", "rose"])))], 1);
    let query = format!("select filter_contains({}, x) from t", hex(&bytes));
    assert_eq!(answers(&ctx, &query).await, [Some(true), Some(false), Some(true)]);
    // The union with rows of a table is a key of Redis again.
    let ours = "select filter_agg(x, 'blocked items=1000 fpp=1e-4') as f from t where x = 'thistle'";
    let union =
        filter(&ctx, &format!("select filter_union(f) from ({ours} union all select {} as f)", hex(&bytes)))
            .await;
    redis.call(&[b"GD.LOAD", b"both", &union]);
    assert_eq!(redis.call(&[b"GD.EXISTS", b"both", b"thistle"]), b":1\r\n");
    assert_eq!(redis.call(&[b"GD.EXISTS", b"both", b"lily"]), b":0\r\n");
}
