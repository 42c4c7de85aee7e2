//! Filters of other programs at the shell: recognised, described, asked, built and converted. What
//! a format is stands in the library's table of formats.

use crate::args::{BuildArgs, InfoArgs, OnFull};
use crate::cmd::build;
use crate::cmd::convert::{ConvertArgs, To};
use crate::cmd::diff::DiffArgs;
use crate::cmd::merge::{MergeArgs, mismatch};
use crate::input::{self, Block, KeyTexts, Keys, Source};
use crate::message::{self, hinted, say};
use crate::open::is_stream;
use crate::output::Output;
use crate::progress::Progress;
use crate::{Outcome, human, memory};
use anyhow::Context;
use gardenia::format::orc::Codec;
use gardenia::format::parquet::ColumnFilters;
use gardenia::format::{
    Foreign, ForeignInsert, Format, FormatAbility, KeyError, KeyType, Look, MilvusBloom, OrcFile,
    ParquetFile, ParquetFilter, SparkCountMin, overlap,
};
use gardenia::spec::{Param, Value};
use gardenia::{AnyFilter, Kind, ReadOptions, SplitBlockBloom};
use serde_json::json;
use std::fs::{self, File};
use std::io::{BufReader, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

/// The first bytes of a native file.
const NATIVE: &[u8; 4] = b"\x89GDN";
/// The default rate.
const FPP: f64 = 0.01;

const HEADING: &str = "Filters of other programs";

/// How a filter of another program is read.
#[derive(Clone, Copy, Debug, Default, clap::Args)]
pub(crate) struct ForeignArgs {
    /// Format of the filter, if it is another program's and its bytes do not identify it: see
    /// `gardenia info`
    #[arg(long, value_name = "FORMAT", value_parser = format_named, hide_short_help = true, help_heading = HEADING)]
    pub(crate) format: Option<Format>,

    /// Type of the keys in a filter of another program: int, long, float, double, string, utf16,
    /// bytes or hex
    #[arg(long = "as", value_name = "TYPE", value_parser = type_named, hide_short_help = true, help_heading = HEADING)]
    pub(crate) as_type: Option<KeyType>,

    /// Row group of a Parquet file, from 0 [default: all]
    #[arg(long, value_name = "N", hide_short_help = true, help_heading = HEADING)]
    pub(crate) row_group: Option<u64>,
}

/// The format with this name.
pub(crate) fn format_named(name: &str) -> Result<Format, String> {
    let names = || Format::ALL.map(Format::name).join(", ");
    Format::from_name(name).ok_or_else(|| format!("the formats are {}", names()))
}

fn type_named(name: &str) -> Result<KeyType, String> {
    let names = || KeyType::ALL.map(KeyType::name).join(", ");
    KeyType::from_name(name).ok_or_else(|| format!("the types are {}", names()))
}

/// A file, and the column of it that is meant: `FILE:column`, unless there is a file of that whole
/// name.
pub(crate) fn split(path: &Path) -> (PathBuf, Option<String>) {
    let text = path.to_string_lossy();
    // Names of files and of columns may have colons, too: the longest file that is there.
    let mut splits = text.rmatch_indices(':').map(|(at, _)| (&text[..at], &text[at + 1..]));
    match splits.find(|(file, column)| Path::new(file).is_file() && !column.is_empty()) {
        Some((file, column)) if !path.exists() => (file.into(), Some(column.to_owned())),
        _ => (path.to_owned(), None),
    }
}

/// Whether a file begins as ours do.
pub(crate) fn is_native(path: &Path) -> bool {
    let mut head = [0; NATIVE.len()];
    File::open(path).and_then(|mut file| file.read_exact(&mut head)).is_ok() && head == *NATIVE
}

/// The formats that a file may have: none if it is a filter of ours, a DCSO file, which all
/// commands read, or no filter.
fn formats(path: &Path) -> anyhow::Result<Vec<Format>> {
    if is_stream(path) || !path.is_file() {
        return Ok(Vec::new());
    }
    let look = || -> std::io::Result<Vec<Format>> {
        let mut file = File::open(path)?;
        let len = file.metadata()?.len();
        let ends = len.min(Look::ENDS as u64);
        let (mut head, mut tail) = (vec![0; ends as usize], vec![0; ends as usize]);
        file.read_exact(&mut head)?;
        file.seek(SeekFrom::Start(len - ends))?;
        file.read_exact(&mut tail)?;
        Ok(if head.starts_with(NATIVE) {
            Vec::new()
        } else {
            Look { head: &head, tail: &tail, len }.formats()
        })
    };
    let mut formats = look().with_context(|| input::name(path))?;
    formats.retain(|format| *format != Format::Dcso);
    Ok(formats)
}

/// The format of a file of another program, `wanted` if it is given; an error if there are several.
fn recognised(path: &Path, wanted: Option<Format>) -> anyhow::Result<Option<Format>> {
    if let Some(format) = wanted {
        return Ok(Some(format).filter(|format| *format != Format::Dcso));
    }
    match formats(path)?[..] {
        [] => Ok(None),
        [format] => Ok(Some(format)),
        [first, ..] => {
            let names: Vec<&str> = formats(path)?.into_iter().map(Format::name).collect();
            let reason =
                format!("{}: the bytes fit several formats: {}", input::name(path), names.join(", "));
            Err(hinted(reason, format!("say which: --format {}", first.name())))
        }
    }
}

/// The bytes of a file, which must fit the memory.
fn bytes_of(path: &Path) -> anyhow::Result<Vec<u8>> {
    let len = fs::metadata(path)?.len();
    memory::require(len.saturating_mul(2), "the filter", "free some memory")?;
    Ok(fs::read(path)?)
}

/// Unpacks blocks of ORC files.
fn unpack(codec: Codec, block: &[u8], most: usize) -> Option<Vec<u8>> {
    let most_bytes = most as u64;
    let mut out = Vec::new();
    match codec {
        Codec::Zlib => {
            flate2::read::DeflateDecoder::new(block).take(most_bytes).read_to_end(&mut out).ok()?
        }
        Codec::Zstd => {
            zstd::stream::read::Decoder::new(block).ok()?.take(most_bytes).read_to_end(&mut out).ok()?
        }
        Codec::Lz4 => {
            out = vec![0; most];
            let len = lz4_flex::block::decompress_into(block, &mut out).ok()?;
            out.truncate(len);
            len
        }
        _ => return None,
    };
    Some(out)
}

type Parquet = ParquetFile<BufReader<File>>;

fn parquet(path: &Path, options: &ReadOptions) -> anyhow::Result<Parquet> {
    ParquetFile::open(BufReader::new(File::open(path)?), options).map_err(message::decode)
}

/// The place of a column by its name; without one, of the only column with a filter.
fn column_of(
    with: &[(usize, String)],
    all: impl Iterator<Item = String>,
    name: Option<&str>,
    path: &Path,
) -> anyhow::Result<usize> {
    let names = || with.iter().map(|(_, name)| name.as_str()).collect::<Vec<_>>().join(", ");
    match (name, with) {
        (_, []) => Err(hinted("the file has no Bloom filters", "turn them on in the program that writes it")),
        (None, [(only, _)]) => Ok(*only),
        (None, _) => {
            let hint = format!("say which: {}:{}", path.display(), with[0].1);
            Err(hinted(format!("several columns have filters: {}", names()), hint))
        }
        (Some(name), _) => match with.iter().find(|(_, known)| known == name) {
            Some((at, _)) => Ok(*at),
            None if all.into_iter().any(|known| known == name) => {
                Err(hinted(format!("the column {name} has no filter"), format!("these have: {}", names())))
            }
            None => {
                Err(hinted(format!("there is no column {name}"), format!("these have filters: {}", names())))
            }
        },
    }
}

/// The columns of a Parquet file that have filters.
fn parquet_columns(file: &Parquet) -> Vec<(usize, String)> {
    let mut with: Vec<usize> = file.filters().iter().map(|place| place.column).collect();
    with.sort_unstable();
    with.dedup();
    with.into_iter().map(|at| (at, file.columns()[at].0.clone())).collect()
}

/// The filters of a column of a Parquet file.
fn parquet_column(
    path: &Path,
    column: Option<&str>,
    row_group: Option<u64>,
    options: &ReadOptions,
) -> anyhow::Result<ColumnFilters> {
    let mut file = parquet(path, options)?;
    let all = file.columns().iter().map(|(name, _)| name.clone()).collect::<Vec<_>>();
    let at = column_of(&parquet_columns(&file), all.into_iter(), column, path)?;
    let filters = file.column(at, row_group, options).map_err(message::decode)?;
    if let (Some(wanted), []) = (row_group, filters.groups()) {
        let reason = format!("row group {wanted} has no filter of the column {}", filters.name());
        let hint = format!("the file has {}", human::plural(file.row_groups(), "row group"));
        return Err(hinted(reason, hint));
    }
    Ok(filters)
}

fn orc_column(path: &Path, column: Option<&str>, options: &ReadOptions) -> anyhow::Result<Box<dyn Foreign>> {
    let mut file = orc(path, options)?;
    let mut with = Vec::new();
    for stripe in 0..file.stripes() {
        with.extend(
            file.places(stripe, options, &unpack).map_err(message::decode)?.iter().map(|place| place.column),
        );
    }
    with.sort_unstable();
    with.dedup();
    let with: Vec<(usize, String)> =
        with.into_iter().map(|at| (at, file.columns()[at].name.clone())).collect();
    let all = file.columns().iter().map(|column| column.name.clone()).collect::<Vec<_>>();
    let at = column_of(&with, all.into_iter(), column, path)?;
    let filters = file.column(at, options, &unpack).map_err(message::decode)?;
    if !filters.is_complete() {
        let reason = "a stripe has no filter of the column, so that it may hold any key";
        say(&format!("gardenia: warning: {}: {reason}", input::name(path)));
    }
    Ok(Box::new(filters))
}

fn orc(path: &Path, options: &ReadOptions) -> anyhow::Result<OrcFile<BufReader<File>>> {
    OrcFile::open(BufReader::new(File::open(path)?), options, &unpack).map_err(message::decode)
}

/// The filter of another program at `path`, if it is one.
pub(crate) fn open(
    path: &Path,
    args: ForeignArgs,
    options: &ReadOptions,
) -> anyhow::Result<Option<Box<dyn Foreign>>> {
    let (path, column) = split(path);
    let Some(format) = recognised(&path, args.format)? else { return Ok(None) };
    let open = || -> anyhow::Result<Box<dyn Foreign>> {
        match format {
            Format::ParquetFile => {
                let filters = parquet_column(&path, column.as_deref(), args.row_group, options)?;
                if !filters.is_complete() {
                    let reason = "a row group has no filter of the column, so that it may hold any key";
                    say(&format!("gardenia: warning: {}: {reason}", input::name(&path)));
                    say("hint: --row-group N asks the filter of one");
                }
                Ok(Box::new(filters))
            }
            Format::Orc => orc_column(&path, column.as_deref(), options),
            format => Ok(format.read(&bytes_of(&path)?, options).map_err(message::decode)?),
        }
    };
    open().with_context(|| input::name(&path)).map(Some)
}

/// As [`open`], to be asked for keys: an error at once if nobody says of which type they are.
pub(crate) fn open_to_ask(
    path: &Path,
    args: ForeignArgs,
    options: &ReadOptions,
) -> anyhow::Result<Option<Box<dyn Foreign>>> {
    let filter = open(path, args, options)?;
    if filter.is_none() && is_stream(path) && args.as_type.is_some() {
        let reason = format!("{}: filters of other programs are not read from a pipe", input::name(path));
        return Err(hinted(reason, "save the filter to a file first; a filter of ours needs no --as"));
    }
    if filter.is_none() && (args.as_type.is_some() || args.row_group.is_some()) {
        let reason = format!("{}: a filter of ours has no --as and no --row-group", input::name(path));
        return Err(hinted(reason, "leave them out, or use --int for keys that are numbers"));
    }
    if let Some(filter) = &filter {
        filter.check_type(args.as_type).map_err(key_error).with_context(|| input::name(path))?;
    }
    Ok(filter)
}

/// Whether a key may be in.
pub(crate) fn contains(
    filter: &dyn Foreign,
    as_type: Option<KeyType>,
    key: &[u8],
    scratch: &mut Vec<u8>,
) -> Result<bool, KeyError> {
    filter.contains(filter.parse(key, as_type, scratch)?)
}

/// Whether a filter counts its keys.
pub(crate) fn counts(filter: &dyn Foreign) -> bool {
    matches!(filter.format(), Format::SparkCountMin | Format::RedisCuckoo)
}

/// How often a key may be in: 0 or 1 in filters that do not count.
pub(crate) fn count(filter: &dyn Foreign, as_type: Option<KeyType>, key: &[u8]) -> anyhow::Result<u64> {
    let mut scratch = Vec::new();
    let key = filter.parse(key, as_type, &mut scratch).map_err(key_error)?;
    match filter.count(key).map_err(key_error)? {
        Some(count) => Ok(count),
        None => Ok(filter.contains(key).map_err(key_error)?.into()),
    }
}

/// What is wrong with a key, and which option to change.
pub(crate) fn key_error(error: KeyError) -> anyhow::Error {
    match &error {
        KeyError::Ambiguous { types, .. } => {
            let options: Vec<String> = types.iter().map(|one| format!("--as {}", one.name())).collect();
            hinted(&error, format!("say how they were inserted: {}", options.join(" or ")))
        }
        KeyError::Type { accepted, .. } if !accepted.is_empty() => {
            let hint = format!("--as {}", accepted[0].name());
            hinted(&error, hint)
        }
        _ => error.into(),
    }
}

/// Prints what a file of another program holds; whether it is one.
pub(crate) fn info(
    args: &InfoArgs,
    path: &Path,
    options: &ReadOptions,
    first: bool,
    out: &mut dyn Write,
) -> anyhow::Result<bool> {
    let (path, column) = split(path);
    let formats = match args.format {
        Some(Format::Dcso) => return Ok(false),
        Some(format) => vec![format],
        None => formats(&path)?,
    };
    let Some(format) = formats.first() else { return Ok(false) };
    let file = input::name(&path);
    if args.verify {
        return Err(hinted(
            format!("{file}: checksums of other programs' files are not verified"),
            "leave out --verify",
        ));
    }
    if !first && !args.json {
        writeln!(out).context("stdout")?;
    }
    match format {
        Format::ParquetFile => parquet_info(args, &path, column.as_deref(), options, out),
        Format::Orc => orc_info(args, &path, column.as_deref(), options, out),
        format => single_info(args, &path, *format, &formats, options, out),
    }
    .with_context(|| file)?;
    Ok(true)
}

fn single_info(
    args: &InfoArgs,
    path: &Path,
    format: Format,
    formats: &[Format],
    options: &ReadOptions,
    out: &mut dyn Write,
) -> anyhow::Result<()> {
    let filter = format.read(&bytes_of(path)?, options).map_err(message::decode)?;
    let (file, file_bytes) = (input::name(path), fs::metadata(path)?.len());
    let names = || filter.key_types().iter().map(|one| one.name()).collect::<Vec<_>>();
    let details = filter.describe();
    if args.json {
        let formats: Vec<&str> = formats.iter().map(|format| format.name()).collect();
        let details: serde_json::Map<String, serde_json::Value> =
            details.into_iter().map(|(name, value)| (name.replace(' ', "_"), value.into())).collect();
        let report = json!({
            "file": file, "file_bytes": file_bytes, "format": format.name(), "formats": formats,
            "bits": filter.bits(), "bytes": filter.bits().div_ceil(8), "hashes": filter.hashes(),
            "fill": filter.fill(), "estimated_items": filter.estimated_items(), "fpp": filter.fpp(),
            "key_types": names(), "details": details,
        });
        return writeln!(out, "{report}").context("stdout");
    }
    let mut lines = vec![file];
    let mut line = |name: &str, value: String| lines.push(format!("  {name:<16}{value}"));
    line("format", format!("{} ({})", format.title(), format.name()));
    if let [_, others @ ..] = formats
        && !others.is_empty()
    {
        let others: Vec<&str> = others.iter().map(|format| format.name()).collect();
        line("or", format!("{}: the bytes do not tell, --format does", others.join(", ")));
    }
    line("keys are", format!("{} (--as)", names().join(", ")));
    line("probes", format!("{} per key", human::plural(filter.hashes().into(), "bit")));
    line("size", format!("{} in {}", human::plural(filter.bits(), "bit"), human::bytes(file_bytes)));
    details.into_iter().for_each(|(name, value)| line(name, value));
    line("fill", human::share(filter.fill()));
    line("keys", items(filter.estimated_items()));
    line("false positives", format!("{} of absent keys, at the current fill", human::share(filter.fpp())));
    writeln!(out, "{}", lines.join("\n")).context("stdout")
}

/// An estimate in words.
fn items(items: Option<f64>) -> String {
    items.map_or_else(
        || "too many to tell: every bit is set".to_owned(),
        |items| format!("about {} distinct", human::count(items.round() as u64)),
    )
}

/// One row of the table of a file with many filters.
struct Row {
    part: u64,
    column: String,
    column_type: String,
    bytes: u64,
    items: Option<f64>,
    fpp: f64,
    fill: f64,
}

/// Prints rows as they are read, so that a file of many is not waited for.
struct Table<'a> {
    json: bool,
    part: &'static str,
    width: usize,
    types: usize,
    rows: Vec<serde_json::Value>,
    out: &'a mut dyn Write,
}

