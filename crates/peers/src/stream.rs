//! The command beside other tools of the shell: deduplicating, building and asking, on one file of
//! log lines.
//!
//! Each tool runs as a process of its own, by turns, and is told apart by processor time (user and
//! system) and peak memory; what it prints is thrown away while it is timed, and counted in a run
//! before. Tools that the package registry has are installed into a directory of the build, by
//! name.

use crate::host;
use anyhow::{Context, bail};
use nix::sys::resource::{UsageWho, getrusage};
use std::fmt::Write as _;
use std::fs::{self, File};
use std::hash::{DefaultHasher, Hasher};
use std::io::{BufRead, BufReader, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

/// What `peers stream` takes.
#[derive(Debug, clap::Args)]
pub(crate) struct StreamArgs {
    /// Lines of the file, half of which came before
    #[arg(long, default_value_t = 10_000_000)]
    lines: u64,

    /// Indicators that are looked for anywhere in a line, half of them addresses and half hashes
    #[arg(long, default_value_t = 1_000_000)]
    indicators: u64,

    /// Runs of each tool, of which the best counts
    #[arg(long, default_value_t = 3)]
    repeat: u32,

    /// Only tools whose name contains this, and gardenia
    #[arg(long)]
    only: Option<String>,

    /// Only sections whose title contains this
    #[arg(long)]
    section: Option<String>,

    /// Seconds of processor time after which grep and rg are stopped in their search for indicators
    #[arg(long, default_value_t = 600)]
    most_seconds: u64,

    /// GiB of memory that they may use there
    #[arg(long, default_value_t = 8)]
    most_memory: u64,
}

impl StreamArgs {
    fn wants(&self, title: &str) -> bool {
        self.section.as_ref().is_none_or(|section| title.contains(section))
    }

    /// Whether a section needs tools of the package registry.
    fn wants_tools(&self) -> bool {
        [DEDUP, BUILD, MISS, HIT].into_iter().any(|title| self.wants(title))
    }
}

/// Runs a command and writes what it took to a file: a process of its own, so that the system's
/// account of its children is of this one.
#[derive(Debug, clap::Args)]
pub(crate) struct MeasureArgs {
    to: PathBuf,
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    command: Vec<String>,
}

pub(crate) fn measure(args: &MeasureArgs) -> anyhow::Result<()> {
    let (program, rest) = args.command.split_first().context("no command")?;
    let start = Instant::now();
    let status = Command::new(program).args(rest).status()?;
    let wall = start.elapsed().as_secs_f64();
    let usage = getrusage(UsageWho::RUSAGE_CHILDREN)?;
    let seconds = |time: nix::sys::time::TimeVal| time.tv_sec() as f64 + time.tv_usec() as f64 / 1e6;
    let cpu = seconds(usage.user_time()) + seconds(usage.system_time());
    let code = status.code().unwrap_or(-1);
    Ok(fs::write(&args.to, format!("{code} {cpu} {wall} {}", usage.max_rss()))?)
}

/// What a run took.
#[derive(Clone, Copy)]
struct Cost {
    cpu: f64,
    wall: f64,
    /// Peak memory.
    mib: f64,
}

/// A tool and what it is to do.
struct Task {
    name: &'static str,
    command: Vec<String>,
    /// Where its input comes from, if by a pipe.
    stdin: Option<PathBuf>,
    /// grep and its like say 1 when they find nothing.
    nothing: bool,
    /// A file that it makes, gone before each run.
    makes: Option<PathBuf>,
    /// Runs once, in bounded time and memory: what it took when it was stopped is the least it
    /// takes.
    bounded: bool,
}

/// What came of a task.
struct Row {
    name: &'static str,
    output: Option<Printed>,
    cost: Cost,
    /// It did not come to its end.
    stopped: bool,
}

/// What a task prints.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Printed {
    lines: u64,
    digest: u64,
}

