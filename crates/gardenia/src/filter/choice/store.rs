//! Filters with choices as files: kind 8.
//!
//! Parameters: a byte for the form, 0 for groups and 1 for partitions; then a byte with the number
//! of groups, or eight with the number of partitions, a multiple of 8. The payload is the bits, of
//! a partitioned filter first the cells and then a byte for each partition. Keys are counted.

use super::bloom::{ChoiceBloom, ChoiceForm, MAX_CHOICES};
use crate::cells::{Bits, Bytes, Memory};
use crate::filter::{About, Effort};
use crate::format::{self, Header, Kind, ReadOptions, Stored};
use crate::hash::KeyHasher;
use crate::index::{NumberedScheme, SchemeId};
use crate::spec::{Param, Spec, Value};
use crate::{DecodeError, EncodeError};
use alloc::vec;
use alloc::vec::Vec;

impl ChoiceForm {
    fn params(self) -> Vec<u8> {
        match self {
            Self::Groups { choices } => vec![0, choices as u8],
            Self::Partitions { partitions } => [&[1][..], &partitions.to_le_bytes()].concat(),
        }
    }

    fn from_params(params: &[u8], bits: u64) -> Result<Self, DecodeError> {
        let field = |field, value, rule| Err(DecodeError::Field { field, value, rule });
        match params {
            [0, choices] if (1..=MAX_CHOICES).contains(&u32::from(*choices)) => {
                Ok(Self::Groups { choices: u32::from(*choices) })
            }
            [0, choices] => field("choices", u64::from(*choices), "1 to 32 are allowed"),
            [1, partitions @ ..] if partitions.len() == 8 => {
                let partitions = partitions.iter().rev().fold(0, |sum, byte| sum << 8 | u64::from(*byte));
                // Compared as words, so that nothing overflows.
                let fits = partitions / 8 < bits / 64 && bits.is_multiple_of(64);
                if partitions > 0 && partitions.is_multiple_of(8) && fits {
                    return Ok(Self::Partitions { partitions });
                }
                field(
                    "partitions",
                    partitions,
                    "a multiple of 8 is needed, and cells beside them in whole words",
                )
            }
            _ => field("parameter length", params.len() as u64, "this kind has other parameters"),
        }
    }
}

impl<S: NumberedScheme, M: Memory> Stored for ChoiceBloom<S, M> {
    fn options(&self, spec: &mut Spec) {
        match self.form {
            ChoiceForm::Groups { choices } => spec.set_whole(Param::Choices, choices),
            ChoiceForm::Partitions { .. } => {
                spec.default_to(Param::Effort, Value::Word(Effort::Partitioned.name()));
            }
        }
    }
    fn header(&self) -> Result<Header, EncodeError> {
        let header = Header::new(self.identity(), &self.hasher, &self.about, self.memory_bytes() as u64)?;
        Ok(Header { items: self.items, params: self.form.params(), ..header })
    }
    fn sections(&self) -> Vec<&dyn Memory> {
        vec![self.bits.memory()]
    }
}

/// The parts of a stored filter other than its bits, checked.
struct Parts<S> {
    hasher: KeyHasher,
    scheme: S,
    form: ChoiceForm,
    items: u64,
    about: About,
}

impl<S: NumberedScheme> Parts<S> {
    fn restore(header: &Header, options: &ReadOptions) -> Result<Self, DecodeError> {
        header.check_kind(Kind::Choice)?;
        header.check_width(1)?;
        let bits = header.identity.cells;
        let form = ChoiceForm::from_params(&header.params, bits)?;
        let scheme = header.scheme::<S>()?;
        if let (ChoiceForm::Partitions { .. }, true) = (form, scheme.partitioned()) {
            let (value, rule) =
                (scheme.id().map_or(0, SchemeId::number).into(), "it does not go with partitions");
            return Err(DecodeError::Field { field: "scheme", value, rule });
        }
        if matches!(form, ChoiceForm::Groups { .. }) && scheme.fit(bits) != bits {
            let rule = "this scheme needs a multiple of its hashes (with prime slices, of a prime)";
            return Err(DecodeError::Field { field: "cells", value: bits, rule });
        }
        header.check_payload(bits.div_ceil(64) * 8)?;
        Ok(Self { hasher: header.hasher(options)?, scheme, form, items: header.items, about: header.about() })
    }

