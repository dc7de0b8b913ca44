// SPDX-License-Identifier: Apache-2.0
// Compares the readers with what stock DeepSpeed's live engine held when it saved the samples
// (tests/data/samples/*.json).
#include "core/base/finding_codes.h"
#include "core/base/sha256.h"
#include "core/layout/fragments.h"
#include "tests/support/damages.h"
#include "tests/support/places.h"

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <fstream>

using namespace shardscope;

namespace {

const io::Path kSamples = io::Path(sourceFolder()) / "tests/data/samples";

CheckpointPtr openSample(const std::string& name, const std::string& tag)
{
    return test::opened(kSamples / name, tag);
}

nlohmann::json factsOf(const std::string& name)
{
    std::ifstream stream(kSamples / (name + ".json"));
    REQUIRE(stream.good());
    return nlohmann::json::parse(stream);
}

std::string sha256Of(const Checkpoint& checkpoint, ParamId param, const std::string& state, DType dtype)
{
    const uint64_t elements = checkpoint.params[index(param)].elements;
    std::vector<uint8_t> bytes(elements * itemSize(dtype));
    const auto read = readElements(io::realFileSystem(), checkpoint, {param, state, 0, elements}, bytes);
    REQUIRE_MESSAGE(read.has_value(), (read ? "" : describe(read.error())));
    Sha256 sha;
    sha.update(bytes);
    return sha.finishHex();
}

/// Without ZeRO no file records the key of a tied module: the first layer that uses it represents it.
std::string nameWithoutKey(const Checkpoint& checkpoint, std::string name)
{
    const std::string key = "tied_modules.embed.";
    if (name.starts_with(key) && !checkpoint.findParam(name))
        name.replace(0, key.size(), "tied_modules.layer_00.");
    return name;
}

void compareParameters(const Checkpoint& checkpoint, const nlohmann::json& parameters)
{
    size_t trainable = 0;
    for (const Parameter& param : checkpoint.params)
        trainable += param.role == ParamRole::Trainable && param.sharedWith == kNoParam ? 1 : 0;
    CHECK(trainable == parameters.size());
    for (const auto& [name, facts] : parameters.items()) {
        CAPTURE(name);
        const auto id = checkpoint.findParam(nameWithoutKey(checkpoint, name));
        REQUIRE(id);
        const Parameter& param = checkpoint.params[index(*id)];
        CHECK(param.elements == facts["elements"].get<uint64_t>());
        CHECK(param.group == facts["group"].get<int>());
        const FlatUnit& unit = *checkpoint.unitOf(*id);
        CHECK(unit.states.size() == facts["states"].size());
        for (const UnitState& state : unit.states) {
            CAPTURE(state.name);
            REQUIRE(facts["states"].contains(state.name));
            const auto& expected = facts["states"][state.name];
            CHECK(dtypeName(state.dtype) == expected["dtype"].get<std::string>());
            CHECK(
                sha256Of(checkpoint, *id, state.name, state.dtype) == expected["sha256"].get<std::string>());
        }
    }
}

} // namespace

TEST_CASE("every parameter and state of every sample is what the live engine held")
{
    for (const char* name : {"zero1-w2", "zero2-w2", "bf16opt-w2", "zero3-w4", "roundrobin-w3", "aligned-w2",
             "zero2-universal-w2", "zero3-universal-w3", "stage0-fp32", "stage0-bf16", "stage0-fp16",
             "stage0-adafactor", "elastic-w3", "zero3-elastic-w3", "zenflow-w2", "ds0192-zenflow-w2",
             "ds0192-zenflow-w3", "muon-w3", "experts-w4", "autoep-w4", "ds0192-experts-w4",
             "ds0192-autoep-w4", "folded-w4", "pipeline-w4", "slices-w4", "stage0-slices-w2",
             "stage0-pipeline-fp32-w2", "stage0-pipeline-fp16-w2", "stage0-pipeline-bf16-w4"}) {
        CAPTURE(name);
        const auto facts = factsOf(name);
        for (const auto& [tag, tagFacts] : facts["tags"].items()) {
            CAPTURE(tag);
            const CheckpointPtr checkpoint = openSample(name, tag);
            for (const Finding& finding : checkpoint->findings)
                CHECK_MESSAGE(finding.severity == Severity::Info, finding.message);
            REQUIRE(!checkpoint->modelError);
            CHECK(checkpoint->supported);
            CHECK(checkpoint->complete);
            CHECK(checkpoint->parallel.ranks() == facts["world"].get<uint32_t>());
            compareParameters(*checkpoint, tagFacts["parameters"]);
        }
    }
}

