//! `gardenia info`: everything that a file tells about its filter.

use super::sketch;
use crate::args::InfoArgs;
use crate::open::{check_unchanged, is_dcso, is_stream, try_open};
use crate::{Outcome, foreign, human, input, message, split};
use anyhow::{Context, bail};
use gardenia::cells::Held;
use gardenia::filter::{ChoiceForm, Identity, SplitFiles, SplitOpening, SplitState};
use gardenia::format::{self, Header, verify_file};
use gardenia::hash::HasherId;
use gardenia::index::SchemeId;
use gardenia::spec::Param;
use gardenia::theory::blocked::BLOCK_BITS;
use gardenia::theory::split_block;
use gardenia::{
    Ability, AnyFilter, DecodeError, DistanceSensitiveBloom, Error, Kind, ReadOptions, Spec, SplitBloom, Top,
};
use serde::Serialize;
use std::fs;
use std::io::{self, Write};
use std::path::Path;

pub(crate) fn run(args: &InfoArgs) -> anyhow::Result<Outcome> {
    let options = args.memory.options(args.secret.read()?);
    let mut stdout = io::stdout().lock();
    let mut outcome = Outcome::Done;
    let mut first = true;
    for path in &args.files {
        match foreign::info(args, path, &options, first, &mut stdout) {
            Ok(true) => {
                first = false;
                continue;
            }
            Ok(false) => {}
            Err(error) => {
                message::complain(&error);
                outcome = Outcome::Trouble;
                continue;
            }
        }
        let report = match Report::new(args, path, &options) {
            Ok(report) => report,
            Err(error) => {
                message::complain(&error);
                outcome = Outcome::Trouble;
                continue;
            }
        };
        let text = if args.json { serde_json::to_string(&report)? } else { report.text() };
        let gap = if first || args.json { "" } else { "\n" };
        first = false;
        writeln!(stdout, "{gap}{text}").context("stdout")?;
    }
    Ok(outcome)
}

/// What `--json` prints: fields are added, never renamed or removed. What is not known is null.
#[derive(Serialize)]
struct Report {
    file: String,
    file_bytes: Option<u64>,
    /// `gardenia`, or the foreign format that the file has; null for a pipe.
    format: Option<&'static str>,
    format_version: Option<u16>,
    kind: &'static str,
    hasher: &'static str,
    seed: Option<u64>,
    /// Hexadecimal: it names the secret and does not give it away.
    secret_id: Option<String>,
    secret_stored: bool,
    scheme: Option<&'static str>,
    hashes: u32,
    /// Cells of `width` bits each; spare bits between them are not counted.
    bits: u64,
    cells: u64,
    width: u32,
    bytes: u64,
    /// Of a filter of kind split.
    counters: Option<Counters>,
    /// What this kind of filter alone has, in words.
    details: Option<String>,
    /// What builds a filter that this one can be merged with, as `gardenia::Spec` reads it.
    spec: Option<String>,
    planned_items: Option<u64>,
    planned_fpp: Option<f64>,
    /// Keys that were added, by the count of whoever filled it.
    counted_items: Option<u64>,
    fill: Option<f64>,
    estimated_items: Option<f64>,
    estimated_items_std_error: Option<f64>,
    /// Keys up to which a filter of kind `bloom` has the planned rate, and whether it holds more.
    capacity: Option<u64>,
    full: Option<bool>,
    fpp: Option<f64>,
    /// How keys were made from records, as options of `gardenia build`; null if nobody knows.
    keys: Option<String>,
    /// If it is text.
    metadata: Option<String>,
    metadata_hex: String,
    /// Bytes that were checked, with `--verify`.
    verified_bytes: Option<u64>,
}

/// The counters of a split filter.
#[derive(Serialize)]
struct Counters {
    file: String,
    cells: u64,
    width: u32,
    bytes: u64,
    operations: u64,
    /// Whether the bits are those of the counters.
    closed: bool,
    state: &'static str,
}

