"""Settings that must stand before keras is imported, and the helper modules of this folder."""

import os
import sys
from pathlib import Path

os.environ.setdefault("KERAS_BACKEND", "tensorflow")
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
# JAX multiplies float32 matrices in TF32 on a GPU otherwise: three digits, where these tests ask for five.
os.environ.setdefault("JAX_DEFAULT_MATMUL_PRECISION", "highest")
sys.path.insert(0, str(Path(__file__).parent))