impl Table<'_> {
    fn head(&mut self) -> anyhow::Result<()> {
        if self.json {
            return Ok(());
        }
        let (part, width, types) = (self.part, self.width, self.types);
        writeln!(
            self.out,
            "  {part:>9}  {:<width$}  {:<types$}  {:>9}  {:>12}  false positives",
            "column", "type", "size", "keys"
        )
        .context("stdout")
    }

    fn row(&mut self, row: &Row) -> anyhow::Result<()> {
        if self.json {
            self.rows.push(json!({
                self.part.replace(' ', "_"): row.part, "column": row.column, "type": row.column_type, "bytes": row.bytes,
                "estimated_items": row.items, "fpp": row.fpp, "fill": row.fill,
            }));
            return Ok(());
        }
        let (width, types) = (self.width, self.types);
        let keys = row
            .items
            .map_or_else(|| "full".to_owned(), |items| format!("~{}", human::count(items.round() as u64)));
        // Names come from the file, and must not command a terminal.
        let name = row.column.escape_debug().to_string();
        writeln!(
            self.out,
            "  {:>9}  {name:<width$}  {:<types$}  {:>9}  {keys:>12}  {}",
            row.part,
            row.column_type,
            human::bytes(row.bytes),
            human::share(row.fpp)
        )
        .context("stdout")
    }
}

