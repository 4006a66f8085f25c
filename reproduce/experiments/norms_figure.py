"""HyperQA's Fig. 5: the norms of the texts."""

import numpy as np

from answer_ranking.reproduce.experiments.run import Run


def draw_norms(run: Run) -> None:
    """Draw the histogram of the norms that test texts have before they come onto the ball (Fig. 5)."""
    from answer_ranking.evaluation.figures import norm_histogram, save_figure

    assert run.model is not None, "no seed has been trained"
    encoding, test = run.model.encoding, run.data.test
    # In float64, since the squares of long vectors leave the range of float32.
    questions, texts = (
        np.linalg.norm(encoding.sums(encoding.pack(texts)).numpy().astype("float64"), axis=1)
        for texts in (test.questions, test.candidates.texts)
    )
    candidates, radius = texts[test.candidates.index], run.experiment.model.max_norm
    figure = norm_histogram(questions, candidates, max_norm=radius, title=f"{run.title}, test")
    save_figure(figure, run.folder / "norms.png")
