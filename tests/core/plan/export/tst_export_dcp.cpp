// SPDX-License-Identifier: Apache-2.0
// What a conversion to a distributed checkpoint writes: the metadata lead to archives that hold the
// checkpoint's elements as they are.
#include "tests/core/plan/plan_fixture.h"

#include "core/layout/fragments.h"
#include "core/plan/export/export.h"
#include "core/plan/saved/saved_plan.h"
#include "core/torchfile/formats/dcp_metadata.h"
#include "core/torchfile/pickle/pickle_values.h"
#include "tests/support/plain_writer.h"
#include "tests/support/temporary_folder.h"

#include <doctest/doctest.h>

#include <map>
#include <set>

using namespace shardscope;
using namespace shardscope::test;

namespace {

Result<WritePlanPtr> tryPlan(const CheckpointPtr& source)
{
    JobContext job;
    return planExport(io::realFileSystem(), source, {.format = ExportFormat::Dcp, .folderName = "out"}, job);
}

/// A folder that was written, and what its metadata say.
struct Written {
    explicit Written(const CheckpointPtr& source)
    {
        const auto made = tryPlan(source);
        REQUIRE_MESSAGE(made.has_value(), (made ? "" : describe(made.error())));
        plan = *made;
        plainWrite(*plan, folder.path());
        const auto read = readDcpMetadata(io::realFileSystem(), folder / "out", job);
        REQUIRE_MESSAGE(read.has_value(), (read ? "" : describe(read.error())));
        for (const DcpEntry& entry : *read)
            entries.emplace(entry.key, entry);
    }

    /// The archive of an entry, as torch.load would find it in its part of the file.
    std::shared_ptr<const TorchFile> open(const DcpPlace& place)
    {
        const std::string bytes = slurp(folder / "out" / place.file);
        REQUIRE(place.offset + place.bytes <= bytes.size());
        spill(folder / "item.pt", bytes.substr(place.offset, place.bytes));
        auto file = TorchFile::open(io::realFileSystem(), folder / "item.pt", ReadMode::Strict, job);
        REQUIRE_MESSAGE(file.has_value(), (file ? "" : describe(file.error())));
        return *file;
    }
    std::vector<uint8_t> elements(const std::string& key)
    {
        CAPTURE(key);
        REQUIRE(entries.contains(key));
        const DcpEntry& entry = entries.at(key);
        REQUIRE(entry.chunks.size() == 1);
        const auto file = open(entry.chunks.front().place);
        const auto tensor = asTensor(file->pickle(), file->pickle().root());
        REQUIRE(tensor.has_value());
        CHECK(tensor->dtype == entry.dtype);
        CHECK(tensor->sizes == entry.shape);
        const auto extent = file->extentOf(*tensor);
        REQUIRE(extent.has_value());
        const std::string bytes = slurp(folder / "item.pt").substr(extent->byteOffset, extent->bytes);
        return {bytes.begin(), bytes.end()};
    }

    TemporaryFolder folder{TemporaryFolder::Where::Memory};
    JobContext job;
    WritePlanPtr plan;
    std::map<std::string, DcpEntry> entries;
};

} // namespace

TEST_CASE("every state of every kind is written under torch's names")
{
    for (const char* name : {"zero1-w2", "zero2-w2", "bf16opt-w2", "zero3-w4", "roundrobin-w3", "zenflow-w2",
             "slices-w4", "pipeline-w4", "experts-w4", "stage0-fp32", "stage0-bf16", "muon-w3", "elastic-w3",
             "zero2-universal-w2/global_step5_universal"}) {
        CAPTURE(std::string(name));
        const CheckpointPtr source = openForPlan(planSample(name));
        Written written(source);
        const Checkpoint& model = *written.plan->exported->laidOut;
        std::set<std::string> expected;
        for (const Parameter& param : model.params) {
            const ParamId id = *model.findParam(param.name);
            const auto states = statesOf(model, id);
            const bool master = std::find(states.begin(), states.end(), "fp32") != states.end();
            expected.insert("model." + param.name);
            CHECK(written.elements("model." + param.name)
                == bytesOf(model, param.name, master ? "fp32" : "weight"));
            for (const auto& state : states) {
                if (param.sharedWith != kNoParam || state == "fp32" || state == "weight")
                    continue;
                const std::string key = "optim.state." + param.name + "." + std::string(state);
                expected.insert(key);
                CHECK(written.elements(key) == bytesOf(model, param.name, std::string(state)));
            }
        }
        std::set<std::string> found;
        for (const auto& [key, entry] : written.entries) {
            if (key.starts_with("model.") || (key.starts_with("optim.state.") && !key.ends_with(".step")))
                found.insert(key);
        }
        CHECK(found == expected);
    }
}

TEST_CASE("steps, options of param groups and the run's counters are copied")
{
    const CheckpointPtr source = openForPlan(planSample("zero2-w2"));
    Written written(source);
    const auto step = written.elements("optim.state.norm.weight.step");
    CHECK(step == std::vector<uint8_t>{0, 0, 0xc0, 0x40}); // 6.0
    // One archive serves all that have this step.
    CHECK(written.entries.at("optim.state.norm.weight.step").chunks.front().place
        == written.entries.at("optim.state.layers.0.mlp.up.bias.step").chunks.front().place);
    const auto rootOf = [&](const std::string& key) {
        REQUIRE(written.entries.contains(key));
        CHECK(!written.entries.at(key).isTensor);
        return written.open(written.entries.at(key).place);
    };
    const auto params = rootOf("optim.param_groups.1.params");
    const auto names = sequenceItems(params->pickle(), params->pickle().root());
    REQUIRE(names.size() == 1);
    CHECK(asString(params->pickle(), names.front()) == "tok_embeddings.weight");
    const auto rate = rootOf("optim.param_groups.0.weight_decay");
    CHECK(asNumber(rate->pickle(), rate->pickle().root()).has_value());
    const auto steps = rootOf("deepspeed.global_steps");
    CHECK(asInteger(steps->pickle(), steps->pickle().root()) == 6);
    CHECK(!written.entries.contains("deepspeed.module"));
    CHECK(!written.entries.contains("optim.param_groups.0.step"));
    // A tied parameter under both names, in one file.
    CHECK(written.entries.at("model.lm_head.weight").chunks.front().place
        == written.entries.at("model.tok_embeddings.weight").chunks.front().place);
    CHECK(!written.entries.contains("optim.state.lm_head.weight.exp_avg"));
}

TEST_CASE("a conversion to a distributed checkpoint is planned again from its file")
{
    const CheckpointPtr source = openForPlan(planSample("zero3-w4"));
    const auto plan = tryPlan(source);
    REQUIRE(plan.has_value());
    CHECK((*plan)->verb == "convert");
    CHECK((*plan)->files.back().path == ".metadata");
    const auto parsed
        = parseSavedPlan(savedPlanText(savePlan(**plan, *source, {}, "/somewhere/out")), "plan.json");
    REQUIRE_MESSAGE(parsed.has_value(), (parsed ? "" : describe(parsed.error())));
    REQUIRE(std::holds_alternative<ExportOptions>(parsed->options));
    CHECK(std::get<ExportOptions>(parsed->options).format == ExportFormat::Dcp);
    CHECK(checkSavedPlan(*parsed, **tryPlan(source)).has_value());
}
