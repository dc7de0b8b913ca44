// SPDX-License-Identifier: Apache-2.0
// Tensors that were saved on accelerators with forms of their own.
#include "core/checkpoint/open/open.h"
#include "core/compare/digest/state_fingerprint.h"
#include "core/torchfile/pickle/pickle_values.h"
#include "tests/core/plan/plan_fixture.h"
#include "tests/support/damages.h"
#include "tests/support/temporary_folder.h"

#include <doctest/doctest.h>

#include <array>

using namespace shardscope;
using namespace shardscope::test;

namespace {

std::string fingerprintOf(const CheckpointPtr& checkpoint)
{
    JobContext job;
    const auto found = fingerprintState(io::realFileSystem(), checkpoint, Workers{}, job);
    REQUIRE_MESSAGE(found.has_value(), (found ? "" : describe(found.error())));
    return found->whole.text();
}

/// Why a checkpoint is not supported.
std::string whyNot(const Patchable& patched)
{
    JobContext job;
    const auto opened = openCheckpoint(io::realFileSystem(), patched.run(), {}, job);
    REQUIRE(opened.has_value());
    const Checkpoint& checkpoint = *opened->checkpoint;
    CHECK_FALSE(checkpoint.supported);
    for (const Finding& finding : checkpoint.findings)
        CHECK_MESSAGE(finding.severity != Severity::Error, finding.message);
    return checkpoint.modelError && checkpoint.modelError->code == ErrorCode::Unsupported ? checkpoint.whyNot
                                                                                          : std::string();
}

/// Replaces a tensor by `make`(builder, tensor).
void wrap(const Patchable& patched, const std::string& ending, const Way& way,
    const std::function<NodeId(PickleBuilder&, NodeId)>& make)
{
    patched.operateOnAll(ending, [&](Surgery& surgery) {
        surgery.set(way, make(surgery.builder(), surgery.composer().import(surgery.at(way))));
    });
}

const Way kMaster{"optimizer_state_dict", "single_partition_of_fp32_groups", 0};

} // namespace

TEST_CASE("tensors of an Ascend NPU are read and rewritten like those of a CPU")
{
    const CheckpointPtr npu = openForPlan(planSample("../npu/ascend"));
    const CheckpointPtr cpu = openForPlan(planSample("../npu/cpu"));
    CHECK(npu->complete);
    CHECK(npu->findings.empty());
    CHECK(fingerprintOf(npu) == fingerprintOf(cpu));
    const TemporaryFolder folder;
    const CheckpointPtr target = rewrite(npu, {.worldSize = 3, .stage = 3}, folder.path());
    CHECK(fingerprintOf(target) == fingerprintOf(cpu));
}

TEST_CASE("a tensor that is saved as a copy on the CPU is read")
{
    const Patchable patched("zero2-w2");
    const std::string before = fingerprintOf(openForPlan(patched.run()));
    wrap(patched, "_optim_states.pt", kMaster, [](PickleBuilder& builder, NodeId tensor) {
        return builder.reduce(builder.global("torch._utils", "_rebuild_device_tensor_from_cpu_tensor"),
            builder.tuple(std::array{tensor, builder.global("torch", "float32"), builder.string("xla:0"),
                builder.boolean(false)}));
    });
    CHECK(fingerprintOf(openForPlan(patched.run())) == before);
}

TEST_CASE("tensors that need the library of an accelerator are refused with its name, and are not damage")
{
    for (const auto& [module, function, named] :
        {std::array{"torch_gcu.utils", "_rebuild_gcu_tensor", "torch_gcu"},
            std::array{"torch._utils", "_rebuild_device_tensor_from_numpy", "XLA"},
            std::array{"torch._utils", "_rebuild_xla_tensor", "XLA"}}) {
        CAPTURE(std::string(function));
        const auto make = [&](PickleBuilder& builder, NodeId tensor) {
            return builder.reduce(builder.global(module, function), builder.tuple(std::array{tensor}));
        };
        const Patchable optimizer("zero2-w2");
        wrap(optimizer, "_optim_states.pt", kMaster, make);
        CHECK(whyNot(optimizer).find(named) != std::string::npos);
        const Patchable model("zero3-w4");
        wrap(model, "_model_states.pt", {"module", "norm.weight"}, make);
        CHECK(whyNot(model).find(named) != std::string::npos);
    }
}
