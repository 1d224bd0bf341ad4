"""The example programs find their answers, here and metered, and their checks can fail."""

import importlib.util
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import weft

PROGRAMS = Path(__file__).parents[3] / "programs"
sys.path.insert(0, str(PROGRAMS))  # as `python programs/NAME.py` has it


def module(name):
    spec = importlib.util.spec_from_file_location(name, PROGRAMS / f"{name}.py")
    found = importlib.util.module_from_spec(spec)
    sys.modules[name] = found
    spec.loader.exec_module(found)
    return found


def run(monkeypatch, capsys, name, *words):
    found = module(name)
    monkeypatch.setattr(sys, "argv", [f"{name}.py", *words])
    code = found.main()
    return code, capsys.readouterr().out


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("gauss", ["--size", "63"]),
        ("gauss", ["--size", "2", "--seed", "7"]),
        ("gauss", ["--size", "40", "--machine", "cm2-8k"]),
        ("jacobi", ["--size", "31", "--sweeps", "57"]),
        ("jacobi", ["--size", "2", "--sweeps", "1"]),
        ("radix_sort", ["--size", "1000", "--bits", "9"]),
        ("radix_sort", ["--size", "1", "--bits", "1"]),
        ("radix_sort", ["--size", "100", "--bits", "33", "--machine", "cm2-8k"]),
        ("spmv", ["--size", "200", "--row", "3"]),
        ("spmv", ["--size", "1", "--row", "1", "--times", "2"]),
        ("histogram", ["--size", "5000", "--bins", "31"]),
        ("histogram", ["--size", "10", "--bins", "1", "--rounds", "0"]),
        ("shortest_paths", ["--size", "100", "--degree", "3"]),
        ("shortest_paths", ["--size", "2", "--degree", "1"]),
        ("life", ["--size", "17", "--generations", "23"]),
        ("life", ["--size", "3", "--generations", "1", "--machine", "cm2-8k"]),
        ("fft", ["--size", "256"]),
        ("fft", ["--size", "2"]),
        ("fft", ["--size", "64", "--machine", "cm2-8k"]),
        ("conjugate_gradients", ["--size", "20"]),
        ("conjugate_gradients", ["--size", "2", "--machine", "cm2-8k"]),
        ("bitonic_sort", ["--size", "512"]),
        ("bitonic_sort", ["--size", "2"]),
        ("lucky_numbers", ["--size", "900"]),
        ("lucky_numbers", ["--size", "1"]),
        ("cannon", ["--size", "31"]),
        ("cannon", ["--size", "1"]),
        ("kmeans", ["--size", "700"]),
        ("kmeans", ["--size", "1", "--rounds", "2"]),
        ("components", ["--size", "40"]),
        ("components", ["--size", "2", "--machine", "cm2-8k"]),
        ("mandelbrot", ["--size", "30", "--rounds", "17"]),
        ("mandelbrot", ["--size", "1", "--rounds", "1", "--machine", "cm2-8k"]),
        ("sandpile", ["--size", "20"]),
        ("sandpile", ["--size", "2", "--machine", "cm2-8k"]),
        ("edges", ["--size", "40"]),
        ("edges", ["--size", "3", "--rounds", "1"]),
        ("list_ranking", ["--size", "1000"]),
        ("list_ranking", ["--size", "1"]),
        ("pagerank", ["--size", "100", "--links", "3"]),
        ("pagerank", ["--size", "1", "--links", "1", "--rounds", "1"]),
        ("run_lengths", ["--size", "1000"]),
        ("run_lengths", ["--size", "2"]),
        ("floyd_warshall", ["--size", "30"]),
        ("floyd_warshall", ["--size", "1", "--machine", "cm2-8k"]),
        ("wave", ["--size", "30", "--steps", "21"]),
        ("wave", ["--size", "1", "--steps", "1"]),
        ("cyclic_automaton", ["--size", "30", "--rounds", "21"]),
        ("cyclic_automaton", ["--size", "2", "--rounds", "3", "--machine", "cm2-8k"]),
        ("monte_carlo", ["--size", "1000"]),
        ("monte_carlo", ["--size", "1", "--rounds", "1"]),
        ("string_matching", ["--size", "500"]),
        ("string_matching", ["--size", "3", "--patterns", "2"]),
        ("quicksort", ["--size", "500"]),
        ("quicksort", ["--size", "1"]),
        ("lattice_boltzmann", ["--size", "30"]),
        ("lattice_boltzmann", ["--size", "1", "--steps", "1", "--machine", "cm2-8k"]),
        ("nbody", ["--size", "60"]),
        ("nbody", ["--size", "1"]),
        ("knapsack", ["--size", "500"]),
        ("knapsack", ["--size", "1", "--items", "3"]),
        ("edit_distance", ["--size", "100"]),
        ("edit_distance", ["--size", "1", "--machine", "cm2-8k"]),
        ("ising", ["--size", "30"]),
        ("ising", ["--size", "2", "--sweeps", "3", "--machine", "cm2-8k"]),
        ("graph_components", ["--size", "500"]),
        ("graph_components", ["--size", "1"]),
        ("collatz", ["--size", "300"]),
        ("collatz", ["--size", "1"]),
        ("decode_runs", ["--size", "300"]),
        ("decode_runs", ["--size", "1"]),
        ("hash_table", ["--size", "500"]),
        ("hash_table", ["--size", "1"]),
        ("median_filter", ["--size", "31"]),
        ("median_filter", ["--size", "1", "--rounds", "1", "--machine", "cm2-8k"]),
        ("number_transform", ["--size", "64"]),
        ("number_transform", ["--size", "1"]),
        ("particle_in_cell", ["--size", "700"]),
        ("particle_in_cell", ["--size", "1", "--steps", "3"]),
        ("rotation", ["--size", "33"]),
        ("rotation", ["--size", "2", "--steps", "1", "--machine", "cm2-8k"]),
        ("sieve", ["--size", "1000"]),
        ("sieve", ["--size", "1"]),
        ("sieve", ["--size", "50", "--machine", "cm2-8k"]),
        ("spanning_tree", ["--size", "200"]),
        ("spanning_tree", ["--size", "2"]),
        ("tridiagonal", ["--size", "1000"]),
        ("tridiagonal", ["--size", "1"]),
        ("voronoi", ["--size", "33"]),
        ("voronoi", ["--size", "1"]),
        ("wavelet", ["--size", "512"]),
        ("wavelet", ["--size", "1"]),
        ("advection", ["--size", "9"]),
        ("advection", ["--size", "1", "--rounds", "2", "--machine", "cm2-8k"]),
        ("brackets", ["--size", "500"]),
        ("brackets", ["--size", "1"]),
        ("forest_fire", ["--size", "31"]),
        ("forest_fire", ["--size", "1", "--machine", "cm2-8k"]),
        ("maze", ["--size", "31"]),
        ("maze", ["--size", "1"]),
        ("newton_fractal", ["--size", "31"]),
        ("newton_fractal", ["--size", "1", "--rounds", "1"]),
        ("odd_even_sort", ["--size", "100"]),
        ("odd_even_sort", ["--size", "1", "--machine", "cm2-8k"]),
        ("quantiles", ["--size", "1000"]),
        ("quantiles", ["--size", "1"]),
        ("sparse_transpose", ["--size", "200", "--row", "3"]),
        ("sparse_transpose", ["--size", "1"]),
        ("convex_hull", ["--size", "500"]),
        ("convex_hull", ["--size", "1"]),
        ("convex_hull", ["--size", "65", "--machine", "cm2-8k"]),
        ("gradient_noise", ["--size", "33"]),
        ("gradient_noise", ["--size", "1", "--machine", "cm2-8k"]),
        ("independent_set", ["--size", "500", "--degree", "3"]),
        ("independent_set", ["--size", "2", "--degree", "1", "--machine", "cm2-8k"]),
        ("line_of_sight", ["--size", "31"]),
        ("line_of_sight", ["--size", "1", "--towers", "1", "--machine", "cm2-8k"]),
        ("long_multiplication", ["--size", "129"]),
        ("long_multiplication", ["--size", "1", "--machine", "cm2-8k"]),
        ("schroedinger", ["--size", "31"]),
        ("schroedinger", ["--size", "1", "--steps", "1", "--machine", "cm2-8k"]),
        ("stable_marriage", ["--size", "65"]),
        ("stable_marriage", ["--size", "1", "--machine", "cm2-8k"]),
        ("suffix_array", ["--size", "1025"]),
        ("suffix_array", ["--size", "1"]),
        ("suffix_array", ["--size", "2", "--machine", "cm2-8k"]),
        ("american_option", ["--size", "65"]),
        ("american_option", ["--size", "1", "--machine", "cm2-8k"]),
        ("binary_search", ["--size", "129"]),
        ("binary_search", ["--size", "1", "--machine", "cm2-8k"]),
        ("equalization", ["--size", "33"]),
        ("equalization", ["--size", "1"]),
        ("equalization", ["--size", "17", "--machine", "cm2-8k"]),
        ("genetic_algorithm", ["--size", "20", "--rounds", "7"]),
        ("genetic_algorithm", ["--size", "1", "--rounds", "2"]),
        ("gram_schmidt", ["--size", "17"]),
        ("gram_schmidt", ["--size", "1", "--machine", "cm2-8k"]),
        ("logistic_regression", ["--size", "65", "--rounds", "9"]),
        ("logistic_regression", ["--size", "1", "--rounds", "1", "--machine", "cm2-8k"]),
        ("n_queens", ["--size", "6"]),
        ("n_queens", ["--size", "3"]),
        ("n_queens", ["--size", "1"]),
        ("random_walks", ["--size", "100", "--rounds", "5"]),
        ("random_walks", ["--size", "2", "--rounds", "1"]),
        ("block_matching", ["--size", "24"]),
        ("block_matching", ["--size", "8", "--machine", "cm2-8k"]),
        ("bloom_filter", ["--size", "300"]),
        ("bloom_filter", ["--size", "1"]),
        ("checksums", ["--size", "33"]),
        ("checksums", ["--size", "1", "--machine", "cm2-8k"]),
        ("pendulums", ["--size", "65"]),
        ("pendulums", ["--size", "1"]),
        ("power_iteration", ["--size", "17"]),
        ("power_iteration", ["--size", "1"]),
        ("topological_order", ["--size", "129"]),
        ("topological_order", ["--size", "2"]),
        ("triangles", ["--size", "33"]),
        ("triangles", ["--size", "1", "--machine", "cm2-8k"]),
        ("viterbi", ["--size", "33"]),
        ("viterbi", ["--size", "1"]),
        ("call_auction", ["--size", "300"]),
        ("call_auction", ["--size", "1", "--machine", "cm2-8k"]),
        ("coloring", ["--size", "129"]),
        ("coloring", ["--size", "2", "--machine", "cm2-8k"]),
        ("drainage", ["--size", "33"]),
        ("drainage", ["--size", "1", "--machine", "cm2-8k"]),
        ("irrigation", ["--size", "65"]),
        ("irrigation", ["--size", "1", "--machine", "cm2-8k"]),
        ("k_mers", ["--size", "17"]),
        ("k_mers", ["--size", "1", "--machine", "cm2-8k"]),
        ("localization", ["--size", "129"]),
        ("localization", ["--size", "1"]),
        ("music_box", ["--size", "33"]),
        ("music_box", ["--size", "1", "--machine", "cm2-8k"]),
        ("poker", ["--size", "129"]),
        ("poker", ["--size", "1", "--machine", "cm2-8k"]),
        ("prime_test", ["--size", "129"]),
        ("prime_test", ["--size", "1"]),
        ("survival", ["--size", "300"]),
        ("survival", ["--size", "1"]),
        ("volume_rendering", ["--size", "9"]),
        ("volume_rendering", ["--size", "1", "--machine", "cm2-8k"]),
        ("waiting_times", ["--size", "9"]),
        ("waiting_times", ["--size", "1"]),
        ("burrows_wheeler", ["--size", "300"]),
        ("burrows_wheeler", ["--size", "1"]),
        ("calendars", ["--size", "400"]),
        ("calendars", ["--size", "1", "--machine", "cm2-8k"]),
        ("epidemic", ["--size", "300"]),
        ("epidemic", ["--size", "1", "--machine", "cm2-8k"]),
        ("galaxy_pairs", ["--size", "300"]),
        ("galaxy_pairs", ["--size", "1", "--machine", "cm2-8k"]),
        ("granulometry", ["--size", "33"]),
        ("granulometry", ["--size", "1", "--machine", "cm2-8k"]),
        ("map_projection", ["--size", "21"]),
        ("map_projection", ["--size", "1"]),
        ("parsimony", ["--size", "300"]),
        ("parsimony", ["--size", "1", "--machine", "cm2-8k"]),
        ("powder_pattern", ["--size", "5"]),
        ("powder_pattern", ["--size", "1", "--machine", "cm2-8k"]),
        ("product_code", ["--size", "9"]),
        ("product_code", ["--size", "1", "--machine", "cm2-8k"]),
        ("reinsurance", ["--size", "300"]),
        ("reinsurance", ["--size", "1", "--machine", "cm2-8k"]),
        ("runoff_voting", ["--size", "129"]),
        ("runoff_voting", ["--size", "1", "--machine", "cm2-8k"]),
        ("velocity_analysis", ["--size", "65"]),
        ("velocity_analysis", ["--size", "1"]),
        ("credit_risk", ["--size", "101"]),
        ("credit_risk", ["--size", "1", "--machine", "cm2-8k"]),
        ("elliptic_curve", ["--size", "37"]),
        ("elliptic_curve", ["--size", "1", "--machine", "cm2-8k"]),
        ("enzyme_kinetics", ["--size", "101"]),
        ("enzyme_kinetics", ["--size", "1", "--machine", "cm2-8k"]),
        ("evacuation", ["--size", "31"]),
        ("evacuation", ["--size", "1", "--machine", "cm2-8k"]),
        ("gravity_anomaly", ["--size", "11"]),
        ("gravity_anomaly", ["--size", "1", "--machine", "cm2-8k"]),
        ("l_system", ["--size", "23"]),
        ("l_system", ["--size", "1", "--machine", "cm2-8k"]),
        ("prisoners_dilemma", ["--size", "13"]),
        ("prisoners_dilemma", ["--size", "1", "--machine", "cm2-8k"]),
        ("radar_detection", ["--size", "131"]),
        ("radar_detection", ["--size", "1", "--machine", "cm2-8k"]),
        ("reed_muller", ["--size", "67"]),
        ("reed_muller", ["--size", "1", "--machine", "cm2-8k"]),
        ("rna_folding", ["--size", "29"]),
        ("rna_folding", ["--size", "1", "--machine", "cm2-8k"]),
        ("tides", ["--size", "503"]),
        ("tides", ["--size", "1", "--machine", "cm2-8k"]),
        ("tomography", ["--size", "41"]),
        ("tomography", ["--size", "2", "--machine", "cm2-8k"]),
        ("dendrogram", ["--size", "37"]),
        ("dendrogram", ["--size", "1", "--machine", "cm2-8k"]),
        ("dithering", ["--size", "45"]),
        ("dithering", ["--size", "1", "--machine", "cm2-8k"]),
        ("first_arrivals", ["--size", "9"]),
        ("first_arrivals", ["--size", "1", "--machine", "cm2-8k"]),
        ("gauge_field", ["--size", "6", "--sweeps", "4"]),
        ("gauge_field", ["--size", "4", "--sweeps", "1", "--machine", "cm2-8k"]),
        ("huffman_code", ["--size", "3001"]),
        ("huffman_code", ["--size", "1", "--machine", "cm2-8k"]),
        ("picture_blocks", ["--size", "33"]),
        ("picture_blocks", ["--size", "1", "--machine", "cm2-8k"]),
        ("read_alignment", ["--size", "71"]),
        ("read_alignment", ["--size", "1", "--machine", "cm2-8k"]),
        ("robust_line", ["--size", "203"]),
        ("robust_line", ["--size", "1", "--machine", "cm2-8k"]),
        ("seam_carving", ["--size", "37"]),
        ("seam_carving", ["--size", "1", "--machine", "cm2-8k"]),
        ("shock_tube", ["--size", "503", "--steps", "9"]),
        ("shock_tube", ["--size", "1", "--machine", "cm2-8k"]),
        ("sudoku", ["--size", "21"]),
        ("sudoku", ["--size", "1", "--machine", "cm2-8k"]),
        ("web_sessions", ["--size", "2503"]),
        ("web_sessions", ["--size", "1", "--machine", "cm2-8k"]),
        ("assignment", ["--size", "41"]),
        ("assignment", ["--size", "1", "--machine", "cm2-8k"]),
        ("bookings", ["--size", "2503"]),
        ("bookings", ["--size", "1", "--machine", "cm2-8k"]),
        ("endgame", ["--size", "5"]),
        ("endgame", ["--size", "1", "--machine", "cm2-8k"]),
        ("gap_filling", ["--size", "13"]),
        ("gap_filling", ["--size", "1", "--machine", "cm2-8k"]),
        ("income_tax", ["--size", "5003"]),
        ("income_tax", ["--size", "1", "--machine", "cm2-8k"]),
        ("largest_rectangle", ["--size", "1031"]),
        ("largest_rectangle", ["--size", "1", "--machine", "cm2-8k"]),
        ("lattice_gas", ["--size", "33", "--steps", "7"]),
        ("lattice_gas", ["--size", "1", "--machine", "cm2-8k"]),
        ("mastermind", ["--size", "67"]),
        ("mastermind", ["--size", "1", "--machine", "cm2-8k"]),
        ("octree", ["--size", "1003"]),
        ("octree", ["--size", "1", "--machine", "cm2-8k"]),
        ("planet_transits", ["--size", "47"]),
        ("planet_transits", ["--size", "1", "--machine", "cm2-8k"]),
        ("small_systems", ["--size", "103"]),
        ("small_systems", ["--size", "1", "--machine", "cm2-8k"]),
        ("triangular_solve", ["--size", "503"]),
        ("triangular_solve", ["--size", "1", "--machine", "cm2-8k"]),
        ("asian_option", ["--size", "103"]),
        ("asian_option", ["--size", "100", "--machine", "cm2-8k"]),
        ("cloth", ["--size", "27", "--steps", "11"]),
        ("cloth", ["--size", "1", "--machine", "cm2-8k"]),
        ("decision_tree", ["--size", "203"]),
        ("decision_tree", ["--size", "1", "--machine", "cm2-8k"]),
        ("distance_transform", ["--size", "41"]),
        ("distance_transform", ["--size", "1", "--machine", "cm2-8k"]),
        ("echo_cancelling", ["--size", "53"]),
        ("echo_cancelling", ["--size", "1", "--machine", "cm2-8k"]),
        ("garbage_collection", ["--size", "1003"]),
        ("garbage_collection", ["--size", "1", "--machine", "cm2-8k"]),
        ("genome_association", ["--size", "37"]),
        ("genome_association", ["--size", "1", "--machine", "cm2-8k"]),
        ("lexer", ["--size", "1501"]),
        ("lexer", ["--size", "1", "--machine", "cm2-8k"]),
        ("polynomial_roots", ["--size", "47"]),
        ("polynomial_roots", ["--size", "1", "--machine", "cm2-8k"]),
        ("singular_values", ["--size", "14"]),
        ("singular_values", ["--size", "2", "--machine", "cm2-8k"]),
        ("table_join", ["--size", "703"]),
        ("table_join", ["--size", "1", "--machine", "cm2-8k"]),
        ("tour", ["--size", "41"]),
        ("tour", ["--size", "1", "--machine", "cm2-8k"]),
        ("ray_tracing", ["--size", "23"]),
        ("ray_tracing", ["--size", "1", "--machine", "cm2-8k"]),
        ("motif_search", ["--size", "703"]),
        ("motif_search", ["--size", "1", "--machine", "cm2-8k"]),
        ("soundex", ["--size", "303"]),
        ("soundex", ["--size", "1", "--machine", "cm2-8k"]),
        ("flow_shop", ["--size", "41"]),
        ("flow_shop", ["--size", "1", "--machine", "cm2-8k"]),
        ("quantum_circuit", ["--size", "6"]),
        ("quantum_circuit", ["--size", "1", "--machine", "cm2-8k"]),
        ("drawdown", ["--size", "13"]),
        ("drawdown", ["--size", "1", "--machine", "cm2-8k"]),
        ("pig_game", ["--size", "9"]),
        ("pig_game", ["--size", "1", "--machine", "cm2-8k"]),
        ("prefix_routes", ["--size", "307"]),
        ("prefix_routes", ["--size", "1", "--machine", "cm2-8k"]),
        ("corner_detection", ["--size", "41"]),
        ("corner_detection", ["--size", "3", "--machine", "cm2-8k"]),
        ("kernel_density", ["--size", "203"]),
        ("kernel_density", ["--size", "1", "--machine", "cm2-8k"]),
        ("sunrise", ["--size", "7"]),
        ("sunrise", ["--size", "1", "--machine", "cm2-8k"]),
        ("logic_simulation", ["--size", "47"]),
        ("logic_simulation", ["--size", "1", "--machine", "cm2-8k"]),
    ],
)
def test_the_program_passes(monkeypatch, capsys, native, name, words):
    code, out = run(monkeypatch, capsys, name, *words)
    assert code == 0, out
    assert out.splitlines()[-1] == "passed"


