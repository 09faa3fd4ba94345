"""Files in hw/kubernetes: they fit Kubernetes' schemas, the command line, Spark, and each other. No Kubernetes is
run."""

import re
import subprocess
import zipfile
from pathlib import Path
from typing import Any

import kubernetes_validate
import pyspark
import pytest
import yaml

from spark_sink import cli
from tests.architecture.sources import ROOT

FOLDER = ROOT / "hw/kubernetes"
VERSIONS = ("1.30", "1.37")
"""Versions of Kubernetes: an old one that is still about, and a new one."""


def documents() -> list[dict[str, Any]]:
    return [found for path in sorted(FOLDER.glob("*.yaml")) for found in yaml.safe_load_all(path.read_text())]


DOCUMENTS = documents()
JOB = next(found for found in DOCUMENTS if found["kind"] == "StatefulSet")
CONFIG = next(found for found in DOCUMENTS if found["kind"] == "ConfigMap")
EXECUTOR = yaml.safe_load(CONFIG["data"]["executor.yaml"])
PODS = [found["spec"]["template"] for found in DOCUMENTS if "template" in found.get("spec", {})] + [EXECUTOR]
SPARK = dict(line.split() for line in CONFIG["data"]["spark-defaults.conf"].splitlines())


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize(
    "document", [*DOCUMENTS, {**EXECUTOR, "metadata": {"name": "executor"}}], ids=lambda d: d["kind"]
)
def test_manifests_fit_the_schemas(document: dict[str, Any], version: str) -> None:
    if document["kind"] == "Pod":  # Spark adds the image
        document["spec"]["containers"][0].setdefault("image", "any")
    kubernetes_validate.validate(document, version, strict=True)


def test_the_schemas_would_notice() -> None:
    with pytest.raises(kubernetes_validate.ValidationError):
        kubernetes_validate.validate(
            {**JOB, "spec": {**JOB["spec"], "replica": 1}}, VERSIONS[-1], strict=True
        )


def test_commands_can_be_typed() -> None:
    for pod in PODS[:-1]:
        program, *words = pod["spec"]["containers"][0]["args"]
        assert program == "tinyssb-sink"
        cli.build_parser().parse_args(
            [word.replace("$(DATABASE_URL)", "postgresql://db/mesh") for word in words]
        )


def test_pods_may_do_little() -> None:
    for pod in PODS:
        (container,) = pod["spec"]["containers"]
        assert pod["spec"]["securityContext"]["runAsNonRoot"] is True
        assert container["securityContext"] == {
            "allowPrivilegeEscalation": False,
            "readOnlyRootFilesystem": True,
            "capabilities": {"drop": ["ALL"]},
        }
        if pod is not EXECUTOR:  # Spark gives its executors theirs
            assert container["resources"]["limits"].keys() == {"cpu", "memory"}


def test_names_lead_somewhere() -> None:
    known = {(found["kind"], found["metadata"]["name"]) for found in DOCUMENTS}
    assert ("Service", JOB["spec"]["serviceName"]) in known
    assert ("ServiceAccount", JOB["spec"]["template"]["spec"]["serviceAccountName"]) in known
    assert ("ServiceAccount", SPARK["spark.kubernetes.authenticate.executor.serviceAccountName"]) in known
    assert {found["metadata"]["namespace"] for found in DOCUMENTS} == {SPARK["spark.kubernetes.namespace"]}
    images = {pod["spec"]["containers"][0]["image"] for pod in PODS[:-1]}
    assert images == {SPARK["spark.kubernetes.container.image"]}
    for found in DOCUMENTS:
        labels = found["spec"].get("selector") if found["kind"] == "Service" else None
        if labels:
            assert any(labels.items() <= pod["metadata"]["labels"].items() for pod in PODS)
    for pod in PODS:
        volumes = {volume["name"] for volume in pod["spec"].get("volumes", [])}
        for mount in pod["spec"]["containers"][0].get("volumeMounts", []):
            assert mount["name"] in volumes


def test_executors_find_the_driver() -> None:
    name, namespace = JOB["metadata"]["name"], JOB["metadata"]["namespace"]
    pod = f"{name}-0"
    assert SPARK["spark.kubernetes.driver.pod.name"] == pod
    assert SPARK["spark.driver.host"] == f"{pod}.{JOB['spec']['serviceName']}.{namespace}.svc"
    service = next(
        found for found in DOCUMENTS if found["kind"] == "Service" and found["metadata"]["name"] == name
    )
    ports = {str(port["port"]) for port in service["spec"]["ports"]}
    assert ports == {SPARK["spark.driver.port"], SPARK["spark.driver.blockManager.port"]}


def test_every_secret_is_made_by_the_page_that_tells_how() -> None:
    page = (ROOT / "docs/howto/cluster.md").read_text()
    text = "".join(path.read_text() for path in FOLDER.glob("*.yaml"))
    references = re.findall(r"secretKeyRef: \{name: ([\w-]+), key: ([\w-]+)\}", text)
    references += re.findall(r"secretKeyRef\.\S+\s+([\w-]+):(\w+)", text)
    assert len(references) >= 6
    for secret, key in references:
        (line,) = [line for line in page.splitlines() if f"create secret generic {secret} " in line]
        assert key in line


def test_the_image_starts_executors_as_spark_describes_them(tmp_path: Path) -> None:
    java = tmp_path / "java"
    java.write_text('#!/bin/sh\nprintf "%s\\n" "$@"\n')
    java.chmod(0o755)
    environment = {
        "PATH": f"{tmp_path}:/usr/bin:/bin", "SPARK_HOME": "/opt/spark", "SPARK_EXECUTOR_MEMORY": "1g",
        "SPARK_JAVA_OPT_0": "-Da=b c", "SPARK_JAVA_OPT_1": "-Dd", "SPARK_JAVA_OPT_10": "-De", "SPARK_JAVA_OPT_2": "-Df",
        "SPARK_DRIVER_URL": "spark://driver", "SPARK_EXECUTOR_ID": "7", "SPARK_EXECUTOR_CORES": "2",
        "SPARK_APPLICATION_ID": "app", "SPARK_EXECUTOR_POD_IP": "10.0.0.1", "SPARK_RESOURCE_PROFILE_ID": "0",
        "SPARK_EXECUTOR_POD_NAME": "pod",
    }  # fmt: skip
    script = FOLDER / "entrypoint.sh"
    said = subprocess.run([script, "executor"], env=environment, capture_output=True, text=True, check=True)
    words = said.stdout.splitlines()
    assert words[:6] == ["-Da=b c", "-Dd", "-Df", "-De", "-Xms1g", "-Xmx1g"]
    backend = "org.apache.spark.scheduler.cluster.k8s.KubernetesExecutorBackend"
    given = dict(zip(words[words.index(backend) + 1 :: 2], words[words.index(backend) + 2 :: 2], strict=True))
    assert given == {
        "--driver-url": "spark://driver", "--executor-id": "7", "--cores": "2", "--app-id": "app",
        "--hostname": "10.0.0.1", "--resourceProfileId": "0", "--podName": "pod",
    }  # fmt: skip
    (jar,) = Path(pyspark.__file__).parent.glob("jars/spark-kubernetes_*.jar")
    with zipfile.ZipFile(jar) as classes:
        assert f"{backend.replace('.', '/')}.class" in classes.namelist()
    other = subprocess.run(
        [script, "echo", "a b"], env=environment, capture_output=True, text=True, check=True
    )
    assert other.stdout == "a b\n"
