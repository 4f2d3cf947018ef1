"""An Airflow DAG: land what is new, then let dbt build silver and gold.

Airflow has an environment of its own, with apache-airflow and astronomer-cosmos; the commands run
in that of the project. dbt is one task: a task for each model would start Spark for each.
"""

import os
from datetime import timedelta
from pathlib import Path

import pendulum
from airflow.providers.standard.operators.bash import BashOperator
from airflow.sdk import DAG
from cosmos import ProfileConfig
from cosmos.operators.local import DbtBuildLocalOperator

PROJECT = Path(os.environ.get("LAKEHOUSE_PROJECT", "/srv/cdc_lakehouse"))
PROGRAMS = PROJECT / ".venv" / "bin"
LANDING = os.environ.get("LAKEHOUSE_LANDING", "/srv/landing")
ENVIRONMENT = {"LAKEHOUSE_DIR": os.environ.get("LAKEHOUSE_DIR", "/var/lib/lakehouse")}

with DAG(
    dag_id="lakehouse",
    schedule=timedelta(minutes=5),
    start_date=pendulum.datetime(2026, 1, 1, tz="UTC"),
    catchup=False,
    max_active_runs=1,
    default_args={"retries": 1, "retry_delay": timedelta(minutes=1)},
):
    land = BashOperator(
        task_id="land",
        bash_command=f"{PROGRAMS / 'lakehouse'} ingest files {LANDING}",
        cwd=str(PROJECT),
        env=ENVIRONMENT,
        append_env=True,
    )
    build = DbtBuildLocalOperator(
        task_id="build",
        project_dir=str(PROJECT),
        profile_config=ProfileConfig(
            profile_name="cdc_lakehouse",
            target_name="dev",
            profiles_yml_filepath=PROJECT / "profiles.yml",
        ),
        dbt_executable_path=str(PROGRAMS / "dbt"),
        dbt_cmd_flags=["--exclude-resource-type", "unit_test"],
        env=ENVIRONMENT,
        append_env=True,
        install_deps=False,
    )
    land >> build
