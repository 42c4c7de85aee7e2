//! A scheme learnt at run time, from a file or an option.

use super::{
    Cube, CurveWalk, Dcso, DcsoWalk, Double, DoubleOdd, Enhanced, EnhancedWith, Fractional, FractionalWalk,
    Independent, LineWalk, Partition, PartitionIndependent, PartitionPrime, Scheme, SchemeId, SchemeVisitor,
    Square, Triple, Walk, WordWalk, scale, settle,
};
use crate::hash::Digest;
use crate::theory::distinct::Distinct;
use core::marker::PhantomData;

/// Writes the closed enum of numbered schemes and its dispatch once.
macro_rules! any_scheme {
    ($($variant:ident($scheme:ty, $new:expr)),+ $(,)?) => {
        /// One of the numbered schemes. [`Scheme::dispatch`] picks the compiled loop once per call:
        /// that of the default scheme, or one of three that the others share.
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
                match self.group() {
                    Loop::Default(scheme) => AnyWalk::Fractional(scheme.walk(digest, cells)),
                    Loop::Lines(scheme) => AnyWalk::Line(scheme.walk(digest, cells)),
                    Loop::Curves(scheme) => AnyWalk::Curve(scheme.walk(digest, cells)),
                    Loop::Words(scheme) => AnyWalk::Word(scheme.walk(digest, cells)),
                }
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
            #[inline]
            fn dispatch<V: SchemeVisitor>(&self, visitor: V) -> V::Output {
                match self.group() {
                    Loop::Default(scheme) => visitor.visit(scheme),
                    Loop::Lines(scheme) => visitor.visit(&scheme),
                    Loop::Curves(scheme) => visitor.visit(&scheme),
                    Loop::Words(scheme) => visitor.visit(&scheme),
                }
            }
        }
    };
}

any_scheme! {
    Independent(Independent, Independent::new),
    Partition(Partition, Partition::new),
    PartitionPrime(PartitionPrime, PartitionPrime::new),
    Double(Double, Double::new),
    EnhancedSquare(EnhancedWith<Square>, |k| EnhancedWith::new(k, Square)),
    EnhancedCube(EnhancedWith<Cube>, |k| EnhancedWith::new(k, Cube)),
    Enhanced(Enhanced, Enhanced::new),
    Triple(Triple, Triple::new),
    PartitionIndependent(PartitionIndependent, PartitionIndependent::new),
    Fractional(Fractional, Fractional::new),
    Dcso(Dcso, Dcso::new),
    DoubleOdd(DoubleOdd, DoubleOdd::new),
}

/// Which compiled loop a scheme has: the default its own, and the others share one for each form of
/// walk.
///
/// A loop for each of twelve schemes was a quarter of the command's machine code. One for all but
/// the default, which chose the arithmetic at each position, took up to twice as long as the scheme
/// alone; one for all sums, with a term for every one of them, up to 1.8 times; positions written
/// to an array eight at a time, twice.
enum Loop<'a> {
    Default(&'a Fractional),
    Lines(Group<'a, LineWalk>),
    Curves(Group<'a, CurveWalk>),
    Words(Group<'a, WordOrDcsoWalk>),
}

impl AnyScheme {
    #[inline]
    fn group(&self) -> Loop<'_> {
        match self {
            Self::Fractional(scheme) => Loop::Default(scheme),
            Self::Double(_) | Self::DoubleOdd(_) | Self::Partition(_) | Self::PartitionPrime(_) => {
                Loop::Lines(Group::of(self))
            }
            Self::EnhancedSquare(_) | Self::EnhancedCube(_) | Self::Enhanced(_) | Self::Triple(_) => {
                Loop::Curves(Group::of(self))
            }
            Self::Independent(_) | Self::PartitionIndependent(_) | Self::Dcso(_) => {
                Loop::Words(Group::of(self))
            }
        }
    }
}

/// Walk of [`AnyScheme`] where no loop was picked.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum AnyWalk {
    /// Of the default scheme.
    Fractional(FractionalWalk),
    /// Of double hashing and partitions.
    Line(LineWalk),
    /// Of enhanced and triple hashing.
    Curve(CurveWalk),
    /// Of independent positions, and of a foreign format.
    Word(WordOrDcsoWalk),
}

impl Walk for AnyWalk {
    #[inline]
    fn step(&mut self) -> u64 {
        match self {
            Self::Fractional(walk) => walk.step(),
            Self::Line(walk) => walk.step(),
            Self::Curve(walk) => walk.step(),
            Self::Word(walk) => walk.step(),
        }
    }
}

/// Walk of the schemes whose positions take so many instructions that a choice between two forms
/// does not show.
#[derive(Clone, Debug, PartialEq)]
pub enum WordOrDcsoWalk {
    /// Words of the digest.
    Word(WordWalk),
    /// Of a foreign format.
    Dcso(DcsoWalk),
}

impl Walk for WordOrDcsoWalk {
    #[inline]
    fn step(&mut self) -> u64 {
        match self {
            Self::Word(walk) => walk.step(),
            Self::Dcso(walk) => walk.step(),
        }
    }
}

/// A walk that the schemes of a group share. Always inlined: returned through memory, a walk costs
/// a miss up to 4 ns.
trait Form: Walk + PartialEq {
    /// The walk of a scheme in this group.
    fn of(scheme: &AnyScheme, digest: Digest, cells: u64) -> Self;
}

impl Form for LineWalk {
    #[inline(always)]
    fn of(scheme: &AnyScheme, digest: Digest, cells: u64) -> Self {
        match scheme {
            AnyScheme::Double(scheme) => scheme.walk(digest, cells),
            AnyScheme::DoubleOdd(scheme) => scheme.walk(digest, cells),
            AnyScheme::Partition(scheme) => scheme.walk(digest, cells),
            AnyScheme::PartitionPrime(scheme) => scheme.walk(digest, cells),
            _ => unreachable!("dispatch chose another group"),
        }
    }
}

impl Form for CurveWalk {
    #[inline(always)]
    fn of(scheme: &AnyScheme, digest: Digest, cells: u64) -> Self {
        let new = |differences| Self::new(digest, cells, differences);
        let small = |difference| settle(difference, cells);
        match scheme {
            AnyScheme::EnhancedSquare(_) => new([small(1), small(2), 0]), // 0, 1, 4, 9
            AnyScheme::EnhancedCube(_) => new([small(1), small(6), small(6)]), // 0, 1, 8, 27
            AnyScheme::Enhanced(_) => new([0, small(1), small(1)]),       // 0, 0, 1, 4
            AnyScheme::Triple(_) => new([0, scale(digest.word(2), cells), 0]),
            _ => unreachable!("dispatch chose another group"),
        }
    }
}

impl Form for WordOrDcsoWalk {
    #[inline(always)]
    fn of(scheme: &AnyScheme, digest: Digest, cells: u64) -> Self {
        match scheme {
            AnyScheme::Independent(scheme) => Self::Word(scheme.walk(digest, cells)),
            AnyScheme::PartitionIndependent(scheme) => Self::Word(scheme.walk(digest, cells)),
            AnyScheme::Dcso(scheme) => Self::Dcso(scheme.walk(digest, cells)),
            _ => unreachable!("dispatch chose another group"),
        }
    }
}

/// A scheme whose walk is known to have the form `W`.
#[derive(Clone, Debug, PartialEq)]
struct Group<'a, W> {
    scheme: &'a AnyScheme,
    hashes: u32,
    walk: PhantomData<fn() -> W>,
}