pub(crate) fn run(args: &StreamArgs) -> anyhow::Result<()> {
    let here = Place::prepare(args)?;
    let mut out = std::io::stdout();
    writeln!(out, "{}", host::describe())?;
    let mib = fs::metadata(here.file("log"))?.len() as f64 / f64::from(1 << 20);
    writeln!(
        out,
        "{} lines, {mib:.0} MiB, every second one a repeat; best of {} runs\n",
        args.lines, args.repeat
    )?;
    let mut ratios = String::new();
    for (title, tasks) in here.sections().into_iter().filter(|(title, _)| args.wants(title)) {
        let rows = here.section(args, tasks)?;
        if [GREP, TOKENS].contains(&title) {
            check_alike(&rows)?;
        }
        writeln!(out, "{title}\n{}", table(&rows))?;
        out.flush()?; // also in a pipe a section is to be seen as soon as it is ready
        judge(title, &rows, &mut ratios)?;
    }
    Ok(write!(out, "Goals, as ratios in this run\n{ratios}")?)
}

/// One section as a table.
fn table(rows: &[Row]) -> String {
    let mut text =
        format!("  {:<26}{:>8}{:>9}{:>11}{:>14}\n", "", "CPU s", "wall s", "peak MiB", "lines out");
    for Row { name, output, cost: Cost { cpu, wall, mib }, stopped } in rows {
        let lines = match output {
            _ if *stopped => "stopped".to_owned(),
            output => output.map_or_else(String::new, |output| output.lines.to_string()),
        };
        let _ = writeln!(text, "  {name:<26}{cpu:>8.2}{wall:>9.2}{mib:>11.1}{lines:>14}");
    }
    text
}

/// Exact searches print the same lines.
fn check_alike(rows: &[Row]) -> anyhow::Result<()> {
    let exact = rows.iter().filter(|row| row.name != OURS_QUERY && !row.stopped);
    let mut printed = exact.filter_map(|row| Some((row.name, row.output?)));
    let Some((first, output)) = printed.next() else { return Ok(()) };
    match printed.find(|(_, other)| *other != output) {
        Some((other, _)) => bail!("{first} and {other} do not print the same lines"),
        None => Ok(()),
    }
}

const DEDUP: &str = "Each line once";
const BUILD: &str = "A filter of all lines";
const MISS: &str = "Lines that are not in it";
const HIT: &str = "Lines that all are";
const GREP: &str = "Lines that are among 100,000 others";
const TOKENS: &str = "Lines with an indicator";

/// The ratios that the project has set itself.
fn judge(title: &str, rows: &[Row], text: &mut String) -> std::fmt::Result {
    let cpu = |name: &str| rows.iter().find(|row| row.name == name).map(|row| row.cost.cpu);
    let mut goal = |what: &str, ours: Option<f64>, theirs: Option<f64>, most: f64| match (ours, theirs) {
        (Some(ours), Some(theirs)) => {
            let met = if ours <= most * theirs { "met" } else { "not met" };
            writeln!(text, "  {what:<52}{:>7.2}  at most {most:<5} {met}", ours / theirs)
        }
        _ => writeln!(text, "  {what:<52}      -  not measured"),
    };
    match title {
        DEDUP => {
            // The other that errs is no exact tool.
            let exact =
                rows.iter().filter(|row| !row.name.starts_with("gardenia") && row.name != "runiq compact");
            let best = exact.map(|row| row.cost.cpu).reduce(f64::min);
            goal("dedup, CPU, against the best exact tool", cpu(OURS_DEDUP), best, 0.5)?;
            let memory = rows.iter().find(|row| row.name == OURS_DEDUP).map(|row| row.cost.mib);
            goal("dedup, peak memory, against 25 MiB", memory, Some(25.0), 1.0)
        }
        BUILD => goal("build, CPU, against poppy", cpu(OURS_BUILD), cpu("poppy create"), 0.7),
        MISS => goal("query of absent lines, CPU, against poppy", cpu(OURS_QUERY), cpu("poppy check"), 0.75),
        HIT => goal("query of present lines, CPU, against poppy", cpu(OURS_QUERY), cpu("poppy check"), 0.25),
        GREP => goal("query, CPU, against grep", cpu(OURS_QUERY), cpu("grep -xFf"), 1.0),
        _ => {
            for (name, most) in [("grep -wFf", 0.2), ("rg -wFf", 0.5)] {
                let stopped = rows.iter().any(|row| row.name == name && row.stopped);
                let when = if stopped { ", when stopped" } else { "" };
                goal(
                    &format!("query --tokens, CPU, against {name}{when}"),
                    cpu(OURS_TOKENS),
                    cpu(name),
                    most,
                )?;
            }
            let memory = rows.iter().find(|row| row.name == OURS_TOKENS).map(|row| row.cost.mib);
            goal("query --tokens, peak memory, against 60 MB", memory, Some(60e6 / f64::from(1 << 20)), 1.0)
        }
    }
}

