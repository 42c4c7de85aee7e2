//! Accumulators: what `filter_agg` and `filter_union` have in common.
//!
//! The state that travels between tasks is one column of type `Binary`: NULL if nothing came, else
//! a filter, or the digests of a few keys. Groups have few keys in most queries: as digests they
//! take a fraction of the room that a filter for all expected keys does.

use crate::decoded::Source;
use crate::failed;
use crate::keys::Keys;
use datafusion::arrow::array::{Array, ArrayRef, AsArray, BinaryBuilder, BooleanArray};
use datafusion::common::{Result, ScalarValue};
use datafusion::logical_expr::{Accumulator, EmitTo, GroupsAccumulator};
use gardenia::{AnyFilter, Digest, KeyHasher, ReadOptions, Spec};

/// The digests, at most, that are kept before a filter is built for them.
const MOST_DIGESTS: u64 = 1024;
/// Bytes of the largest filter that is copied and not built anew.
const MOST_COPIED: u64 = 64 << 10;
/// The first byte of a state that is digests; filters begin with another.
const DIGESTS: u8 = 0;

/// How parts are filled, merged and encoded.
#[derive(Debug)]
pub(crate) struct Recipe {
    /// The function, for messages.
    name: &'static str,
    /// What filters are built of keys; `None` if filters arrive.
    spec: Option<Spec>,
    hasher: KeyHasher,
    most_digests: usize,
    /// The empty filter, if it is small: a copy takes less time than working out the size again,
    /// for each of many groups.
    empty: Option<AnyFilter>,
}

/// What has arrived: nothing, a few keys, or many.
#[derive(Debug, Default)]
enum Part {
    #[default]
    Empty,
    Few(Vec<Digest>),
    Many(Box<AnyFilter>),
}

impl Part {
    fn bytes(&self) -> usize {
        match self {
            Self::Empty => 0,
            Self::Few(digests) => digests.capacity() * size_of::<Digest>(),
            Self::Many(filter) => size_of::<AnyFilter>() + filter.memory_bytes(),
        }
    }
}

impl Recipe {
    /// Of filters that are built from keys.
    pub(crate) fn of_keys(name: &'static str, spec: Spec) -> Result<Self> {
        let bytes = spec.size().map_err(|error| failed(name, error))?.bytes;
        let empty = (bytes <= MOST_COPIED).then(|| spec.build().map_err(|error| failed(name, error)));
        let empty = empty.transpose()?;
        let most_digests = (bytes / size_of::<Digest>() as u64).min(MOST_DIGESTS) as usize;
        Ok(Self { name, hasher: spec.hasher(), spec: Some(spec), most_digests, empty })
    }

    /// Of filters that are merged.
    pub(crate) fn of_filters(name: &'static str) -> Self {
        Self { name, spec: None, hasher: KeyHasher::default(), most_digests: 0, empty: None }
    }

    fn error(&self, error: impl std::fmt::Display) -> datafusion::error::DataFusionError {
        failed(self.name, error)
    }

    /// The empty filter.
    fn build(&self) -> Result<Option<AnyFilter>> {
        if self.empty.is_some() {
            return Ok(self.empty.clone());
        }
        self.spec.as_ref().map(|spec| spec.build().map_err(|error| self.error(error))).transpose()
    }

    /// Adds keys.
    fn insert(&self, part: &mut Part, digests: &[Digest], new: &mut Vec<bool>) -> Result<()> {
        if let Part::Few(few) = part
            && few.len() + digests.len() <= self.most_digests
        {
            few.extend_from_slice(digests);
            return Ok(());
        }
        match part {
            _ if digests.is_empty() => return Ok(()),
            Part::Empty if digests.len() <= self.most_digests => *part = Part::Few(digests.to_vec()),
            Part::Many(filter) => {
                new.resize(digests.len().max(new.len()), false);
                filter
                    .insert_digests(digests, &mut new[..digests.len()])
                    .map_err(|error| self.error(format!("{error}. hint: raise items")))?;
            }
            Part::Empty | Part::Few(_) => {
                let Some(filter) = self.build()? else { return Err(self.error("a filter is expected")) };
                let before = std::mem::replace(part, Part::Many(Box::new(filter)));
                if let Part::Few(few) = before {
                    self.insert(part, &few, new)?;
                }
                self.insert(part, digests, new)?;
            }
        }
        Ok(())
    }

