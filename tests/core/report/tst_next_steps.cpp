// SPDX-License-Identifier: Apache-2.0
#include "core/report/summary/next_steps.h"

#include "core/base/finding_codes.h"
#include "core/checkpoint/open/open.h"
#include "core/doctor/diagnosis.h"
#include "core/report/summary/provenance.h"
#include "core/torchfile/skeleton/skeleton_files.h"
#include "tests/support/places.h"
#include "tests/support/temporary_folder.h"

#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>

using namespace shardscope;
using namespace shardscope::test;

namespace {

io::Path sample(const std::string& name)
{
    return io::Path(sourceFolder() + "/tests/data/samples/" + name);
}

CheckpointPtr opened(const io::Path& path)
{
    JobContext job;
    auto checkpoint = openCheckpoint(realFilesAndSkeletons(), path, {}, job);
    REQUIRE(checkpoint);
    return checkpoint->checkpoint;
}

NextStep stepOf(const CheckpointPtr& checkpoint, NextStepId id)
{
    JobContext job;
    for (const NextStep& step :
        nextSteps(realFilesAndSkeletons(), {checkpoint->tagFolder}, checkpoint, checkpoint->findings, job)) {
        if (step.id == id)
            return step;
    }
    FAIL("the step is not listed");
    return {};
}

std::string whyNot(const CheckpointPtr& checkpoint, NextStepId id)
{
    return stepOf(checkpoint, id).whyNot;
}

/// The step of a checkpoint with these findings.
NextStep repairOf(const CheckpointPtr& checkpoint, const std::vector<Finding>& found)
{
    JobContext job;
    return nextSteps(realFilesAndSkeletons(), {checkpoint->tagFolder}, checkpoint, found, job).front();
}

/// A copy of a sample without the optimizer file of a rank.
CheckpointPtr withoutRank(const TemporaryFolder& temporary, const std::string& name, size_t rank)
{
    const io::Path folder = temporary.path() / "run";
    std::filesystem::copy(sample(name), folder, std::filesystem::copy_options::recursive);
    const CheckpointPtr sound = opened(folder);
    std::filesystem::remove(sound->file(sound->optimFiles[rank]).path);
    return opened(folder);
}

} // namespace

TEST_CASE("a sound checkpoint can be resharded, converted, exported and compared")
{
    for (const char* name : {"zero1-w2", "zero2-w2", "zero3-w4", "bf16opt-w2", "pipeline-w4", "slices-w4"}) {
        CAPTURE(name);
        const CheckpointPtr checkpoint = opened(sample(name));
        for (const NextStepId id :
            {NextStepId::Resume, NextStepId::Convert, NextStepId::Export, NextStepId::Compare})
            CHECK(whyNot(checkpoint, id) == "");
        CHECK(whyNot(checkpoint, NextStepId::Repair) == "nothing to repair was found");
        CHECK(whyNot(checkpoint, NextStepId::Verify).find("not written by Shardscope") != std::string::npos);
    }
}

TEST_CASE("what cannot be done has one reason")
{
    CHECK(whyNot(opened(sample("zero2-universal-w2/global_step5_universal")), NextStepId::Convert)
        == "it is universal already, and any number of ranks loads it");
    // Stock DeepSpeed has no universal form of native experts: the planner says so.
    CHECK(whyNot(opened(sample("experts-w4")), NextStepId::Convert).find("universal") != std::string::npos);
    CHECK(whyNot(opened(sample("experts-w4")), NextStepId::Resume) == "");
}

