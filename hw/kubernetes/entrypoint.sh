#!/usr/bin/env bash
# Entry point of the container: runs the given command. If Spark starts a pod with the word "executor", it runs an
# executor with the settings that Spark passes in the environment.
set -euo pipefail

if [ "${1:-}" != executor ]; then
    exec "$@"
fi
options=()
while IFS= read -r name; do
    options+=("${!name}")
done < <(compgen -A variable | grep '^SPARK_JAVA_OPT_[0-9]*$' | sort -t_ -k4n)
exec java "${options[@]}" "-Xms$SPARK_EXECUTOR_MEMORY" "-Xmx$SPARK_EXECUTOR_MEMORY" \
    -cp "${SPARK_CONF_DIR:-/opt/spark/conf}:$SPARK_HOME/jars/*" \
    org.apache.spark.scheduler.cluster.k8s.KubernetesExecutorBackend \
    --driver-url "$SPARK_DRIVER_URL" --executor-id "$SPARK_EXECUTOR_ID" --cores "$SPARK_EXECUTOR_CORES" \
    --app-id "$SPARK_APPLICATION_ID" --hostname "$SPARK_EXECUTOR_POD_IP" \
    --resourceProfileId "$SPARK_RESOURCE_PROFILE_ID" --podName "$SPARK_EXECUTOR_POD_NAME"