TEST_CASE("under ZeRO-3 every expert-parallel rank has its experts of AutoEP in one tensor")
{
    const char* sample = "autoep-zero3-w4";
    SUBCASE("of data-parallel ranks alone") { }
    SUBCASE("folded over tensor slices")
    {
        sample = "folded-zero3-w4";
    }
    const auto facts = factsOf(sample);
    const CheckpointPtr checkpoint = openSample(sample, "global_step3");
    REQUIRE_MESSAGE(!checkpoint->modelError, describe(*checkpoint->modelError));
    CHECK(checkpoint->complete);
    CHECK(checkpoint->findings.empty());
    CHECK(checkpoint->parallel.ep == 2);
    size_t experts = 0;
    for (const auto& [name, noted] : facts["tags"]["global_step3"]["parameters"].items()) {
        CAPTURE(name);
        const size_t dot = name.rfind('.');
        const bool isExpert = name.find(".experts.") != std::string::npos;
        experts += isExpert ? 1 : 0;
        const auto number = isExpert ? std::stoul(name.substr(dot + 1)) : 0;
        const auto id = checkpoint->findParam(
            isExpert ? name.substr(0, dot) + ":ep" + std::to_string(number / 2) : name);
        REQUIRE(id);
        const auto elements = noted["elements"].get<uint64_t>();
        const uint64_t begin = number % 2 * elements;
        CHECK(checkpoint->params[index(*id)].elements == (isExpert ? 2 : 1) * elements);
        for (const auto& [state, tensor] : noted["states"].items()) {
            CAPTURE(state);
            std::vector<uint8_t> bytes(elements * sizeof(float));
            REQUIRE(readElements(
                io::realFileSystem(), *checkpoint, {*id, state, begin, begin + elements}, bytes));
            Sha256 sha;
            sha.update(bytes);
            CHECK(sha.finishHex() == tensor["sha256"].get<std::string>());
        }
    }
    CHECK(experts == 24); // two layers of four, three matrices each
}

TEST_CASE("samples of releases before 0.14 equal what their engines held")
{
    struct Row {
        const char* name;
        CheckpointKind kind;
        const char* version;
    };
    for (const Row& row : {Row{"ds0310-zero2-w2", CheckpointKind::Zero2, ""},
             Row{"ds045-zero2-w3", CheckpointKind::Zero2, "0.4.5"},
             Row{"ds053-zero3-w3", CheckpointKind::Zero3, "0.5.3"},
             Row{"ds0510-zero2-w3", CheckpointKind::Zero2, "0.5.10"},
             Row{"ds067-zero1-w2", CheckpointKind::Zero1, "0.6.7"},
             Row{"ds083-zero3-w2", CheckpointKind::Zero3, "0.8.3"},
             Row{"ds0103-bf16opt-w2", CheckpointKind::Bf16, "0.10.3"},
             Row{"ds0135-zero2-w3", CheckpointKind::Zero2, "0.13.5"}}) {
        CAPTURE(row.name);
        const auto facts = factsOf(row.name);
        for (const auto& [tag, tagFacts] : facts["tags"].items()) {
            const CheckpointPtr checkpoint = openSample(row.name, tag);
            for (const Finding& finding : checkpoint->findings) // ties and frozen ones were not recorded
                CHECK_MESSAGE((finding.severity == Severity::Info || finding.code == code::kAliasUnrecorded),
                    finding.message);
            REQUIRE_MESSAGE(!checkpoint->modelError, describe(*checkpoint->modelError));
            CHECK(checkpoint->complete);
            CHECK(checkpoint->kind == row.kind);
            CHECK(checkpoint->deepspeedVersion == row.version);
            CHECK(checkpoint->parallel.ranks() == facts["world"].get<uint32_t>());
            compareParameters(*checkpoint, tagFacts["parameters"]);
        }
    }
}

TEST_CASE("the first snapshot of an old checkpoint has its parameters, too")
{
    for (const char* name : {"ds0310-zero2-w2", "ds045-zero2-w3", "ds053-zero3-w3", "ds0510-zero2-w3"}) {
        CAPTURE(name);
        const CheckpointPtr checkpoint = test::opened(kSamples / name, {}, OpenDepth::Structure);
        CHECK(!checkpoint->modelError);
        CHECK(checkpoint->units.size() >= 3);
    }
}

TEST_CASE("the output of DeepSpeed's converter for a sample equals what the live engine held")
{
    for (const char* name : {"zero2-universal-w2", "zero3-universal-w3"}) {
        CAPTURE(name);
        const auto facts = factsOf(name);
        for (const auto& [tag, tagFacts] : facts["tags"].items()) {
            const CheckpointPtr checkpoint = openSample(name, tag + "_universal");
            for (const Finding& finding : checkpoint->findings)
                CHECK_MESSAGE(finding.severity == Severity::Info, finding.message);
            REQUIRE(!checkpoint->modelError);
            CHECK(checkpoint->complete);
            CHECK(checkpoint->kind == CheckpointKind::Universal);
            CHECK(checkpoint->parallel.dp == 1);
            compareParameters(*checkpoint, tagFacts["parameters"]);
            for (const FlatUnit& unit : checkpoint->units) {
                CHECK((unit.kind == UnitKind::Whole || unit.kind == UnitKind::Frozen));
                for (const UnitState& state : unit.states)
                    CHECK(state.map().tensors().size()
                        == (unit.kind == UnitKind::Whole ? unit.params.size() : 0));
            }
        }
    }
}