impl Counters {
    /// Of the filter at `path`, if it is split; while another process changes it there is nothing
    /// to report.
    fn of(path: &Path, options: &ReadOptions) -> anyhow::Result<Option<Self>> {
        let Some(files) = SplitFiles::find(path) else { return Ok(None) };
        match SplitBloom::inspect(files.clone(), options) {
            Ok(SplitState { opening, operations, cells, width, bytes, .. }) => {
                let (file, state) = (files.counters_path().display().to_string(), split::words(opening));
                let closed = opening == SplitOpening::Clean;
                Ok(Some(Self { file, cells, width, bytes, operations, closed, state }))
            }
            Err(Error::InUse | Error::Decode(DecodeError::SecretMissing { .. })) => Ok(None),
            Err(error) => Err(split::explain(path, &files, error)),
        }
    }

    /// The spec of the filter with these counters, whose bits have this one.
    fn spec(&self, bits: &Spec) -> Spec {
        let shape =
            Spec::new(Kind::Split).with(Param::Cells, self.cells).with(Param::Width, u64::from(self.width));
        let kept = bits.given().filter(|param| *param != Param::Bits);
        kept.fold(shape, |spec, param| match bits.get(param) {
            Some(value) => spec.with(param, value),
            None => spec,
        })
    }

    fn text(&self) -> String {
        format!(
            "{} of {} bits ({}) in {}; {}; {}",
            human::count(self.cells),
            self.width,
            human::bytes(self.bytes),
            self.file,
            human::plural(self.operations, "operation"),
            self.state
        )
    }
}

impl Report {
    fn new(args: &InfoArgs, path: &Path, options: &ReadOptions) -> anyhow::Result<Self> {
        let file = input::name(path);
        let verify = || verify_file(path).map_err(message::decode).with_context(|| file.clone());
        if is_stream(path) && args.verify {
            bail!("{file}: --verify needs a file");
        }
        let foreign = is_dcso(path);
        if args.verify && foreign {
            bail!("{file}: a DCSO file has no checksums to verify");
        }
        if args.verify {
            verify()?;
        }
        let header = || -> Result<Header, DecodeError> { format::header(fs::File::open(path)?) };
        let report = match try_open(path, options) {
            Ok(opened) => {
                let report = match (opened.as_mapped(), opened.as_owned()) {
                    (Some(filter), _) => {
                        if args.verify {
                            filter.check_cells().map_err(message::decode).with_context(|| file.clone())?;
                        }
                        Self::of_filter(filter)
                    }
                    (None, filter) => Self::of_filter(filter.context("a filter is somewhere")?),
                };
                check_unchanged(&opened, path)?;
                report
            }
            // The header can be read without the secret, and of kinds that are no filters of keys.
            Err(error @ (DecodeError::SecretMissing { .. } | DecodeError::Kind { .. }))
                if !is_stream(path) =>
            {
                let header = header().map_err(message::decode).with_context(|| file.clone())?;
                let points = matches!(error, DecodeError::Kind { .. })
                    && header.identity.kind == Kind::DistanceSensitive;
                let points = match points.then(|| DistanceSensitiveBloom::load_with(path, options)) {
                    Some(Ok(filter)) => Some(filter),
                    // What the header says is told all the same.
                    None | Some(Err(DecodeError::SecretMissing { .. } | DecodeError::Work { .. })) => None,
                    Some(Err(error)) => return Err(message::decode(error).context(file)),
                };
                let fill = points.as_ref().map(DistanceSensitiveBloom::fill);
                let spec = points.and_then(|filter| filter.spec()).map(|spec| spec.to_string());
                let saved = header.identity.kind == Kind::Top && !header.needs_secret();
                let details = saved.then(|| super::top::load(path)).transpose()?.as_ref().map(of_counts);
                Self { fill, details, spec, ..Self::of_header(&header) }
            }
            Err(error) => return Err(message::decode(error).context(file)),
        };
        if is_stream(path) {
            return Ok(Self { file, ..report });
        }
        let file_bytes = fs::metadata(path).with_context(|| file.clone())?.len();
        let counters = Counters::of(path, options)?;
        // The bits of a split filter are those of a Bloom filter, whose spec would build no counters.
        let (kind, spec) = match SplitFiles::find(path) {
            Some(_) => {
                let bits = report.spec.as_deref().and_then(|text| text.parse().ok());
                let spec = bits.zip(counters.as_ref()).map(|(bits, counters)| counters.spec(&bits));
                (Kind::Split.name(), spec.map(|spec| spec.to_string()))
            }
            None => (report.kind, report.spec),
        };
        Ok(Self {
            file,
            kind,
            spec,
            counters,
            file_bytes: Some(file_bytes),
            format: Some(if foreign { "dcso" } else { "gardenia" }),
            format_version: header().ok().map(|header| header.version),
            verified_bytes: args.verify.then_some(file_bytes),
            ..report
        })
    }

