"""Serve decisions over HTTP and learn from clicks: start a server, visit it, look at it."""

from __future__ import annotations

import subprocess
import sys
import tempfile

import numpy as np

from fabcost.client import Client, ModelSettings

LIKES = {"mobile": "kia", "desktop": "audi", "tv": "tesla"}
ADVERTS = {f"ad-{make}": {"make": make} for make in ("ford", "kia", "audi", "tesla")}

VISITS = 300
CLICKED, OTHERWISE = 0.5, 0.05
BY_CHANCE = VISITS * (CLICKED + 3 * OTHERWISE) / 4

rng = np.random.default_rng(7)
command = [sys.executable, "-m", "fabcost", "serve", "--port", "0", "--log-level", "error"]
with (
    tempfile.TemporaryDirectory() as folder,
    subprocess.Popen(  # noqa: S603 - our own command
        [*command, "--database", f"{folder}/fabcost.db"], stdout=subprocess.PIPE, text=True
    ) as server,
):
    assert server.stdout is not None
    address = server.stdout.readline().removeprefix("listening on ").strip()
    try:
        with Client(address) as client:
            client.wait_until_ready()
            client.create_model("adverts", ModelSettings(seed=7))
            client.put_items("adverts", ADVERTS)

            clicks = 0
            for _ in range(VISITS):
                device = str(rng.choice(list(LIKES)))
                decision = client.decide("adverts", context={"device": device})
                clicked = rng.random() < (CLICKED if LIKES[device] in decision.item else OTHERWISE)
                client.feedback("adverts", decision.decision_id, float(clicked))
                clicks += clicked

            print(f"{clicks} clicks in {VISITS} visits; by chance there would be {BY_CHANCE:.0f}")
            print("the highest weights:")
            weights = client.posterior("adverts").weights
            for each in sorted(weights, key=lambda each: -each.mean)[:3]:
                print(f"  {each.name:28s} {each.mean:5.2f} ± {each.sd:.2f}")
            log = b"".join(client.export_log("adverts", "jsonl"))
            print(f"its log: {len(log):,} bytes, {log.count(b'decision_id')} decisions")
    finally:
        server.terminate()