fn parquet_info(
    args: &InfoArgs,
    path: &Path,
    column: Option<&str>,
    options: &ReadOptions,
    out: &mut dyn Write,
) -> anyhow::Result<()> {
    let mut file = parquet(path, options)?;
    let wanted = match column {
        Some(_) => {
            let all = file.columns().iter().map(|(name, _)| name.clone()).collect::<Vec<_>>();
            Some(column_of(&parquet_columns(&file), all.into_iter(), column, path)?)
        }
        None => None,
    };
    let places: Vec<_> =
        file.filters().iter().filter(|place| wanted.is_none_or(|at| place.column == at)).copied().collect();
    let columns = file.columns().to_vec();
    let (file_bytes, rows, groups) = (fs::metadata(path)?.len(), file.rows(), file.row_groups());
    if !args.json {
        let (rows, groups) = (human::plural(rows, "row"), human::plural(groups, "row group"));
        writeln!(out, "{}", input::name(path)).context("stdout")?;
        writeln!(out, "  {:<16}{} ({})", "format", Format::ParquetFile.title(), Format::ParquetFile.name())
            .context("stdout")?;
        let filters = human::plural(places.len() as u64, "filter");
        writeln!(out, "  {:<16}{rows} in {groups}; {filters}; file {}", "size", human::bytes(file_bytes))
            .context("stdout")?;
    }
    let width =
        places.iter().map(|place| columns[place.column].0.chars().count()).max().unwrap_or(0).clamp(6, 40);
    let types =
        places.iter().map(|place| columns[place.column].1.to_string().len()).max().unwrap_or(0).max(4);
    let mut table = Table { json: args.json, part: "row group", width, types, rows: Vec::new(), out };
    if !places.is_empty() {
        table.head()?;
    }
    let mut progress = Progress::steps(places.len() as u64);
    for place in &places {
        let (name, column_type) = &columns[place.column];
        progress.step(format!("reading filters: row group {} of {groups}", place.row_group));
        let filter = file.read(place, options).map_err(message::decode);
        let filter = filter.with_context(|| format!("row group {}, column {name}", place.row_group))?;
        table.row(&Row {
            part: place.row_group,
            column: name.clone(),
            column_type: column_type.to_string(),
            bytes: filter.bits() / 8,
            items: filter.estimated_items(),
            fpp: filter.fpp(),
            fill: filter.fill(),
        })?;
    }
    drop(progress);
    let rows_json = std::mem::take(&mut table.rows);
    if args.json {
        let names: Vec<_> =
            columns.iter().map(|(name, one)| json!({"name": name, "type": one.to_string()})).collect();
        let report = json!({
            "file": input::name(path), "file_bytes": file_bytes, "format": Format::ParquetFile.name(), "rows": rows,
            "row_groups": groups, "columns": names, "filters": rows_json,
        });
        writeln!(table.out, "{report}").context("stdout")?;
    }
    Ok(())
}