LINES = (
    *("gauss", "radix_sort", "spmv", "histogram", "shortest_paths", "fft", "bitonic_sort", "lucky_numbers", "kmeans"),
    *("list_ranking", "pagerank", "run_lengths", "monte_carlo", "string_matching", "quicksort"),
    *("nbody", "knapsack", "edit_distance", "graph_components"),
    *("collatz", "decode_runs", "hash_table", "number_transform", "particle_in_cell", "spanning_tree", "tridiagonal"),
    *("wavelet", "brackets", "odd_even_sort", "quantiles", "sparse_transpose"),
    *("convex_hull", "independent_set", "long_multiplication", "stable_marriage", "suffix_array"),
    *("binary_search", "genetic_algorithm", "logistic_regression", "random_walks"),
    *("bloom_filter", "checksums", "topological_order", "viterbi"),
    *("call_auction", "coloring", "irrigation", "k_mers", "localization", "music_box", "poker", "prime_test"),
    *("survival", "waiting_times"),
    *("burrows_wheeler", "calendars", "epidemic", "galaxy_pairs", "parsimony", "product_code", "reinsurance"),
    *("runoff_voting", "velocity_analysis"),
    *("credit_risk", "elliptic_curve", "enzyme_kinetics", "l_system", "radar_detection", "reed_muller", "tides"),
    *("huffman_code", "picture_blocks", "read_alignment", "robust_line", "shock_tube", "sudoku", "web_sessions"),
    *("bookings", "income_tax", "largest_rectangle", "octree", "small_systems", "triangular_solve"),
    *("asian_option", "decision_tree", "echo_cancelling", "garbage_collection", "genome_association", "lexer"),
    *("polynomial_roots", "table_join"),
    *("motif_search", "soundex", "flow_shop", "prefix_routes", "kernel_density", "logic_simulation"),
)

