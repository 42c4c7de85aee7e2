//! One builder for all filters: every option that `new` does not have.

use crate::filter::request::Request;
use crate::hash::{KeyHasher, SecretKey};
use crate::index::SchemeId;
use alloc::sync::Arc;
use core::fmt;

/// Builder for any filter: [`Bloom::builder`](crate::Bloom::builder) and so on.
///
/// Every builder chooses the hash function. What else it offers depends on the filter, and is
/// listed below by the type that is built; some things can be asked for in one way only, and
/// `build` says what is missing or too much.
///
/// ```
/// use gardenia::{Bloom, CountingBloom, SecretKey};
/// let keyed = Bloom::builder().items(1_000).fpp(1e-6).secret(SecretKey::new([7; 16])).build()?;
/// let wide = CountingBloom::builder().cells(10_000).hashes(7).width(8).build()?;
/// assert_eq!((keyed.hashes(), wide.width()), (20, 8));
/// let error = Bloom::builder().items(1_000).build().unwrap_err();
/// assert!(error.to_string().starts_with("give items and fpp"));
/// # Ok::<(), gardenia::SizeError>(())
/// ```
#[must_use]
pub struct Builder<F: Built> {
    pub(crate) request: Request,
    pub(crate) options: F::Options,
}

/// A filter that a [`Builder`] makes.
pub trait Built {
    /// What can be chosen beside what all builders have.
    type Options: Clone + fmt::Debug;
}

/// A filter that is made for a number of keys.
pub trait ForItems: Built {}
/// A filter that is made for a false-positive rate.
pub trait ForRate: Built {}
/// A filter whose size is given in bits.
pub trait InBits: Built {}
/// A filter whose size is given in cells.
pub trait InCells: Built {}
/// A filter that looks at k places for each key.
pub trait Probing: Built {}
/// A filter whose scheme is chosen by its number.
pub trait Schemed: Built {}
/// A filter that several threads can build together.
pub trait Threaded: Built {}

impl<F: Built> Builder<F> {
    pub(crate) fn new(options: F::Options) -> Self {
        Self { request: Request::default(), options }
    }

    /// Hash with XXH3-64 and this seed (the default, with seed 0). What else a filter draws at
    /// random follows from it, too.
    pub fn seed(self, seed: u64) -> Self {
        self.hasher(KeyHasher::xxh3(seed))
    }

    /// Hash with SipHash-1-3 and this secret, for keys that an attacker may choose.
    pub fn secret(self, secret: SecretKey) -> Self {
        self.hasher(KeyHasher::sip13(secret))
    }

    /// The hash function.
    pub fn hasher(mut self, hasher: KeyHasher) -> Self {
        self.request.hasher = hasher;
        self
    }
}

impl<F: ForItems> Builder<F> {
    /// Keys to make room for.
    pub fn items(mut self, items: u64) -> Self {
        self.request.items = Some(items);
        self
    }
}

impl<F: ForRate> Builder<F> {
    /// False-positive probability once all keys are in.
    pub fn fpp(mut self, fpp: f64) -> Self {
        self.request.fpp = Some(fpp);
        self
    }
}

impl<F: InBits> Builder<F> {
    /// Number of bits, rounded up to what the filter can use; with `items` the best k follows, or
    /// set it by `hashes`.
    pub fn bits(mut self, bits: u64) -> Self {
        self.request.cells = Some(bits);
        self
    }
}

impl<F: InCells> Builder<F> {
    /// Number of cells, rounded up to what the filter can use.
    pub fn cells(mut self, cells: u64) -> Self {
        self.request.cells = Some(cells);
        self
    }
}

impl<F: Probing> Builder<F> {
    /// Probes per key, k.
    pub fn hashes(mut self, hashes: u32) -> Self {
        self.request.hashes = Some(hashes);
        self
    }
}

impl<F: Schemed> Builder<F> {
    /// The scheme that makes positions of digests.
    pub fn scheme(mut self, scheme: SchemeId) -> Self {
        self.request.scheme = scheme;
        self
    }
}

impl<F: Threaded> Builder<F> {
    /// Threads that may build; 1 unless said. The result does not depend on it.
    pub fn threads(mut self, threads: usize) -> Self {
        self.request.threads = threads;
        self
    }
}

impl<F: Built> Clone for Builder<F> {
    fn clone(&self) -> Self {
        Self { request: self.request.clone(), options: self.options.clone() }
    }
}

impl<F: Built> fmt::Debug for Builder<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Builder").field("request", &self.request).field("options", &self.options).finish()
    }
}

/// A scheme of any type, as a function of the number of probes.
pub struct SchemeOf<S>(pub(crate) Arc<dyn Fn(u32) -> S + Send + Sync>);

impl<S> SchemeOf<S> {
    pub(crate) fn new(scheme: impl Fn(u32) -> S + Send + Sync + 'static) -> Self {
        Self(Arc::new(scheme))
    }
}

impl<S> Clone for SchemeOf<S> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<S> fmt::Debug for SchemeOf<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(core::any::type_name::<S>())
    }
}