fn orc_info(
    args: &InfoArgs,
    path: &Path,
    column: Option<&str>,
    options: &ReadOptions,
    out: &mut dyn Write,
) -> anyhow::Result<()> {
    let mut file = orc(path, options)?;
    let (columns, stripes, rows) = (file.columns().to_vec(), file.stripes(), file.rows());
    if let Some(name) = column
        && !columns.iter().any(|known| known.name == name)
    {
        let names: Vec<&str> =
            columns.iter().map(|known| known.name.as_str()).filter(|name| !name.is_empty()).collect();
        return Err(hinted(format!("there is no column {name}"), format!("it has {}", names.join(", "))));
    }
    let file_bytes = fs::metadata(path)?.len();
    if !args.json {
        let (count, parts) = (human::plural(rows, "row"), human::plural(stripes, "stripe"));
        writeln!(out, "{}", input::name(path)).context("stdout")?;
        writeln!(out, "  {:<16}{} ({})", "format", Format::Orc.title(), Format::Orc.name())
            .context("stdout")?;
        writeln!(out, "  {:<16}{count} in {parts}; file {}", "size", human::bytes(file_bytes))
            .context("stdout")?;
    }
    let width = columns.iter().map(|one| one.name.chars().count()).max().unwrap_or(0).clamp(6, 40);
    let mut table = Table { json: args.json, part: "stripe", width, types: 9, rows: Vec::new(), out };
    table.head()?;
    let mut progress = Progress::steps(stripes);
    for stripe in 0..stripes {
        progress.step(format!("reading filters: stripe {stripe} of {stripes}"));
        for place in file.places(stripe, options, &unpack).map_err(message::decode)? {
            let about = &columns[place.column];
            if column.is_some_and(|name| name != about.name) {
                continue;
            }
            for filter in file.read(&place, options, &unpack).map_err(message::decode)? {
                table.row(&Row {
                    part: stripe,
                    column: about.name.clone(),
                    column_type: about.type_name().to_owned(),
                    bytes: filter.bits() / 8,
                    items: filter.estimated_items(),
                    fpp: filter.fpp(),
                    fill: filter.fill(),
                })?;
            }
        }
    }
    drop(progress);
    let rows_json = std::mem::take(&mut table.rows);
    if args.json {
        let names: Vec<_> =
            columns.iter().map(|one| json!({"name": one.name, "type": one.type_name()})).collect();
        let report = json!({
            "file": input::name(path), "file_bytes": file_bytes, "format": Format::Orc.name(), "rows": rows,
            "stripes": stripes, "columns": names, "filters": rows_json,
        });
        writeln!(table.out, "{report}").context("stdout")?;
    }
    Ok(())
}

