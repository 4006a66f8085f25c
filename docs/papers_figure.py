"""Draw docs/papers.png, the four papers in one picture. Run `python docs/papers_figure.py`."""

from pathlib import Path

import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.patches import Circle, FancyArrowPatch, FancyBboxPatch, Rectangle

BLUE, ORANGE, GREY = "#1f5fa8", "#d9731a", "#555555"
LIGHT = {BLUE: "#dce8f5", ORANGE: "#fae6d4", GREY: "#eeeeee"}
QUESTION = ("who", "wrote", "it", "?")
ANSWER = ("a", "poet", "wrote", "the", "book")


def box(axes, x, y, text, colour, width=1.2, height=0.62):
    """Draw a rounded box with its text, centred at (x, y)."""
    axes.add_patch(
        FancyBboxPatch(
            (x - width / 2 + 0.08, y - height / 2 + 0.08),
            width - 0.16,
            height - 0.16,
            boxstyle="round,pad=0.08",
            facecolor=LIGHT[colour],
            edgecolor=colour,
            linewidth=1.1,
        )
    )
    axes.text(x, y, text, ha="center", va="center_baseline", fontsize=9)


def arrow(axes, start, end, colour=GREY, bend=0.0, dashed=False):
    """Draw an arrow from point to point."""
    axes.add_patch(
        FancyArrowPatch(
            start,
            end,
            arrowstyle="-|>",
            mutation_scale=9,
            color=colour,
            linewidth=1.2,
            linestyle=(0, (4, 2)) if dashed else "-",
            connectionstyle=f"arc3,rad={bend}",
            shrinkA=0,
            shrinkB=0,
        )
    )


def hyperqa(axes):
    """Words, their sums, and two points of the ball with the straight line between them."""
    for words, y, colour, name in ((QUESTION, 4.9, BLUE, "q"), (ANSWER, 1.3, ORANGE, "a")):
        for i, word in enumerate(words):
            box(axes, 0.6 + 0.98 * i, y, word, colour, width=0.92)
        centre = 0.6 + 0.98 * (len(words) - 1) / 2
        step = -0.95 if y > 3 else 0.95
        axes.text(centre, y + step, f"{name} = Σ relu(W z + b)", ha="center", va="center", fontsize=9.5)
    disk, radius = np.array([7.5, 3.1]), 2.3
    axes.add_patch(Circle(disk, radius, facecolor="#f4f6fa", edgecolor=GREY, linewidth=1.2))
    points = [0.86 * np.exp(1j * np.radians(angle)) for angle in (128, 232)]
    p, q = points
    moved = (q - p) / (1 - np.conj(p) * q)
    ray = np.tanh(np.linspace(0, 1, 60) * np.arctanh(abs(moved))) * moved / abs(moved)
    line = (ray + p) / (1 + np.conj(p) * ray)
    axes.plot(disk[0] + radius * line.real, disk[1] + radius * line.imag, color=GREY, linewidth=1.8)
    for point, start, colour, name in ((p, (3.75, 3.95), BLUE, "q"), (q, (4.25, 2.25), ORANGE, "a")):
        x, y = disk + radius * np.array([point.real, point.imag])
        arrow(axes, start, (x - 0.22, y + (0.06 if name == "a" else -0.06)), colour)
        axes.plot(x, y, "o", color=colour, markersize=8)
        axes.text(x + 0.22, y + (0.28 if name == "q" else -0.28), name, fontsize=11, va="center")
    axes.text(7.3, 3.1, "d(q, a)", fontsize=11, va="center")
    axes.text(7.5, 0.3, "Poincaré ball", fontsize=9, color=GREY, ha="center")
    axes.text(2.5, 3.1, "score = w d(q, a) + b", fontsize=10, ha="center", va="center")


