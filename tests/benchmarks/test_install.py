"""What the benchmark of the installation counts."""

import install
import numpy as np


def test_a_folder_is_as_large_as_its_files_together(tmp_path):
    rng = np.random.default_rng(0)
    sizes = rng.integers(0, 5000, size=6).tolist()
    for number, size in enumerate(sizes):
        folder = tmp_path / f"part{number % 2}"
        folder.mkdir(exist_ok=True)
        (folder / f"{number}.bin").write_bytes(bytes(size))
    assert install.size_of(tmp_path) == sum(sizes)
    assert install.size_of(tmp_path / "part0" / "0.bin") == sizes[0]