SIDES = (
    *("jacobi", "life", "conjugate_gradients", "cannon", "components", "mandelbrot", "sandpile", "edges"),
    *("floyd_warshall", "wave", "cyclic_automaton", "lattice_boltzmann", "ising"),
    *("median_filter", "rotation", "voronoi", "advection", "forest_fire", "maze", "newton_fractal"),
    *("gradient_noise", "line_of_sight", "schroedinger", "equalization", "gram_schmidt"),
    *("block_matching", "power_iteration", "triangles"),
    *("drainage", "volume_rendering"),
    *("granulometry", "map_projection", "powder_pattern"),
    *("evacuation", "gravity_anomaly", "prisoners_dilemma", "rna_folding", "tomography"),
    *("dendrogram", "dithering", "first_arrivals", "gauge_field", "seam_carving"),
    *("assignment", "endgame", "gap_filling", "lattice_gas", "mastermind", "planet_transits"),
    *("cloth", "distance_transform", "singular_values", "tour"),
    *("ray_tracing", "quantum_circuit", "drawdown", "pig_game", "corner_detection", "sunrise"),
)
"""Programs whose size is that of one side."""

SIZES = {"endgame": 5, "quantum_circuit": 6, "pig_game": 8}
"""Of programs that cannot have any."""

WITHOUT_SEED = ("jacobi", "life", "lucky_numbers", "mandelbrot", "advection", "newton_fractal")
"""Programs whose problem has a number of rounds and no seed."""


