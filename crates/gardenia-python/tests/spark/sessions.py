"""Sessions of Spark on this machine."""

import os
import sys

import pyspark

# Workers are started with this interpreter, and nothing listens beyond this machine.
os.environ.update(
    SPARK_HOME=os.path.dirname(pyspark.__file__), PYSPARK_PYTHON=sys.executable, PYSPARK_DRIVER_PYTHON=sys.executable, SPARK_LOCAL_IP="127.0.0.1"
)

SETTINGS = {
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.host": "127.0.0.1",
    "spark.executorEnv.PYSPARK_PYTHON": sys.executable,
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.sql.session.timeZone": "UTC",
}


def session(master, **settings):
    """A classic session; settings have `__` for a dot."""
    builder = pyspark.sql.SparkSession.builder.master(master)
    for name, value in (SETTINGS | {name.replace("__", "."): value for name, value in settings.items()}).items():
        builder = builder.config(name, value)
    made = builder.getOrCreate()
    made.sparkContext.setLogLevel("ERROR")
    return made
