/* weft.h for C++ (17 and later): objects that give themselves back, and exceptions of type weft::error. */
#ifndef WEFT_HPP
#define WEFT_HPP

#include <memory>
#include <stdexcept>
#include <vector>

#include "weft.h"

namespace weft {

/* What a call that failed said; `code` is one of weft.h. */
struct error : std::runtime_error {
    int code;
    explicit error(int code) : std::runtime_error(weft_message()), code(code) {}
};

inline void check(int code) {
    if (code != WEFT_OK) throw error(code);
}

using extents = std::vector<std::size_t>;

inline weft_shift circular(std::int64_t by, std::size_t axis, std::size_t source = 0) {
    return {by, axis, WEFT_CIRCULAR, source, nullptr};
}

/* `value` is read when the plan is made. */
inline weft_shift end_off(std::int64_t by, std::size_t axis, const void *value, std::size_t source = 0) {
    return {by, axis, WEFT_VALUE, source, value};
}

/* `array`, of the shape without the axis, is read at each execution. */
inline weft_shift end_off_array(std::int64_t by, std::size_t axis, const void *array, std::size_t source = 0) {
    return {by, axis, WEFT_ARRAY, source, array};
}

namespace detail {
template <class T, void (*Free)(T *)>
struct give_back {
    void operator()(T *object) const { Free(object); }
};
template <class T, void (*Free)(T *)>
using owned = std::unique_ptr<T, give_back<T, Free>>;
}  // namespace detail

/* Shifts of arrays of elements of type T in one process. */
template <class T>
class shifts {
    detail::owned<weft_shifts, weft_shifts_free> plan;

public:
    shifts(const extents &shape, const std::vector<weft_shift> &of, int threads = 0) {
        weft_shifts *made = nullptr;
        check(weft_shifts_plan(&made, shape.size(), shape.data(), sizeof(T), of.size(), of.data(), threads));
        plan.reset(made);
    }

    void operator()(const std::vector<const T *> &sources, const std::vector<T *> &results) const {
        const std::vector<const void *> from(sources.begin(), sources.end());
        const std::vector<void *> into(results.begin(), results.end());
        check(weft_shifts_execute(plan.get(), from.data(), into.data()));
    }
};

/* Ranks: of this process alone, of a communicator, or of the run. */
class ranks {
    detail::owned<weft_ranks, weft_ranks_free> object;
    explicit ranks(weft_ranks *made) : object(made) {}

public:
    static ranks alone() {
        weft_ranks *made = nullptr;
        check(weft_ranks_alone(&made));
        return ranks(made);
    }

    static ranks launched() {
        weft_ranks *made = nullptr;
        check(weft_ranks_launched(&made));
        return ranks(made);
    }

    template <class Comm>
    static ranks of(Comm comm) {
        weft_ranks *made = nullptr;
        check(weft_ranks_of(&made, (std::uintptr_t)comm));
        return ranks(made);
    }

    std::size_t rank() const { return numbers().first; }
    std::size_t size() const { return numbers().second; }
    const weft_ranks *get() const { return object.get(); }

private:
    std::pair<std::size_t, std::size_t> numbers() const {
        std::pair<std::size_t, std::size_t> both;
        check(weft_ranks_numbers(object.get(), &both.first, &both.second));
        return both;
    }
};

/* Which rank has which elements. */
class geometry {
    detail::owned<weft_geometry, weft_geometry_free> object;

public:
    extents start, length, block;

    geometry(const ranks &over, const extents &shape, const extents &grid = {})
        : start(shape.size()), length(shape.size()), block(shape.size()) {
        if (!grid.empty() && grid.size() != shape.size()) throw std::invalid_argument("a grid has a number for each axis");
        weft_geometry *made = nullptr;
        check(weft_geometry_make(&made, over.get(), shape.size(), shape.data(), grid.empty() ? nullptr : grid.data()));
        object.reset(made);
        check(weft_geometry_block(made, start.data(), length.data(), block.data()));
    }

    const weft_geometry *get() const { return object.get(); }
};

/* Messages and copies that are set up once. */
class exchange {
    detail::owned<weft_exchange, weft_exchange_free> object;
    explicit exchange(weft_exchange *made) : object(made) {}

public:
    static exchange halo(const ranks &over, const geometry &of, std::size_t element, const extents &widths,
                         const std::vector<weft_edge> &edges = {}, int corners = WEFT_FACES) {
        const std::size_t sides = 2 * of.block.size();
        if (widths.size() != sides || (!edges.empty() && edges.size() != sides))
            throw std::invalid_argument("a halo has two widths, and two edges or none, for each axis");
        weft_exchange *made = nullptr;
        check(weft_halo_plan(&made, over.get(), of.get(), element, widths.data(), edges.empty() ? nullptr : edges.data(),
                             corners));
        return exchange(made);
    }

    static exchange polyshift(const ranks &over, const geometry &of, std::size_t element,
                              const std::vector<weft_shift> &shifts, const extents &widths = {}) {
        if (!widths.empty() && widths.size() != 2 * of.block.size())
            throw std::invalid_argument("there are two widths for each axis");
        weft_exchange *made = nullptr;
        check(weft_polyshift_plan(&made, over.get(), of.get(), element, widths.empty() ? nullptr : widths.data(),
                                  shifts.size(), shifts.data()));
        return exchange(made);
    }

    void begin(const std::vector<void *> &arrays) { check(weft_exchange_begin(object.get(), arrays.data())); }
    void end() { check(weft_exchange_end(object.get())); }
    void operator()(const std::vector<void *> &arrays) { check(weft_exchange_execute(object.get(), arrays.data())); }
};

}  // namespace weft

#endif
