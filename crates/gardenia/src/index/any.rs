//! A scheme learnt at run time, from a file or an option.

use super::{
    Cube, Dcso, DcsoWalk, Double, DoubleOdd, DoubleWalk, Enhanced, EnhancedWalk, EnhancedWith,
    EnhancedWithWalk, Fractional, FractionalWalk, Independent, IndependentWalk, Partition,
    PartitionIndependent, PartitionIndependentWalk, PartitionPrime, PartitionWalk, Scheme, SchemeId,
    SchemeVisitor, Square, Triple, TripleWalk, Walk,
};
use crate::hash::Digest;
use crate::theory::distinct::Distinct;

/// Writes the closed enum of numbered schemes and its dispatch once.
macro_rules! any_scheme {
    ($($variant:ident($scheme:ty, $new:expr, $walk:ty)),+ $(,)?) => {
        /// One of the numbered schemes. [`Scheme::dispatch`] picks the compiled loop once per call: that of the default
        /// scheme, or the one that all others share.
        ///
        /// ```
        /// use gardenia::index::{AnyScheme, Double, Scheme, SchemeId};
        /// use gardenia::Digest;
        /// let any = AnyScheme::new(SchemeId::Double, 5);
        /// assert!(any.positions(Digest(9), 100).eq(Double::new(5).positions(Digest(9), 100)));
        /// ```
        #[derive(Clone, Copy, Debug, PartialEq)]
        #[non_exhaustive]
        pub enum AnyScheme {
            $(#[doc = concat!("[`", stringify!($variant), "`](SchemeId::", stringify!($variant), ")")]
            $variant($scheme),)+
        }

        impl AnyScheme {
            /// The scheme with this number and `hashes` probes per key.
            #[must_use]
            pub fn new(id: SchemeId, hashes: u32) -> Self {
                match id {
                    $(SchemeId::$variant => Self::$variant($new(hashes)),)+
                }
            }
        }

        impl Scheme for AnyScheme {
            type Walk = AnyWalk;
            fn id(&self) -> Option<SchemeId> {
                match self { $(Self::$variant(s) => s.id(),)+ }
            }
            fn hashes(&self) -> u32 {
                match self { $(Self::$variant(s) => s.hashes(),)+ }
            }
            fn walk(&self, digest: Digest, cells: u64) -> AnyWalk {
                match self { $(Self::$variant(s) => AnyWalk::$variant(s.walk(digest, cells)),)+ }
            }
            fn fit(&self, cells: u64) -> u64 {
                match self { $(Self::$variant(s) => s.fit(cells),)+ }
            }
            fn best_fit(&self, cells: u64) -> u64 {
                match self { $(Self::$variant(s) => s.best_fit(cells),)+ }
            }
            fn partitioned(&self) -> bool {
                match self { $(Self::$variant(s) => s.partitioned(),)+ }
            }
            fn modulus(&self, cells: u64) -> Option<u64> {
                match self { $(Self::$variant(s) => s.modulus(cells),)+ }
            }
            fn distinct(&self, cells: u64) -> Distinct {
                match self { $(Self::$variant(s) => s.distinct(cells),)+ }
            }
            fn overlap(&self, cells: u64, items: f64, fill: f64) -> f64 {
                match self { $(Self::$variant(s) => s.overlap(cells, items, fill),)+ }
            }
            /// Two compiled loops: one for the default scheme, and one that all others share. A loop for each of
            /// eleven schemes was a quarter of the command's machine code.
            #[inline]
            fn dispatch<V: SchemeVisitor>(&self, visitor: V) -> V::Output {
                match self {
                    Self::Fractional(scheme) => visitor.visit(scheme),
                    scheme => visitor.visit(scheme),
                }
            }
        }

        /// Walk of [`AnyScheme`].
        #[derive(Clone, Debug)]
        #[non_exhaustive]
        pub enum AnyWalk {
            $(#[doc = concat!("Walk of [`", stringify!($variant), "`](SchemeId::", stringify!($variant), ")")]
            $variant($walk),)+
        }

        impl Walk for AnyWalk {
            #[inline]
            fn step(&mut self) -> u64 {
                match self { $(Self::$variant(walk) => walk.step(),)+ }
            }
        }
    };
}

any_scheme! {
    Independent(Independent, Independent::new, IndependentWalk),
    Partition(Partition, Partition::new, PartitionWalk),
    PartitionPrime(PartitionPrime, PartitionPrime::new, PartitionWalk),
    Double(Double, Double::new, DoubleWalk),
    EnhancedSquare(EnhancedWith<Square>, |k| EnhancedWith::new(k, Square), EnhancedWithWalk<Square>),
    EnhancedCube(EnhancedWith<Cube>, |k| EnhancedWith::new(k, Cube), EnhancedWithWalk<Cube>),
    Enhanced(Enhanced, Enhanced::new, EnhancedWalk),
    Triple(Triple, Triple::new, TripleWalk),
    PartitionIndependent(PartitionIndependent, PartitionIndependent::new, PartitionIndependentWalk),
    Fractional(Fractional, Fractional::new, FractionalWalk),
    Dcso(Dcso, Dcso::new, DcsoWalk),
    DoubleOdd(DoubleOdd, DoubleOdd::new, DoubleWalk),
}