const OURS_DEDUP: &str = "gardenia dedup";
const OURS_BUILD: &str = "gardenia build";
const OURS_QUERY: &str = "gardenia query";
const OURS_TOKENS: &str = "gardenia query --tokens";

/// Files and programs.
struct Place {
    directory: PathBuf,
    gardenia: PathBuf,
    /// Most seconds and bytes of a search that is bounded.
    most: (u64, u64),
}

impl Place {
    /// Builds and installs what is needed, and writes the file.
    fn prepare(args: &StreamArgs) -> anyhow::Result<Self> {
        let me = std::env::current_exe()?;
        let built = me.parent().context("a program is in a directory")?;
        let directory = built.parent().context("a build is in a directory")?.join("peers");
        fs::create_dir_all(&directory)?;
        let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
        eprintln!("building gardenia");
        let status =
            Command::new(&cargo).args(["build", "--profile", "dist", "-p", "gardenia-cli"]).status()?;
        if !status.success() {
            bail!("gardenia cannot be built");
        }
        for (krate, program) in
            [("runiq", "runiq"), ("huniq", "huniq"), ("hist-rs", "hist"), ("poppy-filters", "poppy")]
        {
            if args.wants_tools() && !directory.join("bin").join(program).exists() {
                eprintln!("installing {krate}");
                // One that cannot be had is left out of the table.
                let _ = Command::new(&cargo)
                    .args(["install", "--quiet", "--root"])
                    .arg(&directory)
                    .arg(krate)
                    .status();
            }
        }
        let most = (args.most_seconds, args.most_memory << 30);
        let place = Self { directory, gardenia: built.join("gardenia"), most };
        place.write(args.lines)?;
        place.write_indicators(args.lines, args.indicators)?;
        Ok(place)
    }

    fn file(&self, name: &str) -> PathBuf {
        self.directory.join(name)
    }

    /// Log lines of about 63 bytes; every second one repeats one that came before.
    fn write(&self, lines: u64) -> anyhow::Result<()> {
        eprintln!("writing {lines} lines");
        let mut log = BufWriter::with_capacity(1 << 20, File::create(self.file("log"))?);
        let mut absent = BufWriter::with_capacity(1 << 20, File::create(self.file("absent"))?);
        let mut some = BufWriter::new(File::create(self.file("some"))?);
        for at in 0..lines {
            let earlier = if at == 0 { 0 } else { random(at) % at / 2 * 2 };
            let number = if at % 2 == 0 { at } else { earlier };
            line(&mut log, random(number), "GET")?;
            line(&mut absent, random(at), "PUT")?;
            if at < 100_000 {
                line(&mut some, random(if at % 2 == 0 { at } else { lines + at }), "GET")?;
            }
        }
        [log.into_inner()?, absent.into_inner()?].iter().try_for_each(File::sync_all)?;
        Ok(some.flush()?)
    }

    /// Addresses and hashes as in the lines of the log, a quarter of them from there.
    fn write_indicators(&self, lines: u64, indicators: u64) -> anyhow::Result<()> {
        let mut out = BufWriter::new(File::create(self.file("indicators"))?);
        for at in 0..indicators {
            let number = random(if at % 4 < 1 { 2 * at } else { lines + at });
            let [a, b, c] = address(number);
            if at % 8 < 4 { writeln!(out, "10.{a}.{b}.{c}")? } else { writeln!(out, "{number:016x}")? }
        }
        Ok(out.flush()?)
    }

