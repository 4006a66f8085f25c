"""Small files that stand for very much, files of one huge part, and files that lie about their sizes."""

import gzip
import io
import json
import random
import shutil
import zipfile
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from answer_ranking.data_prep import Vocabulary, load_word_vectors
from answer_ranking.data_prep.own_tables import load_table
from answer_ranking.evaluation import compare_runs
from answer_ranking.ranking import AnswerIndex, Ranker
from answer_ranking.ranking.search.checked_array import write_sums
from answer_ranking.ranking.search.manifest import Manifest, _sha256_of

SIZES = (10**6, 3 * 10**7, 2 * 10**8)  # bytes of one part, unpacked
_SHEET = '<worksheet xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"><sheetData>'
_LAUGHS = '<!ENTITY l0 "ha">'
for _level in range(1, 10):
    _LAUGHS += f'<!ENTITY l{_level} "' + 10 * f"&l{_level - 1};" + '">'
_MEMBER, _LOCAL = b"PK\x01\x02", b"PK\x03\x04"
_SIZE_AT = {_MEMBER: 24, _LOCAL: 22}  # where a zip's headers have the size of what is packed


def bomb(place: Path, folder: Path, seed: int) -> None:
    """Make a bomb and read it, as the program reads a file of its kind."""
    BOMBS[seed % len(BOMBS)](place, folder, random.Random(seed))


def _table(make: Callable[[Path, random.Random], Path]) -> Callable[[Path, Path, random.Random], None]:
    def read(place: Path, folder: Path, draw: random.Random) -> None:
        load_table(make(folder, draw), labelled=False)

    return read


def parquet_of_one_text(folder: Path, draw: random.Random) -> Path:
    """One long text in very many rows."""
    import pyarrow as pa

    rows, length = draw.choice((10**4, 10**5, 10**6)), draw.choice((10**3, 10**5, 10**6))
    column = pa.DictionaryArray.from_arrays(pa.array([0] * rows, pa.int32()), pa.array(["a" * length]))
    return _parquet(folder, rows, draw.choice(("question", "candidate", "question_id")), column)


def parquet_of_beginnings(folder: Path, draw: random.Random) -> Path:
    """Texts that are stored by what they do not have in common with the one before."""
    import pyarrow as pa

    rows, length = draw.choice((10, 100)), draw.choice((10**4, 10**6))
    return _parquet(
        folder,
        rows,
        "candidate",
        pa.array(["a" * length] * rows),
        use_dictionary=False,
        column_encoding={"candidate": "DELTA_BYTE_ARRAY", "question": "PLAIN"},
    )


def parquet_of_bytes(folder: Path, draw: random.Random) -> Path:
    """Bytes of a fixed length, which need no room where they are equal."""
    import pyarrow as pa

    rows, length = draw.choice((10, 1_000)), draw.choice((10**3, 10**5))
    return _parquet(folder, rows, "candidate", pa.array([b"a" * length] * rows, pa.binary(length)))


def _parquet(folder: Path, rows: int, name: str, column: Any, **options: Any) -> Path:
    import pyarrow as pa
    import pyarrow.parquet as pq

    others = {each: pa.array(["b"] * rows) for each in ("question", "candidate")}
    pq.write_table(pa.table(others | {name: column}), folder / "t.parquet", compression="zstd", **options)
    return folder / "t.parquet"


def sheet_of_one_text(folder: Path, draw: random.Random) -> Path:
    """One shared string in very many cells."""
    rows, length = draw.choice((10**3, 3 * 10**4)), draw.choice((10**3, 10**5, 10**7))
    shared = f"<sst><si><t>question</t></si><si><t>candidate</t></si><si><t>{'a' * length}</t></si></sst>"
    cells = '<row><c t="s"><v>0</v></c><c t="s"><v>1</v></c></row>'
    cells += '<row><c t="s"><v>2</v></c><c t="s"><v>2</v></c></row>' * rows
    return _workbook(folder, f"{_SHEET}{cells}</sheetData></worksheet>".encode(), shared.encode())


