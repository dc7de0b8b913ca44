// SPDX-License-Identifier: Apache-2.0
#include "core/doctor/finding_sink.h"
#include "core/doctor/saved_facts.h"
#include "core/layout/fragments.h"
#include "core/tensor/convert.h"

#include <algorithm>

namespace shardscope::diagnosis {

namespace {

constexpr uint64_t kSampleElements = uint64_t{1} << 12;

/// Whether the master equals the 16-bit copy bit for bit, in a sample from the beginning. A trained master
/// has more digits.
Result<bool> isCopy(const CheckContext& context, ParamId param)
{
    const Checkpoint& checkpoint = *context.checkpoint;
    const WholeTensor* weight = checkpoint.wholeOf(param);
    if (weight == nullptr || (weight->dtype != DType::BFloat16 && weight->dtype != DType::Float16))
        return false;
    const uint64_t count = std::min(checkpoint.params[index(param)].elements, kSampleElements);
    std::vector<uint8_t> master(count * itemSize(DType::Float32));
    std::vector<uint8_t> copy(count * itemSize(weight->dtype));
    std::vector<uint8_t> widened(master.size());
    SHARDSCOPE_CHECK(readElements(context.files, checkpoint, {param, "fp32", 0, count}, master));
    SHARDSCOPE_CHECK(readElements(context.files, checkpoint, {param, "weight", 0, count}, copy));
    convertElements(weight->dtype, copy, DType::Float32, widened);
    return master == widened;
}

/// Whether the unit has other states, but this parameter has only the master.
bool hasMasterAlone(const FlatUnit& unit, uint32_t position)
{
    bool master = false;
    for (const UnitState& state : unit.states) {
        const bool there = state.tensorOf(position) != nullptr;
        if (state.name == "fp32" && state.dtype == DType::Float32)
            master = there;
        else if (there)
            return false;
    }
    return master && unit.states.size() > 1;
}

Status look(const CheckContext& context, FindingSink& sink)
{
    if (!context.hasModel() || !isUniversal(context.checkpoint->kind))
        return {};
    const Checkpoint& checkpoint = *context.checkpoint;
    size_t count = 0;
    for (const FlatUnit& unit : checkpoint.units) {
        if (unit.kind != UnitKind::Whole)
            continue;
        for (uint32_t i = 0; i < unit.params.size(); ++i) {
            if (unit.partition.paramElements(i) == 0 || !hasMasterAlone(unit, i))
                continue;
            if (++count > FindingSink::kMax)
                return {}; // readers count them all
            SHARDSCOPE_CHECK(context.job.poll());
            SHARDSCOPE_TRY(const bool copied, isCopy(context, unit.params[i]));
            if (copied)
                sink.add(Severity::Error,
                    "the converter skipped this parameter: its master is the 16-bit copy, and it has no "
                    "moments",
                    addressOf(checkpoint, unit.params[i], "fp32"),
                    {"fp32.pt equals the model file's tensor bit for bit",
                        "other parameters of the group have all states"});
        }
    }
    return {};
}

} // namespace

/// Parameters for which ds_to_universal found no fragments and used the model file's copy.
extern const Diagnosis kUniversalParameterSkipped;
const Diagnosis kUniversalParameterSkipped{
    .code = "universal-parameter-skipped",
    .letter = "S21",
    .name = "The converter skipped parameters",
    .depth = CheckDepth::Metadata,
    .worst = Severity::Error,
    .silent = true,
    .means = {.loading = "Stock DeepSpeed stops at steps that are not equal, or loads it silently.",
        .resuming = "The parameter's master is rounded to 16 bits, and its moments start at zero.",
        .exporting = "The weights are correct to 16 bits."},
    .remedy = "convert the source shards again with this program, which accepts any name; without the "
              "shards, fill the moments of these parameters on a copy, marked",
    .repairs = true,
    .threads = "reproduced with 0.19.8",
    .look = look,
};

} // namespace shardscope::diagnosis
