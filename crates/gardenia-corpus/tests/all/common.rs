//! A directory of its own for each test, in which the program runs.

use gardenia_corpus::generate::{Recipe, Truth, generate};
use gardenia_corpus::input::Packing;
use gardenia_corpus::report::Report;
use serde_json::Value;
use std::collections::BTreeMap;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// Where a test works.
pub(crate) struct Place(tempfile::TempDir);

impl Place {
    pub(crate) fn new() -> Self {
        Self(tempfile::tempdir().expect("a temporary directory"))
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    pub(crate) fn write(&self, name: &str, bytes: impl AsRef<[u8]>) {
        let path = self.path(name);
        std::fs::create_dir_all(path.parent().expect("a directory")).expect("it can be made");
        std::fs::write(path, bytes).expect("a file can be written");
    }

    pub(crate) fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_gardenia-corpus"));
        command.args(args).current_dir(self.0.path());
        command
    }

    pub(crate) fn run(&self, args: &[&str]) -> Output {
        self.command(args).output().expect("the program runs")
    }

    /// Runs it, which must succeed, and gives its report.
    pub(crate) fn report(&self, args: &[&str]) -> Report {
        let mut args = args.to_vec();
        args.push("--json");
        let output = self.run(&args);
        assert!(output.status.success(), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
        serde_json::from_slice(&output.stdout).expect("a report")
    }

    /// Runs it, which must fail, and gives what it says.
    pub(crate) fn complaint(&self, args: &[&str]) -> String {
        let output = self.run(args);
        let text = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2), "{text}");
        assert!(text.starts_with("gardenia: ") && text.contains("\nhint: "), "{text}");
        text
    }

    /// All files below a directory with their unpacked contents.
    pub(crate) fn files(&self, directory: &str) -> BTreeMap<String, Vec<u8>> {
        let mut all = BTreeMap::new();
        collect(&self.path(directory), "", &mut all);
        all
    }

    /// All documents below a directory, in the order of the files.
    pub(crate) fn documents(&self, directory: &str) -> Vec<Value> {
        let lines = self.files(directory).into_values().collect::<Vec<_>>().concat();
        let lines = lines.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
        lines.map(|line| serde_json::from_slice(line).expect("JSON")).collect()
    }

    pub(crate) fn ids(&self, directory: &str) -> Vec<String> {
        let id = |document: &Value| document["id"].as_str().expect("an id").to_owned();
        self.documents(directory).iter().map(id).collect()
    }

    /// Generates a corpus in `NAME/corpus`, and gives the truth about it.
    pub(crate) fn generate(&self, name: &str, recipe: &Recipe) -> Vec<Truth> {
        generate(recipe, &self.path(name)).expect("a corpus");
        let truth = std::fs::read(self.path(name).join("truth.jsonl")).expect("the truth");
        let lines = truth.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
        lines.map(|line| serde_json::from_slice(line).expect("JSON")).collect()
    }
}

fn collect(directory: &Path, prefix: &str, all: &mut BTreeMap<String, Vec<u8>>) {
    for entry in directory.read_dir().expect("a directory").flatten() {
        let name = format!("{prefix}{}", entry.file_name().to_string_lossy());
        if entry.path().is_dir() {
            collect(&entry.path(), &format!("{name}/"), all);
            continue;
        }
        let bytes = std::fs::read(entry.path()).expect("a file");
        let bytes = match name.rsplit('.').next() {
            Some("gz") => {
                let mut text = Vec::new();
                flate2::read::MultiGzDecoder::new(&bytes[..]).read_to_end(&mut text).expect("gzip");
                text
            }
            Some("zst") => zstd::decode_all(&bytes[..]).expect("Zstandard"),
            _ => bytes,
        };
        all.insert(name, bytes);
    }
}

/// A small corpus with some of everything.
pub(crate) fn recipe(documents: u64, seed: u64) -> Recipe {
    Recipe {
        documents,
        files: 4,
        seed,
        exact: 0.1,
        near: 0.1,
        paragraph: 0.1,
        similarity: (0.5, 0.95),
        words: 60,
        paragraphs: 5,
        packing: Packing::Plain,
        once: false,
    }
}
