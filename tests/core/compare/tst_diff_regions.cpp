// SPDX-License-Identifier: Apache-2.0
// Where tensors differ, and what of them was not compared.
#include "core/compare/diff/diff_piece.h"
#include "core/compare/diff/state_diff.h"
#include "core/layout/fragments.h"
#include "tests/support/damages.h"
#include "tests/support/places.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <random>

using namespace shardscope;
using namespace shardscope::test;

namespace {

/// All runs of set elements, and of them those that stay: the longest gaps, of equal ones the first.
std::vector<DiffRun> expectedRuns(const std::vector<bool>& set)
{
    std::vector<DiffRun> runs;
    for (size_t i = 0; i < set.size(); ++i) {
        if (!set[i])
            continue;
        if (runs.empty() || runs.back().end != i)
            runs.push_back({i, i, 0});
        runs.back().end = i + 1;
        ++runs.back().count;
    }
    while (runs.size() > ElementRuns::kMost) {
        size_t shortest = 1;
        for (size_t i = 2; i < runs.size(); ++i) {
            if (runs[i].begin - runs[i - 1].end <= runs[shortest].begin - runs[shortest - 1].end)
                shortest = i;
        }
        runs[shortest - 1].end = runs[shortest].end;
        runs[shortest - 1].count += runs[shortest].count;
        runs.erase(runs.begin() + static_cast<std::ptrdiff_t>(shortest));
    }
    return runs;
}

ElementRuns compared(const TypedBytes& left, const TypedBytes& right, uint64_t first)
{
    return differentRuns(left, right, first, plainComparison(left, right, first, {}));
}

/// Overwrites the bytes of elements of a state in a copy of the checkpoint's run folder.
void overwrite(const Checkpoint& checkpoint, const std::filesystem::path& copy, const StateRange& range)
{
    const auto pieces = fragmentsOf(checkpoint, range.param, range.state, range.begin, range.end);
    REQUIRE(pieces);
    for (const Fragment& piece : *pieces) {
        const auto name = checkpoint.file(piece.file).path.lexically_relative(checkpoint.runFolder);
        std::fstream file(copy / name.native(), std::ios::in | std::ios::out | std::ios::binary);
        file.seekp(static_cast<std::streamoff>(piece.byteOffset));
        file << std::string(piece.bytes, '\x7f'); // NaN
        REQUIRE(file.good());
    }
}

StateDiff diffOf(const Checkpoint& left, const Checkpoint& right, uint64_t pieceElements)
{
    DiffOptions options;
    options.pieceElements = pieceElements;
    JobContext job;
    auto diff = diffStates(io::realFileSystem(), left, right, options, job);
    REQUIRE(diff);
    return std::move(*diff);
}

using Elements = std::vector<std::pair<uint64_t, uint64_t>>;

Elements elementsOf(const ElementRuns& runs)
{
    Elements out;
    for (const DiffRun& run : runs.runs()) {
        out.emplace_back(run.begin, run.end);
        CHECK(run.count == run.end - run.begin);
    }
    return out;
}

} // namespace

TEST_CASE("runs of elements are the same however the elements are divided")
{
    std::mt19937 random(7);
    for (const uint32_t oneIn : {2U, 3U, 16U, 400U, 5000U}) {
        CAPTURE(oneIn);
        const size_t count = 20000;
        std::vector<bool> set(count);
        std::vector<uint16_t> left(count, 1);
        std::vector<uint16_t> right(count, 1);
        for (size_t i = 0; i < count; ++i) {
            set[i] = random() % oneIn == 0;
            right[i] = set[i] ? 2 : 1;
        }
        const auto bytesOf = [](const std::vector<uint16_t>& values) -> std::span<const uint8_t> {
            return {reinterpret_cast<const uint8_t*>(values.data()), values.size() * 2};
        };
        const std::vector<DiffRun> expected = expectedRuns(set);
        for (const size_t most : {count, size_t{1}, size_t{100}, size_t{4099}}) {
            CAPTURE(most);
            ElementRuns runs;
            for (size_t at = 0; at < count; at += most) {
                const size_t size = std::min(most, count - at);
                const TypedBytes one{DType::Int16, bytesOf(left).subspan(at * 2, size * 2)};
                const TypedBytes other{DType::Int16, bytesOf(right).subspan(at * 2, size * 2)};
                runs.append(compared(one, other, at));
            }
            CHECK(runs.runs() == expected);
            const ElementRuns::Part all = runs.in(0, count);
            CHECK(all.isExact);
            CHECK(all.count == static_cast<uint64_t>(std::ranges::count(set, true)));
        }
    }
}

