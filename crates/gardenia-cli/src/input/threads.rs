//! One thread reads, some look at blocks, and the calling one takes them in order.

use super::record::{Blocks, Buffer};
use super::{Block, Input, Keys, Opened, Work};
use std::collections::BTreeMap;
use std::sync::mpsc::{self, Receiver, Sender};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

/// What happens, in any order.
enum Event<P> {
    /// The next block was read.
    Read(Buffer),
    /// Nothing more will be.
    End(anyhow::Result<()>),
    /// A block was looked at.
    Seen(u64, Seen<P>),
}

/// A block, what was made from it, and whether that failed.
struct Seen<P> {
    buffer: Buffer,
    part: P,
    result: anyhow::Result<()>,
}

/// A block to look at.
struct Job<P> {
    number: u64,
    buffer: Buffer,
    part: P,
    keys: Arc<Keys>,
}

/// As on one thread: what comes out does not depend on their number.
pub(super) fn each_block<P: Default + Send + 'static>(
    opened: Opened,
    keys: &Keys,
    threads: usize,
    look: &(impl Fn(&Keys, Block<'_>, &mut P) -> anyhow::Result<()> + Sync),
    work: &mut impl Work<P>,
    input: &mut Input,
) -> anyhow::Result<()> {
    let Opened { blocks, bytes, .. } = opened;
    let form = keys.form();
    let (events, inbox) = mpsc::channel();
    let (empty, spare) = mpsc::channel();
    // Two more than are looked at: one that is read, and one that waits.
    (0..threads + 2).for_each(|_| _ = empty.send(Buffer::new()));
    let to_us = events.clone();
    // Not a thread of the scope: it may wait for a pipe long after nobody wants more.
    thread::Builder::new().spawn(move || read(blocks, &spare, &to_us))?;
    let (jobs, queue) = mpsc::channel::<Job<P>>();
    let queue = Mutex::new(queue);
    thread::scope(|scope| {
        let jobs = jobs; // gone with the loop below, which ends the threads
        for _ in 0..threads {
            let (queue, events) = (&queue, events.clone());
            thread::Builder::new().spawn_scoped(scope, move || {
                while let Some(Job { number, buffer, mut part, keys }) = next(queue) {
                    let result = look(&keys, buffer.block(form), &mut part);
                    if events.send(Event::Seen(number, Seen { buffer, part, result })).is_err() {
                        return;
                    }
                }
            })?;
        }
        let (mut parts, mut waiting, mut ended) = (Vec::new(), BTreeMap::new(), None);
        let (mut sent, mut taken) = (0, 0);
        loop {
            if let (true, Some(_)) = (sent == taken, &ended) {
                return ended.unwrap_or(Ok(()));
            }
            match inbox.recv()? {
                Event::Read(buffer) => {
                    let keys = input.keys(keys, buffer.block(form))?;
                    let part = parts.pop().unwrap_or_default();
                    jobs.send(Job { number: sent, buffer, part, keys })
                        .map_err(|_| anyhow::anyhow!("no thread is left"))?;
                    sent += 1;
                }
                Event::End(result) => ended = Some(result),
                Event::Seen(number, seen) => _ = waiting.insert(number, seen),
            }
            while let Some(Seen { buffer, mut part, result }) = waiting.remove(&taken) {
                result?;
                if !input.take(work, buffer.block(form), &mut part, &bytes) {
                    return Ok(());
                }
                taken += 1;
                parts.push(part);
                let _ = empty.send(buffer); // a reader that has ended needs none
            }
        }
    })
}

/// Reads blocks into spare buffers until there are none, or nobody wants more.
fn read<P>(mut blocks: Blocks, spare: &Receiver<Buffer>, events: &Sender<Event<P>>) {
    while let Ok(mut buffer) = spare.recv() {
        let event = match blocks.fill(&mut buffer) {
            Ok(true) => Event::Read(buffer),
            Ok(false) => Event::End(Ok(())),
            Err(error) => Event::End(Err(error)),
        };
        let last = matches!(event, Event::End(_));
        if events.send(event).is_err() || last {
            return;
        }
    }
}

/// The next job, and none when there will be no more. The lock is held while waiting, and not while
/// working.
fn next<P>(queue: &Mutex<Receiver<Job<P>>>) -> Option<Job<P>> {
    queue.lock().unwrap_or_else(PoisonError::into_inner).recv().ok()
}
