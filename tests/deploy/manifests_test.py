"""The manifests in deploy/: what kustomize makes of them is valid, hangs together, and starts the binary
with flags that it has. Usage: manifests_test.py SHOAL. 77 where kubectl or node's schemas are missing."""

import copy
import json
import pathlib
import re
import shutil
import subprocess
import sys

import yaml

SHOAL = pathlib.Path(sys.argv[1]).resolve()
HERE = pathlib.Path(__file__).resolve().parent
DEPLOY = HERE.parent.parent / "deploy"


def built(folder):
    done = subprocess.run(["kubectl", "kustomize", DEPLOY / "kubernetes" / folder], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return list(yaml.safe_load_all(done.stdout))


def validate(manifests):
    """What is wrong with them."""
    done = subprocess.run(["node", HERE / "validate.mjs"], input=json.dumps(manifests), capture_output=True, text=True)
    if done.returncode == 77:
        print(done.stdout.strip())
        sys.exit(77)
    assert done.returncode in (0, 1) and not done.stderr, done.stderr
    return done.stdout.splitlines()


def as_pod(runtime):
    """The containers of a KServe runtime, whose own schema is not here, as a pod."""
    return {"apiVersion": "v1", "kind": "Pod", "metadata": runtime["metadata"], "spec": {"containers": runtime["spec"]["containers"]}}


def check_args(args):
    """Every flag is one of the command's."""
    text = subprocess.run([SHOAL, args[0], "--help"], capture_output=True, text=True, check=True).stdout
    known = set(re.findall(r"--[a-z0-9-]+", text))
    given = {arg for arg in args if arg.startswith("--")}
    assert given and given <= known, (args, given - known)


def check_service(manifests):
    kinds = {one["kind"]: one for one in manifests}
    deployment, service, budget = kinds["Deployment"], kinds["Service"], kinds.get("PodDisruptionBudget")
    pod = deployment["spec"]["template"]
    labels = pod["metadata"]["labels"].items()
    selectors = [deployment["spec"]["selector"]["matchLabels"], service["spec"]["selector"]]
    if budget is not None:
        selectors.append(budget["spec"]["selector"]["matchLabels"])
    for selector in selectors:
        assert selector and selector.items() <= labels, (selector, labels)
    container = pod["spec"]["containers"][0]
    ports = {port["name"]: port["containerPort"] for port in container["ports"]}
    assert all(port["targetPort"] in ports for port in service["spec"]["ports"])
    for probe in "startupProbe", "livenessProbe", "readinessProbe":
        assert container[probe]["httpGet"]["port"] in ports and "health" in container[probe]["httpGet"]["path"]
    listen = container["args"][container["args"].index("--listen") + 1]
    assert listen == f"0.0.0.0:{ports['http']}", listen
    assert {"requests", "limits"} <= container["resources"].keys()
    # With a leader, one pod is ever ready: it must neither be kept from ending nor be waited for.
    ready = 1 if "--leader-store" in container["args"] else deployment["spec"]["replicas"]
    assert (budget is None) == (ready == 1), budget
    assert budget is None or budget["spec"]["minAvailable"] < ready
    unavailable = deployment["spec"]["strategy"]["rollingUpdate"]["maxUnavailable"]
    assert ready == deployment["spec"]["replicas"] or unavailable == deployment["spec"]["replicas"], unavailable
    check_args(container["args"])


def check_runtime(runtime):
    assert (runtime["apiVersion"], runtime["kind"]) == ("serving.kserve.io/v1alpha1", "ServingRuntime")
    spec = runtime["spec"]
    assert spec.keys() == {"annotations", "supportedModelFormats", "protocolVersions", "containers"}, spec.keys()
    assert spec["protocolVersions"] == ["v2"] and spec["supportedModelFormats"][0]["name"] == "onnx"
    container = spec["containers"][0]
    assert container["name"] == "kserve-container"
    check_args(container["args"])


def check_that_mistakes_are_found(manifests):
    for change in (lambda d: d["spec"].pop("selector"), lambda d: d["spec"].update(replicas="two"),
                   lambda d: d["spec"]["template"]["spec"]["containers"][0].update(livenesProbe={})):
        broken = copy.deepcopy(manifests)
        change(next(one for one in broken if one["kind"] == "Deployment"))
        assert validate(broken), "a mistake was not found"


def check_slurm():
    script = DEPLOY / "slurm" / "shoal.sbatch"
    subprocess.run(["bash", "-n", script], check=True)
    line = next(line for line in script.read_text().splitlines() if line.startswith("srun"))
    words = line.split("shoal ", 1)[1].split()
    check_args(words)


def main():
    check_slurm()
    if not shutil.which("kubectl") or not shutil.which("node"):
        print("kubectl or node is not here")
        sys.exit(77)
    for folder in ".", "with-catalog", "with-failover":
        manifests = built(folder)
        assert validate(manifests) == [], validate(manifests)
        check_service(manifests)
    check_that_mistakes_are_found(built("."))
    runtime = built("kserve")[0]
    assert validate([as_pod(runtime)]) == [], validate([as_pod(runtime)])
    check_runtime(runtime)


main()