@pytest.mark.parametrize("name", [*SIDES, *LINES])
def test_an_answer_from_another_problem_fails(monkeypatch, capsys, name):
    found = module(name)
    solve, problem = found.solve, found.problem
    size = SIZES.get(name, 32 if name in SIDES else 256)
    other = problem(size, 7) if name in WITHOUT_SEED else problem(size, seed=5)
    monkeypatch.setattr(found, "solve", lambda given, machine="here": solve(other, machine))
    monkeypatch.setattr(sys, "argv", [name, "--size", str(size)])
    assert found.main() == 1
    assert "FAILED" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("name", "words", "message"),
    [
        ("fft", ["--size", "100"], "expected a power of two, not 100"),
        ("gauss", ["--size", "1"], "expected at least two equations"),
        ("histogram", ["--size", "5"], "no more bins than values"),
        ("life", ["--size", "2"], "at least three cells"),
        ("edges", ["--size", "2"], "at least three points"),
        ("sandpile", ["--size", "1"], "at least two cells"),
        ("ising", ["--size", "5"], "an even number of spins"),
        ("number_transform", ["--size", "100"], "expected a power of two up to 2**23, not 100"),
        ("wavelet", ["--size", "0"], "expected a power of two, not 0"),
        ("spanning_tree", ["--size", "1"], "expected at least two vertices"),
        ("independent_set", ["--size", "1"], "expected at least two vertices, with an edge at each"),
        ("n_queens", ["--size", "15"], "expected a board of 1 to 14 rows"),
        ("random_walks", ["--size", "1"], "expected at least two vertices and one step"),
        ("line_of_sight", ["--towers", "0"], "expected at least one field and at least one tower"),
        ("long_multiplication", ["--size", "0"], "expected at least one digit"),
        ("coloring", ["--size", "1"], "expected at least two vertices"),
        ("gauge_field", ["--size", "5"], "an even number of sites, at least four"),
        ("poker", ["--size", "0"], "expected at least one game"),
        ("powder_pattern", ["--size", "0"], "expected indices up to at least one"),
        ("evacuation", ["--steps", "0"], "expected at least one square and one step"),
        ("endgame", ["--size", "11"], "expected 1 to 10 squares along each side"),
        ("mastermind", ["--size", "32769"], "expected 1 to 32768 codes"),
        ("asian_option", ["--size", "99"], "expected at least 100 pairs of paths"),
        ("cloth", ["--steps", "0"], "expected at least one point and one step"),
        ("singular_values", ["--size", "5"], "expected an even number of columns, at least two"),
    ],
)
def test_what_it_cannot_do_it_says(name, words, message):
    done = subprocess.run(
        [sys.executable, PROGRAMS / f"{name}.py", *words], capture_output=True, text=True, check=False
    )
    assert done.returncode == 2
    assert message in done.stderr