    /// Merges a filter.
    fn merge(&self, part: &mut Part, filter: AnyFilter) -> Result<()> {
        match part {
            Part::Many(ours) => match ours.merge(&filter) {
                Some(merged) => merged.map_err(|error| {
                    self.error(format!("{error}. hint: merge filters that were built with one spec"))
                }),
                None => {
                    let kind = filter.kind().name();
                    Err(self.error(format!("filters of kind {kind} cannot be merged")))
                }
            },
            _ => {
                let before = std::mem::replace(part, Part::Many(Box::new(filter)));
                if let Part::Few(few) = before {
                    self.insert(part, &few, &mut Vec::new())?;
                }
                Ok(())
            }
        }
    }

    /// Merges the state of another task.
    fn merge_state(&self, part: &mut Part, state: &[u8]) -> Result<()> {
        match state {
            // Of filters only filters are states: such bytes of a column are no filter, and are refused as one.
            [DIGESTS, digests @ ..] if self.spec.is_some() => {
                let (digests, _) = digests.as_chunks::<8>();
                let digests: Vec<_> =
                    digests.iter().map(|digest| Digest(u64::from_le_bytes(*digest))).collect();
                self.insert(part, &digests, &mut Vec::new())
            }
            filter => {
                // A filter that this query built takes what its spec says, and nothing else limits it. One of a column
                // may have come here as it was.
                let limits = match self.spec {
                    Some(_) => ReadOptions::new().max_bytes(u64::MAX).max_expansion(u64::MAX),
                    None => ReadOptions::new(),
                };
                let filter = Source::Bytes(filter).decode_with(&limits).map_err(|error| self.error(error))?;
                self.merge(part, filter)
            }
        }
    }

    fn state(&self, part: &Part) -> Result<Option<Vec<u8>>> {
        match part {
            Part::Empty => Ok(None),
            Part::Few(digests) => {
                let mut state = Vec::with_capacity(1 + digests.len() * size_of::<Digest>());
                state.push(DIGESTS);
                digests.iter().for_each(|digest| state.extend_from_slice(&digest.0.to_le_bytes()));
                Ok(Some(state))
            }
            Part::Many(filter) => self.encode(filter).map(Some),
        }
    }

    /// The filter; that of no keys is empty, and that of no filters NULL.
    fn value(&self, part: &Part) -> Result<Option<Vec<u8>>> {
        if let Part::Many(filter) = part {
            return self.encode(filter).map(Some);
        }
        let Some(mut filter) = self.build()? else { return Ok(None) };
        if let Part::Few(digests) = part {
            let mut new = vec![false; digests.len()];
            filter.insert_digests(digests, &mut new).map_err(|error| self.error(error))?;
        }
        self.encode(&filter).map(Some)
    }

    fn encode(&self, filter: &AnyFilter) -> Result<Vec<u8>> {
        filter.to_bytes().map_err(|error| self.error(error))
    }

    /// A column of filters or states.
    fn column(&self, values: &[Option<Vec<u8>>]) -> Result<ArrayRef> {
        let bytes: usize = values.iter().flatten().map(Vec::len).sum();
        if bytes > i32::MAX as usize {
            return Err(self.error(format!(
                "the filters of {} groups take {}, and a column holds 2 GiB at most. hint: lower items or raise fpp, \
                 or group fewer rows at a time",
                values.len(),
                gardenia::spec::number::show_bytes(bytes as u64),
            )));
        }
        let mut column = BinaryBuilder::with_capacity(values.len(), bytes);
        values.iter().for_each(|value| column.append_option(value.as_deref()));
        Ok(std::sync::Arc::new(column.finish()))
    }
}

/// One filter, of all rows.
#[derive(Debug)]
pub(crate) struct One {
    recipe: Recipe,
    part: Part,
    keys: Keys,
    new: Vec<bool>,
}

impl One {
    pub(crate) fn new(recipe: Recipe) -> Self {
        Self { recipe, part: Part::Empty, keys: Keys::default(), new: Vec::new() }
    }
}