    /// What a filter of this identity tells without its cells.
    fn of_identity(id: &Identity, bytes: u64, planned: (u64, f64), metadata: &[u8]) -> Self {
        let keyed = id.hasher == HasherId::Sip13;
        Self {
            file: String::new(),
            file_bytes: None,
            format: None,
            format_version: None,
            kind: id.kind.name(),
            hasher: id.hasher.name(),
            seed: (!keyed).then_some(id.mark),
            secret_id: keyed.then(|| format!("{:016x}", id.mark)),
            secret_stored: false,
            scheme: id.scheme.map(SchemeId::name),
            hashes: id.hashes,
            bits: id.cells.saturating_mul(id.width.into()),
            cells: id.cells,
            width: id.width,
            bytes,
            counters: None,
            details: None,
            spec: None,
            // Zero stands for "given by its shape".
            planned_items: Some(planned.0).filter(|&items| items > 0),
            planned_fpp: Some(planned.1).filter(|&fpp| fpp > 0.0),
            counted_items: None,
            fill: None,
            estimated_items: None,
            estimated_items_std_error: None,
            capacity: None,
            full: None,
            fpp: None,
            keys: None,
            metadata: std::str::from_utf8(metadata).ok().filter(|text| !text.is_empty()).map(str::to_owned),
            metadata_hex: metadata.iter().map(|byte| format!("{byte:02x}")).collect(),
            verified_bytes: None,
        }
    }

    fn of_header(header: &Header) -> Self {
        let planned = (header.planned_items, header.planned_fpp);
        Self {
            secret_stored: header.secret.is_some(),
            ..Self::of_identity(&header.identity, header.payload_len, planned, &header.metadata)
        }
    }

    fn of_filter(filter: &AnyFilter<impl Held>) -> Self {
        let (about, items) = (filter.about(), filter.estimated_items());
        let planned = (about.planned_items(), about.planned_fpp());
        let capacity = match filter {
            AnyFilter::Bloom(filter) => filter.capacity().map(|capacity| (capacity, filter.is_full())),
            _ => None,
        };
        let finite = |number: f64| Some(number).filter(|number| number.is_finite()); // JSON has no infinity
        Self {
            secret_stored: about.stores_secret(),
            keys: input::described(about),
            details: details(filter),
            spec: filter.spec().map(|spec| spec.to_string()),
            counted_items: about.counted_items(),
            fill: Some(filter.fill()),
            estimated_items: items.and_then(|items| finite(items.items)),
            estimated_items_std_error: items.and_then(|items| finite(items.std_error)),
            capacity: capacity.map(|(capacity, _)| capacity),
            full: capacity.map(|(_, full)| full),
            fpp: Some(filter.fpp()),
            ..Self::of_identity(&filter.identity(), filter.memory_bytes() as u64, planned, about.metadata())
        }
    }