def test_problems_are_not_changed_by_solving_them():
    for name in ("gauss", "life", "ising"):
        found = module(name)
        given = found.problem(16)
        array = given if isinstance(given, np.ndarray) else given[0]
        before = array.copy()
        found.solve(given)
        assert np.array_equal(array, before)


def test_the_meter_changes_no_answer():
    found = module("spmv")
    given = found.problem(50)
    with weft.pvar.metered():
        metered = found.solve(given)
    assert np.array_equal(metered, found.solve(given))


@pytest.mark.parametrize("size", [2, 3, 8, 33])
def test_carries_run_through_all_digits(size):
    """(2**(16 size) - 1) (2**(16 (size - 1)) + 1): digits that pass a carry on, which random numbers hardly have."""
    found = module("long_multiplication")
    factors = np.full(size, found.LARGEST), np.eye(1, size, size - 1, dtype=np.int64)[0]
    factors[1][0] = 1
    assert found.number(found.solve(factors)) == found.expected(factors)


@pytest.mark.parametrize("slope", [(1, 0), (0, 1), (2, -3), (0, 0)])
@pytest.mark.parametrize("size", [1, 2, 9])
def test_points_on_a_line_have_two_corners_at_most(slope, size):
    found = module("convex_hull")
    points = np.multiply.outer(np.random.default_rng(1).permutation(np.arange(size).repeat(2)), slope)
    assert np.array_equal(found.solve(points), found.expected(points))
    square = np.concatenate([points, [[0, 40], [40, 0], [40, 40], [0, 20]]])
    assert np.array_equal(found.solve(square), found.expected(square))


