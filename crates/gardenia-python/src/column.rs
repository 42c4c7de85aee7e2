//! Columns: keys in memory that can be read without Python, so that batches release the GIL.
#![allow(unsafe_code)] // columns are foreign memory, behind a pointer, a stride and a length

use gardenia::format::ForeignKey;
use gardenia::{Digest, Key, KeyHasher};
use std::sync::OnceLock;
use std::time::SystemTime;

/// Rows that are hashed at a time.
pub(crate) const CHUNK: usize = 4096;

/// Keys of one type in memory that stays as it is while the column lives.
pub(crate) trait Column: Send + Sync {
    fn len(&self) -> usize;

    /// The digests of the rows from `from` on, as many as `digests` has room for. Rows without a value get that of `None`, rows that are
    /// no number that of NaN; both are noted in `missing`, counted from `from`.
    fn digest(
        &self,
        from: usize,
        hasher: &KeyHasher,
        digests: &mut [Digest],
        missing: &mut Vec<u32>,
    ) -> Result<(), String>;

    /// The whole number of a row; `None` if it holds none.
    fn whole(&self, _row: usize) -> Option<u64> {
        None
    }

    /// The key of a row for a filter of another program; `None` if the row has no value.
    fn foreign(&self, _row: usize) -> Result<Option<ForeignKey<'_>>, String> {
        Err("a column of this type has no keys of other programs. hint: use integers, floats, text or bytes"
            .to_owned())
    }
}

/// The digest of a missing value as a key.
pub(crate) fn none(hasher: &KeyHasher) -> Digest {
    hasher.digest_key(&None::<u8>)
}

/// A number as it lies in memory, of any bit pattern.
pub(crate) trait Number: Key + Copy + Send + Sync + 'static {
    const ZERO: Self;
    fn swapped(self) -> Self;
    fn is_missing(&self) -> bool {
        false
    }
    fn whole(self) -> Option<u64> {
        None
    }
    /// The number as other programs know it, if they do.
    fn foreign(self) -> Option<ForeignKey<'static>> {
        None
    }
}

macro_rules! numbers {
    ($($type:ty)+) => {$(
        impl Number for $type {
            const ZERO: Self = 0;
            fn swapped(self) -> Self {
                self.swap_bytes()
            }
            fn whole(self) -> Option<u64> {
                self.try_into().ok()
            }
            fn foreign(self) -> Option<ForeignKey<'static>> {
                Some(ForeignKey::Long(self as i64))
            }
        }
    )+};
}
numbers!(u8 i8 u16 i16 u32 i32 u64 i64);

impl Number for f32 {
    const ZERO: Self = 0.0;
    fn swapped(self) -> Self {
        Self::from_bits(self.to_bits().swap_bytes())
    }
    fn is_missing(&self) -> bool {
        self.is_nan()
    }
    fn foreign(self) -> Option<ForeignKey<'static>> {
        Some(ForeignKey::Float(self))
    }
}

impl Number for f64 {
    const ZERO: Self = 0.0;
    fn swapped(self) -> Self {
        Self::from_bits(self.to_bits().swap_bytes())
    }
    fn is_missing(&self) -> bool {
        self.is_nan()
    }
    fn foreign(self) -> Option<ForeignKey<'static>> {
        Some(ForeignKey::Double(self))
    }
}

/// A truth value of one byte, of whatever bits.
#[derive(Clone, Copy)]
pub(crate) struct Flag(u8);

impl Key for Flag {
    fn with_bytes<R>(&self, f: impl FnOnce(&[u8]) -> R) -> R {
        (self.0 != 0).with_bytes(f)
    }
}

impl Number for Flag {
    const ZERO: Self = Self(0);
    fn swapped(self) -> Self {
        self
    }
}

/// A half-precision float.
#[derive(Clone, Copy)]
pub(crate) struct Half(u16);

impl Half {
    fn value(self) -> f64 {
        let (sign, exponent, fraction) = (self.0 >> 15, self.0 >> 10 & 31, f64::from(self.0 & 0x3ff));
        let value = match exponent {
            0 => fraction / 1024.0 / 16_384.0,
            31 if fraction == 0.0 => f64::INFINITY,
            31 => f64::NAN,
            exponent => (1.0 + fraction / 1024.0) * f64::from(i32::from(exponent) - 15).exp2(),
        };
        if sign == 1 { -value } else { value }
    }
}

impl Key for Half {
    fn with_bytes<R>(&self, f: impl FnOnce(&[u8]) -> R) -> R {
        self.value().with_bytes(f)
    }
}

