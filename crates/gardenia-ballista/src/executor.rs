//! `gardenia-ballista executor`.

use crate::Outcome;
use ballista_core::registry::BallistaFunctionRegistry;
use ballista_executor::executor_process::{ExecutorProcessConfig, start_executor_process};
use std::net::IpAddr;
use std::path::PathBuf;
use std::sync::Arc;

#[derive(clap::Args)]
pub(crate) struct Args {
    /// Host and port of the scheduler
    #[arg(long, default_value = "127.0.0.1:50050", value_parser = crate::executor::host_and_port)]
    scheduler: (String, u16),
    /// Address to listen on
    #[arg(long, default_value = "127.0.0.1")]
    host: IpAddr,
    /// Name or address by which the others reach this executor [default: that of --host]
    #[arg(long)]
    external_host: Option<String>,
    /// Port for data of other executors and of clients
    #[arg(long, default_value_t = 50051)]
    port: u16,
    /// Port for tasks
    #[arg(long, default_value_t = 50052)]
    task_port: u16,
    /// Tasks that run at once [default: one per core]
    #[arg(long)]
    tasks: Option<usize>,
    /// Directory for data between stages [default: a new one]
    #[arg(long)]
    work_dir: Option<PathBuf>,
    /// Seconds between signs of life
    #[arg(long, default_value_t = 10)]
    heartbeat: u64,
    /// Bytes of the largest message: a filter travels in one
    #[arg(long, default_value_t = crate::MOST_MESSAGE)]
    max_message: u32,
}

/// `HOST:PORT`.
pub(crate) fn host_and_port(text: &str) -> Result<(String, u16), String> {
    let parts = text.rsplit_once(':').and_then(|(host, port)| Some((host.to_owned(), port.parse().ok()?)));
    parts.ok_or_else(|| "expected HOST:PORT, such as 127.0.0.1:50050".to_owned())
}

pub(crate) async fn run(args: Args) -> Outcome {
    let mut functions = BallistaFunctionRegistry::default();
    for function in gardenia_datafusion::scalars() {
        functions.scalar_functions.insert(function.name().to_owned(), function);
    }
    for function in gardenia_datafusion::aggregates() {
        functions.aggregate_functions.insert(function.name().to_owned(), function);
    }
    let usual = ExecutorProcessConfig::default();
    let config = ExecutorProcessConfig {
        bind_host: args.host.to_string(),
        external_host: Some(args.external_host.unwrap_or_else(|| args.host.to_string())),
        port: args.port,
        grpc_port: args.task_port,
        scheduler_host: args.scheduler.0,
        scheduler_port: args.scheduler.1,
        scheduler_connect_timeout_seconds: 30,
        vcores: args.tasks.unwrap_or(usual.vcores),
        work_dir: args.work_dir.map(|path| path.to_string_lossy().into_owned()),
        executor_heartbeat_interval_seconds: args.heartbeat,
        grpc_max_decoding_message_size: args.max_message,
        grpc_max_encoding_message_size: args.max_message,
        override_function_registry: Some(Arc::new(functions)),
        ..usual
    };
    Ok(start_executor_process(Arc::new(config)).await?)
}