/// `gardenia build --format`: keys → a filter of another program.
pub(crate) fn build(args: &BuildArgs, format: Format) -> anyhow::Result<Outcome> {
    if !format.can(FormatAbility::Write) {
        let written: Vec<&str> = Format::ALL
            .into_iter()
            .filter(|format| format.can(FormatAbility::Write))
            .map(Format::name)
            .collect();
        let reason = format!("{} is read, not written", format.title());
        return Err(hinted(reason, format!("these are written: {}", written.join(", "))));
    }
    let sketch = format == Format::SparkCountMin;
    let spec = args.spec.spec(if sketch { Kind::CountMin } else { Kind::Bloom })?;
    let taken: &[Param] = match format {
        Format::SparkCountMin => &[Param::Epsilon, Param::Delta],
        format if format.has_fixed_fpp() => &[Param::Items],
        _ => &[Param::Items, Param::Fpp],
    };
    if let Some(other) = Param::ALL.into_iter().find(|param| args.spec.has(*param) && !taken.contains(param))
    {
        let reason = format!("a filter of format {} has no {}", format.name(), crate::spec::spell(other));
        let known: Vec<String> = taken.iter().map(|param| crate::spec::spell(*param)).collect();
        return Err(hinted(reason, format!("it is sized by {}", known.join(" and "))));
    }
    if args.spec.is_kind_given() {
        return Err(hinted("--format says what is built, and --kind does, too", "leave out one of them"));
    }
    if args.secret.secret.is_some() || args.secret.secret_file.is_some() {
        return Err(hinted(
            format!("a filter of format {} has no secret", format.name()),
            "leave out --secret",
        ));
    }
    let others = [
        ("--meta", args.meta.is_some()),
        ("--on-full", args.on_full.is_some_and(|what| what != OnFull::Warn)),
        ("--value", args.value.is_some()),
        ("--spare", args.spare.is_some()),
    ];
    if let Some((option, _)) = others.into_iter().find(|(_, given)| *given) {
        let reason = format!("a filter of format {} has no {option}", format.name());
        return Err(hinted(reason, format!("leave out {option}")));
    }
    if args.foreign.row_group.is_some() {
        return Err(hinted("a filter is built, not a row group of a file", "leave out --row-group"));
    }
    if args.key.int {
        return Err(hinted("--int is for filters of our own", "use --as long or --as int"));
    }
    let real = |param| match spec.get(param) {
        Some(Value::Real(value)) => Some(value),
        _ => None,
    };
    let sources = Source::all(&args.keys);
    let output = Output { path: &args.output, force: args.force, inputs: &args.keys };
    output.check()?;
    sources.iter().try_for_each(Source::check)?;
    let keys = args.key.keys()?.tell_marks();
    // Then the inputs are read a second time.
    let counted = !sketch && !spec.has(Param::Items);
    let items = match spec.whole(Param::Items) {
        Some(items) => items,
        None if sketch => 1,
        None if sources.iter().all(|source| source.file_len().is_some()) => {
            build::distinct_keys(args, &spec, &sources, &keys)?
        }
        None => return Err(hinted("the lines of a pipe cannot be counted up front", "give --items N")),
    };
    let mut filter: Box<dyn ForeignInsert> = if sketch {
        let (eps, delta) = (real(Param::Epsilon).unwrap_or(0.0001), real(Param::Delta).unwrap_or(0.01));
        Box::new(SparkCountMin::new(eps, 1.0 - delta, 42).map_err(message::size)?)
    } else {
        let fpp = real(Param::Fpp).unwrap_or(FPP);
        memory::require(
            (items as f64 * -fpp.ln() * 0.3) as u64,
            "the filter",
            "lower --items, or raise --fpp",
        )?;
        format.create(items, fpp).map_err(message::size)?
    };
    filter.check_type(args.foreign.as_type).map_err(key_error)?;
    let (mut lines, mut new, mut scratch) = (0, 0, Vec::new());
    let look = |keys: &Keys, block: Block<'_>, texts: &mut KeyTexts| keys.texts(block, texts);
    let mut insert = |block: Block<'_>, texts: &mut KeyTexts| {
        for text in texts.slices(block) {
            let key = filter.parse(text, args.foreign.as_type, &mut scratch).map_err(key_error)?;
            new += u64::from(filter.insert(key).map_err(key_error)?);
            lines += 1;
        }
        Ok(())
    };
    let reading = build::reading(args, &sources, &keys, "building");
    if counted {
        reading.run_again(look, &mut insert)?
    } else {
        reading.run(look, &mut insert)?
    };
    let bytes = filter.to_bytes().map_err(message::encode)?;
    output.write_by(|out| Ok(out.write_all(&bytes)?))?;
    build::warn_of_cr(&keys, &output.name());
    if !args.quiet {
        say(&format!(
            "{}: {} read, {} certainly new; {} ({}); estimated false positives {}",
            output.name(),
            human::plural(lines, "key"),
            human::count(new),
            format.title(),
            human::bytes(bytes.len() as u64),
            message::rate(filter.fpp(), lines == 0)
        ));
        if !sketch && new > items && format != Format::RedisBloom {
            let (came, planned) = (human::count(new), human::count(items));
            say(&format!(
                "gardenia: warning: at least {came} distinct keys were added, and {planned} were planned"
            ));
        }
    }
    Ok(Outcome::Done)
}