impl Number for Half {
    const ZERO: Self = Self(0);
    fn swapped(self) -> Self {
        Self(self.0.swap_bytes())
    }
    fn is_missing(&self) -> bool {
        self.value().is_nan()
    }
}

/// What keeps the memory of a column alive.
pub(crate) type Owner = std::sync::Arc<dyn Send + Sync>;

/// Memory of a column: an address, and what keeps it alive.
#[derive(Clone)]
pub(crate) struct Address {
    pub(crate) at: *const u8,
    #[allow(dead_code, reason = "it is there to be dropped last")]
    pub(crate) owner: Owner,
}

// SAFETY: the memory is only read, and its owner may be dropped by any thread. Whoever lends it to Python code that writes to it
// meanwhile may get digests of old or new values, as with every function that releases the GIL.
unsafe impl Send for Address {}
// SAFETY: as above.
unsafe impl Sync for Address {}

impl Address {
    /// The value of type `T` at a distance of this many bytes.
    ///
    /// # Safety
    /// They are within the memory, and any bits are a `T`.
    #[inline]
    unsafe fn read<T: Copy>(&self, offset: isize) -> T {
        // SAFETY: the caller's promise.
        unsafe { self.at.offset(offset).cast::<T>().read_unaligned() }
    }

    /// Bytes at a distance of this many bytes.
    ///
    /// # Safety
    /// They are within the memory.
    #[inline]
    pub(crate) unsafe fn bytes(&self, offset: isize, length: usize) -> &[u8] {
        if length == 0 {
            return &[]; // an empty column may have no memory at all
        }
        // SAFETY: the caller's promise.
        unsafe { std::slice::from_raw_parts(self.at.offset(offset), length) }
    }
}

/// Numbers at equal distances.
pub(crate) struct Numbers<T> {
    pub(crate) memory: Address,
    pub(crate) stride: isize,
    pub(crate) len: usize,
    /// Whether the bytes of each are in the other order.
    pub(crate) swap: bool,
    pub(crate) of: std::marker::PhantomData<T>,
}

impl<T: Number> Numbers<T> {
    fn get(&self, row: usize) -> T {
        debug_assert!(row < self.len);
        // SAFETY: whoever made the column counted its rows.
        let value: T = unsafe { self.memory.read(row as isize * self.stride) };
        if self.swap { value.swapped() } else { value }
    }
}

impl<T: Number> Column for Numbers<T> {
    fn len(&self) -> usize {
        self.len
    }

    fn digest(
        &self,
        from: usize,
        hasher: &KeyHasher,
        digests: &mut [Digest],
        missing: &mut Vec<u32>,
    ) -> Result<(), String> {
        assert!(from + digests.len() <= self.len);
        // SAFETY: the rows were counted; what they point to is not read before it is known to be aligned.
        let start = unsafe { self.memory.at.offset(from as isize * self.stride) }.cast::<T>();
        let dense = self.stride == size_of::<T>() as isize && start.is_aligned() && !self.swap;
        let mut room = [T::ZERO; 512];
        for (at, digests) in digests.chunks_mut(512).enumerate() {
            let values = if dense {
                // SAFETY: the rows lie side by side and aligned, and any bits are a number.
                unsafe { std::slice::from_raw_parts(start.add(at * 512), digests.len()) }
            } else {
                let values = &mut room[..digests.len()];
                values.iter_mut().enumerate().for_each(|(i, value)| *value = self.get(from + at * 512 + i));
                &room[..digests.len()]
            };
            hasher.digest_many(values, digests);
            if values.iter().fold(false, |any, value| any | value.is_missing()) {
                let rows = values.iter().enumerate().filter(|(_, value)| value.is_missing());
                missing.extend(rows.map(|(i, _)| (at * 512 + i) as u32));
            }
        }
        Ok(())
    }

    fn whole(&self, row: usize) -> Option<u64> {
        assert!(row < self.len);
        self.get(row).whole()
    }

    fn foreign(&self, row: usize) -> Result<Option<ForeignKey<'_>>, String> {
        assert!(row < self.len);
        let value = self.get(row);
        if value.is_missing() {
            return Ok(None);
        }
        value
            .foreign()
            .map(Some)
            .ok_or_else(|| "numbers of this type are no keys of other programs".to_owned())
    }
}

/// Texts or bytes of one length each, filled up with zeros: numpy's `S`.
pub(crate) struct Padded {
    pub(crate) memory: Address,
    pub(crate) stride: isize,
    pub(crate) len: usize,
    pub(crate) width: usize,
    /// Whether zeros at the end are part of the key.
    pub(crate) whole: bool,
}

