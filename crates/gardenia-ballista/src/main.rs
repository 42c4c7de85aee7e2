//! Ballista with Gardenia's SQL functions: a scheduler, an executor and a client, in one program.
//!
//! Ballista sends functions by name, so that every process of a cluster must know them.
//! docs/datafusion.md is the guide.

mod executor;
mod scheduler;
mod sql;

use clap::{Parser, Subcommand};
use std::process::ExitCode;

/// Build and query filters with SQL on many machines: Ballista with Gardenia's functions.
#[derive(Parser)]
#[command(version, about, max_term_width = 100)]
struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Plan queries and hand tasks to executors
    Scheduler(scheduler::Args),
    /// Run tasks of a scheduler
    Executor(executor::Args),
    /// Run SQL on a cluster, or in this process
    Sql(sql::Args),
}

/// Bytes of the largest message. A filter is one row, which cannot be split, and a value in SQL
/// holds 2 GiB at most.
const MOST_MESSAGE: u32 = 1 << 31;

/// What a command ends with.
type Outcome = Result<(), Box<dyn std::error::Error + Send + Sync>>;

fn main() -> ExitCode {
    env_logger::init(); // what RUST_LOG asks for
    let args = Args::parse();
    // Plans are trees that are walked recursively: tests of Ballista use stacks of this size, too.
    let runtime =
        tokio::runtime::Builder::new_multi_thread().enable_all().thread_stack_size(32 << 20).build();
    let outcome = runtime.map_err(Into::into).and_then(|runtime| {
        // On a thread of the runtime, for its stack.
        let task = runtime.spawn(async {
            match args.command {
                Command::Scheduler(args) => scheduler::run(args).await,
                Command::Executor(args) => executor::run(args).await,
                Command::Sql(args) => sql::run(args).await,
            }
        });
        runtime.block_on(task)?
    });
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("gardenia-ballista: {error}");
            ExitCode::from(2)
        }
    }
}