TEST_CASE("jobs that read are possible where they do not fail at once")
{
    const TemporaryFolder temporary;
    std::filesystem::create_directories(temporary.path() / "weights");
    std::string header = R"({"w":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}})";
    header.resize(64, ' ');
    std::ofstream file(temporary.path() / "weights/model.safetensors", std::ios::binary);
    file << static_cast<char>(header.size()) << std::string(7, '\0') << header << std::string(4, '\0');
    file.close();
    const ReadingJobs weights
        = readingJobs(realFilesAndSkeletons(), *opened(temporary.path() / "weights/model.safetensors"));
    CHECK(weights.whyNotVerify.find("no checksums") != std::string::npos);
    CHECK(weights.whyNotFingerprint != "");
    CHECK(weights.whyNotSkeleton.find("DeepSpeed") != std::string::npos);
    const ReadingJobs sound = readingJobs(realFilesAndSkeletons(), *opened(sample("zero2-w2")));
    CHECK(sound.whyNotVerify == "");
    CHECK(sound.whyNotFingerprint == "");
    CHECK(sound.whyNotSkeleton == "");
}

TEST_CASE("a checkpoint with a lost file can be repaired or says why not, and nothing else is promised")
{
    const TemporaryFolder temporary;
    const CheckpointPtr broken = withoutRank(temporary, "zero2-w2", 1);
    const std::string why = whyNot(broken, NextStepId::Resume);
    CHECK(why != "");
    CHECK(why.find("make the result wrong: ") == std::string::npos); // not the whole list again
    CHECK(whyNot(broken, NextStepId::Export) != "");
    const NextStep repair = stepOf(broken, NextStepId::Repair);
    CHECK(repair.isPossible());
    CHECK(repair.whyNotAtOnce == ""); // the model file has 16-bit copies of the masters
    CHECK(!repair.isOptional);
}

TEST_CASE("a repair that needs a donor says so")
{
    const TemporaryFolder temporary;
    const NextStep repair = stepOf(withoutRank(temporary, "zero3-w4", 1), NextStepId::Repair);
    CHECK(repair.isPossible()); // with other settings
    CHECK(repair.whyNotAtOnce.find("no 16-bit copies") != std::string::npos);
}

TEST_CASE("a repair is offered for problems, and otherwise optional")
{
    const CheckpointPtr sound = opened(sample("zero2-w2"));
    const Finding info{"universal-info-missing", Severity::Info, "there is none", "x", {}};
    const NextStep optional = repairOf(sound, {info});
    CHECK(optional.isPossible());
    CHECK(optional.isOptional);
    const Finding lost{"optimizer-states-missing", Severity::Error, "there are none", "x", {}};
    CHECK(repairOf(sound, {info, lost}).whyNot == std::string(diagnosisOf(lost.code).noRemedy));
    CHECK(repairOf(sound, {}).whyNot == "nothing to repair was found");
    // Settings of stages are not repaired, whatever is chosen.
    const NextStep stages = repairOf(opened(sample("pipeline-w4")), {info});
    CHECK(stages.whyNot.find("pipeline stages") != std::string::npos);
    CHECK(!stages.isOptional);
}

TEST_CASE("the files say who wrote them")
{
    const Provenance written = provenanceOf(realFilesAndSkeletons(), *opened(sample("zero3-w4")));
    REQUIRE(!written.facts.empty());
    CHECK(written.facts.front().name == "DeepSpeed");
    CHECK(written.facts.front().value == "0.19.8");
    CHECK(written.facts.front().file != kNoFile);
    CHECK(written.firstWritten > 0);
    CHECK(written.lastWritten >= written.firstWritten);
}

TEST_CASE("what reads a damaged record is not offered")
{
    const CheckpointPtr checkpoint = opened(sample("zero2-w2"));
    const Finding damaged{code::kRecordCorrupt, Severity::Error, "bytes of a record are damaged", {}, {}};
    JobContext job;
    for (const NextStep& step : nextSteps(
             realFilesAndSkeletons(), {checkpoint->tagFolder}, checkpoint, std::span(&damaged, 1), job)) {
        const bool reads = step.id == NextStepId::Resume || step.id == NextStepId::Convert
            || step.id == NextStepId::Export;
        CHECK((step.whyNot == damaged.message) == reads);
    }
}
