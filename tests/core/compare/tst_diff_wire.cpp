// SPDX-License-Identifier: Apache-2.0
// A comparison that another process has made.
#include "core/compare/diff/judged_diff.h"
#include "core/compare/digest/tensor_statistics.h"
#include "core/report/answers/diff_report.h"
#include "tests/support/damages.h"
#include "tests/support/places.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <functional>
#include <random>
#include <string>
#include <vector>

using namespace shardscope;
using namespace shardscope::test;

namespace {

CheckpointPtr sample(const std::string& name)
{
    return opened(sourceFolder() + "/tests/data/samples/" + name);
}

std::string jsonOf(const JudgedDiff& judged)
{
    std::string out;
    writeDiffJson([&](std::string_view text) { out += text; },
        {{*judged.left, "left", {}, nullptr}, {*judged.right, "right", {}, nullptr}, judged.diff,
            judged.verdict, judged.causes, 0});
    return out;
}

JudgedDiff judgedOf(const DiffPair& pair)
{
    JobContext job;
    auto out = judgeDiff(io::realFileSystem(), pair, {}, job);
    REQUIRE(out);
    return std::move(*out);
}

/// A comparison that somebody changes before it is sent.
class Changes
{
public:
    using Change = std::function<void(JudgedDiff& all, ParamDifference& param)>;

    [[nodiscard]] bool isHostile(const std::string& text) const
    {
        const auto read = judgedFromWire(m_pair, text);
        return !read && read.error().code == ErrorCode::Hostile;
    }
    /// `param` is one with states that differ.
    [[nodiscard]] bool isHostileWith(const Change& change) const
    {
        JudgedDiff changed = m_judged;
        const auto param = std::ranges::find_if(
            changed.diff.params, [](const ParamDifference& each) { return !each.states.empty(); });
        REQUIRE(param != changed.diff.params.end());
        change(changed, *param);
        return isHostile(wireText(changed));
    }

private:
    DiffPair m_pair{sample("zero3-w4"), sample("zero2-w2"), nullptr};
    JudgedDiff m_judged = judgedOf(m_pair);
};

} // namespace

TEST_CASE("a comparison is the same in another process that has opened the two")
{
    const std::vector<std::string> names{"zero3-w4", "zero2-w2", "slices-w4", "stage0-bf16", "experts-w4"};
    for (const std::string& name : names) {
        for (const std::string& other : names) {
            CAPTURE(name);
            CAPTURE(other);
            const DiffPair pair{sample(name), sample(other), nullptr};
            JobContext job;
            const auto made = judgeDiff(io::realFileSystem(), pair, {}, job);
            if (!made)
                continue; // not in the same degrees
            const std::string text = wireText(*made);
            const auto read = judgedFromWire(pair, text);
            REQUIRE(read);
            CHECK(jsonOf(*read) == jsonOf(*made));
            CHECK(read->paddingDiffers == made->paddingDiffers);
            CHECK(wireText(*read) == text); // with the regions
        }
    }
}

TEST_CASE("a comparison of other checkpoints, or one that is cut or changed, is refused or harmless")
{
    const DiffPair pair{sample("zero3-w4"), sample("zero2-w2"), nullptr};
    const std::string text = wireText(judgedOf(pair));
    const auto isHostile = [&](const DiffPair& of, std::string_view bytes) {
        const auto read = judgedFromWire(of, bytes);
        return !read && read.error().code == ErrorCode::Hostile;
    };
    for (size_t bytes = 0; bytes < text.size(); bytes += 1 + text.size() / 997)
        CHECK(isHostile(pair, std::string_view(text).substr(0, bytes)));
    CHECK(isHostile(pair, text + '\0'));
    const DiffPair same{pair.left, pair.left, nullptr};
    const DiffPair other{sample("slices-w4"), sample("slices-w4"), nullptr};
    CHECK(judgedFromWire(other, wireText(judgedOf(same)))); // nothing differs: no parameter is named
    CHECK(isHostile(other, text));
    std::mt19937 random(7);
    for (int i = 0; i < 3000; ++i) {
        std::string changed = text;
        for (int bits = 0; bits < 1 + i % 4; ++bits)
            changed[random() % changed.size()] ^= static_cast<char>(1U << (random() % 8));
        const auto read = judgedFromWire(pair, changed);
        if (!read)
            continue;
        for (const StateRegions& state : read->diff.regions.states()) {
            const uint64_t elements = read->left->params[index(state.left)].elements;
            for (const DiffRun& run : state.different.runs())
                CHECK((run.begin < run.end && run.end <= elements));
        }
        (void)jsonOf(*read);
    }
}

