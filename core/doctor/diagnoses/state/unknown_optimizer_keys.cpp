// SPDX-License-Identifier: Apache-2.0
#include "core/doctor/finding_sink.h"
#include "core/doctor/saved_facts.h"

#include <algorithm>
#include <set>

namespace shardscope::diagnosis {

namespace {

std::string listOf(const std::set<std::string>& names)
{
    std::string out;
    for (const std::string& name : names)
        out += (out.empty() ? "`" : ", `") + name + "`";
    return out;
}

Status look(const CheckContext& context, FindingSink& sink)
{
    if (!context.hasModel() || !hasRankFiles(context.checkpoint->kind))
        return {};
    const Checkpoint& checkpoint = *context.checkpoint;
    std::set<std::string> others;
    bool lacksAdams = false;
    for (const FlatUnit& unit : checkpoint.units) {
        if (!unit.isFlat() || unit.states.size() < 2)
            continue;
        size_t adams = 0;
        for (const UnitState& state : unit.states) {
            if (state.name == "exp_avg" || state.name == "exp_avg_sq")
                ++adams;
            else if (state.name != "fp32")
                others.insert(state.name);
        }
        lacksAdams = lacksAdams || adams < 2;
    }
    if (others.empty() && !lacksAdams)
        return {};
    const OptimStates optimizer = optimStates(checkpoint);
    std::vector<std::string> evidence;
    if (!others.empty())
        evidence.push_back("states besides the masters: " + listOf(others));
    evidence.emplace_back(lacksAdams
            ? "ds_to_universal reads `exp_avg` and `exp_avg_sq` of every group, and stops with a KeyError"
            : "ds_to_universal reads `exp_avg` and `exp_avg_sq`, and leaves out the rest");
    sink.add(Severity::Info, "the optimizer's states are not Adam's",
        optimizer.file == nullptr ? std::string() : optimizer.file->name, std::move(evidence));
    return {};
}

} // namespace

/// States that the stock converter does not know.
extern const Diagnosis kUnknownOptimizerKeys;
const Diagnosis kUnknownOptimizerKeys{
    .code = "unknown-optimizer-keys",
    .letter = "S5",
    .name = "An optimizer that is not Adam",
    .depth = CheckDepth::Metadata,
    .worst = Severity::Info,
    .means = {.loading = "It loads into the same optimizer.",
        .resuming
        = "At another number of ranks only through this program: the stock converter supports only Adam."},
    .remedy = "use `reshard`, which copies states with any name",
    .threads = "DS#8608, DS#7746",
    .look = look,
};

} // namespace shardscope::diagnosis