TEST_CASE("elements differ in runs as they do in the comparison, whatever their types")
{
    std::mt19937 random(3);
    for (const auto& [left, right] :
        {std::pair(DType::Float32, DType::Float32), std::pair(DType::Int8, DType::Int8),
            std::pair(DType::Float64, DType::Float64), std::pair(DType::Complex128, DType::Complex128),
            std::pair(DType::BFloat16, DType::Float32), std::pair(DType::Float32, DType::Float16)}) {
        CAPTURE(dtypeName(left));
        CAPTURE(dtypeName(right));
        const size_t count = 777;
        std::vector<uint8_t> one(count * itemSize(left));
        std::vector<uint8_t> other(count * itemSize(right));
        for (const auto& bytes : {&one, &other})
            std::ranges::generate(*bytes, [&] { return random() % 9 == 0 ? uint8_t{0xff} : uint8_t{0}; });
        const TypedBytes a{left, one};
        const TypedBytes b{right, other};
        const Comparison found = plainComparison(a, b, 0, {});
        REQUIRE(found.different > 0);
        const ElementRuns runs = compared(a, b, 0);
        CHECK(runs.in(0, count).count == found.different);
        CHECK(runs.runs().front().begin == found.firstDifferent);
        for (size_t i = 0; i < count; ++i) {
            const uint64_t different = plainComparison(a.part(i, 1), b.part(i, 1), i, {}).different;
            if (runs.runs().size() < ElementRuns::kMost)
                REQUIRE(runs.in(i, i + 1).count == different);
        }
    }
}

TEST_CASE("a part of a run is exact where all of its elements are meant")
{
    ElementRuns runs;
    runs.add(10, 20, 10);
    runs.add(30, 40, 4);
    CHECK(runs.in(0, 10).elements == 0);
    CHECK(runs.in(20, 30).elements == 0);
    CHECK(runs.in(15, 30).count == 5);
    CHECK(runs.in(15, 30).isExact);
    CHECK(runs.in(15, 40).count == 9);
    CHECK(runs.in(15, 40).isExact);
    CHECK(runs.in(33, 39).count == 4);
    CHECK_FALSE(runs.in(33, 39).isExact);
}

TEST_CASE("the differences of very many tensors keep to their limit")
{
    DiffRegions regions;
    const size_t tensors = 3 * DiffRegions::kMostRuns / ElementRuns::kMost;
    for (size_t i = 0; i < tensors; ++i) {
        StateRegions state;
        for (uint64_t run = 0; run < ElementRuns::kMost; ++run)
            state.different.add(run * 10, run * 10 + 1 + run % 2, 1);
        regions.add(std::move(state), {"fp32", "fp32"});
    }
    size_t runs = 0;
    for (const StateRegions& state : regions.states()) {
        runs += state.different.runs().size();
        CHECK(state.different.in(0, 10000).count == ElementRuns::kMost);
    }
    CHECK(regions.states().size() == tensors);
    CHECK(runs <= DiffRegions::kMostRuns);
    CHECK(runs >= DiffRegions::kMostRuns / 8);
}