TEST_CASE("a comparison with longer lists than there can be is refused")
{
    const Changes changes;
    for (size_t before = 9; before < 18; ++before) { // the lists, and the words between them
        CAPTURE(before);
        WireWriter count;
        count.number(uint64_t{1} << 21);
        CHECK(
            changes.isHostile(std::string(before, '\0') + count.take() + std::string(size_t{1} << 22, '\0')));
    }
    CHECK_FALSE(changes.isHostileWith([](JudgedDiff&, ParamDifference&) {}));
    CHECK(changes.isHostileWith([](JudgedDiff& all, ParamDifference&) { all.causes.resize(5000); }));
    CHECK(changes.isHostileWith([](JudgedDiff& all, ParamDifference&) {
        all.causes.resize(1);
        all.causes.front().evidence.resize(1 << 18);
    }));
    CHECK(changes.isHostileWith(
        [](JudgedDiff& all, ParamDifference&) { all.diff.notCompared.why.resize(1 << 16); }));
    CHECK(changes.isHostileWith(
        [](JudgedDiff&, ParamDifference& param) { param.param.onlyRight = {"unknown"}; }));
}

TEST_CASE("a comparison that has anything twice is refused")
{
    const Changes changes;
    CHECK(changes.isHostileWith([](JudgedDiff& all, ParamDifference& param) {
        const ParamDifference again = param;
        all.diff.params.push_back(again);
    }));
    CHECK(changes.isHostileWith([](JudgedDiff&, ParamDifference& param) {
        const StateDifference again = param.states.front();
        param.states.push_back(again);
    }));
    CHECK(changes.isHostileWith([](JudgedDiff&, ParamDifference& param) {
        const PairedState again = param.param.states.front();
        param.param.states.push_back(again);
    }));
    const auto lack = [](ParamDifference& param, size_t count) {
        param.partial.assign(count, PartialState{param.states.front().state, DiffSide::Left, 1});
    };
    CHECK_FALSE(changes.isHostileWith([&](JudgedDiff&, ParamDifference& param) { lack(param, 1); }));
    CHECK(changes.isHostileWith([&](JudgedDiff&, ParamDifference& param) { lack(param, 2); }));
    CHECK(changes.isHostileWith([](JudgedDiff&, ParamDifference& param) {
        param.param.onlyLeft.assign(2, param.states.front().state.left);
    }));
    CHECK(changes.isHostileWith([](JudgedDiff& all, ParamDifference&) {
        REQUIRE(!all.diff.regions.states().empty());
        const StateRegions again = all.diff.regions.states().front();
        all.diff.regions.add(
            again, {all.diff.regions.stateName(again, 0), all.diff.regions.stateName(again, 1)});
    }));
}

TEST_CASE("a comparison whose counts of NaN do not fit one another is refused")
{
    const Changes changes;
    CHECK(changes.isHostileWith([](JudgedDiff&, ParamDifference& param) {
        Comparison& values = param.states.front().values;
        values.notFiniteLeft = values.notFinite + 1;
    }));
    CHECK(changes.isHostileWith([](JudgedDiff&, ParamDifference& param) {
        Comparison& values = param.states.front().values;
        values.notFinite = 1;
        values.notFiniteLeft = values.notFiniteRight = 0;
    }));
}

TEST_CASE("statistics are the same in another process, and those of other tensors are refused")
{
    const CheckpointPtr checkpoint = sample("zero3-w4");
    const std::vector<TensorAsked> tensors = allTensors(*checkpoint);
    REQUIRE(tensors.size() > 2);
    std::vector<TensorStatistics> made;
    JobContext job;
    REQUIRE(computeStatistics(
        io::realFileSystem(), {*checkpoint, tensors, true}, {}, job, [&](TensorStatistics tensor) -> Status {
            made.push_back(std::move(tensor));
            return {};
        }));
    const std::string text = wireText(*checkpoint, made);
    const auto read = statisticsFromWire(*checkpoint, tensors, text);
    REQUIRE(read);
    CHECK(wireText(*checkpoint, *read) == text);
    CHECK(read->back().histogram.counts() == made.back().histogram.counts());
    const auto isHostile = [&](const std::vector<TensorAsked>& of, const std::string& bytes) {
        const auto found = statisticsFromWire(*checkpoint, of, bytes);
        return !found && found.error().code == ErrorCode::Hostile;
    };
    std::vector<TensorAsked> others = tensors;
    std::swap(others[0], others[1]);
    CHECK(isHostile(others, text));
    others.pop_back();
    CHECK(isHostile(others, text));
    std::vector<TensorStatistics> lacking = made;
    lacking.front().missing = 1; // besides all elements
    CHECK(isHostile(tensors, wireText(*checkpoint, lacking)));
    lacking.front().found.elements -= 1;
    lacking.front().missing = 0;
    CHECK(isHostile(tensors, wireText(*checkpoint, lacking)));
    for (size_t bytes = 0; bytes < text.size(); bytes += 1 + text.size() / 997)
        CHECK(isHostile(tensors, text.substr(0, bytes)));
    std::mt19937 random(11);
    for (int i = 0; i < 500; ++i) {
        std::string changed = text;
        changed[random() % changed.size()] ^= static_cast<char>(1U << (random() % 8));
        for (const auto found = statisticsFromWire(*checkpoint, tensors, changed);
             const TensorStatistics& tensor : found ? *found : std::vector<TensorStatistics>())
            CHECK(tensor.found.finite() <= tensor.elements);
    }
}
