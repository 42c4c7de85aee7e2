//! A value that Python threads use in turn, guarded by the interpreter lock (GIL).
//!
//! A call on one key holds the GIL from begin to end, so that it needs no lock of its own: atomics would cost as much as the call. A
//! batch releases the GIL while it works, and leaves a mark that the value is in use. The mark is read and written with the GIL
//! held, which a `Python` token proves. Who finds it waits without the GIL.
//!
//! This module is built for the stable ABI with a GIL; interpreters without one do not load it.
#![allow(unsafe_code)]

use pyo3::prelude::*;
use std::cell::{Cell, UnsafeCell};
use std::marker::PhantomData;
use std::ops::{Deref, DerefMut};
use std::time::Duration;

pub(crate) struct Guarded<T> {
    /// How many read it; -1 while one changes it.
    users: Cell<isize>,
    value: UnsafeCell<T>,
}

// SAFETY: `users` is only touched with the GIL held, and tells who may refer to the value.
unsafe impl<T: Send + Sync> Sync for Guarded<T> {}

/// A guard stays with the GIL: it is neither sent to another thread nor into a closure without the GIL. What it leads to is.
type Attached = PhantomData<*mut ()>;

pub(crate) struct Reading<'a, T> {
    of: &'a Guarded<T>,
    attached: Attached,
}

pub(crate) struct Writing<'a, T> {
    of: &'a Guarded<T>,
    attached: Attached,
}

impl<T> Guarded<T> {
    pub(crate) fn new(value: T) -> Self {
        Self { users: Cell::new(0), value: UnsafeCell::new(value) }
    }

    #[inline]
    fn try_read(&self, _: Python<'_>) -> Option<Reading<'_, T>> {
        if self.users.get() < 0 {
            return None;
        }
        self.users.set(self.users.get() + 1);
        Some(Reading { of: self, attached: PhantomData })
    }

    #[inline]
    fn try_write(&self, _: Python<'_>) -> Option<Writing<'_, T>> {
        if self.users.get() != 0 {
            return None;
        }
        self.users.set(-1);
        Some(Writing { of: self, attached: PhantomData })
    }

    /// The value, to be read; waits while a batch of another thread changes it.
    #[inline]
    pub(crate) fn read(&self, py: Python<'_>) -> PyResult<Reading<'_, T>> {
        loop {
            match self.try_read(py) {
                Some(guard) => return Ok(guard),
                None => wait(py)?,
            }
        }
    }

    /// The value, to be changed; waits while batches of other threads use it.
    #[inline]
    pub(crate) fn write(&self, py: Python<'_>) -> PyResult<Writing<'_, T>> {
        loop {
            match self.try_write(py) {
                Some(guard) => return Ok(guard),
                None => wait(py)?,
            }
        }
    }

    /// This one to be changed and another one to be read. Both at once or none, so that two threads that do it crosswise cannot wait
    /// for each other.
    pub(crate) fn write_and_read<'a>(
        &'a self,
        other: &'a Self,
        py: Python<'_>,
    ) -> PyResult<(Writing<'a, T>, Reading<'a, T>)> {
        loop {
            if let (Some(writing), Some(reading)) = (self.try_write(py), other.try_read(py)) {
                return Ok((writing, reading));
            }
            wait(py)?;
        }
    }
}

/// Lets other threads work for a moment.
#[cold]
fn wait(py: Python<'_>) -> PyResult<()> {
    py.detach(|| std::thread::sleep(Duration::from_micros(50)));
    py.check_signals()
}

impl<T> Deref for Reading<'_, T> {
    type Target = T;
    #[inline]
    fn deref(&self) -> &T {
        // SAFETY: `users` is positive while the guard lives, so that nobody changes the value.
        unsafe { &*self.of.value.get() }
    }
}

impl<T> Drop for Reading<'_, T> {
    #[inline]
    fn drop(&mut self) {
        let _ = self.attached;
        self.of.users.set(self.of.users.get() - 1);
    }
}

impl<T> Deref for Writing<'_, T> {
    type Target = T;
    #[inline]
    fn deref(&self) -> &T {
        // SAFETY: `users` is -1 while the guard lives, so that nobody else refers to the value.
        unsafe { &*self.of.value.get() }
    }
}

impl<T> DerefMut for Writing<'_, T> {
    #[inline]
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: as above, and the guard itself is borrowed for the change.
        unsafe { &mut *self.of.value.get() }
    }
}

impl<T> Drop for Writing<'_, T> {
    #[inline]
    fn drop(&mut self) {
        let _ = self.attached;
        self.of.users.set(0);
    }
}