TEST_CASE("five changed elements are found where they are, whatever the pieces")
{
    for (const char* const sample : {"zero2-w2", "zero3-w4"}) {
        CAPTURE(sample);
        const Patchable changed(sample);
        const CheckpointPtr left = opened(sourceFolder() + "/tests/data/samples/" + sample);
        const ParamId param = *left->findParam("layers.0.attention.wq.weight");
        overwrite(*left, changed.run(), {param, "exp_avg", 101, 106});
        const CheckpointPtr right = opened(changed.run());
        for (const uint64_t elements : {uint64_t{7}, uint64_t{64}, uint64_t{1} << 20}) {
            CAPTURE(elements);
            const StateDiff diff = diffOf(*left, *right, elements);
            REQUIRE(diff.regions.states().size() == 1);
            const StateRegions& found = diff.regions.states().front();
            CHECK(found.left == param);
            CHECK(diff.regions.stateName(found, 0) == "exp_avg");
            CHECK(elementsOf(found.different) == Elements{{101, 106}});
            CHECK(found.lacking[0].isEmpty());
            CHECK(found.lacking[1].isEmpty());
        }
    }
}

TEST_CASE("what a lost rank held is lacking, copies of masters included, and the rest was compared")
{
    const Patchable damaged("zero3-w4");
    for (const char* const ending :
        {"pp_rank_2_mp_rank_00_optim_states.pt", "pp_rank_2_mp_rank_00_model_states.pt"}) {
        for (const std::string& name : damaged.filesLike(ending))
            std::filesystem::remove(damaged.tag() / name);
    }
    const CheckpointPtr whole = opened(sourceFolder() + "/tests/data/samples/zero3-w4");
    const CheckpointPtr lost = opened(damaged.run());
    for (const bool swap : {false, true}) {
        CAPTURE(swap);
        for (const uint64_t elements : {uint64_t{7}, uint64_t{1} << 20}) {
            const StateDiff diff = diffOf(swap ? *lost : *whole, swap ? *whole : *lost, elements);
            std::map<std::string, Elements> byState;
            const ParamId param = *whole->findParam("layers.0.attention.wq.weight");
            for (const StateRegions& found : diff.regions.states()) {
                CHECK(found.different.isEmpty());
                CHECK(found.lacking[swap ? 1 : 0].isEmpty());
                if ((swap ? found.right : found.left) == param)
                    byState[diff.regions.stateName(found, 0)] = elementsOf(found.lacking[swap ? 0 : 1]);
            }
            const uint64_t all = whole->params[index(param)].elements;
            const Elements third{{all / 2, all / 4 * 3}}; // of four ranks
            CHECK(byState.at("fp32") == third);
            CHECK(byState.at("exp_avg") == third);
        }
    }
    // What both lost was not compared either.
    const CheckpointPtr again = opened(damaged.run());
    const StateDiff both = diffOf(*lost, *again, uint64_t{1} << 20);
    CHECK(both.params.empty());
    REQUIRE_FALSE(both.regions.states().empty());
    for (const StateRegions& found : both.regions.states())
        CHECK(found.lacking[0].runs() == found.lacking[1].runs());
}

TEST_CASE("runs survive the way between processes")
{
    DiffPiece piece;
    piece.states.resize(1);
    piece.missing.resize(1);
    piece.runs.resize(1);
    piece.runs[0].different.add(3, 9, 2);
    piece.runs[0].lacking[1].add(12, 20, 8);
    DiffPiece back;
    CHECK(fromWire(toWire(piece), back));
    REQUIRE(back.runs.size() == 1);
    CHECK(back.runs[0].different.runs() == piece.runs[0].different.runs());
    CHECK(back.runs[0].lacking[0].isEmpty());
    CHECK(back.runs[0].lacking[1].runs() == piece.runs[0].lacking[1].runs());
}

TEST_CASE("a list of runs is no longer than a process writes")
{
    constexpr uint64_t kMost = 2 * ElementRuns::kMost;
    for (const uint64_t count : {kMost, kMost + 1}) {
        WireWriter out;
        out.number(count);
        for (uint64_t i = 0; i < count; ++i)
            out(DiffRun{2 * i, 2 * i + 1, 1});
        ElementRuns back;
        CHECK(fromWire(out.take(), back) == (count == kMost));
    }
}