impl Accumulator for One {
    fn update_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        let column = values[0].as_ref();
        if self.recipe.spec.is_some() {
            self.keys.hash(column, &self.recipe.hasher).map_err(|error| self.recipe.error(error))?;
            return self.recipe.insert(&mut self.part, self.keys.without_nulls(), &mut self.new);
        }
        for row in 0..column.len() {
            let source = Source::at(column, row).map_err(|error| self.recipe.error(error))?;
            if let Some(source) = source {
                let filter = source.decode().map_err(|error| self.recipe.error(error))?;
                self.recipe.merge(&mut self.part, filter)?;
            }
        }
        Ok(())
    }

    fn merge_batch(&mut self, states: &[ArrayRef]) -> Result<()> {
        let mut states = states[0].as_binary::<i32>().iter().flatten();
        states.try_for_each(|state| self.recipe.merge_state(&mut self.part, state))
    }

    fn state(&mut self) -> Result<Vec<ScalarValue>> {
        Ok(vec![ScalarValue::Binary(self.recipe.state(&self.part)?)])
    }

    fn evaluate(&mut self) -> Result<ScalarValue> {
        Ok(ScalarValue::Binary(self.recipe.value(&self.part)?))
    }

    fn size(&self) -> usize {
        size_of_val(self) + self.part.bytes()
    }
}

/// A filter for each group.
#[derive(Debug)]
pub(crate) struct Groups {
    recipe: Recipe,
    parts: Vec<Part>,
    /// Bytes of all parts.
    bytes: usize,
    keys: Keys,
    new: Vec<bool>,
}

impl Groups {
    pub(crate) fn new(recipe: Recipe) -> Self {
        Self { recipe, parts: Vec::new(), bytes: 0, keys: Keys::default(), new: Vec::new() }
    }

    /// Changes the part of a group.
    fn change(
        &mut self,
        group: usize,
        change: impl FnOnce(&Recipe, &mut Part, &mut Vec<bool>) -> Result<()>,
    ) -> Result<()> {
        let part = &mut self.parts[group];
        let before = part.bytes();
        change(&self.recipe, part, &mut self.new)?;
        self.bytes = self.bytes + part.bytes() - before;
        Ok(())
    }

    fn make_room(&mut self, groups: usize) {
        self.parts.resize_with(groups.max(self.parts.len()), Part::default);
    }

    fn emit(
        &mut self,
        emit_to: EmitTo,
        encode: impl Fn(&Recipe, &Part) -> Result<Option<Vec<u8>>>,
    ) -> Result<ArrayRef> {
        let parts = emit_to.take_needed(&mut self.parts);
        self.bytes -= parts.iter().map(Part::bytes).sum::<usize>();
        let mut values = Vec::with_capacity(parts.len());
        // A part is gone when it is encoded: not all of both are in memory.
        for part in parts {
            values.push(encode(&self.recipe, &part)?);
        }
        self.recipe.column(&values)
    }
}

/// Whether the condition of `filter (where …)` lets a row in.
fn is_let_in(condition: Option<&BooleanArray>, row: usize) -> bool {
    condition.is_none_or(|condition| condition.is_valid(row) && condition.value(row))
}

impl GroupsAccumulator for Groups {
    fn update_batch(
        &mut self,
        values: &[ArrayRef],
        groups: &[usize],
        condition: Option<&BooleanArray>,
        total: usize,
    ) -> Result<()> {
        self.make_room(total);
        let column = values[0].as_ref();
        if self.recipe.spec.is_some() {
            let mut keys = std::mem::take(&mut self.keys);
            keys.hash(column, &self.recipe.hasher).map_err(|error| self.recipe.error(error))?;
            for (row, (digest, group)) in keys.all().iter().zip(groups).enumerate() {
                if keys.nulls().is_none_or(|nulls| nulls.is_valid(row)) && is_let_in(condition, row) {
                    self.change(*group, |recipe, part, new| recipe.insert(part, &[*digest], new))?;
                }
            }
            self.keys = keys;
            return Ok(());
        }
        for (row, group) in groups.iter().enumerate().filter(|(row, _)| is_let_in(condition, *row)) {
            let source = Source::at(column, row).map_err(|error| self.recipe.error(error))?;
            if let Some(source) = source {
                let filter = source.decode().map_err(|error| self.recipe.error(error))?;
                self.change(*group, |recipe, part, _| recipe.merge(part, filter))?;
            }
        }
        Ok(())
    }