    fn with<M: Memory>(self, bits: Bits<M>) -> ChoiceBloom<S, M> {
        let Self { hasher, scheme, form, items, about } = self;
        ChoiceBloom { hasher, scheme, bits, form, items, about }
    }
}

impl<S: NumberedScheme> format::Restore for ChoiceBloom<S> {
    fn restore(header: &Header, options: &ReadOptions) -> Result<Self, DecodeError> {
        let parts = Parts::restore(header, options)?;
        Ok(parts.with(Bits::new(header.identity.cells)?))
    }
    fn sections_mut(&mut self) -> Vec<&mut [u64]> {
        vec![self.bits.words_mut()]
    }
    fn check(&self) -> Result<(), DecodeError> {
        self.check_tail()
    }
}

impl<S: NumberedScheme, B: AsRef<[u8]>> format::Attach<B> for ChoiceBloom<S, Bytes<B>> {
    fn attach(header: &Header, options: &ReadOptions, payload: B) -> Result<Self, DecodeError> {
        let parts = Parts::restore(header, options)?;
        let (needed, found) = (header.payload_len, payload.as_ref().len() as u64);
        let bits = Bits::borrowed(payload, header.identity.cells);
        let filter = parts.with(bits.ok_or(DecodeError::Truncated { needed, found })?);
        filter.check_tail()?;
        Ok(filter)
    }
}

impl<S, M: Memory> ChoiceBloom<S, M> {
    /// Nothing is set past the last bit.
    fn check_tail(&self) -> Result<(), DecodeError> {
        self.bits.tail_is_clear().then_some(()).ok_or(DecodeError::Damaged("bits are set past the last cell"))
    }
}

format::stored_methods!(ChoiceBloom<S, M> where S: NumberedScheme, M: Memory);
format::read_methods!(ChoiceBloom of schemes);
format::serde_impls!([S: NumberedScheme, M: Memory] ChoiceBloom<S, M>, [S: NumberedScheme] ChoiceBloom<S>);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Error;
    use crate::filter::Effort;
    use alloc::string::ToString;

    #[test]
    fn parameters_that_cannot_be_are_named() {
        let partitions = |n: u64| [&[1][..], &n.to_le_bytes()].concat();
        let error = |params: &[u8], bits| ChoiceForm::from_params(params, bits).unwrap_err().to_string();
        assert!(error(&[0, 0], 640).contains("choices is 0"));
        assert!(error(&[0, 33], 640).contains("choices is 33"));
        assert!(error(&partitions(0), 640).contains("partitions is 0"));
        assert!(error(&partitions(12), 640).contains("multiple of 8"));
        assert!(error(&partitions(80), 640).contains("partitions is 80")); // no cell is left
        assert!(error(&partitions(u64::MAX), 640).contains("partitions"));
        assert!(error(&partitions(8), 641).contains("whole words"));
        for params in [&[][..], &[0], &[0, 2, 0], &[1, 1], &[2, 2], &[1; 10]] {
            assert!(error(params, 640).contains("parameter length"));
        }
        assert_eq!(
            ChoiceForm::from_params(&partitions(72), 640).unwrap(),
            ChoiceForm::Partitions { partitions: 72 }
        );
    }

    #[test]
    fn forms_survive_their_parameters() {
        for form in [ChoiceForm::Groups { choices: 32 }, ChoiceForm::Partitions { partitions: 0x0102_0308 }] {
            assert_eq!(ChoiceForm::from_params(&form.params(), 1 << 40).unwrap(), form);
        }
    }

    #[test]
    fn a_file_with_bits_past_its_last_is_damaged() -> Result<(), Error> {
        let mut filter =
            ChoiceBloom::builder().bits(1000).hashes(3).effort(Effort::Rounds).build_from(&[1, 2])?;
        assert_eq!(ChoiceBloom::from_bytes(&filter.to_bytes()?)?, filter);
        let last = filter.bits.words_mut().last_mut().unwrap();
        *last |= 1 << 63;
        assert!(matches!(ChoiceBloom::from_bytes(&filter.to_bytes()?), Err(DecodeError::Damaged(_))));
        assert!(matches!(ChoiceBloom::view(&filter.to_bytes()?), Err(DecodeError::Damaged(_))));
        Ok(())
    }
}