    fn text(&self) -> String {
        let mut lines = vec![self.file.clone()];
        let mut line = |name: &str, value: String| lines.push(format!("  {name:<16}{value}"));
        let version =
            self.format_version.map_or_else(String::new, |version| format!(", format version {version}"));
        let version = if self.format == Some("dcso") { ", in a DCSO file".to_owned() } else { version };
        line("kind", format!("{}{version}", self.kind));
        line("hasher", self.hasher_text());
        match self.scheme {
            Some(name) => line("scheme", format!("{name}, {} per key", self.hashes_text("probe"))),
            None if self.kind == Kind::CountMin.name() || self.kind == Kind::Top.name() => {
                line("rows", format!("{} per key", self.hashes_text("cell")));
            }
            None if self.kind == Kind::GolombSet.name() => {} // a query decodes a run of codes
            None if self.kind == Kind::Blocked.name() => {
                line("probes", format!("{} in one block of {BLOCK_BITS}", self.hashes_text("bit")));
            }
            None if self.kind == Kind::SplitBlock.name() => {
                line(
                    "probes",
                    format!("{} in one block of {}", self.hashes_text("bit"), split_block::BLOCK_BITS),
                );
            }
            None => line("probes", format!("{} per key", self.hashes_text("cell"))),
        }
        let file =
            self.file_bytes.map_or_else(String::new, |bytes| format!("; file {}", human::bytes(bytes)));
        let cells = match self.width {
            1 => human::plural(self.cells, "bit"),
            width => format!("{} of {width} bits", human::plural(self.cells, "cell")),
        };
        // Of what grows part by part the identity tells the first, and codes are no cells.
        let in_parts = self.can(Ability::Grow) && self.kind != Kind::CountMin.name();
        let parts = in_parts || self.kind == Kind::GolombSet.name();
        let cells = if parts { String::new() } else { format!("{cells} in ") };
        line("size", format!("{cells}{}{file}", human::bytes(self.bytes)));
        if let Some(counters) = &self.counters {
            line("counters", counters.text());
        }
        if let Some(details) = &self.details {
            line("details", details.clone());
        }
        if let Some(spec) = &self.spec {
            line("spec", spec.clone());
        }
        line("planned for", self.planned_text());
        match self.fill {
            Some(fill) => line("fill", format!("{} {}", bar(fill), human::share(fill))),
            None if self.secret_id.is_some() && !self.secret_stored => {
                line("fill", "not counted without the secret (--secret-file FILE)".to_owned());
            }
            None => {} // a kind that is known by its header alone
        }
        if self.fill.is_some() {
            line("keys", self.items_text());
        }
        if let Some((capacity, full)) = self.capacity.zip(self.full) {
            let full = if full { "the filter is full" } else { "not full" };
            line("capacity", format!("{} at the planned rate; {full}", human::plural(capacity, "key")));
        }
        if let Some(fpp) = self.fpp {
            line(
                "false positives",
                format!("{} of absent keys, at the current fill", message::rate(fpp, self.fill == Some(0.0))),
            );
        }
        if let Some(keys) = &self.keys {
            line("keys made by", printable(keys));
        }
        line("metadata", self.metadata_text());
        if let Some(bytes) = self.verified_bytes {
            lines.push(format!("verified: {} bytes", human::count(bytes)));
        }
        lines.join("\n")
    }

    fn hasher_text(&self) -> String {
        match (&self.secret_id, self.seed) {
            (Some(id), _) if self.secret_stored => {
                format!("{}, secret of id {id}, stored in the file", self.hasher)
            }
            (Some(id), _) => format!("{}, secret of id {id}", self.hasher),
            (None, Some(_)) if self.hasher == HasherId::Fnv1.name() => self.hasher.to_owned(), // it has none
            (None, Some(seed)) => format!("{}, seed {seed}", self.hasher),
            (None, None) => self.hasher.to_owned(),
        }
    }