def ctrn(axes):
    """Each text is pooled with its own gates, and again with the partner's."""
    for x, colour, name in ((2.3, BLUE, "question"), (7.7, ORANGE, "answer")):
        box(axes, x, 5.3, f"{name}: words", colour, width=3.6)
        box(axes, x - 1.0, 3.9, "Z", colour, width=1.2)
        box(axes, x + 1.0, 3.9, "gates F, O", colour, width=1.8)
        arrow(axes, (x - 0.5, 4.98), (x - 1.0, 4.24), colour)
        arrow(axes, (x + 0.5, 4.98), (x + 1.0, 4.24), colour)
        box(axes, x - 1.0, 2.1, "h", colour, width=1.2)
        box(axes, x + 1.0, 2.1, "h⁺", colour, width=1.2)
        arrow(axes, (x - 1.0, 3.58), (x - 1.0, 2.44), colour)
        arrow(axes, (x + 0.75, 3.58), (x - 0.62, 2.44), colour)
        arrow(axes, (x - 0.72, 3.58), (x + 0.5, 2.44), colour)
        box(axes, x, 0.8, "mean of h · h⁺", colour, width=2.6)
        arrow(axes, (x - 1.0, 1.78), (x - 0.5, 1.14), colour)
        arrow(axes, (x + 1.0, 1.78), (x + 0.5, 1.14), colour)
    arrow(axes, (3.7, 3.58), (8.06, 2.32), BLUE, dashed=True)
    arrow(axes, (8.45, 3.58), (3.95, 2.32), ORANGE, dashed=True)
    axes.text(5.05, 4.3, "crossed\ngates", ha="center", va="center", fontsize=9, color=GREY)
    arrow(axes, (3.62, 0.8), (4.45, 0.8), BLUE)
    arrow(axes, (6.38, 0.8), (5.55, 0.8), ORANGE)
    box(axes, 5.0, 0.8, "MLP", GREY, width=1.1)


def attentive_pooling(axes):
    """The matrix of all words with all, and the maxima of its rows and columns."""
    G = np.array(
        [
            [0.10, 0.62, 0.22, 0.10, 0.25],
            [0.15, 0.45, 0.97, 0.12, 0.55],
            [0.20, 0.30, 0.25, 0.35, 0.70],
            [0.05, 0.10, 0.12, 0.15, 0.10],
        ]
    )
    left, top, size = 2.3, 5.15, 0.78
    maxima = ((G.max(axis=1), BLUE), (G.max(axis=0), ORANGE))

    def cell(row, column, value, colour):
        axes.add_patch(
            Rectangle(
                (left + column * size, top - (row + 1) * size),
                size,
                size,
                facecolor=colour,
                alpha=0.08 + 0.85 * value,
                edgecolor="none",
            )
        )
        frame = Rectangle((left + column * size, top - (row + 1) * size), size, size, fill=False)
        frame.set(edgecolor="white", linewidth=1.2)
        axes.add_patch(frame)

    for i in range(len(QUESTION)):
        for j in range(len(ANSWER)):
            cell(i, j, G[i, j], GREY)
        cell(i, len(ANSWER) + 0.55, maxima[0][0][i], BLUE)
        axes.text(left - 0.15, top - (i + 0.5) * size, QUESTION[i], ha="right", va="center", fontsize=9)
    for j in range(len(ANSWER)):
        cell(len(QUESTION) + 0.55, j, maxima[1][0][j], ORANGE)
        axes.text(left + (j + 0.5) * size, top + 0.22, ANSWER[j], ha="center", fontsize=9)
    axes.text(0.75, 3.45, "G = tanh(QᵀUA)", ha="center", va="center", fontsize=9.5, rotation=90)
    right, bottom = left + (len(ANSWER) + 0.55) * size, top - (len(QUESTION) + 0.55) * size
    axes.text(right + size / 2, top + 0.22, "row max", ha="center", fontsize=9, color=BLUE)
    axes.text(left - 0.15, bottom - size / 2, "column max", ha="right", va="center", fontsize=9, color=ORANGE)
    arrow(axes, (right + size + 0.1, 3.45), (right + size + 0.62, 3.45), BLUE)
    axes.text(
        right + size + 0.72,
        3.45,
        "softmax:\nweights of\nthe question",
        va="center",
        fontsize=9,
        color=BLUE,
    )
    arrow(
        axes, (left + 5 * size + 0.1, bottom - size / 2), (left + 5 * size + 0.62, bottom - size / 2), ORANGE
    )
    axes.text(
        left + 5 * size + 0.72,
        bottom - size / 2,
        "softmax: weights\nof the answer",
        va="center",
        fontsize=9,
        color=ORANGE,
    )
    axes.text(5, 0.3, "score = cosine of the two weighted sums", ha="center", fontsize=10)


