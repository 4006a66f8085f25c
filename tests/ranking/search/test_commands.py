"""`answer-ranking index` and `search`, and the real ranker."""

import json

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from answer_ranking.data_prep import Vocabulary, load_table
from answer_ranking.evaluation import read_run
from answer_ranking.ranking import AnswerIndex
from answer_ranking.ranking.ranker import Ranker

WORDS = ["who", "wrote", "the", "book", "ann", "rain", "fell", "on", "a", "city", "."]
ANSWERS = ["Ann wrote the book.", "Rain fell on the city.", "The city.", "A book on rain.", "Ann fell."]


@pytest.fixture(scope="session")
def real_ranker(tmp_path_factory):
    """The folder of a small HyperQA and of a small CosineQA."""
    from answer_ranking.models import hyperqa

    folder = tmp_path_factory.mktemp("models")
    vocabulary = Vocabulary(WORDS)
    vectors = np.random.default_rng(0).normal(size=(len(vocabulary), 8)).astype("float32")
    for similarity in ("hyperbolic", "cosine"):
        model = hyperqa(vectors, dimension=6, similarity=similarity)
        Ranker(model, vocabulary).save(folder / similarity)
    return folder


@pytest.fixture
def table(tmp_path):
    path = tmp_path / "answers.csv"
    pd.DataFrame({"answer": ANSWERS, "topic": list("abaab")}).to_csv(path, index=False)
    return path


@pytest.mark.parametrize("similarity", ["hyperbolic", "cosine"])
def test_scores_are_the_model_s(real_ranker, table, tmp_path, similarity):
    ranker = Ranker.load(real_ranker / similarity)
    index = AnswerIndex.build(real_ranker / similarity, table, tmp_path / "index")
    assert index.manifest.similarity == similarity
    again = AnswerIndex.build(ranker, table, tmp_path / "again")
    assert again.manifest.model == index.manifest.model
    for question in ("Who wrote the book?", "the city"):
        found, ranked = index.search(question, first_stage="nearest"), ranker.rank(question, ANSWERS)
        assert found["candidate"].tolist() == ranked["candidate"].tolist()
        np.testing.assert_allclose(found["score"], ranked["score"], atol=1e-5)


def test_commands(real_ranker, command, table, tmp_path):
    index, run = tmp_path / "index", tmp_path / "found.run"
    assert (
        "5 answers" in command("index", table, "--model", real_ranker / "hyperbolic", "--output", index).out
    )
    ranker = Ranker.load(real_ranker / "hyperbolic")
    best = ranker.rank("Who fell?", ANSWERS)
    out = command("search", index, "Who fell?", "-k", 2, "--first-stage", "nearest").out.splitlines()
    assert [line.split(maxsplit=3)[3] for line in out] == best["candidate"].tolist()[:2]
    assert [float(line.split()[1]) for line in out] == pytest.approx(best["score"].tolist()[:2], abs=1e-4)
    out = command(
        "search", index, "Who fell?", "--where", "topic=b", "--first-stage", "both"
    ).out.splitlines()
    assert {line.split()[2] for line in out} == {"c2", "c5"}
    stage = ("--first-stage", "both")
    every = command("search", index, "Who fell?", *stage, "--where", "topic=b", "--where", "topic=a").out
    assert {line.split()[2] for line in every.splitlines()} > {"c2", "c5"}
    none = command("search", index, "Who fell?", *stage, "--where", "topic=b", "--where", "candidate_id=c1")
    assert "No answer was found" in none.out
    (tmp_path / "questions.txt").write_text("Who fell?\n\nthe city\n")
    ran = command("search", index, "--questions", tmp_path / "questions.txt", "--output", run)
    assert "10 answers to 2 questions" in ran.out
    assert read_run(run)["question_id"].tolist() == ["q1"] * 5 + ["q2"] * 5
    pd.DataFrame({"Question_ID": ["x"], "QUESTION": ["Who fell?"]}).to_csv(tmp_path / "q.csv", index=False)
    options = ("--questions", tmp_path / "q.csv", "--output", tmp_path / "found.csv", "--rerank")
    command("search", index, *options, real_ranker / "cosine")
    expected = Ranker.load(real_ranker / "cosine").rank("Who fell?", ANSWERS)
    found = pd.read_csv(tmp_path / "found.csv")
    assert found["candidate"].tolist() == expected["candidate"].tolist() and set(found["question_id"]) == {
        "x"
    }
    ran = command("search", index, "xyzzy")
    assert ran.code == 0 and "No answer was found" in ran.out and "knows no word" in ran.err