    fn hashes_text(&self, one: &str) -> String {
        human::plural(self.hashes.into(), one)
    }

    fn planned_text(&self) -> String {
        match (self.planned_items, self.planned_fpp) {
            (Some(items), Some(fpp)) => {
                format!("{} at {} false positives", human::plural(items, "key"), human::share(fpp))
            }
            _ => "unknown (built with --bits)".to_owned(),
        }
    }

    fn items_text(&self) -> String {
        match (self.estimated_items, self.estimated_items_std_error) {
            (Some(items), Some(error)) => {
                let (items, error) = (items.round() as u64, error.round() as u64);
                match error {
                    0 if self.can(Ability::Copies) => format!("{}, each copy counted", human::count(items)),
                    0 if self.can(Ability::Fixed) => format!("{}, all distinct", human::count(items)),
                    _ => format!("about {} ± {} distinct", human::count(items), human::count(error)),
                }
            }
            _ if self.fill.is_some_and(|fill| fill < 1.0) => "unknown for this kind of filter".to_owned(),
            _ => format!("unknown: every {} is set", if self.width == 1 { "bit" } else { "cell" }),
        }
    }

    /// Whether filters of its kind can do it.
    fn can(&self, ability: Ability) -> bool {
        Kind::from_name(self.kind).is_some_and(|kind| kind.can(ability))
    }

    fn metadata_text(&self) -> String {
        match &self.metadata {
            Some(text) => printable(text),
            None if self.metadata_hex.is_empty() => "none".to_owned(),
            None => human::plural(self.metadata_hex.len() as u64 / 2, "byte"),
        }
    }
}

/// Text of a file, which must not command a terminal: what is no ordinary character is escaped.
fn printable(text: &str) -> String {
    let ordinary = |c: char| "\"'\\".contains(c) || c.escape_debug().eq([c]);
    text.chars().flat_map(|c| if ordinary(c) { vec![c] } else { c.escape_debug().collect() }).collect()
}