    fn merge_batch(&mut self, values: &[ArrayRef], groups: &[usize], total: usize) -> Result<()> {
        self.make_room(total);
        for (state, group) in values[0].as_binary::<i32>().iter().zip(groups) {
            if let Some(state) = state {
                self.change(*group, |recipe, part, _| recipe.merge_state(part, state))?;
            }
        }
        Ok(())
    }

    fn evaluate(&mut self, emit_to: EmitTo) -> Result<ArrayRef> {
        self.emit(emit_to, Recipe::value)
    }

    fn state(&mut self, emit_to: EmitTo) -> Result<Vec<ArrayRef>> {
        Ok(vec![self.emit(emit_to, Recipe::state)?])
    }

    /// Each row as the state of a group of its own.
    fn convert_to_state(
        &self,
        values: &[ArrayRef],
        condition: Option<&BooleanArray>,
    ) -> Result<Vec<ArrayRef>> {
        let column = values[0].as_ref();
        let mut states = vec![None; column.len()];
        if self.recipe.spec.is_some() {
            let mut keys = Keys::default();
            keys.hash(column, &self.recipe.hasher).map_err(|error| self.recipe.error(error))?;
            for (row, (state, digest)) in states.iter_mut().zip(keys.all()).enumerate() {
                if keys.nulls().is_none_or(|nulls| nulls.is_valid(row)) && is_let_in(condition, row) {
                    *state = self.recipe.state(&Part::Few(vec![*digest]))?;
                }
            }
        } else {
            for (row, state) in states.iter_mut().enumerate().filter(|(row, _)| is_let_in(condition, *row)) {
                *state = match Source::at(column, row).map_err(|error| self.recipe.error(error))? {
                    Some(Source::Bytes(bytes)) => Some(bytes.to_vec()),
                    Some(source) => Some(
                        self.recipe.encode(&source.decode().map_err(|error| self.recipe.error(error))?)?,
                    ),
                    None => None,
                };
            }
        }
        Ok(vec![self.recipe.column(&states)?])
    }

    fn size(&self) -> usize {
        size_of_val(self) + self.parts.capacity() * size_of::<Part>() + self.bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use gardenia::Filter as _;

    #[test]
    fn states_are_merged_however_much_larger_than_their_bytes_they_are_in_memory() {
        // Nearly empty, and compressed.
        let recipe = Recipe::of_keys("filter_agg", "compressed items=150M fpp=1%".parse().unwrap()).unwrap();
        let digests =
            |from: u64| -> Vec<Digest> { (from..from + 2000).map(|at| Digest(Digest(at).word(1))).collect() };
        let mut part = Part::Empty;
        recipe.insert(&mut part, &digests(0), &mut Vec::new()).unwrap();
        let state = recipe.state(&part).unwrap().unwrap();
        assert!(part.bytes() > 300 << 20 && state.len() < 1 << 20);
        let mut merged = Part::Empty;
        recipe.insert(&mut merged, &digests(1000), &mut Vec::new()).unwrap();
        recipe.merge_state(&mut merged, &state).unwrap();
        let Part::Many(filter) = merged else { panic!("no filter") };
        assert!(digests(0).iter().chain(&digests(1000)).all(|digest| filter.contains_digest(*digest)));
        // The same bytes in a column may be anybody's.
        let error = Recipe::of_filters("filter_union").merge_state(&mut Part::Empty, &state).unwrap_err();
        assert!(error.to_string().contains("max_expansion"), "{error}");
    }

    #[test]
    fn bytes_of_a_column_are_never_taken_for_digests() {
        let filter = "bloom items=10".parse::<Spec>().unwrap().build().unwrap().to_bytes().unwrap();
        let recipe = Recipe::of_filters("filter_union");
        for wrong in [&[0][..], &[0; 9]] {
            let mut part = Part::Empty;
            recipe.merge_state(&mut part, &filter).unwrap();
            let error = recipe.merge_state(&mut part, wrong).unwrap_err();
            assert!(error.to_string().contains("the bytes are no filter"), "{error}");
            assert_eq!(recipe.value(&part).unwrap().as_deref(), Some(&filter[..]));
        }
    }
}