@pytest.mark.parametrize("size", [1, 2, 31, 32, 33])
def test_suffixes_of_equal_letters_are_in_order_of_length(size):
    found = module("suffix_array")
    assert found.solve(np.zeros(size, np.uint8)).tolist() == list(range(size))[::-1]


def test_poker_knows_the_hands_that_are_rarely_dealt():
    found = module("poker")
    ranks = {letter: number for number, letter in enumerate("23456789TJQKA")}
    games = ["AsKsQsJsTs KhQhJhTh9h", "As2s3s4s5s 6h5h4h3h2h", "5c5d5h5s2c 4c4d4h4sAc", "AcAdKcKdQc AhAsKhKsQd"]
    games += ["Ac2d3c4d5h 7h5s4c3c2c", "2c2d2h3c3d KcKdAhAsQc", "AcKcQcJc9c Th9d8d7d6d"]
    hands = [[hand[i : i + 2] for hand in game.split() for i in range(0, 10, 2)] for game in games]
    cards = np.array([[4 * ranks[rank] + "cdhs".index(suit) for rank, suit in game] for game in hands], np.int8)
    numbers, wins = found.solve(np.ascontiguousarray(cards.T.reshape(2, 5, len(games)).transpose(1, 0, 2)))
    assert wins.tolist() == [1, -1, 1, 0, 1, 1, 1]
    assert numbers.tolist() == [1, 0, 3, 0, 2, 1, 1, 2, 4]
