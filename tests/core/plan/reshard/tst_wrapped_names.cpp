// SPDX-License-Identifier: Apache-2.0
// Names that differ between the places of one checkpoint, and tensors of a module that are no parameters.
#include "core/checkpoint/model/wrapped_names.h"
#include "core/compare/digest/state_fingerprint.h"
#include "core/plan/export/export_names.h"
#include "core/torchfile/pickle/pickle_values.h"
#include "tests/core/plan/plan_fixture.h"
#include "tests/support/damages.h"
#include "tests/support/plain_writer.h"
#include "tests/support/temporary_folder.h"

#include <doctest/doctest.h>

using namespace shardscope;
using namespace shardscope::test;

namespace {

constexpr std::string_view kWrapped = "layers.1._checkpoint_wrapped_module.q_proj.weight";
constexpr std::string_view kPlain = "layers.1.q_proj.weight";

std::string fingerprintOf(const CheckpointPtr& checkpoint)
{
    JobContext job;
    const auto found = fingerprintState(io::realFileSystem(), checkpoint, Workers{}, job);
    REQUIRE_MESSAGE(found.has_value(), (found ? "" : describe(found.error())));
    return found->whole.text();
}

std::vector<std::string> keysOf(const Checkpoint& checkpoint, std::string_view mapping)
{
    const PickleGraph& graph = checkpoint.file(checkpoint.templateModel).content->pickle();
    std::vector<std::string> out;
    const auto add = [&](NodeId node) {
        const auto items = mappingItems(graph, node);
        for (size_t i = 0; i + 1 < items.size(); i += 2)
            out.emplace_back(*asString(graph, items[i]));
    };
    const NodeId node = lookup(graph, graph.root(), mapping);
    add(node);
    for (const NodeId group : sequenceItems(graph, node))
        add(group);
    return out;
}

} // namespace

TEST_CASE("wrappers and adapters are parts of a name")
{
    CHECK(withoutWrappers("a.b") == "a.b");
    CHECK(withoutWrappers("_orig_mod.a._checkpoint_wrapped_module.b") == "a.b");
    CHECK(withoutWrappers("my_orig_mod.a") == "my_orig_mod.a");
    CHECK(withoutAdapterName("x.lora_A.default.weight") == "x.lora_A.weight");
    CHECK(withoutAdapterName("x.modules_to_save.default.weight") == "x.weight");
    CHECK(withoutAdapterName("x.lora_A") == "x.lora_A");
}

TEST_CASE("a parameter inside a wrapper is one parameter, and every place keeps its own name")
{
    const CheckpointPtr two = openForPlan(planSample("../wrapped/zero2"));
    const CheckpointPtr three = openForPlan(planSample("../wrapped/zero3"));
    // the same run without the wrapper
    CHECK(fingerprintOf(two) == fingerprintOf(openForPlan(planSample("../npu/cpu"))));
    for (const CheckpointPtr& source : {two, three}) {
        CHECK(source->complete);
        CHECK(source->findings.empty());
        CHECK(source->params.size() == keysOf(*source, "module").size());
        const auto param = source->findParam(kPlain);
        REQUIRE(param.has_value());
        CHECK(source->findParam(kWrapped) == param);
        const auto names = exportNames(*source, {});
        REQUIRE(names.has_value());
        CHECK(std::ranges::any_of(*names, [](const ExportName& name) { return name.name == kPlain; }));
        CHECK(std::ranges::none_of(
            *names, [](const ExportName& name) { return name.name.find("_wrapped_") != std::string::npos; }));
        for (const int stage : {2, 3}) {
            const TemporaryFolder folder;
            const CheckpointPtr target = rewrite(source, {.worldSize = 3, .stage = stage}, folder.path());
            CHECK(keysOf(*target, "module") == keysOf(*source, "module"));
            auto shapes = keysOf(*target, "param_shapes");
            auto before = keysOf(*source, "param_shapes");
            std::ranges::sort(shapes);
            std::ranges::sort(before);
            CHECK(shapes == before);
            CHECK(fingerprintOf(target) == fingerprintOf(source));
        }
    }
}

TEST_CASE("PEFT's names of a state dict belong to the parameters of the adapter")
{
    const Patchable patched("zero3-w4");
    patched.operateOnAll("_model_states.pt", [](Surgery& surgery) {
        surgery.rename({"param_shapes", 0}, "layers.0.attention.wq.weight", "layers.0.lora_A.default.weight");
        surgery.rename({"module"}, "layers.0.attention.wq.weight", "layers.0.lora_A.weight");
    });
    const CheckpointPtr found = openForPlan(patched.run());
    const auto param = found->findParam("layers.0.lora_A.default.weight");
    REQUIRE(param.has_value());
    CHECK(found->findParam("layers.0.lora_A.weight") == param);
}

TEST_CASE("ZeRO-3 carries extra state and data of quantised weights, and takes them for no ties")
{
    const Patchable patched("zero3-w4");
    const auto add = [&](const char* name, DType dtype, const Shape& shape, const std::string& elements) {
        patched.operateOnAll("_model_states.pt", [&](Surgery& surgery) {
            surgery.add({"module"}, name, surgery.composer().smallTensor(dtype, shape, elements));
        });
    };
    add("layers.0._extra_state", DType::UInt8, {0}, {});
    add("layers.1._extra_state", DType::UInt8, {3}, "abc");
    add("layers.0.w.absmax", DType::Float32, {2}, std::string(8, '\1'));
    const CheckpointPtr source = openForPlan(patched.run());
    CHECK(source->complete);
    for (const char* name : {"layers.0._extra_state", "layers.1._extra_state", "layers.0.w.absmax"}) {
        const auto param = source->findParam(name);
        REQUIRE(param.has_value());
        CHECK(source->params[index(*param)].role == ParamRole::Buffer);
        CHECK(source->params[index(*param)].sharedWith == kNoParam);
    }
    for (const Finding& finding : source->findings)
        CHECK(finding.code != code::kAliasUnrecorded);
    const std::vector<uint8_t> scales = bytesOf(*source, "layers.0.w.absmax", "weight");
    CHECK(scales == std::vector<uint8_t>(8, 1));
    for (const int stage : {2, 3}) {
        const TemporaryFolder folder;
        const CheckpointPtr target = rewrite(source, {.worldSize = 2, .stage = stage}, folder.path());
        CHECK(keysOf(*target, "module") == keysOf(*source, "module"));
        CHECK(bytesOf(*target, "layers.0.w.absmax", "weight") == scales);
        CHECK(bytesOf(*target, "layers.1._extra_state", "weight") == std::vector<uint8_t>{'a', 'b', 'c'});
    }
}
