//! Threads that read, analyse, decide, render and write, with the result of one thread that takes
//! the files in order.
//!
//! Every thread does whatever is next: there are no threads for one stage only. Reading and
//! analysing, and rendering, go side by side. Deciding and writing take chunks in order, one thread
//! at a time. Several files are read at once, because a compressed file is unpacked by one thread
//! only; the first that is not finished goes first, so that little waits in memory.

use crate::analyse::{Analysed, Analyser};
use crate::decide::{Decided, Decider};
use crate::input::{Chunk, Packing, Reader, Source};
use crate::options::Options;
use crate::output::{Rendered, Target, render};
use anyhow::Context;
use std::collections::{BTreeMap, VecDeque};
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

/// Where a chunk is: the number of its file, and its own within the file.
type Place = (usize, u64);

/// What follows the last chunk of a file, or a chunk.
enum Item {
    Chunk(Box<(Chunk, Packing, Analysed)>),
    End,
    Failed(anyhow::Error),
}

enum Ready {
    Chunk(Box<(Chunk, Packing, Analysed, Decided)>),
    End,
    /// An error waits for its turn, so that the files before it are finished.
    Failed(anyhow::Error),
}

/// What a run does with what comes out, in order.
pub trait Consumer: Send {
    /// Called by the thread that decides, when all of a file is decided.
    fn decided(&mut self, file: usize, decider: &mut Decider) -> anyhow::Result<()>;
}

/// Called by the thread that writes.
pub trait Writer: Send {
    /// A chunk of a file.
    fn chunk(&mut self, file: usize, rendered: Rendered) -> anyhow::Result<()>;
    /// All of a file.
    fn end(&mut self, file: usize) -> anyhow::Result<()>;
}

struct Slot {
    file: usize,
    /// None while a thread reads.
    reader: Option<Reader>,
    next: u64,
    /// Chunks of it that are somewhere between reader and writer.
    waiting: usize,
    ended: bool,
}

struct Board<C, W> {
    slots: VecDeque<Slot>,
    next_file: usize,
    analysed: BTreeMap<Place, Item>,
    deciding: Option<(Decider, C)>,
    decide_next: Place,
    to_render: VecDeque<(Place, Ready)>,
    rendered: BTreeMap<Place, anyhow::Result<Option<Rendered>>>,
    writer: Option<W>,
    write_next: Place,
    waiting: usize,
    failed: Option<anyhow::Error>,
}

/// What a thread does next.
enum Task<C, W> {
    Open(usize),
    Read(usize, Reader, u64),
    Decide(Place, Box<(Item, Decider, C)>),
    Render(Place, Ready),
    Write(Place, anyhow::Result<Option<Rendered>>, W),
}

/// A run over files.
pub struct Pipeline<'a> {
    /// What is done.
    pub options: &'a Options,
    /// With these files, from the first that is not finished.
    pub sources: &'a [Source],
    /// The number of the first.
    pub first: usize,
    /// What is written.
    pub target: &'a Target,
    /// Threads.
    pub threads: usize,
    /// Bytes read so far.
    pub read: Arc<AtomicU64>,
}

/// Ends the other threads when one panics: what it had taken from the board does not come back,
/// and they would wait for it.
struct Alarm<'b, C, W> {
    board: &'b Mutex<Board<C, W>>,
    changed: &'b Condvar,
}

impl<C, W> Drop for Alarm<'_, C, W> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            lock(self.board).failed.get_or_insert_with(|| anyhow::anyhow!("a thread panicked"));
            self.changed.notify_all();
        }
    }
}

