//! A look through the file that a primary has sent, before the engine gives up its own data for it.
//!
//! The engine stores what arrives in a file, empties the database, and loads the file, which has
//! taken the place of its own by then; it ends at a value that no module can load. Then its data
//! are gone, and a restart meets the same value again. So the file is read before: keys and values
//! are skipped by their lengths. A file with something unknown in it is left to the engine.

use std::ffi::CStr;
use std::fs::{self, File};
use std::io::{self, BufReader, Read, Seek};
use std::path::PathBuf;

/// A database file that the engine has open.
#[derive(Debug)]
pub struct Arrived {
    /// Its name, if it is not yet in the place of the server's own file: `temp-TIME.PID.rdb`.
    pub temporary: Option<PathBuf>,
    file: File,
}

/// The database files that the engine has open; none where the system does not tell.
pub fn arrived() -> impl Iterator<Item = Arrived> {
    let open = fs::read_dir("/proc/self/fd").into_iter().flatten().flatten();
    open.filter_map(|entry| {
        let path = entry.path();
        // No pipes, which would be waited for.
        let is_file = fs::metadata(&path).is_ok_and(|about| about.is_file());
        let mut file = is_file.then(|| File::open(&path).ok()).flatten()?;
        let mut name = [0; 5];
        file.read_exact(&mut name).ok()?;
        if ![*b"REDIS", *b"VALKE"].contains(&name) {
            return None;
        }
        file.rewind().ok()?;
        let path = fs::read_link(path).ok()?;
        let is_temporary = path.file_name()?.to_str()?.starts_with("temp-");
        Some(Arrived { temporary: is_temporary.then_some(path), file })
    })
}

impl Arrived {
    /// Whether it has a value of the module type `name`; `None` if it cannot be read to its end.
    #[must_use]
    pub fn holds(&self, name: &CStr) -> Option<bool> {
        Walk { from: BufReader::with_capacity(1 << 16, &self.file), wanted: number(name) }.holds()
    }
}

/// The number that stands for a module type in files: six bits for each of its nine characters.
fn number(name: &CStr) -> u64 {
    const SET: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    let six = |character: &u8| SET.iter().position(|other| other == character).unwrap_or(0) as u64;
    name.to_bytes().iter().fold(0, |number, character| number << 6 | six(character))
}

/// A walk through a database file.
struct Walk<R> {
    from: R,
    wanted: u64,
}

/// A length, or the form of a string that is no plain one.
enum Length {
    Plain(u64),
    Form(u8),
}

impl<R: Read + Seek> Walk<BufReader<R>> {
    fn holds(mut self) -> Option<bool> {
        self.skip(9)?; // the engine's name and the version
        loop {
            match self.byte()? {
                0xff => return Some(false),
                0xfe | 0xf8 => self.lengths(1)?, // the database, idle time
                0xfb => self.lengths(2)?,        // sizes of tables
                0xf4 => self.lengths(3)?,        // sizes of a slot
                0xfa => self.strings(2)?,        // facts about the file
                0xf5 => self.strings(1)?,        // a library of functions
                0xf9 => self.skip(1)?,           // frequency
                0xfc => self.skip(8)?,           // time to live
                0xfd => self.skip(4)?,
                0xf7 => _ = self.module()?, // what a module stores beside keys
                kind => {
                    self.strings(1)?;
                    if self.value(kind)? {
                        return Some(true);
                    }
                }
            }
        }
    }

    /// Passes a value over; true if it is what is looked for.
    fn value(&mut self, kind: u8) -> Option<bool> {
        match kind {
            // Strings, and what is stored as one.
            0 | 9..=13 | 16 | 17 | 20 => self.strings(1)?,
            1 | 2 | 14 => {
                let len = self.length()?;
                self.strings(len)?;
            }
            4 => {
                let len = self.length()?;
                self.strings(len.checked_mul(2)?)?;
            }
            // A sorted set: with scores as text, and as eight bytes.
            3 => self.each(|walk| {
                walk.strings(1)?;
                match walk.byte()? {
                    253..=255 => Some(()),
                    len => walk.skip(len.into()),
                }
            })?,
            5 => self.each(|walk| {
                walk.strings(1)?;
                walk.skip(8)
            })?,
            18 => self.each(|walk| {
                walk.lengths(1)?;
                walk.strings(1)
            })?,
            // A hash of which fields expire: Valkey 9's, and Redis 7.4's in two forms.
            22 => self.each(|walk| {
                walk.strings(2)?;
                walk.skip(8)
            })?,
            24 => {
                self.skip(8)?;
                self.each(|walk| {
                    walk.lengths(1)?;
                    walk.strings(2)
                })?;
            }
            25 => {
                self.skip(8)?;
                self.strings(1)?;
            }
            15 | 19 | 21 => self.stream(kind)?,
            7 => return self.module(),
            _ => return None,
        }
        Some(false)
    }