@pytest.mark.usefixtures("real_ranker")
def test_an_encoder_is_a_model_by_its_cosine(command, table, write_encoder, tmp_path):
    index, encoder = tmp_path / "index", write_encoder(tmp_path / "encoder")
    assert "5 answers" in command("index", table, "--model", encoder, "--output", index).out
    ranked = Ranker.of_encoder(str(encoder)).rank("Who fell?", ANSWERS)
    found = AnswerIndex.open(index).search("Who fell?", first_stage="nearest")
    assert found["candidate"].tolist() == ranked["candidate"].tolist()
    np.testing.assert_allclose(found["score"], ranked["score"], atol=1e-5)
    candidates = tmp_path / "candidates.txt"
    candidates.write_text("\n".join(ANSWERS))
    assert ranked["candidate"][0] in command("rank", encoder, "Who fell?", candidates).out.splitlines()[0]


def test_numbers_come_out_as_they_went_in(command, tmp_path):
    numbers = [1152921504606846977, None, 2001]
    made = pa.table({"answer": ["Ann.", "Ann a.", "Ann b."], "n": pa.array(numbers), "x": [1 / 3, 1e-9, 2.5]})
    pq.write_table(made, tmp_path / "answers.parquet")
    command("index", tmp_path / "answers.parquet", "--output", tmp_path / "index")
    found = AnswerIndex.open(tmp_path / "index").search("Ann").sort_values("candidate_id")
    assert found["n"].fillna(-1).tolist() == [numbers[0], -1, 2001]
    for name in ("found.jsonl", "found.csv"):
        command("search", tmp_path / "index", "Ann", "--output", tmp_path / name)
    lines = (tmp_path / "found.jsonl").read_text().splitlines()
    rows = {row["candidate_id"]: row for row in map(json.loads, lines)}
    assert [rows[name]["n"] for name in ("c1", "c2", "c3")] == numbers
    assert [rows[name]["x"] for name in ("c1", "c2", "c3")] == pytest.approx([1 / 3, 1e-9, 2.5], abs=1e-15)
    written = pd.read_csv(tmp_path / "found.csv", dtype=str).sort_values("candidate_id")
    assert written["n"].fillna("").tolist() == ["1152921504606846977", "", "2001"]


def test_no_answer_turns_the_line_of_the_terminal(real_ranker, command, tmp_path):
    table, index = tmp_path / "answers.csv", tmp_path / "index"
    pd.DataFrame({"answer": ["Ann \u202ewrote\u202c the \u2066book\u2069."]}).to_csv(table, index=False)
    command("index", table, "--model", real_ranker / "hyperbolic", "--output", index)
    out = command("search", index, "Who wrote the book?").out
    assert out.endswith(r"Ann \u202ewrote\u202c the \u2066book\u2069." + "\n")


