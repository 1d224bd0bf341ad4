"""The page: sections in order, rendered into one file that needs nothing else."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence

import polars as pl

from weft import model, samples, units
from weft.files import check_output, deliver
from weft.pages import document as pages
from weft.pages.document import SPACE, Document, Section, check_pages
from weft.reports import figures, findings, goals, groups, tables
from weft.reports.content import Content, MachineDescription, Subject, collect


def report(
    samples: pl.DataFrame,
    path: str | os.PathLike[str],
    *,
    machines: Iterable[MachineDescription] = (),
    fits: Iterable[model.Fit] = (),
    title: str = "What messages cost",
    origin: str = "",
    force: bool = False,
) -> None:
    """Write a report: one HTML file that opens offline.

    Parameters
    ----------
    samples
        Samples of any machines and sources.
    path
        The file; written whole or not at all.
    machines
        Descriptions of machines in the samples: their full names and node operation times.
    fits
        Fits made elsewhere (with part of the samples); other subjects with echo samples are fitted here.
    title
        The heading.
    origin
        Where the samples come from, in words.
    force
        Whether to replace a file that exists.

    Raises
    ------
    UsageError
        If the file exists and is not to be replaced, or what draws figures is not installed.
    SamplesError
        If the table is not one of samples.
    OSError
        If the file cannot be written.

    Examples
    --------
    >>> import tempfile, weft
    >>> from pathlib import Path
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     report(weft.simulate("ipsc860", "echo", bytes="8:1K"), Path(folder) / "report.html")
    ...     print((Path(folder) / "report.html").read_text()[:15])
    <!doctype html>
    """
    check_report()
    check_output(path, (), force=force, space=SPACE)
    content = collect(samples, machines, fits)
    deliver(render(content, title, origin).encode(), path)


def check_report() -> None:
    """Refuse a report where what makes its page is not installed; whoever measures for one asks before.

    Raises
    ------
    UsageError
        With the line that installs it.
    """
    check_pages("a report")


def render(content: Content, title: str, origin: str) -> str:
    """The page as text."""
    return pages.render(
        Document(
            title=title, lead=_lead(content), key=_key(content), warnings=_warnings(content),
            findings=findings.findings(content), sections=sections(content), glossary=findings.GLOSSARY, origin=origin,
        )
    )  # fmt: skip


def sections(content: Content) -> list[Section]:
    """Everything under a heading, in order."""
    return [
        _latency(content), _rate(content), _hops(content), _collectives(content), _exchange(content), _node(content),
        _traffic(content), _programs(content), _goals(content), _files(content), _machines(content), _fits(content),
        _protocol(content),
    ]  # fmt: skip


def _latency(content: Content) -> Section:
    section = Section(
        "latency",
        "Time of a message",
        "One-way time of a message between two nodes against its length: half of an echo. Points are medians over "
        "launches with their intervals, lines are fits. The level at the left is the startup, the slope at the "
        "right the byte time.",
    )
    section.figure(
        figures.latency(content),
        "Time of a message against its length, logarithmic axes",
        "Both axes are logarithmic. A name below the figure hides a curve, or gives a grey machine a colour; of "
        "those that "
        "were chosen, the fifth replaces the first.",
    )
    return section


def _rate(content: Content) -> Section:
    section = Section(
        "rate",
        "Rate",
        "The same as bytes a second. Messages shorter than the length that has half the rate of long ones are "
        "startup for "
        "the most part. A window of messages in flight hides the startup.",
    )
    section.figure(
        figures.rate(content), "Rate against the length of a message", "Bytes a second of one message at a time."
    )
    return section


def _hops(content: Content) -> Section:
    section = Section(
        "hops",
        "Rate against distance",
        "What a further link costs. Machines that store and forward lose rate with every hop; with circuits, wormholes "
        "and cut-through a hop costs microseconds and long messages do not feel it.",
    )
    lengths = figures.hop_lengths(content)
    shown = " and ".join(units.length(length) for length in lengths)
    section.figure(figures.hops(content, lengths), "Rate against hops", f"Messages of {shown}.")
    return section


def _collectives(content: Content) -> Section:
    section = Section(
        "collectives", "Collectives", "One operation of all ranks, from a synchronised start to its end on the last."
    )
    section.figure(
        figures.collectives_by_ranks(content),
        "Time of collectives against the number of ranks",
        "At the shortest length, against the number of ranks.",
    )
    section.figure(
        figures.collectives_by_length(content),
        "Time of collectives against the length",
        "On the smallest number of ranks, against the length.",
    )
    return section


def _exchange(content: Content) -> Section:
    section = Section(
        "exchange",
        "Ghosts of distributed arrays",
        "One exchange of the ghosts across all faces of a block, one message to each neighbour. Every rank has a block "
        "of the same shape, so a flat line is a machine on which the exchange scales. Dotted lines are modelled from "
        "single messages: what they take of the processors, what they travel, and copies.",
    )
    section.figure(
        figures.halo_by_ranks(content),
        "Time of an exchange of ghosts against the number of ranks, by shape of the block",
        "A panel for each shape of the block of one rank.",
    )
    section.figure(
        figures.stencil_by_ranks(content),
        "Time of a step of a stencil against the number of ranks, by shape of the block",
        "Nearest neighbours in double precision; faces travel while the interior is computed. Dotted lines are "
        "modelled: messages' part of the processors, the longer of their travel and the interior, copies, and the rim.",
    )
    return section


def _node(content: Content) -> Section:
    section = Section(
        "node",
        "One node",
        "What one processor and its memory do without messages: the arithmetic of table 3 of Dunigan 1991, the "
        "programs of table 4, memory, and what matters more now. Machines that were not measured have the rows "
        "that their files' operation times determine, the same at every length: no memory hierarchy is in them.",
    )
    section.figure(
        groups.dot_product(content),
        "Rate of the dot product against the length of the vectors",
        "Dot product by precision, after figure 1 of Dunigan 1991.",
    )
    section.figure(
        groups.memory_latency(content),
        "Time of a dependent load against the working set",
        "The cache staircase: each level of the memory is a step.",
    )
    section.figure(groups.stream(content), "Rates of STREAM by kernel", "STREAM, by threads.")
    section.tables += [table for subject in content.subjects if (table := tables.node(subject)) is not None]
    return section


def _traffic(content: Content) -> Section:
    section = Section(
        "traffic",
        "Messages against computation and each other",
        "What routing takes from a computing node, what traffic takes from a message, and what a node gains by using "
        "several links at once; after figures 6 to 9 of Dunigan 1991. On a real machine the loss of a computing rank "
        "is what progress of messages costs it, with as many ranks as were measured.",
    )
    section.figure(
        groups.slowdown(content),
        "Loss of computing speed against the length of routed messages",
        "The paper says of the iPSC/1 and nCUBE 3200 about 30% for small messages, and no loss of the others.",
    )
    section.figure(
        groups.echo_slowdown(content),
        "Loss of an echo's speed while the nodes on its way compute",
        "The paper says no loss of all five machines.",
    )
    section.figure(
        groups.contention(content),
        "Rate of a probe against its length, by the load of background traffic",
        "A line for each length of background messages.",
    )
    section.figure(
        groups.contention_loss(content),
        "Loss of a probe's speed against the load",
        "The longest probe that was run, against the length of background messages.",
    )
    for name, words in (("fan-in", "send to one"), ("fan-out", "receive from one")):
        section.figure(
            groups.fan(content, name),
            f"Aggregate rate of {name} against the number of neighbours",
            f"Neighbours that {words} at once, with the longest messages that were run.",
        )
    return section


def _programs(content: Content) -> Section:
    section = Section("programs", "Programs", "Whole parallel programs, after figure 12 of Dunigan 1991.")
    for name in ("cholesky", "jacobi", "slalom"):
        section.figure(groups.program(content, name), f"Rate of {name} against its order", f"Rate of {name}.")
    return section


def _goals(content: Content) -> Section:
    section = Section(
        "goals",
        "Programs in FGHC",
        "What processing elements did with their time: reductions of goals, messages (told apart in virtual time "
        "only) and "
        "nothing. The scales are those of Taki 1988: performance is the ideal performance times the work rate over "
        "1 + messages a reduction times reductions a message. A timeline of single goals and messages is a file of "
        "its own "
        "(weft fghc run --trace).",
    )
    section.figure(
        goals.pe_times(content), "Time of PEs for goals, messages and nothing", "One bar for each PE of a run."
    )
    section.figure(
        goals.performance(content),
        "Reductions a second against the number of PEs",
        "Of several goals of a program the fastest.",
    )
    if (table := goals.scales(content)) is not None:
        section.tables.append(table)
    return section


def _files(content: Content) -> Section:
    section = Section("files", "Files", "Reading and writing by blocks, after figures 10 and 11 of Dunigan 1991.")
    for name in ("file-host", "file-read", "file-write"):
        section.figure(
            groups.files_by_block(content, name), f"Throughput of {name} against the block", f"{name}, by block."
        )
        if content.table.filter(pl.col("benchmark") == name)["ranks"].n_unique() > 1:
            section.figure(
                groups.files_by_ranks(content, name), f"Throughput of {name} against ranks", f"{name}, by ranks."
            )
    return section


def _machines(content: Content) -> Section:
    section = Section(
        "machines",
        "Machines",
        "What a message costs next to what a multiplication costs, after table 7 of Dunigan 1991. The ratio says how "
        "many 8-byte multiplications fit into one 8-byte message: how coarse the grain of a parallel program must be.",
    )
    table = tables.machines(content)
    if table.rows:
        section.tables.append(table)
    if (grains := tables.grains(content)) is not None:
        section.tables.append(grains)
        section.notes.append(
            "Grain: a program that computes g multiplications of m seconds for each message of t seconds spends the "
            "share f = t / (t + g m) of its time communicating, so g = (t / m) (1 - f) / f (after table 7 of Dunigan "
            "1991)."
        )
    return section


def _fits(content: Content) -> Section:
    section = Section(
        "fit",
        "Fit and residuals",
        "Startup and byte time by robust weighted least squares, in pieces where the protocol changes. Hollow points "
        "are lengths that the fit has not seen.",
    )
    section.figure(
        figures.residuals(content),
        "Errors of the fit against the length",
        "Above zero the fit is too slow. Each fit is compared with what it estimates.",
    )
    for subject in content.own or content.subjects:
        for fit in subject.fits:
            section.tables.append(tables.pieces(subject, fit))
            section.notes += _fit_notes(subject, fit)
    section.notes += content.notes
    return section


def _fit_notes(subject: Subject, fit: model.Fit) -> list[str]:
    notes = [note if fit.estimand is None else f"{subject.named(fit)}: {note}" for note in fit.notes]
    errors = figures.fit_errors(fit)
    for held_out, words in ((False, "lengths it was made from"), (True, "lengths it has not seen")):
        sizes = errors.filter(pl.col("held_out") == held_out)["error"].abs()
        if len(sizes):
            median, worst = float(str(sizes.median())), float(str(sizes.max()))
            notes.insert(
                0,
                f"{subject.label}, {fit.estimand_words}, {words}: median error {units.share(median)}, "
                f"worst {units.share(worst)}.",
            )
    return notes


def _protocol(content: Content) -> Section:
    section = Section(
        "protocol",
        "Environment and protocol",
        "Launches differ more than repetitions within one, so the launch is the unit: its median is one value, the "
        "figure is the median over launches. Its interval allows for launches that are alike because they follow each "
        "other; the head of the column says what it covers, 95% from 20 launches on. No sample is thrown away.",
    )
    for subject in content.own:
        section.facts += tables.conditions(subject)
        section.tables.append(tables.points(subject))
    section.tables += [tables.points(subject) for subject in content.subjects if not subject.own]
    return section


def _lead(content: Content) -> str:
    """One sentence on what is in the report."""
    own = [subject.label for subject in content.own]
    others = [subject.label for subject in content.subjects if not subject.own]
    if not own:
        return f"Messages of {_few(others)}."
    return f"{findings.listed(own)}{f', next to {_few(others)}' if others else ''}."


def _few(labels: Sequence[str]) -> str:
    """Names, or how many there are: the table of machines has them all."""
    return findings.listed(labels) if len(labels) <= MAX_NAMED else f"{len(labels)} others"


MAX_NAMED = 4
"""Machines that the lead names."""


def _key(content: Content) -> list[dict[str, str]]:
    """The figures that sum up what was measured."""
    if len(content.own) != 1:
        return []
    subject = content.own[0]
    key_figures = []
    echo = subject.echo()
    for length in (8, 1 << 20):
        row = echo.filter(pl.col("bytes") == length)
        if not row.is_empty():
            seconds, half = float(row["seconds"][0]), float(row["half_width"][0])
            launches = row["launches"][0]
            more = f"median of {launches} launches, ±{half:.1%}" if launches > 1 else "one launch"
            key_figures.append(
                {"name": f"{units.length(length)} message", "value": units.seconds(seconds), "more": more}
            )
    if subject.fit is not None:
        fit = subject.fit
        best = 1.0 / fit.byte_time.value if fit.byte_time.value else None
        pieces = len(fit.echo.pieces)
        of_fit = "" if fit.estimand is None else f", {fit.estimand} times"
        key_figures.append(
            _figure("Startup", units.seconds(fit.startup.value), f"short messages, {fit.estimand_words}")
        )
        key_figures.append(
            _figure(
                "Rate of long messages", units.rate(best), f"fit in {pieces} piece{'s' if pieces > 1 else ''}{of_fit}"
            )
        )
        key_figures.append(
            _figure("Half the rate at", tables.half_words(fit.half_bandwidth), f"message length{of_fit}")
        )
    transfer = subject.transfer()
    if transfer and subject.multiply:
        of_medians = "" if subject.fit is None or subject.fit.estimand is None else ", median over launches"
        ratio = units.digits(transfer / subject.multiply)
        key_figures.append(_figure("Transfer ÷ multiply", ratio, f"8 bytes each{of_medians}"))
    return key_figures


def _figure(name: str, value: str, more: str) -> dict[str, str]:
    return {"name": name, "value": value, "more": more}


def _warnings(content: Content) -> list[dict[str, str]]:
    """What a reader must know before believing a figure."""
    warnings = []
    for subject in content.own:
        convergence = samples.convergence(subject.summary)
        if convergence.loose:
            warnings.append({"head": "Not converged:", "text": f"{subject.label}: {convergence}."})
        if "status" in subject.table.columns and (subject.table["status"] == "interrupted").any():
            warnings.append(
                {"head": "Interrupted:", "text": f"the measurement of {subject.label} was stopped before its end."}
            )
    return warnings