/// What a kind of filter alone has.
fn details(filter: &AnyFilter<impl Held>) -> Option<String> {
    match filter {
        AnyFilter::Spectral(filter) => {
            let mut text = filter.policy().name().to_owned();
            if filter.secondary_cells() > 0 {
                let marker = if filter.has_marker() { "with" } else { "without" };
                text +=
                    &format!(", {} secondary cells, {marker} marker", human::count(filter.secondary_cells()));
                text += if filter.is_as_printed() { ", as printed" } else { "" };
            }
            Some(text)
        }
        AnyFilter::Bitwise(filter) => {
            let digits: Vec<String> = filter.levels().map(|level| level.digit.to_string()).collect();
            let levels = human::plural(digits.len() as u64, "level");
            Some(format!("{levels} with digits of {} bits, lowest first", digits.join(", ")))
        }
        AnyFilter::Stable(filter) => Some(format!(
            "{} of {} cells{} age at each insertion; {} so far",
            human::count(filter.decrements()),
            human::count(filter.cells()),
            if filter.is_drawn() { ", drawn one by one," } else { "" },
            human::count(filter.inserts())
        )),
        AnyFilter::Choice(filter) => Some(match filter.form() {
            ChoiceForm::Partitions { partitions } => {
                format!("{}, each with one of 256 hash sets", human::plural(partitions, "partition"))
            }
            _ => format!("{} of bits per key", human::plural(filter.choices().into(), "group")),
        }),
        AnyFilter::CountMin(sketch) => Some(format!(
            "{}, {} update, {} form; {} counted: {}",
            sketch::rows(sketch),
            sketch.update().name(),
            sketch.form().name(),
            human::count(sketch.total()),
            sketch::promise(sketch),
        )),
        AnyFilter::BinaryFuse(filter) => {
            let segments = filter.cells() >> filter.shape().segment_bits;
            Some(format!(
                "static; {} of {} cells; {:.2} bits per key, built at attempt {}",
                human::plural(segments, "segment"),
                human::count(1 << filter.shape().segment_bits),
                filter.memory_bytes() as f64 * 8.0 / filter.items().max(1) as f64,
                filter.attempt() + 1
            ))
        }
        AnyFilter::Bloomier(map) => Some(format!(
            "static map; {} per value, {} check bits",
            human::plural(map.value_bits().into(), "bit"),
            map.check_bits()
        )),
        AnyFilter::MutableBloomier(map) => Some(format!(
            "map of fixed keys; {} per value, {} check bits",
            human::plural(map.value_bits().into(), "bit"),
            map.check_bits()
        )),
        AnyFilter::Ribbon(filter) => Some(format!(
            "static; {}, {:.2} bits per key",
            human::plural(filter.layers() as u64, "layer"),
            per_key(filter.memory_bytes(), filter.items())
        )),
        AnyFilter::GolombSet(set) => Some(format!(
            "static; {} distinct numbers, {:.2} bits per key with the index",
            human::count(set.values()),
            per_key(set.memory_bytes(), set.items())
        )),
        AnyFilter::Cuckoo(filter) => {
            Some(format!("{} of {} slots used", human::count(filter.items()), human::count(filter.cells())))
        }
        AnyFilter::Scalable(filter) => Some(format!(
            "{}, at most {} false positives at any number of keys",
            human::plural(filter.slices().count() as u64, "slice"),
            human::share(filter.target())
        )),
        AnyFilter::Dynamic(filter) => Some(format!(
            "{} of {} keys each",
            human::plural(filter.layers().count() as u64, "layer"),
            human::count(filter.capacity())
        )),
        AnyFilter::Compressed(filter) => Some(format!(
            "range-coded in files: about {} instead of {}",
            human::bytes((filter.expected_wire_bits() / 8.0) as u64),
            human::bytes(filter.memory_bytes() as u64)
        )),
        AnyFilter::Retouched(filter) => Some(format!(
            "{} cleared; {} of the added keys are not found",
            human::plural(filter.cleared(), "bit"),
            human::share(filter.false_negatives())
        )),
        AnyFilter::A2(filter) => Some(format!(
            "the last {} keys are remembered for certain; {} in the active half",
            human::count(filter.window()),
            human::count(filter.active_items())
        )),
        _ => None,
    }
}

/// What the counts of `gardenia top` hold.
fn of_counts(top: &Top) -> String {
    let (listed, slots) = (top.top(top.slots()).len() as u64, human::count(top.slots() as u64));
    format!(
        "{} counted; {} of {slots} slots hold a line; every line that occurs more than {} is among them",
        human::plural(top.total(), "line"),
        human::count(listed),
        human::plural(top.floor(), "time"),
    )
}

/// Bits per key of this many bytes.
fn per_key(bytes: usize, keys: u64) -> f64 {
    bytes as f64 * 8.0 / keys.max(1) as f64
}

/// A share as a bar, to an eighth of a character.
fn bar(share: f64) -> String {
    const WIDTH: usize = 24;
    const PARTS: [&str; 8] = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"];
    let eighths = ((share.clamp(0.0, 1.0) * (8 * WIDTH) as f64).round()) as usize;
    let mut bar = "█".repeat(eighths / 8) + PARTS[eighths % 8];
    bar.extend(std::iter::repeat_n(' ', WIDTH - eighths.div_ceil(8)));
    format!("▕{bar}▏")
}

#[test]
fn a_bar_has_one_width_whatever_its_share() {
    assert!([0.0, 0.001, 0.5, 0.517, 0.999, 1.0].iter().all(|&share| bar(share).chars().count() == 26));
    assert!(bar(0.5).starts_with("▕████████████ ") && bar(0.0).starts_with("▕ ") && bar(1.0).ends_with("█▏"));
}
