// Reads a 5 by 7 array of doubles on standard input, writes two shifts of it, then what is refused.
#include <array>
#include <cstdio>
#include <iostream>

#include <weft.hpp>

int main() {
    static std::array<double, 35> x, down, right;
    if (std::fread(x.data(), sizeof x, 1, stdin) != 1) return 9;
    const double nine = 9;
    const weft::shifts<double> plan({5, 7}, {weft::circular(2, 0), weft::end_off(-1, 1, &nine)});
    plan({x.data()}, {down.data(), right.data()});
    std::fwrite(down.data(), sizeof down, 1, stdout);
    std::fwrite(right.data(), sizeof right, 1, stdout);

    const auto ranks = weft::ranks::alone();
    const weft::geometry geometry(ranks, {5, 7});
    std::array<double, 7 * 7> block{};
    for (int i = 0; i < 5; ++i)
        for (int j = 0; j < 7; ++j) block[(i + 1) * 7 + j] = x[i * 7 + j];
    auto halo = weft::exchange::halo(ranks, geometry, sizeof(double), {1, 1, 0, 0});
    halo({block.data()});
    std::fwrite(block.data(), sizeof block, 1, stdout);
    try {
        weft::shifts<double>({5, 7}, {weft::circular(1, 4)});
    } catch (const weft::error &error) {
        std::cerr << error.code << " " << error.what() << "\n";
    }
}
