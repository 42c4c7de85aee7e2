//! The engine's RDB file as a place for fields.

use super::layout::{LayoutError, Load, Save, copied_whole};
use crate::engine::ffi::Io;

impl Save for Io<'_> {
    fn save_u64(&mut self, value: u64) {
        self.save_unsigned(value);
    }
    fn save_f64(&mut self, value: f64) {
        self.save_double(value);
    }
    fn save_bytes(&mut self, bytes: &[u8]) {
        Io::save_bytes(self, bytes);
    }
}

impl Load for Io<'_> {
    fn load_u64(&mut self) -> Result<u64, LayoutError> {
        self.load_unsigned().ok_or(LayoutError::Io)
    }
    fn load_f64(&mut self) -> Result<f64, LayoutError> {
        self.load_double().ok_or(LayoutError::Io)
    }
    fn load_bytes(&mut self, length: u64) -> Result<Vec<u8>, LayoutError> {
        copied_whole(Io::load_bytes(self).ok_or(LayoutError::Io)?.as_ref(), length)
    }
}