/// `gardenia convert` from or to a format of another program, without the keys; `None` if it is
/// neither.
pub(crate) fn convert(args: &ConvertArgs) -> anyhow::Result<Option<Outcome>> {
    let [path] = &args.inputs[..] else { return Ok(None) };
    let options = args.memory.options(None);
    let (file, column) = split(path);
    let from = recognised(&file, args.foreign.format)?;
    let to = match (args.to, from) {
        (To::Format(Format::Dcso), None) => return Ok(None),
        (To::Format(to), _) => Some(to),
        (To::Kind(Kind::SplitBlock), _) => None,
        (To::Kind(_), None) => return Ok(None),
        (To::Kind(kind), Some(from)) => {
            let reason = format!(
                "{} cannot become a filter of kind {}: bits cannot be hashed again",
                from.title(),
                kind.name()
            );
            return Err(hinted(
                reason,
                format!("build it from the keys: gardenia build --kind {}", kind.name()),
            ));
        }
    };
    let name = |format: Option<Format>| format.map_or("a filter of ours", Format::title);
    let cannot = || {
        let target = to.map_or("a filter of kind sbbf", Format::title);
        let reason = format!("{} cannot become {target}: bits cannot be hashed again", name(from));
        let written = to.is_none_or(|to| to.can(FormatAbility::Write));
        let hint = match to {
            Some(to) if written => format!("build it from the keys: gardenia build --format {}", to.name()),
            Some(_) => "files of this format are read, not written".to_owned(),
            None => "build it from the keys: gardenia build --kind sbbf".to_owned(),
        };
        hinted(reason, hint)
    };
    if !matches!(to, None | Some(Format::Parquet | Format::Milvus)) {
        return Err(cannot());
    }
    let mut keys = args.foreign.as_type;
    let filter = match from {
        Some(Format::ParquetFile) => {
            let filters = parquet_column(&file, column.as_deref(), args.foreign.row_group, &options)
                .with_context(|| input::name(&file))?;
            keys = keys.or(Some(filters.key_types()[0]));
            match filters.groups() {
                [(_, only)] => only.clone(),
                several => {
                    let reason = format!(
                        "the column {} has {} filters, one for each row group",
                        filters.name(),
                        several.len()
                    );
                    return Err(hinted(reason, "say which is meant: --row-group N"));
                }
            }
        }
        Some(Format::Parquet) => {
            ParquetFilter::from_bytes(&bytes_of(&file)?, &options).map_err(message::decode)?
        }
        Some(Format::Milvus) => {
            let milvus = MilvusBloom::from_bytes(&bytes_of(&file)?, &options).map_err(message::decode)?;
            keys = keys.or(Some(milvus.key_types()[0]));
            milvus.into_parquet()
        }
        Some(_) => return Err(cannot()),
        None => {
            let filter = crate::open::load_any(path, &args.memory.options(args.secret.read()?))?;
            match filter {
                AnyFilter::SplitBlock(filter) => {
                    ParquetFilter::from_inner(filter).map_err(message::encode)?
                }
                other => {
                    let reason = format!(
                        "a filter of kind {} cannot become another without its keys",
                        other.kind().name()
                    );
                    let hint = to.map_or("sbbf".to_owned(), |to| format!("build --format {}", to.name()));
                    return Err(hinted(reason, format!("build it from the keys: gardenia {hint}")));
                }
            }
        }
    };
    let output = Output { path: &args.output, force: args.force, inputs: &args.inputs };
    output.check()?;
    match to {
        None => {
            let ours: SplitBlockBloom = filter.into_inner();
            output.write(&ours.into())?;
        }
        Some(Format::Milvus) => {
            let Some(keys) = keys else {
                let reason = "a blob of Milvus says what its keys are";
                return Err(hinted(reason, "say it: --as long or --as string"));
            };
            let items = filter.estimated_items().map_or(1, |items| items.round() as u64);
            let fpp = filter.fpp();
            let milvus = MilvusBloom::from_parquet(filter, keys, items, fpp).map_err(message::encode)?;
            let bytes = milvus.to_bytes().map_err(message::encode)?;
            output.write_by(|out| Ok(out.write_all(&bytes)?))?;
        }
        Some(_) => {
            let bytes = filter.to_bytes().map_err(message::encode)?;
            output.write_by(|out| Ok(out.write_all(&bytes)?))?;
        }
    }
    if !args.quiet {
        say(&format!("{}: {}", output.name(), to.map_or("a filter of kind sbbf", Format::title)));
    }
    Ok(Some(Outcome::Done))
}