impl Column for Padded {
    fn len(&self) -> usize {
        self.len
    }

    fn digest(
        &self,
        from: usize,
        hasher: &KeyHasher,
        digests: &mut [Digest],
        _: &mut Vec<u32>,
    ) -> Result<(), String> {
        assert!(from + digests.len() <= self.len);
        for (i, digest) in digests.iter_mut().enumerate() {
            // SAFETY: whoever made the column counted its rows and their width.
            let mut key = unsafe { self.memory.bytes((from + i) as isize * self.stride, self.width) };
            while let (false, [rest @ .., 0]) = (self.whole, key) {
                key = rest;
            }
            *digest = hasher.digest(key);
        }
        Ok(())
    }
}

/// Texts of 32-bit code points, filled up with zeros: numpy's `U`.
pub(crate) struct Wide {
    pub(crate) memory: Address,
    pub(crate) stride: isize,
    pub(crate) len: usize,
    /// Code points of each.
    pub(crate) width: usize,
    pub(crate) swap: bool,
}

impl Column for Wide {
    fn len(&self) -> usize {
        self.len
    }

    fn digest(
        &self,
        from: usize,
        hasher: &KeyHasher,
        digests: &mut [Digest],
        _: &mut Vec<u32>,
    ) -> Result<(), String> {
        assert!(from + digests.len() <= self.len);
        let mut text = String::new();
        for (i, digest) in digests.iter_mut().enumerate() {
            text.clear();
            for place in 0..self.width {
                // SAFETY: whoever made the column counted its rows and their width.
                let code: u32 =
                    unsafe { self.memory.read((from + i) as isize * self.stride + 4 * place as isize) };
                let code = if self.swap { code.swap_bytes() } else { code };
                text.push(
                    char::from_u32(code)
                        .ok_or_else(|| format!("row {} is not text: it holds U+{code:X}", from + i))?,
                );
            }
            *digest = hasher.digest_key(text.trim_end_matches('\0'));
        }
        Ok(())
    }
}

/// Moments as integers since 1970 in some unit: numpy's `datetime64`, Arrow's timestamps.
pub(crate) struct Moments {
    pub(crate) ticks: Numbers<i64>,
    /// Ticks per second; negative numbers are seconds per tick.
    pub(crate) unit: i64,
    /// Whether the least integer stands for a missing value: NaT.
    pub(crate) nat: bool,
}

impl Moments {
    /// The moment of a row; `None` if it is missing.
    pub(crate) fn get(&self, row: usize) -> Result<Option<SystemTime>, String> {
        let ticks = self.ticks.get(row);
        if self.nat && ticks == i64::MIN {
            return Ok(None);
        }
        let time = match self.unit {
            unit if unit > 0 => {
                let nanos = ticks.rem_euclid(unit) * (1_000_000_000 / unit);
                crate::keys::system_time(ticks.div_euclid(unit), nanos as u32)
            }
            unit => ticks.checked_mul(-unit).and_then(|seconds| crate::keys::system_time(seconds, 0)),
        };
        time.map(Some).ok_or_else(|| format!("row {row} is a time out of range"))
    }
}

impl Column for Moments {
    fn len(&self) -> usize {
        self.ticks.len
    }

    fn digest(
        &self,
        from: usize,
        hasher: &KeyHasher,
        digests: &mut [Digest],
        missing: &mut Vec<u32>,
    ) -> Result<(), String> {
        assert!(from + digests.len() <= self.ticks.len);
        for (i, digest) in digests.iter_mut().enumerate() {
            let time = self.get(from + i)?;
            if time.is_none() {
                missing.push(i as u32);
            }
            *digest = time.map_or_else(|| none(hasher), |time| hasher.digest_key(&time));
        }
        Ok(())
    }
}

/// A column of which some rows have no value: Arrow's bitmap, where a zero bit says so.
pub(crate) struct Nullable<C> {
    pub(crate) column: C,
    pub(crate) valid: Address,
    /// The bit of the first row.
    pub(crate) offset: usize,
}

impl<C: Column> Nullable<C> {
    fn is_valid(&self, row: usize) -> bool {
        let bit = self.offset + row;
        // SAFETY: the bitmap has a bit for each row.
        let byte: u8 = unsafe { self.valid.read((bit / 8) as isize) };
        byte >> (bit % 8) & 1 == 1
    }
}