    fn sections(&self) -> Vec<(&'static str, Vec<Task>)> {
        let text = |path: PathBuf| path.to_string_lossy().into_owned();
        let ours = text(self.gardenia.clone());
        let [log, absent, some, indicators] =
            ["log", "absent", "some", "indicators"].map(|name| text(self.file(name)));
        let tool = |name: &str| text(self.file("bin").join(name));
        let task = |name, command: &[&str]| {
            let command = command.iter().map(|&word| word.to_owned()).collect();
            Task { name, command, stdin: None, nothing: false, makes: None, bounded: false }
        };
        let piped = |name, command: &[&str]| Task { stdin: Some(self.file("log")), ..task(name, command) };
        let search = |name, command: &[&str]| Task { nothing: true, ..task(name, command) };
        let bounded = |name, command: &[&str]| {
            let (seconds, bytes) = (format!("--cpu={}", self.most.0), format!("--as={}", self.most.1));
            let command = [&["prlimit", &seconds, &bytes], command].concat();
            Task { bounded: true, ..search(name, &command) }
        };
        let making = |file: &str, task: Task| Task { makes: Some(self.file(file)), ..task };
        let (filter, poppy, few) =
            (text(self.file("f.gdn")), text(self.file("f.poppy")), text(self.file("few.gdn")));
        let awk = "!seen[$0]++";
        vec![
            (
                DEDUP,
                vec![
                    task(OURS_DEDUP, &[&ours, "dedup", "--fpp", "1e-6", &log]),
                    piped("gardenia dedup, by a pipe", &[&ours, "dedup", "--fpp", "1e-6"]),
                    task("gardenia dedup --exact", &[&ours, "dedup", "--exact", &log]),
                    task("sort -u", &["sort", "-u", &log]),
                    task("mawk", &["mawk", awk, &log]),
                    task("gawk", &["gawk", awk, &log]),
                    task("hist -u", &[&tool("hist"), "-u", &log]),
                    piped("huniq", &[&tool("huniq")]),
                    task("runiq quick", &[&tool("runiq"), "-f", "quick", &log]),
                    task("runiq compact", &[&tool("runiq"), "-f", "compact", &log]),
                ],
            ),
            (
                BUILD,
                vec![
                    making(
                        "f.gdn",
                        task(OURS_BUILD, &[&ours, "build", "-q", "--fpp", "0.1%", "-o", &filter, &log]),
                    ),
                    making(
                        "f.poppy",
                        task("poppy create", &[&tool("poppy"), "-j1", "create", "-p", "0.001", &poppy, &log]),
                    ),
                ],
            ),
            (
                MISS,
                vec![
                    search(OURS_QUERY, &[&ours, "query", &filter, &absent]),
                    search("poppy check", &[&tool("poppy"), "-j1", "check", &poppy, &absent]),
                ],
            ),
            (
                HIT,
                vec![
                    search(OURS_QUERY, &[&ours, "query", &filter, &log]),
                    search("poppy check", &[&tool("poppy"), "-j1", "check", &poppy, &log]),
                ],
            ),
            (
                GREP,
                vec![
                    making(
                        "few.gdn",
                        task("gardenia build", &[&ours, "build", "-q", "--fpp", "1e-9", "-o", &few, &some]),
                    ),
                    search(OURS_QUERY, &[&ours, "query", &few, &log]),
                    search("gardenia query --confirm", &[&ours, "query", "--confirm", &some, &log]),
                    search("grep -xFf", &["grep", "-xFf", &some, &log]),
                ],
            ),
            (
                TOKENS,
                vec![
                    search(OURS_TOKENS, &[&ours, "query", "--tokens", "--confirm", &indicators, &log]),
                    bounded("grep -wFf", &["grep", "-wFf", &indicators, &log]),
                    // The limit is on what it makes of the list: 100 MiB, unless it is told otherwise.
                    bounded("rg -wFf", &["rg", "--regex-size-limit", "64G", "-wFf", &indicators, &log]),
                ],
            ),
        ]
    }

    /// Runs the tasks by turns, so that a disturbance falls on all of them.
    fn section(&self, args: &StreamArgs, tasks: Vec<Task>) -> anyhow::Result<Vec<Row>> {
        let wanted = |task: &Task| {
            task.name.starts_with("gardenia")
                || args.only.as_ref().is_none_or(|only| task.name.contains(only))
        };
        let mut rows: Vec<(Task, Row)> = Vec::new();
        for task in tasks.into_iter().filter(wanted) {
            eprintln!("{}", task.name);
            // Once to see that it works, and what it prints.
            match self.first_run(&task) {
                Ok(row) => rows.push((task, row)),
                Err(error) => eprintln!("{} is left out: {error:#}", task.name),
            }
        }
        for _ in 0..args.repeat {
            for (task, row) in rows.iter_mut().filter(|(task, _)| !task.bounded) {
                let cost = self.cost(task)?;
                row.cost.cpu = row.cost.cpu.min(cost.cpu);
                row.cost.wall = row.cost.wall.min(cost.wall);
                row.cost.mib = row.cost.mib.min(cost.mib);
            }
        }
        Ok(rows.into_iter().map(|(_, row)| row).collect())
    }

