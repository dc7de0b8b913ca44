// SPDX-License-Identifier: Apache-2.0
// Ulysses: DeepSpeed 0.18.4 puts the number of the sequence-parallel rank into file names, where others have
// that of the model slice.
#include "core/checkpoint/folder/sequence_names.h"
#include "tests/support/damages.h"

#include <doctest/doctest.h>

#include <set>

using namespace shardscope;
using namespace shardscope::test;
namespace fs = std::filesystem;

namespace {

/// "code at file" of each finding above info.
std::set<std::string> troublesIn(const Checkpoint& checkpoint)
{
    std::set<std::string> out;
    for (const Finding& finding : checkpoint.findings) {
        if (finding.severity != Severity::Info)
            out.insert(std::string(finding.code) + " at " + finding.where.text());
    }
    return out;
}

uint32_t ranksIn(const std::vector<std::string>& names)
{
    std::vector<CheckpointFile> files;
    for (const std::string& name : names)
        files.emplace_back().name = name;
    return sequenceRanksInNames(files);
}

} // namespace

TEST_CASE("the numbers of sequence-parallel ranks are recognised in names")
{
    const auto optim = [](int dp, int mp) {
        return "zero_pp_rank_" + std::to_string(dp) + "_mp_rank_0" + std::to_string(mp) + "_optim_states.pt";
    };
    CHECK(ranksIn({optim(0, 0), optim(1, 1), optim(2, 0), optim(3, 1), "mp_rank_00_model_states.pt"}) == 2);
    CHECK(ranksIn({optim(0, 0), optim(1, 1), optim(2, 2), optim(3, 0)}) == 3);
    CHECK(ranksIn({optim(3, 1), optim(2, 0)}) == 2); // others are missing
    CHECK(ranksIn({}) == 1);
    CHECK(ranksIn({optim(0, 0), optim(1, 0)}) == 1);
    CHECK(ranksIn({optim(0, 0), optim(1, 0), optim(0, 1), optim(1, 1)}) == 1); // tensor slices
    CHECK(ranksIn({optim(0, 0), optim(1, 1), optim(1, 0)}) == 1); // one is left by another run
    CHECK(ranksIn({optim(0, 0), optim(1, 1), "mp_rank_01_model_states.pt"}) == 1);
}

TEST_CASE("all files of a Ulysses run belong to one model slice")
{
    for (const char* sample : {"ds0184-ulysses-zero2-w4", "ds0184-ulysses-zero3-w4"}) {
        CAPTURE(std::string(sample));
        const CheckpointPtr checkpoint = opened(Patchable(sample).run());
        CHECK(checkpoint->complete);
        CHECK(checkpoint->parts.empty());
        CHECK(checkpoint->parallel.dp == 4);
        CHECK(checkpoint->parallel.ranks() == 4);
        CHECK(troublesIn(*checkpoint).empty());
        for (const CheckpointFile& file : checkpoint->files)
            CHECK(file.status == FileStatus::Ok);
        REQUIRE(checkpoint->optimFiles.size() == 4);
        CHECK(checkpoint->file(checkpoint->optimFiles[1]).name
            == "bf16_zero_pp_rank_1_mp_rank_01_optim_states.pt");
        CHECK(checkpoint->file(checkpoint->optimFiles[2]).name
            == "bf16_zero_pp_rank_2_mp_rank_00_optim_states.pt");
    }
}

TEST_CASE("only the missing file of a Ulysses run is missing, under its own name")
{
    const Patchable copy("ds0184-ulysses-zero3-w4");
    const std::string lost = "bf16_zero_pp_rank_1_mp_rank_01_optim_states.pt";
    fs::remove(copy.tag() / lost);
    CHECK(troublesIn(*opened(copy.run())) == std::set<std::string>{"rank-missing at " + lost});
}

TEST_CASE("files of a Ulysses run that were renamed for another release are no foreign ones")
{
    for (const char* sample : {"ds0184-ulysses-zero2-w4", "ds0184-ulysses-zero3-w4"}) {
        CAPTURE(std::string(sample));
        const Patchable copy(sample);
        for (const auto& entry : fs::directory_iterator(copy.tag())) {
            std::string name = entry.path().filename().string();
            if (const size_t at = name.find("_mp_rank_01_"); at != std::string::npos)
                fs::rename(entry.path(), entry.path().parent_path() / name.replace(at, 12, "_mp_rank_00_"));
        }
        const CheckpointPtr checkpoint = opened(copy.run());
        CHECK(checkpoint->complete);
        CHECK(checkpoint->findings.empty());
    }
}

TEST_CASE("recorded tensor slices stay slices, whatever files are missing")
{
    const Patchable copy("slices-w4");
    fs::remove(copy.tag() / "bf16_zero_pp_rank_0_mp_rank_01_optim_states.pt");
    fs::remove(copy.tag() / "bf16_zero_pp_rank_1_mp_rank_00_optim_states.pt");
    fs::remove(copy.tag() / "mp_rank_01_model_states.pt");
    const CheckpointPtr checkpoint = opened(copy.run());
    CHECK(checkpoint->parallel.tp == 2);
    CHECK_FALSE(checkpoint->complete);
    CHECK(troublesIn(*checkpoint).contains("rank-missing at bf16_zero_pp_rank_1_mp_rank_00_optim_states.pt"));
}