impl Pipeline<'_> {
    /// Runs to the end, or to the first error; gives back what was decided with.
    pub fn run<C: Consumer, W: Writer>(
        &self,
        decider: Decider,
        consumer: C,
        writer: W,
    ) -> anyhow::Result<(Decider, W)> {
        let board = Mutex::new(Board {
            slots: VecDeque::new(),
            next_file: self.first,
            analysed: BTreeMap::new(),
            deciding: Some((decider, consumer)),
            decide_next: (self.first, 0),
            to_render: VecDeque::new(),
            rendered: BTreeMap::new(),
            writer: Some(writer),
            write_next: (self.first, 0),
            waiting: 0,
            failed: None,
        });
        let changed = Condvar::new();
        std::thread::scope(|scope| {
            for _ in 1..self.threads {
                scope.spawn(|| self.work(&board, &changed));
            }
            self.work(&board, &changed);
        });
        let board = board.into_inner().unwrap_or_else(PoisonError::into_inner);
        match (board.failed, board.deciding, board.writer) {
            (Some(error), _, _) => Err(error),
            (None, Some((decider, _)), Some(writer)) => Ok((decider, writer)),
            _ => anyhow::bail!("a thread ended early"),
        }
    }

    fn work<C: Consumer, W: Writer>(&self, board: &Mutex<Board<C, W>>, changed: &Condvar) {
        let _alarm = Alarm { board, changed };
        let mut analyser = Analyser::new(self.options);
        let mut held = lock(board);
        loop {
            if held.failed.is_some() || held.write_next.0 == self.sources.len() {
                changed.notify_all();
                return;
            }
            let Some(task) = self.next(&mut held) else {
                held = changed.wait(held).unwrap_or_else(PoisonError::into_inner);
                continue;
            };
            drop(held);
            let done = self.execute(task, &mut analyser, board, changed);
            held = lock(board);
            if let Err(error) = done {
                held.failed.get_or_insert(error);
            }
            changed.notify_all();
        }
    }

    /// What is nearest to the end goes first: that keeps memory small.
    fn next<C, W>(&self, board: &mut Board<C, W>) -> Option<Task<C, W>> {
        if board.rendered.contains_key(&board.write_next)
            && let Some(writer) = board.writer.take()
        {
            let place = board.write_next;
            let rendered = board.rendered.remove(&place).unwrap_or(Ok(None));
            return Some(Task::Write(place, rendered, writer));
        }
        if let Some((place, ready)) = board.to_render.pop_front() {
            return Some(Task::Render(place, ready));
        }
        if board.analysed.contains_key(&board.decide_next)
            && let Some((decider, consumer)) = board.deciding.take()
        {
            let place = board.decide_next;
            let item = board.analysed.remove(&place).unwrap_or(Item::End);
            return Some(Task::Decide(place, Box::new((item, decider, consumer))));
        }
        let limit = 3 * self.threads + 1;
        let (current, waiting) = (board.decide_next.0, board.waiting);
        let may = |slot: &Slot| slot.waiting < limit && (slot.file == current || waiting < limit);
        let free = board.slots.iter_mut().find(|slot| slot.reader.is_some() && !slot.ended && may(slot));
        if let Some(slot) = free
            && let Some(reader) = slot.reader.take()
        {
            let next = slot.next;
            slot.next += 1;
            slot.waiting += 1;
            board.waiting += 1;
            return Some(Task::Read(slot.file, reader, next));
        }
        let open = board.slots.iter().filter(|slot| !slot.ended).count();
        if board.next_file < self.sources.len() && open < self.threads && (waiting < limit || open == 0) {
            let file = board.next_file;
            board.next_file += 1;
            board.slots.push_back(Slot { file, reader: None, next: 0, waiting: 0, ended: false });
            return Some(Task::Open(file));
        }
        None
    }

    fn execute<C: Consumer, W: Writer>(
        &self,
        task: Task<C, W>,
        analyser: &mut Analyser<'_>,
        board: &Mutex<Board<C, W>>,
        changed: &Condvar,
    ) -> anyhow::Result<()> {
        match task {
            Task::Open(file) => {
                let max_line = self.options.max_line as usize;
                let opened = Reader::open(&self.sources[file], max_line, self.read.clone());
                let mut held = lock(board);
                let slot = held.slots.iter_mut().find(|slot| slot.file == file);
                let slot = slot.context("a file has a place before it is open")?;
                match opened {
                    Ok(reader) => slot.reader = Some(reader),
                    Err(error) => {
                        slot.ended = true;
                        slot.waiting += 1;
                        held.waiting += 1;
                        held.analysed.insert((file, 0), Item::Failed(error));
                    }
                }
            }
            Task::Read(file, mut reader, number) => {
                let chunk = reader.chunk().with_context(|| self.sources[file].path.display().to_string());
                let packing = reader.packing;
                let mut held = lock(board);
                let slot = held.slots.iter_mut().find(|slot| slot.file == file);
                let slot = slot.context("a file is open while it is read")?;
                match chunk {
                    Ok(Some(chunk)) => {
                        slot.reader = Some(reader);
                        drop(held);
                        changed.notify_one(); // somebody else can read on while this one analyses
                        let analysed = analyser.analyse(&chunk);
                        lock(board)
                            .analysed
                            .insert((file, number), Item::Chunk(Box::new((chunk, packing, analysed))));
                    }
                    end => {
                        slot.ended = true;
                        let item = end.map_or_else(Item::Failed, |_| Item::End);
                        held.analysed.insert((file, number), item);
                    }
                }
            }
            Task::Decide(place, parts) => {
                let (item, mut decider, mut consumer) = *parts;
                let ready = match item {
                    Item::Chunk(chunk) => {
                        let (chunk, packing, analysed) = *chunk;
                        match decider.decide(&analysed) {
                            Ok(decided) => Ready::Chunk(Box::new((chunk, packing, analysed, decided))),
                            Err(error) => Ready::Failed(error),
                        }
                    }
                    Item::End => {
                        consumer.decided(place.0, &mut decider).map_or_else(Ready::Failed, |()| Ready::End)
                    }
                    Item::Failed(error) => Ready::Failed(error),
                };
                let mut held = lock(board);
                held.decide_next = following(place, &ready);
                held.deciding = Some((decider, consumer));
                held.to_render.push_back((place, ready));
            }
            Task::Render(place, ready) => {
                let rendered = match ready {
                    Ready::End => Ok(None),
                    Ready::Failed(error) => Err(error),
                    Ready::Chunk(ready) => {
                        let (chunk, packing, analysed, decided) = *ready;
                        let bands = self.options.near.as_ref().map_or(0, |near| near.bands.bands);
                        render(&chunk, &analysed, &decided, self.target, packing, bands).map(Some)
                    }
                };
                lock(board).rendered.insert(place, rendered);
            }
            Task::Write(place, rendered, mut writer) => {
                let next = match rendered? {
                    Some(rendered) => {
                        writer.chunk(place.0, rendered)?;
                        (place.0, place.1 + 1)
                    }
                    None => {
                        writer.end(place.0)?;
                        (place.0 + 1, 0)
                    }
                };
                let mut held = lock(board);
                held.write_next = next;
                held.writer = Some(writer);
                held.waiting -= 1;
                if let Some(slot) = held.slots.iter_mut().find(|slot| slot.file == place.0) {
                    slot.waiting -= 1;
                }
                if next.1 == 0 {
                    held.slots.retain(|slot| slot.file != place.0);
                }
            }
        }
        Ok(())
    }
}