    fn start(&self, task: &Task, command: &mut Command) -> anyhow::Result<()> {
        if let Some(file) = &task.makes {
            let _ = fs::remove_file(file);
        }
        // Bytes are bytes, for all.
        command.env("LC_ALL", "C").stderr(Stdio::null());
        command.stdin(match &task.stdin {
            Some(path) => Stdio::from(File::open(path)?),
            None => Stdio::null(),
        });
        Ok(())
    }

    /// What a task prints, and what it takes if it runs only once.
    fn first_run(&self, task: &Task) -> anyhow::Result<Row> {
        let (mut command, to) = self.measured(task)?;
        let mut child = command.stdout(Stdio::piped()).spawn()?;
        let mut output = BufReader::with_capacity(1 << 20, child.stdout.take().context("a pipe")?);
        let (mut lines, mut hasher) = (0, DefaultHasher::new());
        loop {
            let piece = output.fill_buf()?;
            if piece.is_empty() {
                break;
            }
            lines += piece.iter().filter(|&&byte| byte == b'\n').count() as u64;
            hasher.write(piece);
            let len = piece.len();
            output.consume(len);
        }
        child.wait()?;
        let (code, cost) = read_cost(&to)?;
        let stopped = !(code == 0 || code == 1 && task.nothing);
        if stopped && !task.bounded {
            bail!("it ended with {code}");
        }
        let none = Cost { cpu: f64::INFINITY, wall: f64::INFINITY, mib: f64::INFINITY };
        let printed = Printed { lines, digest: hasher.finish() };
        Ok(Row {
            name: task.name,
            output: task.makes.is_none().then_some(printed),
            cost: if task.bounded { cost } else { none },
            stopped,
        })
    }

    /// What a task takes.
    fn cost(&self, task: &Task) -> anyhow::Result<Cost> {
        let (mut command, to) = self.measured(task)?;
        command.stdout(Stdio::null()).status()?;
        match read_cost(&to)? {
            (0, cost) => Ok(cost),
            (1, cost) if task.nothing => Ok(cost),
            (code, _) => bail!("{} ended with {code}", task.name),
        }
    }

    /// A process that runs a task, and the file that it writes the cost to.
    fn measured(&self, task: &Task) -> anyhow::Result<(Command, PathBuf)> {
        let to = self.file("cost");
        let mut command = Command::new(std::env::current_exe()?);
        command.arg("measure").arg(&to).args(&task.command);
        self.start(task, &mut command)?;
        Ok((command, to))
    }
}

/// What `measure` wrote: the exit code, -1 after a signal, and the cost.
fn read_cost(path: &Path) -> anyhow::Result<(i32, Cost)> {
    let text = fs::read_to_string(path)?;
    let numbers: Vec<f64> = text.split(' ').map(str::parse).collect::<Result<_, _>>()?;
    match numbers[..] {
        [code, cpu, wall, kib] => Ok((code as i32, Cost { cpu, wall, mib: kib / 1024.0 })),
        _ => bail!("no cost was measured: {text}"),
    }
}

/// The `at`-th number of a fixed random sequence.
fn random(at: u64) -> u64 {
    gardenia::Digest(at.wrapping_mul(0x9e37_79b9_7f4a_7c15)).word(1)
}

/// The last three numbers of an address.
fn address(number: u64) -> [u64; 3] {
    [56, 48, 40].map(|shift| number >> shift & 255)
}

/// One line of a log.
fn line(out: &mut impl Write, number: u64, verb: &str) -> std::io::Result<()> {
    let (second, status) = (number & 0xffff, if number & 7 == 0 { 404 } else { 200 });
    let [a, b, c] = address(number);
    writeln!(
        out,
        "2026-11-15T10:{:02}:{:02}Z 10.{a}.{b}.{c} {verb} /item/{number:016x} {status}",
        second / 60 % 60,
        second % 60
    )
}
