import json
import subprocess
import sys


def test_import_is_light():
    code = (
        "import sys, json, answer_ranking.data_prep, answer_ranking.data_prep.downloads.download;"
        "heavy = {'tensorflow', 'keras', 'spacy', 'gensim', 'matplotlib'};"
        "print(json.dumps(sorted(heavy & set(sys.modules))))"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert json.loads(out.stdout) == []