fn following(place: Place, ready: &Ready) -> Place {
    match ready {
        Ready::Chunk(..) => (place.0, place.1 + 1),
        Ready::End => (place.0 + 1, 0),
        Ready::Failed(_) => (usize::MAX, 0), // nothing is decided any more
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc;
    use std::time::Duration;

    struct Nothing;

    impl Consumer for Nothing {
        fn decided(&mut self, _: usize, _: &mut Decider) -> anyhow::Result<()> {
            Ok(())
        }
    }

    struct Panics;

    impl Writer for Panics {
        fn chunk(&mut self, _: usize, _: Rendered) -> anyhow::Result<()> {
            panic!("on purpose")
        }
        fn end(&mut self, _: usize) -> anyhow::Result<()> {
            Ok(())
        }
    }

    /// The other threads end, too, in place of waiting for what the first had taken.
    #[test]
    fn a_panic_in_one_thread_ends_the_run() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("a.jsonl");
        std::fs::write(&path, "{\"text\": \"one\"}\n".repeat(100_000)).unwrap();
        let (tell, told) = mpsc::channel();
        std::thread::spawn(move || {
            let options = Options::default();
            let sources = crate::input::find(&[path.display().to_string()]).unwrap();
            let pipeline = Pipeline {
                options: &options,
                sources: &sources,
                first: 0,
                target: &Target::Nothing,
                threads: 3,
                read: Arc::default(),
            };
            let decider = Decider::new(options.clone(), Vec::new(), None);
            let run = || pipeline.run(decider, Nothing, Panics).map(|_| ());
            tell.send(std::panic::catch_unwind(std::panic::AssertUnwindSafe(run)).is_err()).unwrap();
        });
        assert_eq!(told.recv_timeout(Duration::from_secs(60)), Ok(true));
    }
}
