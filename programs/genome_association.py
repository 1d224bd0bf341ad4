"""Which variants of a genome patients have more often than others do, among many variants.

    python programs/genome_association.py [--size 60] [--machine here] [--seed 1]

A processor has the genotype of a person at a variant: how many of two copies are the rarer one, or that it is not
known. Sums along persons are tables of patients and others; each has a trend (Armitage, Biometrics 11, 1955). Labels
that are shuffled say how large trends are by chance. Checked with numpy's tables. Ends with code 1 if the check fails.
"""

from __future__ import annotations

import sys
from typing import NamedTuple

import arguments
import numpy as np

from weft import pvar

PERSONS, SHUFFLES = 240, 5
UNKNOWN = -1


class Study(NamedTuple):
    """Genotypes by variant and person, and who is a patient: as it is, and shuffled."""

    genotypes: np.ndarray
    labels: np.ndarray


def problem(size: int, seed: int = 1) -> Study:
    """Variants that are alike among neighbours, of which every twentieth has to do with the disease."""
    generator = np.random.default_rng(seed)
    patient = generator.random(PERSONS) < 0.45
    frequency = generator.uniform(0.1, 0.5, size)[:, None] + 0.15 * patient * (np.arange(size) % 20 == 7)[:, None]
    genotypes = generator.binomial(2, frequency).astype(np.int8)
    like_before = generator.random((size, PERSONS)) < 0.5
    for variant in range(1, size):
        genotypes[variant, like_before[variant]] = genotypes[variant - 1, like_before[variant]]
    genotypes[generator.random((size, PERSONS)) < 0.03] = UNKNOWN
    return Study(genotypes, np.array([patient, *(generator.permutation(patient) for _ in range(SHUFFLES))]))


def solve(study: Study, machine: str = "here") -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Each variant's trend, as a chi-square; how alike it is to the next (squared correlation); largest by chance."""
    vp, variants = (pvar.VPSet(shape, machine=machine) for shape in (study.genotypes.shape, len(study.genotypes)))
    persons = pvar.VPSet(PERSONS, machine=machine)
    genotype, number = vp.array(study.genotypes), vp.coordinate(1)
    known = genotype != UNKNOWN
    first = (variants.address(), 0)

    def sums(x: pvar.ParallelVariable) -> pvar.ParallelVariable:
        """Along persons, for each variant once."""
        return pvar.get(pvar.reduce(x, "sum", axis=1), first).astype(np.float64)

    with vp.where(known):
        total, copies, squares = sums(known), sums(genotype), sums(genotype * genotype)
    spread_out = total * squares - copies * copies
    trends = []
    for labels in study.labels:
        patient = pvar.get(persons.array(labels), number)
        with vp.where(known & patient):
            patients, of_patients = sums(known), sums(genotype)
        numerator = total * of_patients - patients * copies
        denominator = patients * (total - patients) * spread_out
        trends.append(variants.zeros())
        with variants.where(denominator > 0):
            trends[-1][...] = total * numerator * numerator / denominator
    following = pvar.shift(genotype, 1, axis=0, boundary=UNKNOWN)
    with vp.where(known & (following != UNKNOWN)):
        both, x, y = sums(known), sums(genotype), sums(following)
        xx, yy, xy = sums(genotype * genotype), sums(following * following), sums(genotype * following)
    variances = (both * xx - x * x) * (both * yy - y * y)
    alike = variants.zeros()
    with variants.where(variances > 0):
        alike[...] = pvar.square(both * xy - x * y) / variances
    by_chance = np.array([trend.max() for trend in trends[1:]])
    return np.asarray(trends[0]), np.asarray(alike), by_chance


def expected(study: Study) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The same by correlations, variant by variant: the trend is theirs, squared, times the number of persons."""

    def squared(one: np.ndarray, other: np.ndarray) -> float:
        if not len(one) or one.min() == one.max() or other.min() == other.max():
            return 0.0
        return float(np.corrcoef(one, other)[0, 1] ** 2)

    trends, alike = np.zeros((len(study.labels), len(study.genotypes))), np.zeros(len(study.genotypes))
    for variant, genotype in enumerate(study.genotypes):
        known = genotype != UNKNOWN
        for labels, trend in zip(study.labels, trends, strict=True):
            trend[variant] = known.sum() * squared(genotype[known], labels[known].astype(int))
        if variant + 1 < len(study.genotypes):
            known &= study.genotypes[variant + 1] != UNKNOWN
            alike[variant] = squared(genotype[known], study.genotypes[variant + 1][known])
    return trends[0], alike, trends[1:].max(axis=1)


def main() -> int:
    parser = arguments.parser(__doc__, 60, "variants", "genotypes and labels")
    chosen = parser.parse_args()
    if chosen.size < 1:
        parser.error("expected at least one variant")
    study = problem(chosen.size, chosen.seed)
    trends, alike, by_chance = solve(study, chosen.machine)
    print(f"{(trends > by_chance.max()).sum()} variants have more of a trend than {by_chance.max():.2f}, as by chance")
    pairs = zip((trends, alike, by_chance), expected(study), strict=True)
    right = all(np.allclose(one, other, rtol=1e-7, atol=1e-9) for one, other in pairs)
    return arguments.verdict(right, "trends must be those of correlations")


if __name__ == "__main__":
    sys.exit(main())
