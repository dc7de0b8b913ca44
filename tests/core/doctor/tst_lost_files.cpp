// SPDX-License-Identifier: Apache-2.0
// Every file of every sample, missing or truncated: it is reported by name, and no other file is reported.
#include "tests/support/damages.h"

#include <algorithm>
#include <array>

using namespace shardscope;
using namespace shardscope::test;
namespace fs = std::filesystem;

namespace {

/// The codes among these that were found, although no file is of another step or run.
std::set<std::string> falselySaid(const CheckResult& result)
{
    std::set<std::string> out = troubles(result);
    std::erase_if(out, [](const std::string& code) {
        return code != "rank-foreign" && code != "step-mismatch" && code != "option-mismatch"
            && code != "step-off-counters";
    });
    return out;
}

/// Whether there is a finding above info about the file.
bool isMissed(const CheckResult& result, const std::string& name)
{
    return std::any_of(result.findings.begin(), result.findings.end(), [&](const DoctorFinding& found) {
        return found.finding.severity != Severity::Info
            && (found.finding.where.text() + "\n" + textOf(found)).find(name) != std::string::npos;
    });
}

/// Without ZeRO everything is in one file, and without that there is no checkpoint.
bool isOneFile(const std::string& sample)
{
    return sample.find("stage0-") != std::string::npos;
}

} // namespace

TEST_CASE("a missing file is reported, and no other file is")
{
    for (const std::string& sample : allSamples()) {
        if (isOneFile(sample))
            continue;
        for (std::string name : Patchable(sample).filesLike(".pt")) {
            CAPTURE(sample);
            CAPTURE(name);
            const Patchable damaged(sample);
            fs::remove(damaged.tag() / name);
            const CheckResult result = damaged.check();
            CAPTURE(troubles(result));
            CHECK(falselySaid(result).empty());
            if (sample.starts_with("pipeline-w4:") && name == "layer_00-model_states.pt") {
                const DoctorFinding* found = findingOf(result, "model-states-missing"); // the tied module's
                REQUIRE(found != nullptr);
                CHECK(found->finding.severity == Severity::Info);
                CHECK(textOf(*found).find("`embed`") != std::string::npos);
                continue;
            }
            const size_t old
                = name.find("00optim"); // name in releases up to 0.3.10; the current name is reported
            if (old != std::string::npos)
                name.insert(old + 2, "_");
            const bool ofExpert = name.starts_with("layer_") && name.find("expert") != std::string::npos;
            if (ofExpert) // or the experts that it held are named
                CHECK(!troubles(result).empty());
            else
                CHECK(isMissed(result, name));
        }
    }
}

TEST_CASE("a truncated file is reported, without a finding about the step of its rank")
{
    for (const std::string& sample : allSamples()) {
        for (const std::string& name : Patchable(sample).filesLike("states.pt")) {
            CAPTURE(sample);
            CAPTURE(name);
            const Patchable damaged(sample);
            fs::resize_file(damaged.tag() / name, fs::file_size(damaged.tag() / name) / 2);
            const CheckResult result = damaged.check();
            CAPTURE(troubles(result));
            CHECK(isMissed(result, name));
            CHECK(falselySaid(result).empty());
        }
    }
}

TEST_CASE("a slice without any optimizer file is incomplete, not a checkpoint of another kind")
{
    for (const char* sample : {"megatron-w2", "slices-w4", "pipeline-w4"}) {
        CAPTURE(sample);
        const Patchable one(sample);
        for (const std::string& name : one.filesLike("mp_rank_01_optim_states.pt"))
            fs::remove(one.tag() / name);
        const CheckResult result = one.check();
        REQUIRE(findingOf(result, "rank-missing") != nullptr);
        CHECK(findingOf(result, "rank-missing")->finding.where.text()
            == "bf16_zero_pp_rank_0_mp_rank_01_optim_states.pt");
        CHECK(falselySaid(result).empty());
        const Patchable all(sample);
        for (const std::string& name : all.filesLike("optim_states.pt"))
            fs::remove(all.tag() / name);
        CHECK(troubles(all.check()).contains("rank-missing"));
    }
}

TEST_CASE("a missing layer file without parameters is reported if another tag of the run has it")
{
    const Patchable damaged("pipeline-w4");
    fs::copy(damaged.tag(), damaged.run() / "global_step2");
    fs::remove(damaged.tag() / "layer_00-model_states.pt");
    const CheckResult result = damaged.check();
    CHECK(troubles(result) == std::set<std::string>{"model-states-missing"});
    CHECK(isMissed(result, "layer_00-model_states.pt"));
    CHECK(isMissed(result, "global_step2"));
    // Another model's layers are not evidence.
    fs::rename(damaged.run() / "global_step2" / "layer_05-model_states.pt",
        damaged.run() / "global_step2" / "layer_06-model_states.pt");
    CHECK(troubles(damaged.check()).empty());
}

TEST_CASE("a universal folder reports what the only parameter of a group has lost")
{
    for (const auto& [sample, tag] : {std::pair("zero2-universal-w2", "global_step5_universal"),
             std::pair("zero3-universal-w3", "global_step3_universal")}) {
        for (const char* state : {"exp_avg", "exp_avg_sq", "step"}) {
            CAPTURE(sample);
            CAPTURE(state);
            const Patchable damaged(sample, tag);
            const fs::path file
                = damaged.tag() / "zero" / "tok_embeddings.weight" / (std::string(state) + ".pt");
            if (!fs::exists(file)) // ZeRO-3's steps are in optimizer_state.pt
                continue;
            fs::remove(file);
            const CheckResult result = damaged.check();
            const DoctorFinding& found = requireFinding(result, "state-missing");
            CHECK(found.finding.severity == Severity::Error);
            CHECK(found.finding.where.text() == "tok_embeddings.weight#" + std::string(state));
        }
    }
    const Patchable damaged("zero3-universal-w3", "global_step3_universal");
    fs::remove(damaged.tag() / "zero_pp_rank_0_mp_rank_00_model_states.pt");
    CHECK(isMissed(damaged.check(), "zero_pp_rank_0_mp_rank_00_model_states.pt"));
}

TEST_CASE("a torn shard is not searched for in folders of another run")
{
    const Patchable damaged("zero2-w2");
    const Patchable other("zero3-w4");
    const fs::path sibling = damaged.run().parent_path() / "other-run" / damaged.tag().filename();
    fs::create_directories(sibling.parent_path());
    fs::copy(other.tag(), sibling);
    fs::create_directories(damaged.run() / "converted");
    fs::copy_file(damaged.tag() / "mp_rank_00_model_states.pt",
        damaged.run() / "converted" / "mp_rank_00_model_states.pt");
    const fs::path shard = damaged.tag() / "bf16_zero_pp_rank_1_mp_rank_00_optim_states.pt";
    fs::resize_file(shard, fs::file_size(shard) / 2);
    CHECK(!troubles(damaged.check()).contains("split-shards"));
    fs::remove(shard);
    CHECK(!troubles(damaged.check()).contains("split-shards"));
}
