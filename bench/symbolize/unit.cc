// SPDX-License-Identifier: MIT
// unit.cc - one unit of a large C++ program, compiled many times with a different UNIT.
//
// Every type depends on UNIT, so units share no instantiations: the linker merges little, and the program gets the size
// and structure (templates, nested inlining) of a real C++ server with its debug information.
#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <numeric>
#include <optional>
#include <sstream>
#include <string>
#include <unordered_map>
#include <variant>
#include <vector>

#ifndef UNIT
#define UNIT 0
#endif
#ifndef KINDS
#define KINDS 4
#endif

struct Part {
    size_t (*run)(size_t seed);
    Part *next;
};
extern Part *parts;

namespace
{

template <int Unit, int Kind> struct Key {
    size_t value;
    bool operator==(const Key &other) const
    {
        return value == other.value;
    }
    bool operator<(const Key &other) const
    {
        return value < other.value;
    }
};

} // namespace

template <int Unit, int Kind> struct Row {
    Key<Unit, Kind> key;
    std::string name;
    std::vector<size_t> cells;
    std::optional<std::string> note;
};

template <int Unit, int Kind> struct Hash {
    size_t operator()(const Key<Unit, Kind> &key) const
    {
        return key.value * 0x9e3779b97f4a7c15ull;
    }
};

template <int Unit, int Kind> class Table
{
  public:
    using RowType = Row<Unit, Kind>;
    using Event = std::variant<RowType, Key<Unit, Kind>, std::string>;

    explicit Table(size_t seed)
    {
        for (size_t i = 0; i < 4 + seed % 5; i++)
            add({{seed * 31 + i}, "row " + std::to_string(i), {i, seed, i * seed}, std::nullopt});
    }

    void add(RowType row)
    {
        index_[row.key] = rows_.size();
        ordered_.emplace(row.key, std::make_shared<RowType>(row));
        events_.emplace_back(row.key);
        rows_.push_back(std::move(row));
        for (const auto &listener : listeners_)
            listener(rows_.back());
    }

    void listen(std::function<void(const RowType &)> listener)
    {
        listeners_.push_back(std::move(listener));
    }

    void sort()
    {
        std::sort(rows_.begin(), rows_.end(), [](const RowType &a, const RowType &b) { return b.key < a.key; });
        std::stable_sort(events_.begin(), events_.end(),
                         [](const Event &a, const Event &b) { return a.index() < b.index(); });
        rows_.erase(std::remove_if(rows_.begin(), rows_.end(), [](const RowType &row) { return row.cells.empty(); }),
                    rows_.end());
    }

    size_t sum() const
    {
        size_t total = 0;
        for (const auto &[key, row] : ordered_)
            total += std::accumulate(row->cells.begin(), row->cells.end(), key.value);
        for (const auto &[key, at] : index_)
            total += key.value ^ at;
        for (const Event &event : events_)
            total += std::visit([](const auto &what) { return sizeof what; }, event);
        return total;
    }

    std::string show() const
    {
        std::ostringstream out;
        for (const RowType &row : rows_)
            out << row.key.value << '\t' << row.name << '\t' << row.cells.size() << '\n';
        return out.str();
    }

  private:
    std::vector<RowType> rows_;
    std::unordered_map<Key<Unit, Kind>, size_t, Hash<Unit, Kind>> index_;
    std::map<Key<Unit, Kind>, std::shared_ptr<RowType>> ordered_;
    std::vector<Event> events_;
    std::vector<std::function<void(const RowType &)>> listeners_;
};

template <int Unit, int Kind> size_t work(size_t seed)
{
    Table<Unit, Kind> table(seed);
    size_t heard = 0;
    table.listen([&heard](const auto &row) { heard += row.name.size(); });
    table.add({{seed}, "late", {seed}, "note"});
    table.sort();
    return table.sum() + table.show().size() + heard;
}

template <int... Kind> size_t all(size_t seed, std::integer_sequence<int, Kind...>)
{
    return (work<UNIT, Kind>(seed + Kind) + ...);
}

static size_t run(size_t seed)
{
    return all(seed, std::make_integer_sequence<int, KINDS>());
}

static Part part{run, nullptr};
__attribute__((constructor)) static void join()
{
    part.next = parts;
    parts = &part;
}
