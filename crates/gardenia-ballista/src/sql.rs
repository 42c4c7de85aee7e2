//! `gardenia-ballista sql`.

use crate::Outcome;
use ballista::prelude::{SessionConfigExt, SessionContextExt};
use datafusion::arrow::array::RecordBatch;
use datafusion::arrow::util::pretty::pretty_format_batches;
use datafusion::common::ScalarValue;
use datafusion::execution::SessionStateBuilder;
use datafusion::prelude::{
    CsvReadOptions, DataFrame, JsonReadOptions, ParquetReadOptions, SessionConfig, SessionContext,
};
use std::io::Read;
use std::path::{Path, PathBuf};

/// Bytes of the largest filter that is a constant of a plan, and so travels with every task. Larger
/// ones travel by path.
const MOST_BYTES: usize = 1 << 20;

#[derive(clap::Args)]
pub(crate) struct Args {
    /// Host and port of the scheduler [default: none, the query runs in this process]
    #[arg(long, value_parser = crate::executor::host_and_port)]
    scheduler: Option<(String, u16)>,
    /// Table from a file or directory of .parquet, .csv or .json: NAME=PATH
    #[arg(long, value_name = "NAME=PATH", value_parser = name_and_path)]
    table: Vec<(String, String)>,
    /// Filter that a query returns, for the queries after it, where it is $NAME: NAME=QUERY
    #[arg(long = "let", value_name = "NAME=QUERY", value_parser = name_and_rest)]
    lets: Vec<(String, String)>,
    /// Directory that all executors can read, for filters of more than 1 MB
    #[arg(long, value_parser = absolute)]
    share: Option<PathBuf>,
    /// Parts that work is split into [default: one per core]
    #[arg(long)]
    partitions: Option<usize>,
    /// File for the filter that the last query returns, in place of a table
    #[arg(long)]
    output: Option<PathBuf>,
    /// Replace the file of --output
    #[arg(long)]
    force: bool,
    /// Query; - reads it from standard input
    #[arg(required = true)]
    query: Vec<String>,
}

/// `NAME=PATH`: the path as the executors need it, who have directories of their own to start from.
fn name_and_path(text: &str) -> Result<(String, String), String> {
    let (name, path) = name_and_rest(text)?;
    Ok((name, if path.contains("://") { path } else { absolute(&path)?.to_string_lossy().into_owned() }))
}

fn absolute(path: &str) -> Result<PathBuf, String> {
    std::path::absolute(path).map_err(|error| format!("{path}: {error}"))
}

/// `NAME=REST`.
fn name_and_rest(text: &str) -> Result<(String, String), String> {
    let parts = text.split_once('=').filter(|(name, rest)| !name.is_empty() && !rest.is_empty());
    parts
        .map(|(name, rest)| (name.to_owned(), rest.to_owned()))
        .ok_or_else(|| "expected NAME=…, such as users=users.parquet".to_owned())
}

pub(crate) async fn run(args: Args) -> Outcome {
    if let Some(path) = args.output.as_ref().filter(|path| !args.force && path.exists()) {
        return Err(format!("{} exists. hint: choose another file, or pass --force", path.display()).into());
    }
    let ctx = context(&args).await?;
    for (name, path) in &args.table {
        register(&ctx, name, path).await?;
    }
    let mut known = Vec::new();
    for (name, query) in &args.lets {
        let filter = one_value(&planned(&ctx, query, &known).await?.collect().await?)?;
        let filter = by_path_if_large(filter, name, args.share.as_deref())?;
        known.push((name.clone(), filter));
    }
    for (at, query) in args.query.iter().enumerate() {
        let mut text = String::new();
        if query == "-" {
            std::io::stdin().read_to_string(&mut text)?;
        } else {
            text.clone_from(query);
        }
        let batches = planned(&ctx, &text, &known).await?.collect().await?;
        match args.output.as_ref().filter(|_| at + 1 == args.query.len()) {
            Some(path) => match one_value(&batches)? {
                ScalarValue::Binary(Some(bytes)) => write(path, &bytes)?,
                other => return Err(format!("the query returns {}, and no filter", other.data_type()).into()),
            },
            None if batches.iter().all(|batch| batch.num_columns() == 0) => {}
            None => println!("{}", pretty_format_batches(&batches)?),
        }
    }
    Ok(())
}

