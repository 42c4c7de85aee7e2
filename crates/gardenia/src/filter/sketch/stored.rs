//! Count-Min sketches in files: kind 9.

use super::count_min::CountMin;
use super::grid::{Grid, Update, measure};
use crate::cells::{Bytes, CellKind, Memory, Owned};
use crate::filter::Identity;
use crate::format::{self, Header, Kind, ReadOptions, Stored};
use crate::index::rows::Rows;
use crate::index::{Form, prime};
use crate::spec::{Param, Spec, Value};
use crate::{DecodeError, EncodeError};
use alloc::vec;
use alloc::vec::Vec;

/// Bytes of a sketch's own parameters: form, update, copies (2), four zeros, total (8).
pub(super) const PARAMS: usize = 16;

impl<M: Memory> CountMin<M> {
    /// The header of this sketch, or of another kind that has one.
    pub(super) fn header_of(&self, kind: Kind) -> Result<Header, EncodeError> {
        let (identity, bytes) = (Identity { kind, ..self.identity() }, self.memory_bytes() as u64);
        let mut header = Header::new(identity, &self.hasher, &self.about, bytes)?;
        header.params.extend([self.form().number(), self.update.number()]);
        header.params.extend((self.copies() as u16).to_le_bytes()); // at most 255, as there are rows
        header.params.extend([0; 4]);
        header.params.extend(self.total.to_le_bytes());
        Ok(header)
    }
}

impl<M: Memory> Stored for CountMin<M> {
    fn options(&self, spec: &mut Spec) {
        spec.forget(&[Param::Bits]);
        spec.set_whole(Param::Columns, self.columns());
        spec.set_whole(Param::Rows, self.rows() / self.copies());
        if self.copies() > 1 {
            spec.set_whole(Param::Copies, self.copies());
        }
        spec.default_to(Param::Form, Value::Word(self.form().name()));
        spec.default_to(Param::Update, Value::Word(self.update().name()));
    }
    fn header(&self) -> Result<Header, EncodeError> {
        self.header_of(Kind::CountMin)
    }
    fn sections(&self) -> Vec<&dyn Memory> {
        vec![self.grid.memory()]
    }
}

/// What a header says of a sketch, checked.
pub(super) struct StoredShape {
    form: Form,
    update: Update,
    cells: CellKind,
    rows: u32,
    copies: u32,
    columns: u64,
    total: u64,
    /// Bytes of the cells.
    pub(super) bytes: u64,
}

impl StoredShape {
    fn of(header: &Header) -> Result<Self, DecodeError> {
        header.check_kind(Kind::CountMin)?;
        let shape = Self::with(header, &header.params)?;
        header.check_payload(shape.bytes)?;
        Ok(shape)
    }

    /// The shape of the sketch in a header, which has these parameters.
    pub(super) fn with(header: &Header, params: &[u8]) -> Result<Self, DecodeError> {
        let wrong = |field, value: u64, rule| DecodeError::Field { field, value, rule };
        header.check_no_scheme()?;
        let params: [u8; PARAMS] = params.try_into().map_err(|_| {
            wrong("parameter length", params.len() as u64, "a Count-Min sketch has 16 bytes of them")
        })?;
        let [form, update, copies, copies_high, zeros @ .., _, _, _, _, _, _, _, _] = params;
        let total = u64::from_le_bytes(core::array::from_fn(|i| params[8 + i]));
        let copies = u32::from(u16::from_le_bytes([copies, copies_high]));
        let form = Form::from_number(form).ok_or(wrong("form", form.into(), "1 and 2 are known"))?;
        let update =
            Update::from_number(update).ok_or(wrong("update", update.into(), "1 and 2 are known"))?;
        if zeros != [0; 4] {
            return Err(wrong("reserved parameter", u32::from_le_bytes(zeros).into(), "it must be 0"));
        }
        let (rows, width) = (header.identity.hashes, header.identity.width);
        let cells = CellKind::from_width(width).ok_or(wrong(
            "cell width",
            width.into(),
            "cells of a sketch have 4, 8, 32 or 64 bits",
        ))?;
        if rows == 0 || !header.identity.cells.is_multiple_of(rows.into()) {
            return Err(wrong("cells", header.identity.cells, "that is no multiple of the rows"));
        }
        let columns = header.identity.cells / u64::from(rows);
        let divided = match form {
            Form::Original => copies == 1,
            Form::Modified => (1..=rows).contains(&copies) && rows.is_multiple_of(copies),
        };
        if !divided {
            return Err(wrong("copies", copies.into(), "the rows cannot be divided so"));
        }
        if form == Form::Modified && !(prime::is_prime(columns) && u64::from(rows / copies) <= columns) {
            return Err(wrong("columns", columns, "the modified form needs a prime, not below its rows"));
        }
        let (_, _, words) = measure(cells, rows, columns)?;
        let bytes = words.saturating_mul(8);
        Ok(Self { form, update, cells, rows, copies, columns, total, bytes })
    }

    /// The empty sketch of this shape.
    pub(super) fn empty(&self, header: &Header, options: &ReadOptions) -> Result<CountMin, DecodeError> {
        self.sketch(header, options, Grid::<Owned>::new(self.cells, self.rows, self.columns)?)
    }

    /// The sketch of this shape with these cells.
    fn sketch<M: Memory>(
        &self,
        header: &Header,
        options: &ReadOptions,
        grid: Grid<M>,
    ) -> Result<CountMin<M>, DecodeError> {
        let hasher = header.hasher(options)?;
        let Self { form, update, rows, copies, columns, total, .. } = *self;
        let rows = Rows::new(form, rows, copies, columns, grid.stride(), hasher.mark());
        Ok(CountMin { hasher, rows, grid, update, total, about: header.about() })
    }
}

impl format::Restore for CountMin {
    fn restore(header: &Header, options: &ReadOptions) -> Result<Self, DecodeError> {
        StoredShape::of(header)?.empty(header, options)
    }
    fn sections_mut(&mut self) -> Vec<&mut [u64]> {
        vec![self.grid.words_mut()]
    }
    fn check(&self) -> Result<(), DecodeError> {
        self.grid.check()
    }
}

impl<B: AsRef<[u8]>> format::Attach<B> for CountMin<Bytes<B>> {
    fn attach(header: &Header, options: &ReadOptions, payload: B) -> Result<Self, DecodeError> {
        let shape = StoredShape::of(header)?;
        let grid = Grid::borrowed(payload, shape.cells, shape.rows, shape.columns)
            .ok_or(DecodeError::Damaged("the payload is shorter than its header says"))?;
        shape.sketch(header, options, grid)
    }
}

format::stored_methods!(CountMin<M> where M: Memory);
format::read_methods!(CountMin);
format::serde_impls!([M: Memory] CountMin<M>, [] CountMin);