def test_adding_and_deleting(command, table, tmp_path):
    index = tmp_path / "index"
    command("index", table, "--output", index)
    pd.DataFrame({"answer": ["A dog fell."], "topic": ["c"]}).to_csv(tmp_path / "more.csv", index=False)
    assert "6 answers" in command("index", tmp_path / "more.csv", "--output", index, "--add").out
    (tmp_path / "gone.txt").write_text("c5\n")
    assert "5 answers" in command("index", tmp_path / "gone.txt", "--output", index, "--delete").out
    found = command("search", index, "fell").out.splitlines()
    assert {line.split()[2] for line in found} == {"c2", "c6"}
    ran = command("index", tmp_path / "gone.txt", "--output", index, "--delete")
    assert ran.code == 2 and "has no answer 'c5'" in ran.err
    ran = command("index", tmp_path / "more.csv", "--output", index, "--delete")
    assert ran.code == 2 and "more.csv: the column 'candidate_id' is missing" in ran.err
    (tmp_path / "gone.csv").write_text("Candidate_ID,Answer,note,Note,,\nc6,A dog.,,,,\n")
    assert "4 answers" in command("index", tmp_path / "gone.csv", "--output", index, "--delete").out
    removed = command("index", "--output", index, "--delete", "--where", "topic!=a")
    assert "3 answers" in removed.out
    (tmp_path / "new.csv").write_text("candidate_id,answer\nc1,'=Snow fell.\n")
    ran = command("index", tmp_path / "new.csv", "--output", index, "--replace")
    assert ran.code == 2 and "new.csv: its rows have no topic, which would be lost" in ran.err
    (tmp_path / "new.csv").write_text("candidate_id,answer,topic\nc1,'=Snow fell.,\n")
    assert "3 answers" in command("index", tmp_path / "new.csv", "--output", index, "--replace").out
    command("search", index, "snow", "--output", tmp_path / "found.xlsx")
    found = pd.read_excel(tmp_path / "found.xlsx")
    assert found[["rank", "candidate_id", "candidate"]].to_numpy().tolist() == [[1, "c1", "=Snow fell."]]
    assert found["score"][0] > 0 and found["topic"].isna().all()
    (tmp_path / "empty.jsonl").write_text('{"candidate_id": "c1"}\n{"candidate_id": null}\n')
    ran = command("index", tmp_path / "empty.jsonl", "--output", index, "--delete")
    assert ran.code == 2 and "empty.jsonl, line 2: the candidate_id is empty" in ran.err


def test_an_faq_with_names_and_sheets_of_its_own(command, tmp_path):
    faq = pd.DataFrame({"Frage": ["Wer schrieb es?", "Regnet es?"], "Antwort": ["Ann.", "Nein."]})
    path, index, found = tmp_path / "faq.xlsx", tmp_path / "index", tmp_path / "found.jsonl"
    with pd.ExcelWriter(path) as book:
        pd.DataFrame({"note": ["not this one"]}).to_excel(book, sheet_name="Info", index=False)
        faq.to_excel(book, sheet_name="Fragen", index=False)
    layout = ("--question-column", "Frage", "--candidate-column", "antwort", "--sheet", "Fragen")
    assert "2 answers" in command("index", path, "--output", index, *layout).out
    (tmp_path / "questions.txt").write_text("regnet?\nwer schireb\n")
    options = ("--first-stage", "ngrams", "-k", 1, "--output", found)
    command("search", index, "--questions", tmp_path / "questions.txt", *options)
    rows = pd.read_json(found, lines=True)
    assert rows[["question", "candidate", "indexed_question"]].to_numpy().tolist() == [
        ["regnet?", "Nein.", "Regnet es?"],
        ["wer schireb", "Ann.", "Wer schrieb es?"],
    ]
    add = ("index", path, "--output", index, "--add", *layout)
    again = command(*add)
    assert "2 answers" in again.out and "2 answers are in the index already" in again.err
    assert "4 answers" in command(*add, "--keep-duplicates").out
    frage = command("index", path, "--output", tmp_path / "other", "--search", "Frage", *layout)
    assert frage.code == 0 and "No answer" in command("search", tmp_path / "other", "Nein").out