/// The filter at `path`, to be changed; an error if its format is only read.
fn to_change(
    path: &Path,
    args: ForeignArgs,
    options: &ReadOptions,
) -> anyhow::Result<Option<Box<dyn ForeignInsert>>> {
    let Some(filter) = open(path, args, options)? else { return Ok(None) };
    let format = filter.format();
    match filter.into_insert().filter(|_| format.can(FormatAbility::Merge)) {
        Some(filter) => Ok(Some(filter)),
        None => {
            let reason = format!("{}: {} is not merged", input::name(path), format.title());
            Err(hinted(reason, apart(format)))
        }
    }
}

/// What can be done where filters of a format cannot be merged or compared as they are.
fn apart(format: Format) -> String {
    match format {
        Format::ParquetFile => {
            "cut the filter of a row group out first: gardenia convert --to parquet --row-group N".to_owned()
        }
        format if format.can(FormatAbility::Write) => {
            format!("build one from the keys: gardenia build --format {}", format.name())
        }
        _ => "build one from the keys: gardenia build".to_owned(),
    }
}

/// Refuses a filter of another program where one of ours is changed.
pub(crate) fn refuse_change(path: &Path) -> anyhow::Result<()> {
    let Some(&format) = formats(path)?.first() else { return Ok(()) };
    let reason = format!("{}: {} is not changed in place", input::name(path), format.title());
    Err(hinted(reason, apart(format)))
}

