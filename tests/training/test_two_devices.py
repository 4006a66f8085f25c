import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest


@pytest.mark.slow
def test_two_devices_train_as_one():
    script = Path(__file__).with_name("two_devices.py")
    done = subprocess.run(
        [sys.executable, script],
        capture_output=True,
        text=True,
        env={**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3"},
    )
    assert done.returncode == 0, done.stderr[-3000:]
    for case in json.loads(done.stdout.splitlines()[-1]):
        (one, weights_of_one), (two, weights_of_two) = case["one"], case["two"]
        assert one[0]["loss"] != one[1]["loss"]
        for a, b in zip(one, two, strict=True):
            assert b == pytest.approx(a, rel=1e-3, abs=1e-5)
        for a, b in zip(weights_of_one, weights_of_two, strict=True):
            np.testing.assert_allclose(b, a, atol=1e-4)