@pytest.mark.parametrize(
    ("header", "layout"),
    [
        ("Question,answers", ()),
        ("question,text", ()),
        ("Asked,body", ("--question-column", "asked", "--candidate-column", "Body")),
    ],
)
def test_a_header_that_training_reads_is_indexed_alike(command, tmp_path, header, layout):
    path = tmp_path / "faq.csv"
    path.write_text(f"{header},question_ID\nWho?,Ann.,7\n")
    ours = dict(zip(("question", "candidate"), layout[1::2], strict=False))
    assert load_table(path, columns=ours)[["question", "candidate"]].to_numpy().tolist() == [["Who?", "Ann."]]
    assert "1 answers" in command("index", path, "--output", tmp_path / "index", *layout).out
    (found,) = AnswerIndex.open(tmp_path / "index").search("Ann").to_dict("records")
    assert found["candidate"] == "Ann." and found["indexed_question"] == "Who?"
    assert found["indexed_question_id"] == "7"


def test_bad_rows_are_left_out_and_the_others_keep_their_columns(command, tmp_path):
    path, index = tmp_path / "answers.csv", tmp_path / "index"
    path.write_text("answer,topic\nAnn came.,a\n,b\nIt rained.,c\nx,y,z\nBob ran.,d\n")
    ran = command("index", path, "--output", index)
    assert ran.code == 2 and "2 rows are wrong. line 3" in ran.text and "--drop-bad-rows" in ran.err
    assert "3 answers" in command("index", path, "--output", index, "--drop-bad-rows").out
    add = ("index", path, "--output", index, "--add", "--keep-duplicates", "--drop-bad-rows")
    ran = command(*add)
    assert "6 answers" in ran.out and "2 bad rows are left out (line 3, 5)" in ran.err
    found = AnswerIndex.open(index).search("bob rained")[["candidate_id", "candidate", "topic"]]
    assert sorted(found.to_numpy().tolist()) == [
        ["c2", "It rained.", "c"],
        ["c3", "Bob ran.", "d"],
        ["c5", "It rained.", "c"],
        ["c6", "Bob ran.", "d"],
    ]
    path.write_text("answer,candidate_id\nAnn came.,x\n,y\nIt rained.,x\n")
    ran = command("index", path, "--output", tmp_path / "other", "--drop-bad-rows")
    assert ran.code == 2 and "more than one row has the candidate_id 'x'" in ran.text


def test_rows_that_repeat_others_are_said_unless_they_have_names(command, tmp_path):
    rows = "who,Ann.\nwho,Ann.\nwhose,Ann.\n"
    (tmp_path / "a.csv").write_text(f"question,answer\n{rows}")
    made = command("index", tmp_path / "a.csv", "--output", tmp_path / "index")
    assert "3 answers" in made.out and "1 rows repeat" in made.err
    (tmp_path / "b.csv").write_text("candidate_id,answer\na,Ann.\nb,Ann.\n")
    assert not command("index", tmp_path / "b.csv", "--output", tmp_path / "named").err
    again = command("index", tmp_path / "a.csv", "--add", "--output", tmp_path / "index")
    assert again.code == 0 and "rows repeat" not in again.err
    # Rows that are wrong are none that repeat others.
    (tmp_path / "c.csv").write_text("question,answer\nwho,\nwho,\nwhen,Now.\n")
    made = command("index", tmp_path / "c.csv", "--drop-bad-rows", "--output", tmp_path / "short")
    assert "1 answers" in made.out and "rows repeat" not in made.err
    where = ("--where", "candidate=x", "--where", "indexed_question=y")
    gone = command("index", "--delete", *where, "--output", tmp_path / "index")
    assert gone.code == 2 and "holds: candidate=x, indexed_question=y." in gone.text


def test_an_answer_that_is_a_list_is_refused_by_its_row(command, tmp_path):
    (tmp_path / "a.jsonl").write_text('{"question": "Who?", "candidate": ["Ann.", "Bob."]}\n')
    made = command("index", tmp_path / "a.jsonl", "--output", tmp_path / "index")
    assert made.code == 2 and "line 1: the candidate is not a text" in made.err


