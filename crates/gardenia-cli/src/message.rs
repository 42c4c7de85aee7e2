//! What the command says on stderr: errors of the library, and which option solves them.

use crate::{Outcome, human, input};
use gardenia::index::MAX_HASHES;
use gardenia::{
    AnyFilter, Bloom, Count, Cuckoo, DecodeError, EncodeError, InsertError, Kind, Mismatch, SizeError,
};
pub(crate) use gardenia_terminal::message::{complain, hinted, say, with_hint};
use std::path::Path;

/// A current false-positive rate. What is too small to be computed is not nothing.
pub(crate) fn rate(fpp: f64, empty: bool) -> String {
    if fpp == 0.0 && !empty { "below 1 in 1e11".to_owned() } else { human::share(fpp) }
}

/// In what a file differs from the first.
pub(crate) fn difference(first: &Path, other: &Path, difference: &Mismatch) -> String {
    let Mismatch { what, ours, theirs, .. } = difference;
    let (first, other) = (input::name(first), input::name(other));
    if *what == "room for keys" {
        return format!("{other}: holds {theirs} keys, and {first} has room for {ours} more");
    }
    // What there are several of is a number, such as cells.
    let what = if what.ends_with('s') { format!("numbers of {what}") } else { format!("{what}s") };
    format!("{other} and {first} have different {what} ({theirs} and {ours})")
}

/// Says a decoding error in the words of the command line, where the library speaks of its own
/// calls.
pub(crate) fn decode(error: DecodeError) -> anyhow::Error {
    match error {
        DecodeError::Io(error) => error.into(),
        DecodeError::Magic { found: [0x1f, 0x8b, ..], .. } => {
            hinted("a compressed file (gzip), not a filter", "unpack it first: zcat FILE | gardenia … -")
        }
        // What is shorter than the mark of the format is not a truncated filter, but some other file.
        DecodeError::Magic { .. } | DecodeError::Truncated { needed: ..=8, .. } => hinted(
            "not a Gardenia filter",
            "the filter comes first, then the files of lines; `gardenia build` makes a filter from lines of text",
        ),
        DecodeError::Kind { found, .. } if found == Kind::Top.name() => {
            hinted("the file holds counts of frequent lines, not a filter", "`gardenia top FILE` prints them")
        }
        DecodeError::SecretMissing { id } => hinted(
            format!("the filter is keyed, and its secret (id {id:016x}) was not given"),
            "give it by --secret-file FILE or --secret HEX",
        ),
        DecodeError::SecretWrong { .. } => {
            hinted(error, "give the secret it was built with: --secret-file FILE")
        }
        DecodeError::TooLarge { needed, max } => hinted(
            format!(
                "the filter takes {}, but {} of memory is available",
                human::bytes(needed),
                human::bytes(max)
            ),
            "give it as a file: that is memory-mapped, and need not fit",
        ),
        DecodeError::Expansion { stored, needed, max } => hinted(
            format!(
                "the filter has {} in the file and would take {} of memory, over the limit of {}",
                human::bytes(stored),
                human::bytes(needed),
                human::bytes(max)
            ),
            "if you trust the file, raise the limit with --max-memory SIZE",
        ),
        DecodeError::Work { samples, max } => hinted(
            format!(
                "a line would take {} samples, over the limit of {}",
                human::count(samples),
                human::count(max)
            ),
            "build it again with --near 0.1% or more",
        ),
        DecodeError::Truncated { .. } | DecodeError::Trailing { .. } | DecodeError::Checksum { .. } => {
            hinted(error, "the file is corrupted: copy it again, or rebuild it")
        }
        error => error.into(),
    }
}

/// The share of places that a cuckoo filter fills, at least, if no line has many copies.
const FULL: f64 = 0.75;

/// Says why keys cannot be put in.
pub(crate) fn insert(error: InsertError, filter: &AnyFilter) -> anyhow::Error {
    match error {
        InsertError::Fixed => {
            let hint =
                "build it again with all lines, or use a kind that accepts more, such as --kind infini";
            hinted(error, hint)
        }
        InsertError::Full(_) if filter.kind() == Kind::Cuckoo && filter.fill() < FULL => {
            let full = human::percent(filter.fill());
            let reason =
                format!("a line has no room in a cuckoo filter that is {full} full: repeated lines block it");
            hinted(reason, "give each line once (sort -u), or use --kind counting")
        }
        InsertError::Full(_) if filter.kind() == Kind::Cuckoo => {
            hinted(error, "build it again with more --items; every copy of a line takes room")
        }
        InsertError::Full(full) if full.copies => {
            hinted(error, "give each line once (sort -u), or use --kind counting")
        }
        InsertError::Full(_) => hinted(error, "build it again with more --items"),
        InsertError::Growth { needed, max } => hinted(
            format!(
                "the filter would grow to {}, over the limit of {}",
                human::bytes(needed),
                human::bytes(max)
            ),
            "if you trust the file, raise the limit with --max-memory SIZE",
        ),
        error => error.into(),
    }
}

