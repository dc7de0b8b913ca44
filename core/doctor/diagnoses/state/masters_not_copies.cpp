// SPDX-License-Identifier: Apache-2.0
#include "core/base/finding_codes.h"
#include "core/doctor/byte_facts.h"
#include "core/doctor/finding_sink.h"
#include "core/doctor/saved_facts.h"
#include "core/layout/fragments.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

namespace shardscope::diagnosis {

namespace {

constexpr uint64_t kSampleElements = uint64_t{1} << 14;
constexpr uint64_t kMinElements = 8;

/// Sums over the parameters of a group that have both master and copy.
struct Sums {
    double masters = 0;
    double copies = 0;
    double squares = 0; ///< of the masters
    double copySquares = 0;
};

std::map<int32_t, Sums> sumsByGroup(const CheckContext& context)
{
    const Checkpoint& checkpoint = *context.checkpoint;
    std::map<uint32_t, std::pair<const Statistics*, const Statistics*>> both;
    for (const TensorStatistics& tensor : context.bytes->tensors) {
        auto& entry = both[index(tensor.tensor.param)];
        if (tensor.tensor.state == "fp32")
            entry.first = &tensor.found;
        else if (tensor.tensor.state == "weight")
            entry.second = &tensor.found;
    }
    std::map<int32_t, Sums> out;
    for (const auto& [param, entry] : both) {
        if (entry.first == nullptr || entry.second == nullptr)
            continue;
        Sums& sums = out[checkpoint.params[param].group];
        const auto count = static_cast<double>(entry.first->finite());
        sums.masters += entry.first->mean * count;
        sums.copies += entry.second->mean * static_cast<double>(entry.second->finite());
        sums.squares += entry.first->squares;
        sums.copySquares += entry.second->squares;
    }
    return out;
}

/// Whether sums of values and squares over the group agree within the rounding to 16 bits.
bool sumsAgree(const Sums& sums)
{
    constexpr double kRounding = 1.0 / 256; // one unit of bfloat16's last place, relative
    return std::fabs(sums.masters - sums.copies) <= 4 * kRounding * std::sqrt(sums.squares)
        && std::fabs(sums.squares - sums.copySquares) <= kRounding * sums.squares;
}

/// Master and copy of the parameter are uncorrelated: the values are in other places. Those of another step
/// nearly agree.
Result<bool> areUncorrelated(const CheckContext& context, ParamId param)
{
    const Checkpoint& checkpoint = *context.checkpoint;
    const WholeTensor* weight = checkpoint.wholeOf(param);
    const uint64_t count = std::min(checkpoint.params[index(param)].elements, kSampleElements);
    if (weight == nullptr || !hasStatistics(weight->dtype) || count < kMinElements)
        return false;
    std::vector<uint8_t> masters(count * itemSize(DType::Float32));
    std::vector<uint8_t> copies(count * itemSize(weight->dtype));
    SHARDSCOPE_CHECK(readElements(context.files, checkpoint, {param, "fp32", 0, count}, masters));
    SHARDSCOPE_CHECK(readElements(context.files, checkpoint, {param, "weight", 0, count}, copies));
    double apart = 0;
    double squares = 0;
    for (uint64_t i = 0; i < count; ++i) {
        const double master = elementAsDouble(DType::Float32, masters.data() + i * 4);
        const double copy = elementAsDouble(weight->dtype, copies.data() + i * itemSize(weight->dtype));
        apart += (master - copy) * (master - copy);
        squares += master * master + copy * copy;
    }
    return apart > squares / 4; // of independent values it is about `squares`
}

/// Copies with values that are not finite. Another diagnosis reports them, and they say nothing about their
/// masters.
std::set<ParamId> spoiledCopies(const CheckContext& context)
{
    std::set<ParamId> out;
    for (const TensorStatistics& tensor : context.bytes->tensors) {
        if (tensor.tensor.state == "weight" && tensor.found.finite() < tensor.found.elements)
            out.insert(tensor.tensor.param);
    }
    return out;
}

/// Whether readers report that whole groups are in another order: masters and copies cannot be compared.
bool isInOtherOrder(const Checkpoint& checkpoint)
{
    return std::any_of(checkpoint.findings.begin(), checkpoint.findings.end(), [](const Finding& finding) {
        return finding.severity == Severity::Error
            && (finding.code == code::kParamOrder || finding.code == code::kUniversalRoundRobin);
    });
}

Status look(const CheckContext& context, FindingSink& sink)
{
    // ZenFlow writes the 16-bit copies ahead of the masters.
    if (!context.bytes || !context.hasModel() || isOfZenflow(*context.checkpoint))
        return {};
    const Checkpoint& checkpoint = *context.checkpoint;
    if (isInOtherOrder(checkpoint))
        return {};
    std::map<int32_t, std::vector<ParamId>> byGroup;
    const std::set<ParamId> spoiled = spoiledCopies(context);
    for (const std::string& name : context.bytes->staleCopies) {
        if (const auto param = checkpoint.findParam(name); param && !spoiled.contains(*param))
            byGroup[checkpoint.params[index(*param)].group].push_back(*param);
    }
    if (byGroup.empty())
        return {};
    // They also differ in checkpoints that this program converted from a ZenFlow run; the optimizer's step
    // still shows that.
    const bool wasZenflow = isWrittenByShardscope(context) && stepsAhead(checkpoint).value_or(0) > 1;
    const Severity severity = wasZenflow ? Severity::Info : Severity::Error;
    const auto sums = sumsByGroup(context);
    for (const auto& [group, params] : byGroup) {
        SHARDSCOPE_CHECK(context.job.poll());
        const auto own = sums.find(group);
        bool permuted = own != sums.end() && sumsAgree(own->second);
        if (permuted) {
            SHARDSCOPE_TRY(permuted, areUncorrelated(context, params.front()));
        }
        for (const ParamId param : params)
            sink.add(severity, "the masters do not round to the 16-bit copy",
                addressOf(checkpoint, param, "fp32"),
                permuted ? std::vector<std::string>{"the sums over group " + std::to_string(group)
                    + " agree, but its elements do not: probably the same values in another order"}
                         : std::vector<std::string>{});
    }
    return {};
}

} // namespace

/// Every master, rounded, must be equal to the 16-bit copy in the model file.
extern const Diagnosis kMastersNotCopies;
const Diagnosis kMastersNotCopies{
    .code = "masters-not-copies",
    .letter = "S19",
    .name = "Masters do not match the 16-bit copies",
    .depth = CheckDepth::Bytes,
    .worst = Severity::Error,
    .silent = true,
    .means = {.loading = "Stock DeepSpeed loads both, and training resumes from the masters, silently.",
        .resuming = "The masters are another model than the copies: from another step or run, in another "
                    "order, or untrained. The loss jumps.",
        .exporting = "Weights exported from masters differ from those in the module."},
    .remedy = "restore the shards that belong to the model file, rewrite scrambled ones in the right order, "
              "or fill masters on a copy from the 16-bit copies, marked",
    .repairs = true,
    .threads = "DS#6691, DS#5475, DS#1111, ACC#3199, MLM#6920, DS#1999, DS#5283",
    .look = look,
};

} // namespace shardscope::diagnosis
