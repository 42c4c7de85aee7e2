//! The relatives of the garden, as the options of `gardenia build` describe them: static sets, filters that grow, and
//! those that are small when they are sent.

use super::build::within;
use crate::args::{BuildArgs, Kind};
use crate::message;
use gardenia::{
    AnyFilter, AnyScheme, BinaryFuse, BuildError, CompressedBloom, Cuckoo, Digest, DynamicBloom, GolombSet,
    KeyHasher, Ribbon, ScalableBloom, SizeError,
};

/// Without another wish.
const FPP: f64 = 0.01;

/// Bits per key in memory of a compressed filter, without another wish: about three times those of a plain one.
const MEMORY: f64 = 32.0;

/// A filter of a kind that is built of all keys at once.
pub(crate) fn fixed(
    args: &BuildArgs,
    kind: Kind,
    hasher: KeyHasher,
    digests: Vec<Digest>,
) -> anyhow::Result<AnyFilter> {
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    Ok(match kind {
        Kind::Fuse => {
            let builder = BinaryFuse::builder().hasher(hasher).threads(threads);
            let builder = builder.arity(args.more.arity.unwrap_or(3));
            let builder = match (args.more.fingerprint, args.fpp) {
                (Some(bits), _) => builder.fingerprint(bits),
                (None, Some(fpp)) => builder.fpp(fpp),
                (None, None) => builder,
            };
            builder.build_from_digests(&digests).map_err(message::build)?.into()
        }
        Kind::Ribbon => {
            let builder = Ribbon::builder().hasher(hasher).threads(threads);
            let builder = match args.more.fingerprint {
                Some(bits) => builder.fingerprint(bits),
                None => builder.fpp(args.fpp.unwrap_or(FPP)),
            };
            builder.build_from_digests(&digests).map_err(fingerprint)?.into()
        }
        Kind::Golomb => {
            let builder = GolombSet::builder().hasher(hasher).fpp(args.fpp.unwrap_or(FPP));
            builder.build_from_digests(digests).map_err(message::size)?.into()
        }
        kind => anyhow::bail!("a filter of kind {} is not built of all keys at once", kind.name()),
    })
}

/// An empty filter of a kind that grows, or that is small when it is sent.
pub(crate) fn empty(
    args: &BuildArgs,
    kind: Kind,
    hasher: KeyHasher,
    items: Option<u64>,
) -> anyhow::Result<AnyFilter> {
    let (fpp, scheme) = (args.fpp.unwrap_or(FPP), args.scheme.unwrap_or_default());
    let require = |bytes| within(args, bytes);
    Ok(match kind {
        Kind::Cuckoo => {
            let mut builder = Cuckoo::builder().hasher(hasher);
            if let Some(width) = args.width {
                builder = builder.width(width);
            }
            match (args.cells, args.width) {
                (Some(cells), Some(_)) => builder = builder.cells(cells),
                (Some(_), None) => {
                    let hint = "give the bits of a fingerprint by --width, such as 12";
                    return Err(message::hinted("--cells is given without --width", hint));
                }
                (None, None) => builder = builder.items(items.unwrap_or(1)).fpp(fpp),
                (None, Some(_)) => builder = builder.items(items.unwrap_or(1)),
            }
            let shape = builder.shape().map_err(message::size)?;
            require(shape.cells().saturating_mul(4))?;
            builder.build().map_err(message::size)?.into()
        }
        Kind::Scalable => {
            let builder = ScalableBloom::builder().hasher(hasher).scheme(scheme).fpp(fpp);
            let builder = match args.items {
                Some(items) => builder.items(items),
                None => builder,
            };
            builder.build().map_err(message::size)?.into()
        }
        Kind::Dynamic => {
            let builder = DynamicBloom::builder().hasher(hasher).scheme(scheme).fpp(fpp);
            let builder = match args.items {
                Some(items) => builder.items(items),
                None => builder,
            };
            let builder = match args.width {
                Some(width) => builder.width(width),
                None => builder,
            };
            builder.build().map_err(message::size)?.into()
        }
        Kind::Compressed => {
            let builder = CompressedBloom::builder().hasher(hasher).items(items.unwrap_or(1));
            let builder = builder.scheme(move |hashes| AnyScheme::new(scheme, hashes));
            let builder = builder.memory(args.more.memory_per_key.unwrap_or(MEMORY));
            let builder = match args.more.wire {
                Some(wire) => builder.wire(wire),
                None => builder.fpp(fpp),
            };
            let shape = builder.shape().map_err(compressed)?;
            require(shape.cells.div_ceil(8))?;
            builder.build().map_err(compressed)?.into()
        }
        kind => anyhow::bail!("a filter of kind {} is not made here", kind.name()),
    })
}

/// Says which option to change.
fn fingerprint(error: BuildError) -> anyhow::Error {
    match error {
        BuildError::Size(SizeError::Width { width }) => message::hinted(
            format!("fingerprints of {width} bits are not between 1 and 32"),
            "--fingerprint 8 errs for 1 line in 256, each bit more for half as many",
        ),
        error => message::build(error),
    }
}

/// Says which option to change.
fn compressed(error: SizeError) -> anyhow::Error {
    match error {
        SizeError::Conflict(_) => message::hinted(error, "raise --memory-per-key, or --fpp"),
        error => message::size(error),
    }
}