@pytest.mark.parametrize(("suffix", "separator"), [(".csv", ","), (".tsv", "\t")])
def test_columns_of_texts_are_compared_as_what_they_hold(command, tmp_path, suffix, separator):
    path, index, found = tmp_path / f"a{suffix}", tmp_path / "index", tmp_path / "found.jsonl"
    lines = [
        "candidate_id,answer,year,price,since,code,note,label",
        "a,pay by card,999,9.5,2001-02-03,007,,1",
        "b,pay by mail,2005,10,2001-12-31,12,pay,1",
        "c,pay at noon,1500,,1999-01-01,1500,,0",
        "d,pay at once,,1e-05,,+49 30 1,42,1",
    ]
    path.write_text("\n".join(lines).replace(",", separator) + "\n")
    made = command("index", path, "--output", index)
    assert "4 answers" in made.out and "1 rows are labelled wrong" in made.err
    for condition, expected in (
        ("year>=2001", "b"),
        ("year<2001", "ac"),
        ("year=2005", "b"),
        ("year is missing", "d"),
        ("price<9.7", "ad"),
        ("since>2001-03-01", "b"),
        ("code=007", "a"),
        ("code=7", ""),
        ("note is missing", "ac"),
        ("note=42", "d"),
        ("label=1", "abd"),
    ):
        command("search", index, "pay", "--where", condition, "--output", found)
        rows = [json.loads(line) for line in found.read_text().splitlines() if line]
        assert sorted(row["candidate_id"] for row in rows) == list(expected), condition
    command("search", index, "noon card", "--output", found)
    rows = [json.loads(line) for line in found.read_text().splitlines() if line]
    shown = {row["candidate_id"]: row for row in rows}
    assert [shown["a"][name] for name in ("year", "price", "since", "code")] == [
        999,
        9.5,
        "2001-02-03",
        "007",
    ]
    assert shown["c"]["price"] is None and shown["c"]["note"] is None


@pytest.mark.parametrize(
    ("column", "cells", "message"),
    [
        ("year", "2001\n007", "'007' is not written as int64"),
        ("year", "2001\n2.5", "'2.5' is not written as int64"),
        ("year", "2001\nlate", "'late' is not written as int64"),
        ("on", "2001-02-03\n03.02.2001", "'03.02.2001' is not written as date32"),
    ],
)
def test_tables_of_one_index_agree_on_what_a_column_holds(command, tmp_path, column, cells, message):
    first, second = cells.split("\n")
    (tmp_path / "1.csv").write_text(f"answer,{column}\nAnn came.,{first}\n")
    (tmp_path / "2.csv").write_text(f"answer,{column}\nIt rained.,{second}\nIt snowed.,\n")
    (tmp_path / "3.csv").write_text(f"answer,{column}\nIt snowed.,{first}\nBob ran.,\n")
    for tables in (("1.csv", "2.csv"), ("2.csv", "--add")):
        ran = command(
            "index",
            *(tmp_path / each if "." in each else each for each in tables),
            "--output",
            tmp_path / "i",
        )
        assert ran.code == 2 and "2.csv: a column is of another type than the index's" in ran.text
        assert message in ran.text
        command("index", tmp_path / "1.csv", "--output", tmp_path / "i")
    assert "3 answers" in command("index", tmp_path / "3.csv", "--output", tmp_path / "i", "--add").out
    found = AnswerIndex.open(tmp_path / "i").search("snowed ran Ann", where=[f"{column}={first}"])
    assert set(found["candidate"]) == {"Ann came.", "It snowed."}


