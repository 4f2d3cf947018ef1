#!/usr/bin/env bash
# Runs a command; or, where Spark has made this pod, an executor with what Spark has put into the environment.
set -euo pipefail

if [ "${1:-}" != executor ]; then
    exec "$@"
fi

options=()
for name in "${!SPARK_JAVA_OPT_@}"; do
    options+=("${!name}")
done
jars=$(python3 -c 'import pathlib, pyspark; print(pathlib.Path(pyspark.__file__).with_name("jars"))')

exec java "${options[@]}" -Xms"$SPARK_EXECUTOR_MEMORY" -Xmx"$SPARK_EXECUTOR_MEMORY" \
    -cp "${SPARK_CLASSPATH:-}:$jars/*" \
    org.apache.spark.scheduler.cluster.k8s.KubernetesExecutorBackend \
    --driver-url "$SPARK_DRIVER_URL" \
    --executor-id "$SPARK_EXECUTOR_ID" \
    --cores "$SPARK_EXECUTOR_CORES" \
    --app-id "$SPARK_APPLICATION_ID" \
    --hostname "$SPARK_EXECUTOR_POD_IP" \
    --resourceProfileId "$SPARK_RESOURCE_PROFILE_ID" \
    --podName "$SPARK_EXECUTOR_POD_NAME"
