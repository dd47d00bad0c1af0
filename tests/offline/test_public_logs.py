"""Public logs: what is joined, what is left out, and the real files if they are there."""

from __future__ import annotations

import gzip
import os
from pathlib import Path

import pytest
from studies.replays.public_logs import LOGS, open_bandit

DATA = os.environ.get("FABCOST_DATA")
ROWS = {"bank marketing": 41_188, "online shoppers": 12_330}


def campaign(data: Path, items: str) -> Path:
    folder = data / "open_bandit" / "random" / "men"
    folder.mkdir(parents=True)
    log = (
        ",timestamp,item_id,position,click,propensity_score,user_feature_0,user-item_affinity_0\n"
        "0,2019-11-24,7,1,0,0.03,young,0.5\n"
        "1,2019-11-25,3,2,1,0.03,old,0.1\n"
    )
    (folder / "men.csv.gz").write_bytes(gzip.compress(log.encode()))
    (folder / "item_context.csv").write_text(items, encoding="utf-8")
    return data


def test_items_are_looked_up_by_id(tmp_path: Path) -> None:
    items = ",item_id,item_feature_0,item_feature_1\n0,3,-1.0,red\n1,7,1.0,blue\n"
    log = open_bandit(campaign(tmp_path, items), "men")
    assert log.columns == (
        "bias",
        "user_feature_0=old",
        "user_feature_0=young",
        "position",
        "item_feature_0",
        "item_feature_1=blue",
        "item_feature_1=red",
    )
    assert log.X.tolist() == [[1, 0, 1, -1, 1, 1, 0], [1, 1, 0, 1, -1, 0, 1]]
    assert log.y.tolist() == [0.0, 1.0]


def test_item_without_features_is_refused(tmp_path: Path) -> None:
    data = campaign(tmp_path, ",item_id,item_feature_0\n0,3,-1.0\n")
    with pytest.raises(ValueError, match="1 impressions show an item without features"):
        open_bandit(data, "men")


@pytest.mark.skipif(not DATA, reason="FABCOST_DATA names no data directory")
@pytest.mark.parametrize("title", ROWS)
def test_real_logs_are_read_without_their_traps(title: str) -> None:
    log = LOGS[title](Path(str(DATA)))
    assert log.y.size == ROWS[title]
    assert not log.skipped
    assert not {"duration", "PageValues"} & set(log.columns)
