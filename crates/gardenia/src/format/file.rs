//! Files: saved whole or not at all, loaded, or opened by memory map.
#![allow(unsafe_code)] // mapping a file is unsafe: see `Mapped`

use super::ReadOptions;
use super::header::Header;
use super::native::{
    Attach, Cut, Reader, Restore, Stored, file_len, read_filter, read_header, read_stream, verify, write_to,
};
use super::temporary::temporary_beside;
use crate::{DecodeError, EncodeError};
use std::fs::File;
use std::io::{self, BufReader, BufWriter, Write};
use std::path::Path;
use std::sync::Arc;
use tempfile::NamedTempFile;

/// The payload of a file that is mapped into memory, read-only.
///
/// Like every memory map it trusts that nobody changes the file in place: a file that is cut short
/// while it is mapped ends the process with a bus error when the lost part is read, and one that is
/// overwritten gives wrong answers. That is why what maps a file is `unsafe`. Gardenia's own
/// writers replace files by renaming, which leaves open maps as they were.
#[derive(Debug)]
pub struct Mapped {
    /// Shared by the sections of one filter.
    map: Arc<memmap2::Mmap>,
    start: usize,
    end: usize,
}

impl AsRef<[u8]> for Mapped {
    #[inline]
    fn as_ref(&self) -> &[u8] {
        &self.map[self.start..self.end]
    }
}

impl Cut for Mapped {
    fn cut(self, len: usize) -> Option<(Self, Self)> {
        let middle = self.start.checked_add(len).filter(|middle| *middle <= self.end)?;
        Some((Self { map: self.map.clone(), end: middle, ..self }, Self { start: middle, ..self }))
    }
}

/// Writes a file whole or not at all: to a temporary name beside it, synced, renamed over it, and
/// the directory synced. An existing file keeps its permissions; a link is followed; a device or a
/// named pipe is written to, not replaced.
pub fn replace_file<E: From<io::Error>>(
    path: &Path,
    write: impl FnOnce(&mut dyn Write) -> Result<(), E>,
) -> Result<(), E> {
    write_file(path, write, |temporary, path| temporary.persist(path).map_err(|failed| failed.error))
}

/// As [`replace_file`], but never replaces a file: if there is one, or another process makes one
/// while this one is written, that one stays and the error is
/// [`AlreadyExists`](io::ErrorKind::AlreadyExists).
///
/// ```
/// use gardenia::format::create_file;
/// use std::io::{self, ErrorKind, Write};
///
/// # let directory = tempfile::tempdir()?;
/// let path = directory.path().join("rose.txt");
/// create_file::<io::Error>(&path, |file| file.write_all(b"red"))?;
/// let again = create_file::<io::Error>(&path, |file| file.write_all(b"white"));
/// assert_eq!(again.unwrap_err().kind(), ErrorKind::AlreadyExists);
/// assert_eq!(std::fs::read(&path)?, b"red");
/// # Ok::<(), io::Error>(())
/// ```
pub fn create_file<E: From<io::Error>>(
    path: &Path,
    write: impl FnOnce(&mut dyn Write) -> Result<(), E>,
) -> Result<(), E> {
    if std::fs::metadata(path).is_ok_and(|existing| existing.is_file()) {
        return Err(io::Error::from(io::ErrorKind::AlreadyExists).into());
    }
    write_file(path, write, persist_new)
}

/// Writes to a device, or to a temporary file that `place` gives its name.
pub(crate) fn write_file<E: From<io::Error>>(
    path: &Path,
    write: impl FnOnce(&mut dyn Write) -> Result<(), E>,
    place: impl FnOnce(NamedTempFile, &Path) -> io::Result<File>,
) -> Result<(), E> {
    let path = std::fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    let existing = std::fs::metadata(&path).ok();
    if existing.as_ref().is_some_and(|existing| !existing.is_file() && !existing.is_dir()) {
        let mut writer = BufWriter::new(File::options().write(true).open(&path)?);
        write(&mut writer)?;
        return Ok(writer.flush()?);
    }
    let temporary = temporary_beside(&path)?;
    if let Some(existing) = existing {
        temporary.as_file().set_permissions(existing.permissions())?;
    }
    let mut writer = BufWriter::new(temporary.as_file());
    write(&mut writer)?;
    writer.flush()?;
    drop(writer);
    temporary.as_file().sync_all()?;
    let file = place(temporary, &path)?;
    // Closing it would not do: a process that another thread is just starting has it, too, for a moment.
    let _ = file.unlock();
    sync_folder(&path);
    Ok(())
}

/// Gives a temporary file its name, unless something has that name: by a rename that does not
/// replace, or by a hard link.
pub(crate) fn persist_new(temporary: NamedTempFile, path: &Path) -> io::Result<File> {
    match temporary.persist_noclobber(path) {
        Ok(file) => Ok(file),
        Err(failed) if failed.error.kind() == io::ErrorKind::AlreadyExists => Err(failed.error),
        Err(failed) => persist_reserved(failed.file, path),
    }
}

