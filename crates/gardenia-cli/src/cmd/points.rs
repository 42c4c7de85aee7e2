//! Lines as points: `gardenia build --kind distance`, and which lines of a block are near.

use super::build;
use crate::args::BuildArgs;
use crate::input::{Block, KeyTexts, Keys, Source, name};
use crate::message::{self, hinted};
use anyhow::Context;
use gardenia::filter::Space;
use gardenia::spec::{DEFAULT_FPP, Param, Value};
use gardenia::{DistanceSensitiveBloom, ReadOptions, Spec};
use std::path::Path;

/// A filter of all lines; and how many there were.
pub(crate) fn build(
    args: &BuildArgs,
    spec: &Spec,
    sources: &[Source],
    items: u64,
) -> anyhow::Result<(DistanceSensitiveBloom, u64)> {
    let (keys, mut filter, mut lines) = (args.key.keys()?, None, 0);
    let look = |keys: &Keys, block: Block<'_>, found: &mut KeyTexts| keys.texts(block, found);
    build::reading(args, sources, &keys, "building").run(
        look,
        &mut |block: Block<'_>, found: &mut KeyTexts| {
            for key in found.slices(block) {
                let filter = match &mut filter {
                    Some(filter) => filter,
                    // The first line says how many bits a point has.
                    none => none.insert(empty(spec, items, key)?),
                };
                insert(filter, key)?;
                lines += 1;
            }
            Ok(())
        },
    )?;
    Ok((filter.map_or_else(|| empty(spec, items, b"00"), Ok)?, lines))
}

fn empty(spec: &Spec, items: u64, first: &[u8]) -> anyhow::Result<DistanceSensitiveBloom> {
    let hamming = spec.get(Param::Space) == Some(Value::Word("hamming"));
    let builder = match hamming {
        false => DistanceSensitiveBloom::jaccard(),
        true => DistanceSensitiveBloom::hamming(8 * bits(first)?.len() as u64),
    };
    let fpp = spec.real(Param::Fpp).unwrap_or(DEFAULT_FPP);
    let builder = builder.items(items.max(1)).error(fpp).hasher(spec.hasher());
    let (near, far) = (spec.real(Param::Near).unwrap_or(0.1), spec.real(Param::Far).unwrap_or(0.6));
    builder.near(near).far(far).build().map_err(|error| {
        hinted(format!("--near {near} and --far {far}: {error}"), "set them farther apart, or raise --fpp")
    })
}

/// The filter of points in a file.
pub(crate) fn load(path: &Path, options: &ReadOptions) -> anyhow::Result<DistanceSensitiveBloom> {
    let load = || DistanceSensitiveBloom::load_with(path, options);
    load().map_err(message::decode).with_context(|| name(path))
}

/// Adds a line.
fn insert(filter: &mut DistanceSensitiveBloom, line: &[u8]) -> anyhow::Result<()> {
    match filter.space() {
        Space::Hamming { .. } => filter.insert_bits(&bits(line)?)?,
        _ => filter.insert_tokens(&words(line))?,
    }
    Ok(())
}

/// Whether a line is close to one that went in.
pub(crate) fn is_near(filter: &DistanceSensitiveBloom, line: &[u8]) -> anyhow::Result<bool> {
    Ok(match filter.space() {
        Space::Hamming { .. } => filter.is_near_bits(&bits(line)?)?,
        _ => filter.is_near_tokens(&words(line))?,
    })
}

/// The words of a line: what stands between white space.
fn words(line: &[u8]) -> Vec<&[u8]> {
    line.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty()).collect()
}

/// Bits in hexadecimal digits, two to a byte.
fn bits(line: &[u8]) -> anyhow::Result<Vec<u8>> {
    let digit = |byte: u8| char::from(byte).to_digit(16).map(|digit| digit as u8);
    let pair = |pair: &[u8]| match pair {
        [high, low] => Some(digit(*high)? << 4 | digit(*low)?),
        _ => None,
    };
    let line = line.trim_ascii();
    line.chunks(2).map(pair).collect::<Option<Vec<u8>>>().filter(|bits| !bits.is_empty()).with_context(|| {
        let text = String::from_utf8_lossy(&line[..line.len().min(40)]).into_owned();
        format!("{text:?} is not bits in hexadecimal digits, two to a byte")
    })
}

#[test]
fn points_are_read_as_people_write_them() {
    assert_eq!(bits(b" 0fA0 ").unwrap(), [0x0f, 0xa0]);
    assert!([&b""[..], b"0", b"0x12", b"zz"].iter().all(|text| bits(text).is_err()));
    assert_eq!(words(b" a  bc\td "), [&b"a"[..], b"bc", b"d"]);
}