def cosinet(axes):
    """Each word's best cosine as a further input, and an RNN over the candidates of a question."""
    related = {"who": 0.35, "wrote": 1.0, "it": 0.45, "?": 0.1}
    related_answer = {"a": 0.3, "poet": 0.5, "wrote": 1.0, "the": 0.4, "book": 0.45}
    for values, y, colour in ((related, 4.55, BLUE), (related_answer, 2.0, ORANGE)):
        for i, (word, value) in enumerate(values.items()):
            x = 0.55 + 0.94 * i
            axes.add_patch(Rectangle((x - 0.4, y - 0.3), 0.8, 0.6, facecolor=LIGHT[colour], edgecolor=colour))
            axes.text(x, y, word, ha="center", va="center_baseline", fontsize=9)
            axes.add_patch(Rectangle((x - 0.4, y + 0.38), 0.8, 0.62 * value, facecolor=colour, alpha=0.75))
    axes.text(2.4, 0.95, "bar: r = largest cosine to\na word of the other text", ha="center", fontsize=9)
    axes.text(2.4, 3.35, "words and r → convolution → max", ha="center", va="center", fontsize=9, color=GREY)
    arrow(axes, (4.85, 3.35), (5.75, 3.35), GREY)
    axes.text(7.85, 5.45, "candidates in document order", ha="center", fontsize=9)
    for i in range(3):
        y = 4.75 - 1.4 * i
        box(axes, 6.75, y, f"pair {i + 1}", ORANGE, width=1.5)
        box(axes, 8.35, y, "RNN", GREY, width=1.0)
        arrow(axes, (7.52, y), (7.83, y), GREY)
        arrow(axes, (8.87, y), (9.3, y), GREY)
        axes.text(9.4, y, f"s{'₁₂₃'[i]}", va="center", fontsize=11)
        if i < 2:
            arrow(axes, (8.22, y - 0.36), (8.22, y - 1.06), GREY)
            arrow(axes, (8.48, y - 1.06), (8.48, y - 0.36), GREY)
    axes.text(7.9, 0.95, "softmax over the list,\nKL divergence", ha="center", fontsize=9)


def main():
    """Draw the four panels and write the picture."""
    figure = Figure(figsize=(11, 7.3), dpi=150, layout="constrained", facecolor="white")
    FigureCanvasAgg(figure)
    panels = {
        "HyperQA: bags of words in the Poincaré ball": hyperqa,
        "CTRN: quasi-recurrent gates, crossed": ctrn,
        "Attentive Pooling: each text weighs the other's words": attentive_pooling,
        "Cosinet: relatedness of words, candidates in order": cosinet,
    }
    for axes, (title, draw) in zip(figure.subplots(2, 2).flat, panels.items(), strict=True):
        axes.set(xlim=(0, 10), ylim=(0, 6), xticks=[], yticks=[], aspect="equal")
        axes.spines[:].set_color("#dddddd")
        axes.set_title(title, fontsize=11.5, fontweight="bold", loc="left")
        draw(axes)
    figure.savefig(Path(__file__).parent / "papers.png")


if __name__ == "__main__":
    main()