def test_what_is_searched_holds_texts(command, tmp_path):
    (tmp_path / "a.csv").write_text("answer,number,note\nAnn came.,4711,12\nIt rained.,4712,\n")
    options = ("--search", "answer", "NUMBER", "--output", tmp_path / "index")
    assert "2 answers" in command("index", tmp_path / "a.csv", *options).out
    (tmp_path / "b.csv").write_text("answer,number,note\nBob ran.,0815,13\n")
    assert "3 answers" in command("index", tmp_path / "b.csv", "--output", tmp_path / "index", "--add").out
    index = AnswerIndex.open(tmp_path / "index")
    assert index.search("4711", first_stage="bm25")["candidate"].tolist() == ["Ann came."]
    assert index.search("0815", where=["note>12"])["number"].tolist() == ["0815"]


NAMED = ("--question-column", "asked", "--candidate-column", "body")


@pytest.mark.parametrize(
    ("header", "layout", "name", "word"),
    [
        ("question,answer,text", (), "text", "w3"),
        ("question,answer,text", (), "Answer", "w2"),
        ("text,ANSWER,candidate", (), "answer", "w2"),
        ("text,answer,candidate", (), "candidate", "w3"),
        ("question,text,Body", (), "body", "w3"),
        # A column beside the one that was named is another one.
        ("asked,question,answer,body,Candidate", NAMED, "asked", "w1"),
        ("asked,question,answer,body,Candidate", NAMED, "Question", "w2"),
        ("asked,question,answer,body,Candidate", NAMED, "answer", "w3"),
        ("asked,question,answer,body,Candidate", NAMED, "Body", "w4"),
        ("asked,question,answer,body,Candidate", NAMED, "candidate", "w5"),
    ],
)
def test_what_is_searched_is_the_column_of_that_name(command, tmp_path, header, layout, name, word):
    words = [f"w{number}" for number in range(1, header.count(",") + 2)]
    (tmp_path / "faq.csv").write_text(f"{header}\n{','.join(words)}\n")
    command("index", tmp_path / "faq.csv", "--output", tmp_path / "index", *layout, "--search", name)
    index = AnswerIndex.open(tmp_path / "index")
    assert {each for each in words if len(index.search(each))} == {word}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('question\nWho?\n""\n', "q.csv, line 3: the question is empty"),
        ("query\nWho?\n", "q.csv: no column is called 'question' (found: query)"),
        ("question_id,question\n,Who?\n", "q.csv, line 2: the question_id is empty"),
    ],
)
def test_a_table_of_questions_is_named_with_its_line(command, table, tmp_path, text, message):
    command("index", table, "--output", tmp_path / "index")
    (tmp_path / "q.csv").write_text(text)
    ran = command("search", tmp_path / "index", "--questions", tmp_path / "q.csv")
    assert ran.code == 2 and message in ran.err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["index", "a.csv", "--output", "i", "--add", "--delete"], "are three commands"),
        (["index", "a.csv", "--output", "i", "--add", "--model", "m"], "leave --model out"),
        (["index", "a.csv", "--output", "i", "--add"], "i is not an index"),
        (["index", "a.csv"], "give the folder of the index: --output INDEX"),
        (["search", "absent", "Who?"], "absent is not an index"),
        (["search", "i"], "give either a question, or --questions FILE"),
        (["search", "i", "Who?", "--output", "a.txt"], "--output must end in .run, .csv, .xlsx or .jsonl"),
        (["search", "i", "Who?", "--rerank-depth", 5], "--rerank-depth goes with --rerank"),
    ],
)
def test_what_the_user_can_correct(command, tmp_path, monkeypatch, arguments, message):
    monkeypatch.chdir(tmp_path)
    ran = command(*arguments)
    assert ran.code == 2 and ran.err.startswith("error: ") and message in ran.err
    assert not list(tmp_path.iterdir())


def test_neither_command_imports_tensorflow(real_ranker, table, tmp_path, own_process):
    model, index = real_ranker / "hyperbolic", tmp_path / "index"
    made = ["index", table, "--model", model, "--output", index]
    done = own_process(made, ["search", index, "Who fell?", "--first-stage", "both"])
    assert done.heavy == "[]" and "Ann fell." in done.out