TEST_CASE("the first snapshot of a universal folder opens no state file")
{
    const auto kept
        = test::opened(kSamples / "zero3-universal-w3/global_step3_universal", {}, OpenDepth::Structure);
    const Checkpoint& checkpoint = *kept;
    REQUIRE(!checkpoint.modelError);
    CHECK(!checkpoint.complete);
    size_t pending = 0;
    for (const CheckpointFile& file : checkpoint.files)
        pending += file.status == FileStatus::NotYetRead ? 1 : 0;
    // All files except the first model file and optimizer_state.pt.
    CHECK(pending == checkpoint.files.size() - 2);
    const FlatUnit& unit = checkpoint.units.front();
    REQUIRE(unit.states.size() == 3);
    CHECK(unit.states[1].name == "exp_avg");
    CHECK(unit.states[1].map().tensors().empty());
    const auto fragments = fragmentsOf(checkpoint, unit.params.front(), "exp_avg", 0, 1);
    REQUIRE(fragments.has_value());
    CHECK(fragments->front().file == kNoFile);
}

TEST_CASE("a fully read universal folder keeps only the files that a plan needs")
{
    const CheckpointPtr checkpoint = openSample("zero2-universal-w2", "global_step5_universal");
    for (uint32_t i = 0; i < checkpoint->files.size(); ++i) {
        const CheckpointFile& file = checkpoint->files[i];
        const bool kept = FileId{i} == checkpoint->templateModel || FileId{i} == checkpoint->templateOptim;
        CHECK((file.content != nullptr) == kept);
        CHECK(file.status == FileStatus::Ok);
        CHECK(file.recordCount > 0);
    }
}

TEST_CASE("weights, frozen parameters and buffers of the samples are what the live engine held")
{
    for (const std::string name : {"zero1-w2", "zero2-w2", "bf16opt-w2", "zero3-w4", "roundrobin-w3",
             "aligned-w2", "zero2-universal-w2", "zero3-universal-w3"}) {
        CAPTURE(name);
        const auto facts = factsOf(name);
        for (const auto& [tag, tagFacts] : facts["tags"].items()) {
            const bool converted = name.find("universal") != std::string::npos;
            const CheckpointPtr checkpoint = openSample(name, tag + (converted ? "_universal" : ""));
            size_t compared = 0;
            for (const auto& [weight, expected] : tagFacts["weights"].items()) {
                CAPTURE(weight);
                const auto id = checkpoint->findParam(weight);
                REQUIRE(id);
                const auto states = statesOf(*checkpoint, *id);
                if (std::find(states.begin(), states.end(), "weight") == states.end())
                    continue; // ZeRO-3 keeps no 16-bit copy of what it trains
                const auto dtype = dtypeFromName(expected["dtype"].get<std::string>());
                REQUIRE(dtype);
                CHECK(sha256Of(*checkpoint, *id, "weight", *dtype) == expected["sha256"].get<std::string>());
                ++compared;
            }
            CHECK(compared > 0);
        }
    }
}

TEST_CASE("the kinds of the samples are recognised")
{
    struct Row {
        const char* name;
        CheckpointKind kind;
        int stage;
        const char* precision;
        const char* tag;
    };
    for (const Row& row : {Row{"zero1-w2", CheckpointKind::Zero1, 1, "fp16", "global_step7"},
             Row{"zero2-w2", CheckpointKind::Zero2, 2, "bf16", "global_step6"},
             Row{"roundrobin-w3", CheckpointKind::Zero2, 2, "bf16", "global_step4"},
             Row{"aligned-w2", CheckpointKind::Zero1, 1, "bf16", "global_step4"},
             Row{"bf16opt-w2", CheckpointKind::Bf16, 1, "bf16", "global_step4"},
             Row{"zero3-w4", CheckpointKind::Zero3, 3, "bf16", "global_step5"}}) {
        CAPTURE(row.name);
        const CheckpointPtr checkpoint = openSample(row.name, {});
        CHECK(checkpoint->kind == row.kind);
        CHECK(checkpoint->zeroStage == row.stage);
        CHECK(checkpoint->precision == row.precision);
        CHECK(checkpoint->tag == row.tag);
        CHECK(checkpoint->latest == row.tag);
        CHECK(checkpoint->optimizer == "exp_avg+exp_avg_sq");
        CHECK(checkpoint->deepspeedVersion == "0.19.8");
    }
}

TEST_CASE("an opened checkpoint keeps what its ranks have in common once")
{
    const CheckpointPtr checkpoint = openSample("zero3-w4", "global_step5");
    const auto pickle = [&](FileId file) { return &checkpoint->file(file).content->pickle(); };
    REQUIRE(checkpoint->modelFiles.size() == 4);
    CHECK(pickle(checkpoint->modelFiles[1]) == pickle(checkpoint->modelFiles[3]));
    CHECK(pickle(checkpoint->modelFiles[0]) != pickle(checkpoint->modelFiles[1]));
}
