"""docs/operations.md names the metrics that are exposed, and its alerts can be evaluated."""

import re
from pathlib import Path

import pytest
import yaml
from prometheus_client.parser import text_string_to_metric_families

from brain_daemon.errors import ERROR_BY_CODE
from brain_daemon.recall.legs import LEGS
from brain_daemon.service import dispatch, gauges, health
from tests.daemon_process import ROOT
from tests.service.world import ADMIN, World

TEXT = (ROOT / "docs" / "operations.md").read_text()
(RULES,) = re.findall(r"^```yaml\n(.*?)^```", TEXT, re.M | re.S)
FOREIGN = {"node_textfile_mtime_seconds"}  # the node exporter's own
FUNCTIONS = {"time", "max", "by", "resets", "increase", "rate", "histogram_quantile", "sum", "and"}
LABELS = {
    "operation": set(dispatch.OPERATIONS),
    "leg": set(LEGS),
    "decision": set(gauges.DECISIONS),
    "code": set(ERROR_BY_CODE),
    "reason": set(health.CODES),
}


@pytest.fixture(scope="module")
def exposed(tmp_path_factory: pytest.TempPathFactory) -> str:
    folder: Path = tmp_path_factory.mktemp("store")
    world = World(folder)
    world.remember("the boiler needs bleeding")
    world.call("recall", q="boiler")
    text: str = world.call("metrics", ADMIN)["text"]
    world.close()
    return text


def test_the_table_lists_every_metric_as_it_is_exposed(exposed: str) -> None:
    kinds = dict(re.findall(r"^# TYPE (\w+) (\w+)$", exposed, re.M))
    helps = dict(re.findall(r"^# HELP (\w+) (.*)$", exposed, re.M))
    rows = re.findall(r"^\| `(brain_\w+)` \| (\w+) \| (.*) \|$", TEXT, re.M)
    assert rows == [(name, kinds[name], text) for name, text in helps.items()]


def test_every_alert_has_an_expression_and_a_meaning() -> None:
    (group,) = yaml.safe_load(RULES)["groups"]
    for rule in group["rules"]:
        assert set(rule) - {"for"} == {"alert", "expr", "annotations"}, rule
        assert re.fullmatch(r"\d+[mhd]", rule.get("for", "1m"))
        assert rule["annotations"]["meaning"].endswith(".")
        assert rule["expr"].count("(") == rule["expr"].count(")")
    names = [rule["alert"] for rule in group["rules"]]
    assert len(set(names)) == len(names) >= 10


def test_alerts_ask_for_what_is_exposed(exposed: str) -> None:
    families = list(text_string_to_metric_families(exposed))
    samples = {sample.name for family in families for sample in family.samples}
    samples |= {f"{family.name}_total" for family in families if family.type == "counter"}
    labels = {name for family in families for s in family.samples for name in s.labels}
    for rule in yaml.safe_load(RULES)["groups"][0]["rules"]:
        expression = rule["expr"]
        for name, value in re.findall(r'(\w+)!?="(\w+)"', expression):
            assert value in LABELS[name], expression
            assert name in labels, expression
        bare = re.sub(r"\{[^}]*\}|\[\w+\]|by \([^)]*\)", "", expression)
        for name in re.findall(r"[a-z_]{2,}", bare):
            assert name in samples | FOREIGN | FUNCTIONS, expression
