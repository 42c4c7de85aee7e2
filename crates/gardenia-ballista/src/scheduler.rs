//! `gardenia-ballista scheduler`.

use crate::Outcome;
use ballista_core::utils::default_session_builder;
use ballista_scheduler::cluster::BallistaCluster;
use ballista_scheduler::config::SchedulerConfig;
use ballista_scheduler::scheduler_process::start_server;
use datafusion::execution::FunctionRegistry;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

#[derive(clap::Args)]
pub(crate) struct Args {
    /// Address to listen on
    #[arg(long, default_value = "127.0.0.1")]
    host: IpAddr,
    /// Port to listen on
    #[arg(long, default_value_t = 50050)]
    port: u16,
    /// Seconds without a sign of life after which an executor is lost, and its tasks run elsewhere
    #[arg(long, default_value_t = 60)]
    executor_timeout: u64,
    /// Bytes of the largest message: plans hold filters that are constants
    #[arg(long, default_value_t = crate::MOST_MESSAGE)]
    max_message: u32,
}

pub(crate) async fn run(args: Args) -> Outcome {
    let mut config = SchedulerConfig {
        bind_host: args.host.to_string(),
        external_host: args.host.to_string(),
        bind_port: args.port,
        executor_timeout_seconds: args.executor_timeout,
        expire_dead_executor_interval_seconds: (args.executor_timeout / 4).max(1),
        no_executors_grace_period_seconds: args.executor_timeout,
        grpc_server_max_decoding_message_size: args.max_message,
        grpc_server_max_encoding_message_size: args.max_message,
        grpc_client_max_message_size: args.max_message,
        ..SchedulerConfig::default()
    };
    config.override_session_builder = Some(Arc::new(|config| {
        let mut state = default_session_builder(config)?;
        for function in gardenia_datafusion::scalars() {
            state.register_udf(function)?;
        }
        for function in gardenia_datafusion::aggregates() {
            state.register_udaf(function)?;
        }
        Ok(state)
    }));
    let cluster = BallistaCluster::new_from_config(&config).await?;
    Ok(start_server(cluster, SocketAddr::new(args.host, args.port), Arc::new(config)).await?)
}
