// SPDX-License-Identifier: Apache-2.0
// Files that are intact but of another checkpoint, or missing.
#include "tests/hostile/hostile_fixture.h"

#include <doctest/doctest.h>

using namespace shardscope;
using namespace shardscope::test;
namespace fs = std::filesystem;

namespace {

struct Sample {
    const char* name;
    const char* tag;
    const char* prefix;
    uint32_t ranks;
    bool zero3;

    [[nodiscard]] Row valuesWithout(uint32_t rank) const;
    [[nodiscard]] std::string optim(uint32_t rank) const
    {
        return std::string(tag) + "/" + prefix + "zero_pp_rank_" + std::to_string(rank)
            + "_mp_rank_00_optim_states.pt";
    }
    [[nodiscard]] std::string model(uint32_t rank) const
    {
        return std::string(tag) + "/"
            + (zero3 ? "zero_pp_rank_" + std::to_string(rank) + "_mp_rank_00_model_states.pt"
                     : "mp_rank_00_model_states.pt");
    }
};

/// What `show` prints of the known parameter when a rank cannot be used: ZeRO-1/2 keep it whole on rank 0.
Row Sample::valuesWithout(uint32_t rank) const
{
    return zero3 || rank != 0 ? kOneFileBad : kNoValues;
}

constexpr Sample kSamples[]
    = {{"zero1-w2", "global_step7", "", 2, false}, {"zero2-w2", "global_step6", "bf16_", 2, false},
        {"bf16opt-w2", "global_step4", "bf16_", 2, false}, {"zero3-w4", "global_step5", "bf16_", 4, true}};

/// The sample at another number of ranks, made by the program itself.
fs::path resharded(const Sample& sample, uint32_t ranks, const TemporaryFolder& folder)
{
    const fs::path out = folder / "other";
    runVerb({"reshard", samplePath(sample.name), out, "-w", std::to_string(ranks)}, 0);
    return out;
}

} // namespace

TEST_CASE("a rank's optimizer file is missing")
{
    for (const Sample& sample : kSamples) {
        for (const uint32_t rank : {0u, sample.ranks - 1}) {
            const TemporaryFolder folder;
            const fs::path run = copySample(sample.name, folder);
            fs::remove(run / sample.optim(rank));
            checkRow(run, sample.valuesWithout(rank), "rank-missing", folder);
        }
    }
}

TEST_CASE("all optimizer files but one are missing")
{
    for (const Sample& sample : kSamples) {
        const TemporaryFolder folder;
        const fs::path run = copySample(sample.name, folder);
        for (uint32_t rank = 0; rank + 1 < sample.ranks; ++rank)
            fs::remove(run / sample.optim(rank));
        checkRow(run, sample.valuesWithout(0), "rank-missing", folder);
    }
}

TEST_CASE("a model file is missing")
{
    for (const Sample& sample : kSamples) {
        const TemporaryFolder folder;
        const fs::path run = copySample(sample.name, folder);
        fs::remove(run / sample.model(sample.ranks - 1));
        // Every ZeRO-3 rank has a model file with names and shapes; of the others there is one in all.
        checkRow(run, sample.zero3 ? kOneFileBad : kModelUnreadable, "model-states-missing", folder);
    }
    const TemporaryFolder folder;
    const fs::path run = copySample("zero3-w4", folder);
    fs::remove(run / kSamples[3].model(0));
    checkRow(run, kOneFileBad, "model-states-missing", folder);
}

TEST_CASE("a rank's file is from another world size")
{
    for (const Sample& sample : kSamples) {
        for (const uint32_t otherRanks : {sample.ranks + 1, 1u}) {
            const TemporaryFolder folder;
            const fs::path other = resharded(sample, otherRanks, folder);
            const fs::path run = copySample(sample.name, folder);
            fs::copy_file(other / sample.optim(0), run / sample.optim(sample.ranks - 1),
                fs::copy_options::overwrite_existing);
            checkRow(run, kOneFileBad, "rank-foreign", folder);
        }
    }
}

TEST_CASE("rank 0's file is from another world size")
{
    for (const Sample& sample : kSamples) {
        const TemporaryFolder folder;
        const fs::path other = resharded(sample, 3, folder);
        const fs::path run = copySample(sample.name, folder);
        fs::copy_file(other / sample.optim(0), run / sample.optim(0), fs::copy_options::overwrite_existing);
        checkRow(run, sample.valuesWithout(0), "rank-foreign", folder);
    }
}

TEST_CASE("a model file is from another world size")
{
    for (const Sample& sample : kSamples) {
        const TemporaryFolder folder;
        const fs::path other = resharded(sample, 3, folder);
        const fs::path run = copySample(sample.name, folder);
        const uint32_t rank = sample.zero3 ? 2 : 0;
        fs::copy_file(
            other / sample.model(rank), run / sample.model(rank), fs::copy_options::overwrite_existing);
        checkRow(run, sample.zero3 ? kOneFileBad : kModelUnreadable, "rank-foreign", folder);
    }
}

TEST_CASE("files of a larger save next to those of a smaller one are named and ignored")
{
    const TemporaryFolder folder;
    const Sample& sample = kSamples[1];
    const fs::path other = resharded(sample, 3, folder);
    const fs::path run = copySample(sample.name, folder);
    fs::copy_file(other / sample.optim(2), run / sample.optim(2));
    checkRow(run, kFine, "stale-file", folder);
}

TEST_CASE("a file is from another step")
{
    const Sample& sample = kSamples[1];
    for (const std::string& name : {sample.optim(0), sample.optim(1), sample.model(0)}) {
        CAPTURE(name);
        const TemporaryFolder folder;
        const fs::path run = copySample(sample.name, folder);
        fs::copy_file(run / "global_step3" / fs::path(name).filename(), run / name,
            fs::copy_options::overwrite_existing);
        checkRow(run, kOneFileBad, "step-mismatch", folder);
    }
}

TEST_CASE("two ranks' files have swapped names")
{
    for (const Sample& sample : kSamples) {
        const TemporaryFolder folder;
        const fs::path run = copySample(sample.name, folder);
        fs::rename(run / sample.optim(0), folder / "kept");
        fs::rename(run / sample.optim(1), run / sample.optim(0));
        fs::rename(folder / "kept", run / sample.optim(1));
        // ZeRO-1/2 of two ranks: no file is left that records the groups.
        checkRow(run, sample.zero3 ? kOneFileBad : kModelUnreadable, "rank-foreign", folder);
    }
}