/// A context on a cluster, or of this process, that knows the functions.
async fn context(args: &Args) -> Result<SessionContext, datafusion::error::DataFusionError> {
    let split = |config: SessionConfig| match args.partitions {
        Some(partitions) => config.with_target_partitions(partitions),
        None => config,
    };
    let ctx = match &args.scheduler {
        Some((host, port)) => {
            let config = split(SessionConfig::new_with_ballista());
            let config = config.with_ballista_grpc_client_max_message_size(crate::MOST_MESSAGE as usize);
            let state = SessionStateBuilder::new().with_config(config).with_default_features().build();
            SessionContext::remote_with_state(&format!("df://{host}:{port}"), state).await?
        }
        None => SessionContext::new_with_config(split(SessionConfig::new())),
    };
    // Afterwards: Ballista replaces the functions of the state that it is given by its own.
    gardenia_datafusion::register_all(&ctx);
    Ok(ctx)
}

async fn register(ctx: &SessionContext, name: &str, path: &str) -> Outcome {
    let files = match Path::new(path).is_dir() {
        true => std::fs::read_dir(path)?.map(|entry| Ok(entry?.path())).collect::<std::io::Result<_>>()?,
        false => vec![PathBuf::from(path)],
    };
    // Other files, such as the checksums that Spark leaves beside its own, are none of the table's.
    let has =
        |extension: &&str| files.iter().any(|file| file.extension().is_some_and(|found| found == *extension));
    let found: Vec<&str> = ["parquet", "csv", "json"].into_iter().filter(has).collect();
    match found[..] {
        ["parquet"] => ctx.register_parquet(name, path, ParquetReadOptions::default()).await?,
        ["csv"] => ctx.register_csv(name, path, CsvReadOptions::new()).await?,
        ["json"] => ctx.register_json(name, path, JsonReadOptions::default()).await?,
        [] if Path::new(path).is_dir() => {
            return Err(format!("{path}: the directory holds no file of .parquet, .csv or .json").into());
        }
        [] => return Err(format!("{path}: a file of .parquet, .csv or .json is expected").into()),
        [..] => {
            let error = format!(
                "{path}: the directory holds files of .{}. hint: keep those of one table in a directory of their own",
                found.join(" and .")
            );
            return Err(error.into());
        }
    }
    Ok(())
}

/// A query with the filters that are known put in.
async fn planned(
    ctx: &SessionContext,
    query: &str,
    known: &[(String, ScalarValue)],
) -> Result<DataFrame, datafusion::error::DataFusionError> {
    let frame = ctx.sql(query).await?;
    if known.is_empty() { Ok(frame) } else { frame.with_param_values(known.to_vec()) }
}

/// The value of a result of one row and one column.
fn one_value(batches: &[RecordBatch]) -> Result<ScalarValue, Box<dyn std::error::Error + Send + Sync>> {
    let rows: usize = batches.iter().map(RecordBatch::num_rows).sum();
    match batches.iter().find(|batch| batch.num_rows() == 1) {
        Some(batch) if rows == 1 && batch.num_columns() == 1 => {
            Ok(ScalarValue::try_from_array(batch.column(0), 0)?)
        }
        _ => Err(format!("the query returns {rows} rows, and one row with one filter is expected").into()),
    }
}

/// The filter, or where it was written.
fn by_path_if_large(
    filter: ScalarValue,
    name: &str,
    share: Option<&Path>,
) -> Result<ScalarValue, Box<dyn std::error::Error + Send + Sync>> {
    let ScalarValue::Binary(Some(bytes)) = &filter else { return Ok(filter) };
    if bytes.len() <= MOST_BYTES {
        return Ok(filter);
    }
    let Some(share) = share else {
        let error = format!(
            "the filter ${name} has {} bytes, and one of more than {MOST_BYTES} travels by path. hint: pass --share with a directory \
             that all executors can read",
            bytes.len()
        );
        return Err(error.into());
    };
    // Named by what it holds: a task that is run again finds what the first saw.
    let path = share.join(format!("{name}-{:016x}.gdn", gardenia::KeyHasher::default().digest(bytes).0));
    write(&path, bytes)?;
    Ok(ScalarValue::Utf8(Some(path.to_string_lossy().into_owned())))
}

/// Writes a file whole: it is not there, or complete.
fn write(path: &Path, bytes: &[u8]) -> Outcome {
    let named = |error: std::io::Error| format!("{}: {error}", path.display());
    let beside = path.with_extension(format!("{}.tmp", std::process::id()));
    std::fs::write(&beside, bytes).map_err(named)?;
    Ok(std::fs::rename(&beside, path).map_err(named)?)
}