impl<'a, W> Group<'a, W> {
    #[inline]
    fn of(scheme: &'a AnyScheme) -> Self {
        Self { scheme, hashes: scheme.hashes(), walk: PhantomData }
    }
}

impl<W: Form> Scheme for Group<'_, W> {
    type Walk = W;
    fn id(&self) -> Option<SchemeId> {
        self.scheme.id()
    }
    #[inline]
    fn hashes(&self) -> u32 {
        self.hashes
    }
    #[inline]
    fn walk(&self, digest: Digest, cells: u64) -> W {
        W::of(self.scheme, digest, cells)
    }
    fn fit(&self, cells: u64) -> u64 {
        self.scheme.fit(cells)
    }
    fn best_fit(&self, cells: u64) -> u64 {
        self.scheme.best_fit(cells)
    }
    fn partitioned(&self) -> bool {
        self.scheme.partitioned()
    }
    fn modulus(&self, cells: u64) -> Option<u64> {
        self.scheme.modulus(cells)
    }
    fn distinct(&self, cells: u64) -> Distinct {
        self.scheme.distinct(cells)
    }
    fn overlap(&self, cells: u64, items: f64, fill: f64) -> f64 {
        self.scheme.overlap(cells, items, fill)
    }
}

#[test]
fn walks_of_a_group_are_those_of_its_schemes() {
    struct Positions(Digest, u64);
    impl SchemeVisitor for Positions {
        type Output = alloc::vec::Vec<u64>;
        fn visit<S: Scheme>(self, scheme: &S) -> Self::Output {
            scheme.positions(self.0, self.1).collect()
        }
    }
    // As many positions as there may be, and tables smaller than the differences of i³.
    for cells in [1, 2, 3, 5, 6, 7, 61, 255, 1_000, 1_531, 1_000_003, super::MAX_CELLS] {
        for word in 0..50 {
            let digest = Digest(Digest(cells).word(word));
            let check = |id, own: alloc::vec::Vec<u64>| {
                let any = AnyScheme::new(id, 255);
                assert_eq!(any.dispatch(Positions(digest, cells)), own, "{id:?}, {cells} cells");
                assert!(any.positions(digest, cells).eq(own), "{id:?}, {cells} cells");
            };
            macro_rules! own {
                ($($scheme:ident),+) => {$(
                    let own = <super::$scheme as super::NumberedScheme>::restore(SchemeId::$scheme, 255).unwrap();
                    check(SchemeId::$scheme, own.positions(digest, cells).collect());
                )+};
            }
            own!(Independent, Partition, PartitionPrime, Double, EnhancedSquare, EnhancedCube, Enhanced);
            own!(Triple, PartitionIndependent, Fractional, Dcso, DoubleOdd);
        }
    }
}