def sheet_of_much(folder: Path, draw: random.Random) -> Path:
    """A sheet of blanks, of empty rows, or of cells that stand far to the right."""
    size = draw.choice(SIZES)
    what = draw.choice((b" ", b"<row/>", b'<row><c r="XFD1"><v>1</v></c></row>'))
    return _workbook(folder, _SHEET.encode() + what * (size // len(what)) + b"</sheetData></worksheet>")


def sheet_of_entities(folder: Path, draw: random.Random) -> Path:
    """An entity of entities of entities: a few lines stand for gigabytes."""
    text = f"<!DOCTYPE t [{_LAUGHS}]><sst><si><t>&l{draw.randrange(10)};</t></si></sst>"
    return _workbook(folder, f"{_SHEET}</sheetData></worksheet>".encode(), text.encode())


def sheet_of_depth(folder: Path, draw: random.Random) -> Path:
    """Elements within elements."""
    depth = draw.choice((10**3, 10**5, 10**6))
    return _workbook(folder, _SHEET.encode() + b"<row>" * depth)


def sheet_that_lies(folder: Path, draw: random.Random) -> Path:
    """A sheet that says that it is small."""
    path = _workbook(folder, b" " * draw.choice(SIZES))
    path.write_bytes(_with_lies(path.read_bytes(), draw.choice((0, 1, 1_000))))
    return path


def _workbook(folder: Path, sheet: bytes, shared: bytes = b"<sst/>") -> Path:
    import openpyxl

    path = folder / "t.xlsx"
    openpyxl.Workbook().save(path)
    with zipfile.ZipFile(path) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    name = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
    parts["xl/worksheets/sheet1.xml"] = sheet
    parts["xl/sharedStrings.xml"] = shared.replace(b"<sst", f'<sst xmlns="{name}"'.encode(), 1)
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        for name, content in parts.items():
            archive.writestr(name, content)
    return path


def _with_lies(content: bytes, size: int) -> bytes:
    """Let all members of a zip say that they unpack to so many bytes."""
    copy = bytearray(content)
    for mark, offset in _SIZE_AT.items():
        at = copy.find(mark)
        while at >= 0:
            copy[at + offset : at + offset + 4] = size.to_bytes(4, "little")
            at = copy.find(mark, at + 4)
    return bytes(copy)


def packed_text(folder: Path, draw: random.Random) -> Path:
    """Texts and lines without end, in a file of some kilobytes."""
    path = folder / f"t.{draw.choice(('csv', 'tsv', 'jsonl'))}.gz"
    what = draw.choice((b"a", b"\n", b",", b"[", b'"', b"a,a\n", b'{"question":"a","candidate":"b"}\n'))
    path.write_bytes(_packed(what, draw.choice(SIZES)))
    return path


@cache
def _packed(what: bytes, size: int) -> bytes:
    return gzip.compress(b"question,candidate\n" + what * (size // len(what)), compresslevel=1)


def csv_of_one_part(folder: Path, draw: random.Random) -> Path:
    """One huge field, quoted or not, closed or not; or very many columns, quotes or lines."""
    size = draw.choice((10**5, 10**6, 3 * 10**7))
    part = draw.choice(('"' + "a" * size, '"' + "a" * size + '"', "a" * size, "," * size, '""' * size))
    path = folder / "t.csv"
    path.write_text(draw.choice(("", "question,candidate\n", "question,candidate\nb,")) + part + "\n")
    return path


def json_of_one_part(folder: Path, draw: random.Random) -> Path:
    """One huge line: nested, a text, a number, an object of very many keys, or one key many times."""
    size = draw.choice((10**4, 10**6))
    keys = ",".join(f'"k{number}":1' for number in range(size))
    values = (
        "[" * size,
        '{"a":' * size,
        "[" * size + "]" * size,
        f'"{"a" * 30 * size}"',
        "9" * size,
        "1e" + "9" * size,
        f"{{{keys}}}",
        "{" + '"a":1,' * size + '"b":1}',
        "\\ud800" * size,
    )
    path = folder / "t.jsonl"
    path.write_text(f'{{"question": "a", "candidate": {draw.choice(values)}}}\n')
    return path


def json_of_keys(folder: Path, draw: random.Random) -> Path:
    """In every line a key of its own."""
    n_lines = draw.choice((10**3, 10**5))
    lines = (f'{{"question":"a","candidate":"b","k{n}":1}}\n' for n in range(n_lines))
    path = folder / "t.jsonl"
    path.write_text("".join(lines))
    return path


def vectors(place: Path, folder: Path, draw: random.Random) -> None:
    """Word vectors in lines without end, in archives that lie, of very many or very long vectors."""
    what = draw.choice((b"a", b" ", b"\n", b"1 ", b"who 1 2\n", b"who " + b"1 " * 10**5 + b"\n"))
    text = what * (draw.choice(SIZES) // len(what))
    name = draw.choice(("t.txt.gz", "t.zip", "t.bin", "t.bin.gz", "lies.zip"))
    path = folder / name
    if name.endswith(".zip"):
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
            archive.writestr("t.txt", text)
        if name == "lies.zip":
            path.write_bytes(_with_lies(path.read_bytes(), 9))
    else:
        sizes = f"{10 ** draw.choice((1, 9, 14))} {10 ** draw.choice((0, 4, 9))}\n".encode()
        content = sizes + text if ".bin" in name else text
        path.write_bytes(gzip.compress(content, 1) if name.endswith(".gz") else content)
    load_word_vectors([str(path)], Vocabulary(["who"]), cache_home=folder, keep=draw.random() < 0.5)


def run_file(place: Path, folder: Path, draw: random.Random) -> None:
    """A run file of one huge line, of huge numbers, or of very many rows of a question."""
    size = draw.choice((10**4, 10**6))
    lines = ("a" * 30 * size, "q1 " * size, f"q1 Q0 c1 {'9' * size} 1 t", f"q1 Q0 c1 1 1e{'9' * size} t")
    if draw.random() < 0.3:
        content = "".join(f"q1 Q0 c{n} {n} {n} t\n" for n in range(3 * 10**5))
    else:
        content = draw.choice(lines) + "\n"
    (folder / "t.run").write_text(content)
    str(compare_runs(folder / "t.run", place / "t.qrels"))


def arrays_of_an_index(place: Path, folder: Path, draw: random.Random) -> None:
    """An index whose arrays say that they are huge, or hold objects; it is signed as ours are."""
    copy = folder / "index"
    shutil.copytree(place / "index", copy)
    path = draw.choice(sorted(copy.rglob("*.npy")))
    shape = draw.choice(("(1000000000000, 8)", "(0,)", "(-1, 8)", "(1000,)", "()", "(8, 1000)", "9" * 5000))
    kind = draw.choice(("<f4", "|O", "<i8", "|V1000000000", "<U100000000", "<c16"))
    header = f"{{'descr': '{kind}', 'fortran_order': {draw.random() < 0.2}, 'shape': {shape}, }}"
    header += " " * (draw.choice((64, 60_000)) - len(header) % 64) + "\n"
    content = b"\x93NUMPY\x01\x00" + min(len(header), 65_535).to_bytes(2, "little") + header.encode()
    path.write_bytes(content + path.read_bytes()[128:])
    if draw.random() < 0.8:
        write_sums(path)
    _sign_and_search(copy)


def texts_of_an_index(place: Path, folder: Path, draw: random.Random) -> None:
    """An index whose texts are one long text in all rows, or whose words are packed without end."""
    copy = folder / "index"
    shutil.copytree(place / "index", copy)
    if draw.random() < 0.5:
        _repeat_a_text(next(copy.rglob("texts.parquet")), draw.choice((10**3, 10**6)))
    else:
        name = draw.choice(("data", "indices", "indptr"))
        array = io.BytesIO()
        np.save(array, np.zeros(draw.choice(SIZES), np.int8))
        with zipfile.ZipFile(next(copy.rglob("words.npz")), "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr(f"{name}.npy", array.getvalue())
    _sign_and_search(copy)


def _repeat_a_text(path: Path, length: int) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    table = pq.read_table(path)
    place = table.column_names.index("candidate")
    same = pa.array(["a" * length] * len(table))
    pq.write_table(table.set_column(place, "candidate", same), path, compression="zstd")


def _sign_and_search(folder: Path) -> None:
    Manifest.read(folder).write(folder)
    AnswerIndex.open(folder).search(["who painted it"], k=200, first_stage="both")


def manifest_of_an_index(place: Path, folder: Path, draw: random.Random) -> None:
    """A manifest that is nested, long, or promises very much; it is signed as ours are."""
    copy = folder / "index"
    shutil.copytree(place / "index", copy)
    facts = json.loads((copy / "manifest.json").read_text())
    size = draw.choice((10**4, 10**6))
    facts[draw.choice(sorted(facts))] = draw.choice(
        (10**18, "a" * size, [["a", 2**40]] * (size // 10), {}, -1, None, 1.5, "x")
    )
    signed = facts | {"sha256": _sha256_of(facts)}
    content = json.dumps(signed) if draw.random() < 0.7 else "[" * size
    (copy / "manifest.json").write_text(content)
    AnswerIndex.open(copy).search(["who painted it"], k=9)


def model(place: Path, folder: Path, draw: random.Random) -> None:
    """A model whose parts are packed, nested, huge, or promise very much; or with very many words."""
    shutil.copytree(place / "model", folder / "model")
    path = folder / "model" / "ranker.keras"
    with zipfile.ZipFile(path) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    way, size = draw.randrange(5), draw.choice(SIZES)
    if way == 0:
        parts[draw.choice(sorted(parts))] = b" " * size
    elif way == 1:
        parts["config.json"] = b"[" * (size // 10)
    elif way == 2:
        number = f": {10 ** draw.choice((6, 12, 300))}".encode()
        asked = draw.choice((b'"input_dim"', b'"units"', b'"output_dim"'))
        parts["config.json"] = parts["config.json"].replace(asked + b": ", asked + number)
    elif way == 3:
        parts["model.weights.h5"] = parts["model.weights.h5"][: draw.randrange(3_000)] + b"\xff" * 9_000
    else:
        words = json.loads((folder / "model" / "vocabulary.json").read_text())
        words["words"] = ["a" * draw.choice((1, 1_000))] * (size // 1_000)
        (folder / "model" / "vocabulary.json").write_text(json.dumps(words))
    with zipfile.ZipFile(path, "w", draw.choice((zipfile.ZIP_DEFLATED, zipfile.ZIP_STORED))) as archive:
        for name, content in parts.items():
            archive.writestr(name, content)
    if draw.random() < 0.3:
        path.write_bytes(_with_lies(path.read_bytes(), 9))
    Ranker.load(folder / "model").rank_table(
        pd.DataFrame({"question": ["who painted it"], "candidate": ["the chapel"]})
    )


_TABLES = (
    parquet_of_one_text,
    parquet_of_beginnings,
    parquet_of_bytes,
    sheet_of_one_text,
    sheet_of_much,
    sheet_of_entities,
    sheet_of_depth,
    sheet_that_lies,
    packed_text,
    csv_of_one_part,
    json_of_one_part,
    json_of_keys,
)
_OTHERS = (vectors, run_file, arrays_of_an_index, texts_of_an_index, manifest_of_an_index, model)
BOMBS = (*map(_table, _TABLES), *_OTHERS)