/// Warns of counters at the largest count, from half of those of one key: fewer are hardly any
/// key's count.
pub(crate) fn warn_of_saturation(name: &str, saturated: Option<(u64, u64)>, hashes: u32) {
    let Some((cells, most)) = saturated.filter(|(cells, _)| 2 * cells >= u64::from(hashes)) else { return };
    let (cells, most) = (human::plural(cells, "cell"), human::count(most));
    say(&format!(
        "gardenia: warning: {name}: {cells} reached the largest count, {most}: `gardenia count` marks such counts with ≥"
    ));
    say("hint: for larger counts build it with a larger --width, or --kind count-min or bitwise");
}

/// How many cells of a filter have lost count, and the largest count; none if there are no such
/// cells.
pub(crate) fn saturated(counts: &dyn Count) -> Option<(u64, u64)> {
    Some((counts.saturated(), counts.max_count())).filter(|(cells, _)| *cells > 0)
}

/// Copies of lines that a filter of this kind holds as often as it can.
pub(crate) fn copies(lines: u64, kind: Kind) -> anyhow::Error {
    let lines = human::plural(lines, "line");
    let filter = match kind {
        Kind::Cuckoo => format!("a cuckoo filter holds {}", Cuckoo::MAX_COPIES),
        kind => format!("a filter of kind {} holds about 57,000", kind.name()), // as `Pages` has it
    };
    hinted(
        format!("{lines} left out: {filter} copies of a line and no more"),
        "give each line once (sort -u), or use --kind counting; every line is found, but the copies that were left \
         out cannot be removed",
    )
}

/// How a command ends that left out copies of lines, and wrote the filter.
pub(crate) fn left_out(lines: u64, kind: Kind, name: &str) -> anyhow::Result<Outcome> {
    if lines == 0 {
        return Ok(Outcome::Done);
    }
    complain(&copies(lines, kind).context(name.to_owned()));
    Ok(Outcome::Trouble)
}

/// Says an encoding error; what the system says of a write stays recognisable as such.
pub(crate) fn encode(error: EncodeError) -> anyhow::Error {
    match error {
        EncodeError::Io(error) => error.into(),
        error => error.into(),
    }
}

/// Says which option to change.
pub(crate) fn size(error: SizeError) -> anyhow::Error {
    let hint = match &error {
        SizeError::Fpp(_) => "--fpp takes a probability such as 1%, 0.01 or 1/100",
        SizeError::FppBelowFloor { .. } => "raise --fpp, or lower --items",
        SizeError::ZeroItems => "--items is the number of distinct keys",
        SizeError::ZeroCells => "--bits is the size of the filter, such as 8M or 1MiB",
        SizeError::Width { .. } => "--width is the number of bits per cell; 4 suit sets, 16 suit counts",
        SizeError::TooManyCells { .. } => "lower --items or --bits, or raise --fpp",
        SizeError::Hashes { hashes, max } if hashes > max && *max < MAX_HASHES => {
            "--kind bloom accepts more of them; 5 or 6 suit 1%"
        }
        SizeError::Hashes { .. } => "--hashes is the number of bits that a key sets; 5 to 7 suit 1%",
        SizeError::Memory { .. } => "lower --items or --bits, or raise --fpp",
        _ => return error.into(),
    };
    hinted(error, hint)
}

/// As [`size`], for a sketch.
pub(crate) fn sketch_size(error: SizeError) -> anyhow::Error {
    let hint = match &error {
        SizeError::Epsilon(_) => "--epsilon is a share of all lines, such as 0.1% or 1/1000",
        SizeError::Delta(_) => "--delta is a probability, such as 1%",
        SizeError::Hashes { .. } => {
            "--rows is the number of cells that a line raises; 3 to 5 suit most streams"
        }
        SizeError::ZeroCells => "--columns is the number of cells in each row, such as 64k",
        SizeError::TooManyCells { .. } | SizeError::Memory { .. } => {
            "raise --epsilon, or lower --columns or --bits"
        }
        SizeError::Conflict(_) => "raise --bits, or lower --rows",
        _ => return error.into(),
    };
    hinted(error, hint)
}

/// As [`size`], for a blocked filter planned for `items` and `fpp`: another kind may do what it
/// cannot.
pub(crate) fn blocked_size(error: SizeError, items: u64, fpp: f64) -> anyhow::Error {
    match error {
        SizeError::TooManyCells { .. } if Bloom::builder().items(items).fpp(fpp).shape().is_ok() => hinted(
            format!("a blocked filter cannot have a false-positive probability as low as {fpp:e}"),
            "--kind bloom can; or raise --fpp",
        ),
        error => size(error),
    }
}
