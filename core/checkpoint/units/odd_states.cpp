// SPDX-License-Identifier: Apache-2.0
#include "core/checkpoint/units/odd_states.h"

#include "core/base/finding_codes.h"
#include "core/base/text.h"
#include "core/checkpoint/model/checkpoint.h"
#include "core/checkpoint/model/muon.h"

#include <algorithm>
#include <array>

namespace shardscope {

namespace {

struct Family {
    std::string_view why;
    std::array<std::string_view, 8> states;
};

/// Names as in bitsandbytes (optim/optimizer.py), DeepSpeed before 0.19.7 (runtime/fp16/onebit), torch
/// (optim/_adafactor.py), transformers and CAME.
constexpr std::array<Family, 4> kFamilies{{
    {"an 8-bit optimizer (bitsandbytes) scales blocks of each rank's own shard, and another number of ranks "
     "has other blocks, whose codes would have to be rounded again",
        {"state1", "state2", "absmax1", "absmax2", "qmap1", "qmap2", "new_max1", "new_max2"}},
    {"the buffers of 1-bit optimizers are split for the ranks of the run, and only those of rank 0 are saved",
        {"worker_error", "server_error", "momentum_accumulator"}},
    {"a factored state has sums over rows and columns of a whole matrix",
        {"row_var", "col_var", "exp_avg_sq_row", "exp_avg_sq_col", "exp_avg_res_row", "exp_avg_res_col"}},
    {"Muon's momentum is kept for whole parameters, and these are not contiguous as Muon needs them "
     "(parameter_alignment) or were split (elastic_checkpoint)",
        {kMuonMomentum}},
}};

std::string_view whyOf(std::string_view state)
{
    for (const Family& family : kFamilies) {
        if (std::find(family.states.begin(), family.states.end(), state) != family.states.end())
            return family.why;
    }
    return "its elements belong to no single elements of the parameters";
}

} // namespace

void setStateAside(
    const Reading& reading, std::string_view state, const std::string& facts, std::string_view why)
{
    if (!reading.out.statesAside.emplace(state).second)
        return;
    reading.add(code::kNotSupported, Severity::Info,
        "optimizer state `" + toValidUtf8(state) + "` " + facts + ": "
            + std::string(why.empty() ? whyOf(state) : why)
            + (isStage0(reading.out.kind)
                    ? "; without ZeRO it is carried as it is, and other forms cannot have it"
                    : "; it is not rewritten, compared or digested"),
        {});
}

std::optional<Shape> factoredShape(const PickleGraph& graph, NodeId entry)
{
    // torch keeps the dimensions that it summed over, with size 1. transformers drops them.
    for (const auto& [rows, columns] :
        {std::pair("row_var", "col_var"), std::pair("exp_avg_sq_row", "exp_avg_sq_col")}) {
        const NodeId nodes[] = {lookup(graph, entry, rows), lookup(graph, entry, columns)};
        if (nodes[0] == kNoNode || nodes[1] == kNoNode)
            continue;
        const auto row = asTensor(graph, nodes[0]);
        const auto column = asTensor(graph, nodes[1]);
        if (!row || !column || row->sizes.empty() || row->sizes.size() != column->sizes.size())
            return std::nullopt;
        Shape out = row->sizes;
        if (std::string_view(rows) == "row_var")
            out.back() = column->sizes.back();
        else
            out.push_back(column->sizes.back());
        return out;
    }
    return std::nullopt;
}

} // namespace shardscope
