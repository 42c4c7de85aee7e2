//! Files: saved whole or not at all, loaded, or opened by memory map.
#![allow(unsafe_code)] // mapping a file is unsafe: see `Mapped`

use super::ReadOptions;
use super::header::Header;
use super::native::{
    Attach, Cut, Reader, Restore, Stored, file_len, read_filter, read_header, verify, write_to,
};
use crate::{DecodeError, EncodeError};
use std::fs::File;
use std::io::{self, BufReader, BufWriter, Write};
use std::path::Path;
use std::sync::Arc;

/// The payload of a file that is mapped into memory, read-only.
///
/// Like every memory map it trusts that nobody changes the file in place: a file that is cut short while
/// it is mapped ends the process with a bus error when the lost part is read. Gardenia's own writers replace files by
/// renaming, which leaves open maps as they were.
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

/// Writes a file whole or not at all: to a temporary name beside it, synced, renamed over it, and the
/// folder synced. An existing file keeps its permissions; a link is followed; a device or a named pipe is
/// written to, not replaced.
pub fn replace_file<E: From<io::Error>>(
    path: &Path,
    write: impl FnOnce(&mut dyn Write) -> Result<(), E>,
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
    temporary.persist(&path).map_err(|e| e.error)?;
    sync_folder(&path);
    Ok(())
}

/// The folder that a file is in.
fn folder(path: &Path) -> &Path {
    match path.parent() {
        Some(folder) if folder != Path::new("") => folder,
        _ => Path::new("."),
    }
}

/// A temporary file in the folder of `path`, to be renamed to it.
pub(super) fn temporary_beside(path: &Path) -> io::Result<tempfile::NamedTempFile> {
    let mut builder = tempfile::Builder::new();
    builder.prefix(".gardenia-").suffix(".tmp");
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        builder.permissions(std::fs::Permissions::from_mode(0o666)); // less the umask, as for any new file
    }
    builder.tempfile_in(folder(path))
}

/// Lets the rename to `path` survive a power cut. Not every system lets a folder be opened for that.
pub(super) fn sync_folder(path: &Path) {
    if let Ok(folder) = File::open(folder(path)) {
        let _ = folder.sync_all();
    }
}

pub(crate) fn save(filter: &impl Stored, path: &Path) -> Result<(), EncodeError> {
    filter.header()?; // what cannot be stored is said before a file is touched
    replace_file(path, |writer| write_to(filter, writer))
}

/// Opens a file, reads its header, and checks the length of what follows.
fn open(path: &Path) -> Result<(Reader<BufReader<File>>, Header), DecodeError> {
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
    Ok((source, header))
}

pub(crate) fn load<T: Restore>(path: &Path, options: &ReadOptions) -> Result<T, DecodeError> {
    let (mut source, header) = open(path)?;
    read_filter(&mut source, &header, options)
}

pub(crate) fn open_mapped<T: Attach<Mapped>>(path: &Path, options: &ReadOptions) -> Result<T, DecodeError> {
    let (source, header) = open(path)?;
    let len = usize::try_from(header.payload_len)
        .map_err(|_| DecodeError::TooLarge { needed: header.payload_len, max: usize::MAX as u64 })?;
    let file = source.reader.into_inner();
    // SAFETY: the map is read-only and its length was checked against the file's. What remains is the rule
    // in the documentation of `Mapped`: nobody changes the file in place.
    let map = unsafe { memmap2::MmapOptions::new().offset(header.payload_offset()).len(len).map(&file)? };
    T::attach(&header, options, Mapped { map: Arc::new(map), start: 0, end: len })
}

/// Reads a whole file of any kind and checks every byte of it. The header, if all is well.
pub fn verify_file(path: impl AsRef<Path>) -> Result<Header, DecodeError> {
    verify(BufReader::with_capacity(1 << 20, File::open(path)?))
}