    /// A stream, in one of three versions.
    fn stream(&mut self, kind: u8) -> Option<()> {
        let (second, third) = (kind != 15, kind == 21);
        self.each(|walk| walk.strings(2))?;
        self.lengths(if second { 8 } else { 3 })?;
        self.each(|group| {
            group.strings(1)?;
            group.lengths(if second { 3 } else { 2 })?;
            group.each(|pending| {
                pending.skip(16 + 8)?;
                pending.lengths(1)
            })?;
            group.each(|consumer| {
                consumer.strings(1)?;
                consumer.skip(if third { 16 } else { 8 })?;
                consumer.each(|pending| pending.skip(16))
            })
        })
    }

    /// A value of a module, which tells of each part what it is.
    fn module(&mut self) -> Option<bool> {
        let found = self.length()? >> 10 == self.wanted;
        loop {
            match self.length()? {
                0 => return Some(found),
                1 | 2 => self.lengths(1)?,
                3 => self.skip(4)?,
                4 => self.skip(8)?,
                5 => self.strings(1)?,
                _ => return if found { Some(true) } else { None },
            }
        }
    }

    /// As many things as a number says.
    fn each(&mut self, mut pass: impl FnMut(&mut Self) -> Option<()>) -> Option<()> {
        (0..self.length()?).try_for_each(|_| pass(self))
    }

    fn strings(&mut self, count: u64) -> Option<()> {
        (0..count).try_for_each(|_| match self.form()? {
            Length::Plain(len) => self.skip(len),
            // Numbers, and compressed bytes.
            Length::Form(form @ 0..=2) => self.skip(1 << form),
            Length::Form(3) => {
                let len = self.length()?;
                self.lengths(1)?;
                self.skip(len)
            }
            Length::Form(_) => None,
        })
    }

    fn lengths(&mut self, count: u64) -> Option<()> {
        (0..count).try_for_each(|_| self.length().map(drop))
    }

    fn length(&mut self) -> Option<u64> {
        match self.form()? {
            Length::Plain(len) => Some(len),
            Length::Form(_) => None,
        }
    }

    fn form(&mut self) -> Option<Length> {
        let first = self.byte()?;
        Some(Length::Plain(match (first >> 6, first) {
            (0, _) => first.into(),
            (1, _) => u64::from(first & 63) << 8 | u64::from(self.byte()?),
            (_, 0x80) => u32::from_be_bytes(self.bytes()?).into(),
            (_, 0x81) => u64::from_be_bytes(self.bytes()?),
            (3, _) => return Some(Length::Form(first & 63)),
            _ => return None,
        }))
    }

    fn byte(&mut self) -> Option<u8> {
        self.bytes().map(|[byte]| byte)
    }

    fn bytes<const N: usize>(&mut self) -> Option<[u8; N]> {
        let mut bytes = [0; N];
        self.from.read_exact(&mut bytes).ok()?;
        Some(bytes)
    }

    /// Beyond the end, too: the next byte is missed then.
    fn skip(&mut self, bytes: u64) -> Option<()> {
        let passed: io::Result<()> = self.from.seek_relative(i64::try_from(bytes).ok()?);
        passed.ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Cursor;

    fn look(bytes: &[u8], name: &CStr) -> Option<bool> {
        Walk { from: BufReader::new(Cursor::new(bytes)), wanted: number(name) }.holds()
    }

    const WRITTEN: [&[u8]; 2] =
        [include_bytes!("../../tests/data/0.1.0.rdb"), include_bytes!("../../tests/data/earlier.rdb")];

    #[test]
    fn files_of_an_engine_are_walked_to_their_end() {
        for file in WRITTEN {
            assert_eq!(look(file, c"TDIS-TYPE"), Some(false));
            assert_eq!(look(file, c"gdn-bloom"), Some(true));
            // Cut off, or damaged: it is not known, and nothing is read without end.
            for cut in (0..file.len() - 9).step_by(97) {
                assert_eq!(look(&file[..cut], c"TDIS-TYPE"), None, "{cut}");
                let mut damaged = file.to_vec();
                damaged[cut] ^= 0x81;
                _ = look(&damaged, c"TDIS-TYPE");
            }
        }
    }

    #[test]
    fn names_are_the_engines_numbers() {
        assert_eq!(number(c"AAAAAAAAA"), 0);
        assert_eq!(number(c"AAAAAAABA"), 64);
        assert_eq!(number(c"_________"), (1 << 54) - 1);
    }
}
