"""The service configuration and the settings of a model."""

from __future__ import annotations

from datetime import timedelta
from typing import Any, get_args

import isodate  # type: ignore[import-untyped]
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fabcost.service.personalizer.configuration import changes, configuration_of, duration
from fabcost.service.personalizer.contract import ContractError
from fabcost.wire.settings import Aggregation, Changeable, Mode

settings = st.builds(
    Changeable,
    floor=st.floats(0.0, 1.0),
    mode=st.sampled_from(get_args(Mode)),
    reward_wait_seconds=st.floats(0.0, 2_592_000.0),
    default_reward=st.floats(-1e6, 1e6),
    aggregation=st.sampled_from(get_args(Aggregation)),
)


@given(st.timedeltas(timedelta(0), timedelta(days=400)))
def test_durations_are_read_by_another_reader(length: timedelta) -> None:
    assert isodate.parse_duration(duration(length.total_seconds())) == length


@given(settings)
def test_writing_back_what_was_read_changes_nothing(model: Changeable) -> None:
    assert changes(model, configuration_of(model)) == {}


@pytest.mark.parametrize(
    ("name", "value", "changed"),
    [
        ("rewardWaitTime", "PT4H", {"reward_wait_seconds": 14_400.0}),
        ("rewardWaitTime", "PT5S", {"reward_wait_seconds": 5.0}),
        ("rewardWaitTime", "P2D", {"reward_wait_seconds": 172_800.0}),
        ("rewardWaitTime", "PT600S", {}),
        ("defaultReward", -0.5, {"default_reward": -0.5}),
        ("rewardAggregation", "Sum", {"aggregation": "sum"}),
        ("rewardAggregation", "median", {"aggregation": "median"}),
        ("explorationPercentage", 0.2, {"floor": 0.2}),
        ("learningMode", "Apprentice", {"mode": "apprentice"}),
        ("learningMode", "LoggingOnly", {"mode": "logging-only"}),
        ("learningMode", None, {}),
        ("modelExportFrequency", "PT300S", {}),
        ("logMirrorSasUri", None, {}),
        ("autoOptimizationStartDate", "2020-01-01T00:00:00Z", {}),
        ("latestApprenticeModeMetrics", {"numberOfEvents": 3}, {}),
    ],
)
def test_a_configuration_changes_settings(name: str, value: Any, changed: dict[str, Any]) -> None:
    asked = {**configuration_of(Changeable()), name: value}
    assert changes(Changeable(), asked) == changed


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("rewardWaitTime", "PT4S", "PT4S but must be from PT5S to P2D"),
        ("rewardWaitTime", "P3D", "P3D but must be from PT5S to P2D"),
        ("rewardWaitTime", "10 minutes", "rewardWaitTime"),
        ("defaultReward", 1.5, "1.5 but must be from -1 to 1"),
        ("defaultReward", "0", "defaultReward"),
        ("rewardAggregation", "latest", "'latest' but must be one of earliest, sum"),
        ("explorationPercentage", 1.01, "explorationPercentage"),
        ("learningMode", "off", "must be Online, Apprentice or LoggingOnly"),
        ("modelExportFrequency", "PT1M", "'PT1M' but can only be 'PT5M': a reward is learnt"),
        ("logRetentionDays", 90, "90 but can only be -1: the log is kept"),
        ("logRetentionDays", -2, "logRetentionDays"),
        ("modelRetrainDays", 1, "1 but can only be 0"),
        ("logMirrorEnabled", True, "True but can only be False: export the log"),
        ("isAutoOptimizationEnabled", True, "can only be False"),
        ("isInferenceExplainabilityEnabled", True, "explanations"),
    ],
)
def test_what_is_not_offered_is_refused(name: str, value: Any, message: str) -> None:
    asked = {**configuration_of(Changeable()), name: value}
    with pytest.raises(ContractError, match=message) as refused:
        changes(Changeable(), asked)
    assert refused.value.code == "InvalidServiceConfiguration"


@pytest.mark.parametrize(
    "name",
    [
        "rewardWaitTime",
        "defaultReward",
        "rewardAggregation",
        "explorationPercentage",
        "modelExportFrequency",
        "logRetentionDays",
        "modelRetrainDays",
    ],
)
def test_required_names_must_be_there(name: str) -> None:
    asked = configuration_of(Changeable())
    del asked[name]
    with pytest.raises(ContractError, match=f"'{name}' is missing"):
        changes(Changeable(), asked)


def test_mode_and_rewards_are_not_changed_at_once() -> None:
    asked = {**configuration_of(Changeable()), "learningMode": "Apprentice", "defaultReward": 1}
    with pytest.raises(ContractError) as refused:
        changes(Changeable(), asked)
    assert refused.value.code == "InvalidLearningModeServiceConfiguration"
    mode_and_floor = {**asked, "defaultReward": 0, "explorationPercentage": 0.5}
    assert changes(Changeable(), mode_and_floor) == {"mode": "apprentice", "floor": 0.5}


def test_a_model_that_is_off_stays_off_unless_it_is_set_online() -> None:
    off = Changeable(mode="off")
    assert configuration_of(off)["learningMode"] == "LoggingOnly"
    assert changes(off, {**configuration_of(off), "learningMode": "LoggingOnly"}) == {}
    online = {**configuration_of(off), "learningMode": "Online"}
    assert changes(off, online) == {"mode": "online"}