/// The same on a file system that has neither: an empty file takes the name, which is exclusive
/// everywhere, and is then replaced.
fn persist_reserved(temporary: NamedTempFile, path: &Path) -> io::Result<File> {
    drop(File::create_new(path)?);
    temporary.persist(path).map_err(|failed| {
        let _ = std::fs::remove_file(path);
        failed.error
    })
}

/// The directory that a file is in.
pub(super) fn directory(path: &Path) -> &Path {
    match path.parent() {
        Some(directory) if directory != Path::new("") => directory,
        _ => Path::new("."),
    }
}

/// Lets the rename to `path` survive a power cut. Not every system lets a directory be opened for
/// that.
pub(super) fn sync_folder(path: &Path) {
    if let Ok(directory) = File::open(directory(path)) {
        let _ = directory.sync_all();
    }
}

pub(crate) fn save(filter: &impl Stored, path: &Path) -> Result<(), EncodeError> {
    filter.header()?; // what cannot be stored is said before a file is touched
    replace_file(path, |writer| write_to(filter, writer))
}

/// Opens a file, reads its header, and checks the length of what follows; false if the length
/// is not known.
fn open(path: &Path) -> Result<(Reader<BufReader<File>>, Header, bool), DecodeError> {
    let file = File::open(path)?;
    let metadata = file.metadata()?;
    let mut source = Reader { reader: BufReader::new(file), at: 0 };
    let header = read_header(&mut source)?;
    if metadata.is_file() {
        let (needed, found) = (file_len(&header), metadata.len());
        if found < needed {
            return Err(DecodeError::Truncated { needed, found });
        }
        if found > needed {
            return Err(DecodeError::Trailing { extra: found - needed });
        }
    }
    Ok((source, header, metadata.is_file()))
}

pub(crate) fn load<T: Restore>(path: &Path, options: &ReadOptions) -> Result<T, DecodeError> {
    match open(path)? {
        (mut source, header, true) => read_filter(&mut source, &header, options),
        (mut source, header, false) => read_stream(&mut source, &header, options),
    }
}

/// As [`map_file`], without the file.
///
/// # Safety
/// That of [`map_file`].
pub(crate) unsafe fn open_mapped<T: Attach<Mapped>>(
    path: &Path,
    options: &ReadOptions,
) -> Result<T, DecodeError> {
    // SAFETY: the caller's promise.
    unsafe { map_file(path, options) }.map(|(filter, _)| filter)
}

/// The filter in a mapped file, and the file.
///
/// # Safety
/// Nobody may change the file in place, or cut it short, while the filter lives.
pub(crate) unsafe fn map_file<T: Attach<Mapped>>(
    path: &Path,
    options: &ReadOptions,
) -> Result<(T, File), DecodeError> {
    let (source, header, _) = open(path)?;
    let len = usize::try_from(header.payload_len)
        .map_err(|_| DecodeError::TooLarge { needed: header.payload_len, max: usize::MAX as u64 })?;
    let file = source.reader.into_inner();
    // SAFETY: the map is read-only and its length was checked against the file's. The caller promises the rest.
    let map = unsafe { memmap2::MmapOptions::new().offset(header.payload_offset()).len(len).map(&file)? };
    Ok((T::attach(&header, options, Mapped { map: Arc::new(map), start: 0, end: len })?, file))
}

/// Reads a whole file of any kind and checks every byte of it. The header, if all is well.
pub fn verify_file(path: impl AsRef<Path>) -> Result<Header, DecodeError> {
    verify(BufReader::with_capacity(1 << 20, File::open(path)?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    /// A temporary file that holds `text`, to be placed in `directory`.
    fn written(directory: &Path, text: &str) -> NamedTempFile {
        let mut file = tempfile::Builder::new().tempfile_in(directory).unwrap();
        file.write_all(text.as_bytes()).unwrap();
        file
    }

    #[test]
    fn a_file_that_must_be_new_replaces_nothing_whatever_the_file_system_can_do() {
        for place in [persist_new, persist_reserved] {
            let directory = tempfile::tempdir().unwrap();
            let path = directory.path().join("f");
            place(written(directory.path(), "first"), &path).unwrap();
            let second = place(written(directory.path(), "second"), &path);
            assert_eq!(second.unwrap_err().kind(), io::ErrorKind::AlreadyExists);
            assert_eq!(fs::read(&path).unwrap(), b"first");
            assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 1, "nothing else is left");
        }
    }

    #[test]
    fn of_files_made_at_once_the_first_to_be_whole_stays() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("f");
        let slow = create_file::<io::Error>(&path, |file| {
            create_file::<io::Error>(&path, |file| file.write_all(b"quick"))?;
            file.write_all(b"slow")
        });
        assert_eq!(slow.unwrap_err().kind(), io::ErrorKind::AlreadyExists);
        assert_eq!(fs::read(&path).unwrap(), b"quick");
        replace_file::<io::Error>(&path, |file| file.write_all(b"new")).unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"new");
        assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 1);
    }
}
