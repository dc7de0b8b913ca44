// SPDX-License-Identifier: Apache-2.0
// A comparison that another process has made.
#include "core/compare/diff/judged_diff.h"
#include "core/compare/digest/tensor_statistics.h"
#include "core/report/answers/diff_report.h"
#include "tests/support/damages.h"
#include "tests/support/places.h"

#include <doctest/doctest.h>

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