impl<C: Column> Column for Nullable<C> {
    fn len(&self) -> usize {
        self.column.len()
    }

    fn digest(
        &self,
        from: usize,
        hasher: &KeyHasher,
        digests: &mut [Digest],
        missing: &mut Vec<u32>,
    ) -> Result<(), String> {
        let first = missing.len();
        if let Err(error) = self.column.digest(from, hasher, digests, missing) {
            // What lies in a row without a value is undefined, and perhaps no key: the others are hashed one by one.
            if (0..digests.len()).all(|i| self.is_valid(from + i)) {
                return Err(error);
            }
            missing.truncate(first);
            for (i, digest) in digests.iter_mut().enumerate().filter(|(i, _)| self.is_valid(from + i)) {
                let mut gone = Vec::new();
                self.column.digest(from + i, hasher, std::slice::from_mut(digest), &mut gone)?;
                missing.extend(gone.iter().map(|_| i as u32));
            }
        }
        let before = missing.len();
        for (i, digest) in digests.iter_mut().enumerate() {
            if !self.is_valid(from + i) {
                missing.push(i as u32);
                *digest = none(hasher);
            }
        }
        if before > 0 {
            missing.sort_unstable();
            missing.dedup();
        }
        Ok(())
    }

    fn whole(&self, row: usize) -> Option<u64> {
        if self.is_valid(row) { self.column.whole(row) } else { None }
    }

    fn foreign(&self, row: usize) -> Result<Option<ForeignKey<'_>>, String> {
        if self.is_valid(row) { self.column.foreign(row) } else { Ok(None) }
    }
}

impl Column for Box<dyn Column> {
    fn len(&self) -> usize {
        (**self).len()
    }
    fn digest(
        &self,
        from: usize,
        hasher: &KeyHasher,
        digests: &mut [Digest],
        missing: &mut Vec<u32>,
    ) -> Result<(), String> {
        (**self).digest(from, hasher, digests, missing)
    }
    fn whole(&self, row: usize) -> Option<u64> {
        (**self).whole(row)
    }
    fn foreign(&self, row: usize) -> Result<Option<ForeignKey<'_>>, String> {
        (**self).foreign(row)
    }
}

/// Where a text or a byte string of an Arrow column lies.
pub(crate) trait Place: Send + Sync {
    fn len(&self) -> usize;
    fn get(&self, row: usize) -> Result<&[u8], String>;
}

/// Byte strings.
pub(crate) struct Strings<P>(pub(crate) P);

impl<P: Place> Column for Strings<P> {
    fn len(&self) -> usize {
        self.0.len()
    }

    fn digest(
        &self,
        from: usize,
        hasher: &KeyHasher,
        digests: &mut [Digest],
        _: &mut Vec<u32>,
    ) -> Result<(), String> {
        assert!(from + digests.len() <= self.0.len());
        for (i, digest) in digests.iter_mut().enumerate() {
            *digest = hasher.digest(self.0.get(from + i)?);
        }
        Ok(())
    }

    fn foreign(&self, row: usize) -> Result<Option<ForeignKey<'_>>, String> {
        // Text and bytes lie in memory alike, and other programs hash them alike.
        self.0.get(row).map(|bytes| Some(ForeignKey::Bytes(bytes)))
    }
}

/// An offset of a byte string.
pub(crate) trait Offset: Copy + Send + Sync + TryInto<usize> {}
impl Offset for i32 {}
impl Offset for i64 {}

/// Byte strings side by side, each from one offset to the next.
pub(crate) struct Offsets<O> {
    pub(crate) offsets: Address,
    pub(crate) bytes: Address,
    /// The first row.
    pub(crate) first: usize,
    pub(crate) len: usize,
    pub(crate) of: std::marker::PhantomData<O>,
}

impl<O: Offset> Place for Offsets<O> {
    fn len(&self) -> usize {
        self.len
    }

    #[inline]
    fn get(&self, row: usize) -> Result<&[u8], String> {
        let at = ((self.first + row) * size_of::<O>()) as isize;
        // SAFETY: a column has an offset more than rows.
        let (start, end): (O, O) =
            unsafe { (self.offsets.read(at), self.offsets.read(at + size_of::<O>() as isize)) };
        match (start.try_into(), end.try_into()) {
            (Ok(start), Ok(end)) if start <= end => {
                // SAFETY: the bytes between two offsets of a column are its own: what its producer promises.
                Ok(unsafe { self.bytes.bytes(start as isize, end - start) })
            }
            _ => Err(format!("the offsets of row {row} are corrupted")),
        }
    }
}

