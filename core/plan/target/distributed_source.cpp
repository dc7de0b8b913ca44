// SPDX-License-Identifier: Apache-2.0
#include "core/plan/target/distributed_source.h"

#include "core/checkpoint/model/model_states.h"
#include "core/plan/target/elastic_options.h"
#include "core/torchfile/pickle/pickle_values.h"

#include <algorithm>
#include <string>
#include <vector>

namespace shardscope {

Status requireNativeFacts(const Checkpoint& source)
{
    if (!isDistributed(source.kind) || !source.isReadable(source.templateModel))
        return {};
    const bool trains = std::any_of(
        source.units.begin(), source.units.end(), [](const FlatUnit& unit) { return unit.group >= 0; });
    if (!trains)
        return fail(ErrorCode::Unsupported,
            "weights alone have no masters and no optimizer state, and a run cannot resume without them",
            source.tagFolder.string(), "give the checkpoint of the run that they were exported from");
    std::vector<std::string> lacking;
    const auto need = [&](bool there, const char* what) {
        if (!there)
            lacking.emplace_back(what);
    };
    need(recordsOptions(source), "the options of every param group (`optim.param_groups.0.lr` and the like)");
    need(!source.deepspeedVersion.empty(), "the DeepSpeed version (`deepspeed.ds_version`)");
    need(source.steps.globalSteps.has_value(), "the step counters (`deepspeed.global_steps`)");
    need(modelStates(source).module != kNoNode,
        "the model's own dtypes and how the optimizer keeps its step (`deepspeed.native_form`)");
    const bool masters = std::all_of(source.units.begin(), source.units.end(),
        [](const FlatUnit& unit) { return unit.group < 0 || unit.states.front().name == "fp32"; });
    need(masters, "fp32 masters of all that is trained");
    if (lacking.empty())
        return {};
    return fail(ErrorCode::Refused,
        "the distributed checkpoint does not record what DeepSpeed's files need: " + listText(lacking),
        source.tagFolder.string(),
        Hint::command("convert --to dcp")
            + " writes them; use `shardscope export` to get weights and states from "
              "checkpoints of other programs");
}

} // namespace shardscope