/// One of several filters of another program, if the first is one.
fn merged(
    paths: &[PathBuf],
    format: Option<Format>,
    options: &ReadOptions,
) -> anyhow::Result<Option<Box<dyn ForeignInsert>>> {
    let args = ForeignArgs { format, ..ForeignArgs::default() };
    let [first, others @ ..] = paths else { return Ok(None) };
    let Some(mut filter) = to_change(first, args, options)? else { return Ok(None) };
    for path in others {
        let Some(other) = open(path, args, options)? else {
            let reason = format!("{}: is of another format than {}", input::name(path), input::name(first));
            return Err(hinted(reason, "give filters of one format"));
        };
        if let Some(merged) = filter.merge_from(&*other) {
            merged.map_err(|difference| mismatch(first, path, &difference))?;
        }
    }
    Ok(Some(filter))
}

/// `gardenia merge` of filters of another program; `None` if they are ours.
pub(crate) fn merge(
    args: &MergeArgs,
    output: &Output<'_>,
    options: &ReadOptions,
) -> anyhow::Result<Option<Outcome>> {
    let Some(filter) = merged(&args.filters, args.format, options)? else { return Ok(None) };
    if args.intersect {
        return Err(hinted("filters of other programs are not intersected", "leave out --intersect"));
    }
    let bytes = filter.to_bytes().map_err(message::encode)?;
    output.write_by(|out| Ok(out.write_all(&bytes)?))?;
    if !args.quiet {
        let (count, rate) = (human::plural(args.filters.len() as u64, "filter"), human::share(filter.fpp()));
        say(&format!(
            "{}: {count} merged; {}; false positives {rate}",
            output.name(),
            items(filter.estimated_items())
        ));
    }
    Ok(Some(Outcome::Done))
}

/// `gardenia diff` of filters of another program; `None` if they are ours.
pub(crate) fn diff(args: &DiffArgs, options: &ReadOptions) -> anyhow::Result<Option<Outcome>> {
    let format = ForeignArgs { format: args.format, ..ForeignArgs::default() };
    let Some(a) = open(&args.a, format, options)?.map(only_filter) else { return Ok(None) };
    let Some(b) = open(&args.b, format, options)?.map(only_filter) else {
        let (a, b) = (input::name(&args.a), input::name(&args.b));
        return Err(hinted(format!("{b}: is of another format than {a}"), "give filters of one format"));
    };
    let of = [a.estimated_items(), b.estimated_items()];
    let union = union_items(args, a, &*b)?;
    let [a, b] = of;
    let all = a.zip(b).zip(union);
    // Chance can make an estimate less than nothing.
    let common = all.map(|((a, b), union)| (a + b - union).max(0.0));
    let only = |one: Option<f64>| one.zip(common).map(|(one, common)| (one - common).max(0.0));
    let jaccard =
        common.zip(union).filter(|(_, union)| *union > 0.0).map(|(common, union)| (common / union).min(1.0));
    let names = [input::name(&args.a), input::name(&args.b)];
    let text = if args.json {
        json!({
            "a": names[0], "b": names[1], "items_a": a, "items_b": b, "union": union, "common": common, "only_a": only(a),
            "only_b": only(b), "jaccard": jaccard,
        })
        .to_string()
    } else {
        let line = |name: &str, value: Option<f64>| format!("  {name:<16}{}", items(value));
        let head = format!("{} (A) and {} (B)", names[0], names[1]);
        let lines = [
            head,
            line("A", a),
            line("B", b),
            line("both", common),
            line("A alone", only(a)),
            line("B alone", only(b)),
        ];
        lines.join("\n")
    };
    writeln!(std::io::stdout().lock(), "{text}").context("stdout")?;
    Ok(Some(Outcome::Done))
}

/// Of a column of a Parquet file with one filter, that filter.
fn only_filter(filter: Box<dyn Foreign>) -> Box<dyn Foreign> {
    match filter.as_any().downcast_ref::<ColumnFilters>().map(ColumnFilters::groups) {
        Some([(_, only)]) => Box::new(only.clone()),
        _ => filter,
    }
}

/// About how many keys are in `a` or `b`: of both merged, or of the bits of both where a format's
/// filters are not merged.
fn union_items(args: &DiffArgs, a: Box<dyn Foreign>, b: &dyn Foreign) -> anyhow::Result<Option<f64>> {
    let format = a.format();
    if !format.can(FormatAbility::Merge) {
        return match overlap(&*a, b) {
            Some(Ok(both)) => Ok(Some(both.common.items + both.only_a.items + both.only_b.items)),
            Some(Err(difference)) => Err(mismatch(&args.a, &args.b, &difference)),
            None => {
                let reason = format!(
                    "{}: {} is not one array of bits, which alone can be compared",
                    input::name(&args.a),
                    format.title()
                );
                Err(hinted(reason, apart(format)))
            }
        };
    }
    let mut merged = a.into_insert().context("a format that merges is written")?;
    if let Some(united) = merged.merge_from(b) {
        united.map_err(|difference| mismatch(&args.a, &args.b, &difference))?;
    }
    Ok(merged.estimated_items())
}