/// Byte strings by views: short ones in place, others in one of several buffers.
pub(crate) struct Views {
    pub(crate) views: Address,
    pub(crate) buffers: Vec<(Address, usize)>,
    pub(crate) first: usize,
    pub(crate) len: usize,
}

impl Place for Views {
    fn len(&self) -> usize {
        self.len
    }

    #[inline]
    fn get(&self, row: usize) -> Result<&[u8], String> {
        let at = ((self.first + row) * 16) as isize;
        // SAFETY: a column has a view of 16 bytes for each row.
        let [length, _, buffer, offset]: [u32; 4] = unsafe { self.views.read(at) };
        if length <= 12 {
            // SAFETY: within the view.
            return Ok(unsafe { self.views.bytes(at + 4, length as usize) });
        }
        match self.buffers.get(buffer as usize) {
            Some((memory, size)) if offset as usize + length as usize <= *size => {
                // SAFETY: within the buffer.
                Ok(unsafe { memory.bytes(offset as isize, length as usize) })
            }
            _ => Err(format!("the view of row {row} is corrupted")),
        }
    }
}

/// Truth values, a bit each.
pub(crate) struct Bits {
    pub(crate) memory: Address,
    pub(crate) first: usize,
    pub(crate) len: usize,
}

impl Column for Bits {
    fn len(&self) -> usize {
        self.len
    }

    fn digest(
        &self,
        from: usize,
        hasher: &KeyHasher,
        digests: &mut [Digest],
        _: &mut Vec<u32>,
    ) -> Result<(), String> {
        assert!(from + digests.len() <= self.len);
        for (i, digest) in digests.iter_mut().enumerate() {
            let bit = self.first + from + i;
            // SAFETY: a bit for each row.
            let byte: u8 = unsafe { self.memory.read((bit / 8) as isize) };
            *digest = hasher.digest_key(&(byte >> (bit % 8) & 1 == 1));
        }
        Ok(())
    }
}

/// Rows that all have no value.
pub(crate) struct Nulls(pub(crate) usize);

impl Column for Nulls {
    fn len(&self) -> usize {
        self.0
    }

    fn digest(
        &self,
        _: usize,
        hasher: &KeyHasher,
        digests: &mut [Digest],
        missing: &mut Vec<u32>,
    ) -> Result<(), String> {
        digests.fill(none(hasher));
        missing.extend(0..digests.len() as u32);
        Ok(())
    }

    fn foreign(&self, _row: usize) -> Result<Option<ForeignKey<'_>>, String> {
        Ok(None)
    }
}

/// Rows that name a value of a dictionary, each of which is hashed once.
pub(crate) struct Dictionary<T> {
    pub(crate) rows: Numbers<T>,
    pub(crate) values: Box<dyn Column>,
    /// Digest of each value, and whether it is missing.
    pub(crate) hashed: OnceLock<Result<Vec<(Digest, bool)>, String>>,
}

impl<T> Dictionary<T> {
    fn hash(&self, hasher: &KeyHasher) -> Result<Vec<(Digest, bool)>, String> {
        let mut hashed = Vec::new();
        let (mut room, mut missing) = (vec![Digest(0); CHUNK], Vec::new());
        for from in (0..self.values.len()).step_by(CHUNK) {
            let digests = &mut room[..CHUNK.min(self.values.len() - from)];
            missing.clear();
            self.values.digest(from, hasher, digests, &mut missing)?;
            hashed.extend(digests.iter().map(|digest| (*digest, false)));
            missing.iter().for_each(|row| hashed[from + *row as usize].1 = true);
        }
        Ok(hashed)
    }
}

impl<T: Number + TryInto<usize>> Column for Dictionary<T> {
    fn len(&self) -> usize {
        self.rows.len
    }

    fn digest(
        &self,
        from: usize,
        hasher: &KeyHasher,
        digests: &mut [Digest],
        missing: &mut Vec<u32>,
    ) -> Result<(), String> {
        assert!(from + digests.len() <= self.rows.len);
        let hashed = self.hashed.get_or_init(|| self.hash(hasher)).as_ref().map_err(String::clone)?;
        for (i, digest) in digests.iter_mut().enumerate() {
            // The row of a missing value may name anything.
            let value = self.rows.get(from + i).try_into().ok();
            let (value, gone) =
                value.and_then(|value: usize| hashed.get(value).copied()).unwrap_or((none(hasher), true));
            *digest = value;
            if gone {
                missing.push(i as u32);
            }
        }
        Ok(())
    }
}
