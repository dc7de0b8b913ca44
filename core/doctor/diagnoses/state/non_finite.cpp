// SPDX-License-Identifier: Apache-2.0
#include "core/doctor/byte_facts.h"
#include "core/doctor/finding_sink.h"
#include "core/doctor/saved_facts.h"
#include "core/doctor/sound_values.h"
#include "core/layout/fragments.h"

#include <cmath>

namespace shardscope::diagnosis {

namespace {

constexpr uint64_t kWindowElements = uint64_t{1} << 18;
constexpr size_t kMaxNamed = 8; ///< ranges in the evidence
constexpr size_t kMaxParts = 64;

using Runs = std::vector<std::pair<uint64_t, uint64_t>>;

/// The runs of bad elements: not finite, or negative in a mean of squares. Beyond kMaxParts the last one
/// grows.
Result<Runs> badRuns(const CheckContext& context, const TensorStatistics& tensor, bool negative)
{
    const uint64_t item = itemSize(tensor.dtype);
    std::vector<uint8_t> window;
    Runs runs;
    for (uint64_t begin = 0; begin < tensor.elements; begin += kWindowElements) {
        SHARDSCOPE_CHECK(context.job.poll());
        const uint64_t end = std::min(tensor.elements, begin + kWindowElements);
        window.resize((end - begin) * item);
        SHARDSCOPE_CHECK(readElements(context.files, *context.checkpoint,
            {tensor.tensor.param, tensor.tensor.state, begin, end}, window));
        for (uint64_t i = begin; i < end; ++i) {
            const double value = elementAsDouble(tensor.dtype, window.data() + (i - begin) * item);
            if (!(negative ? value < 0 : !std::isfinite(value)))
                continue;
            if (!runs.empty() && (runs.back().second == i || runs.size() == kMaxParts))
                runs.back().second = i + 1;
            else
                runs.emplace_back(i, i + 1);
        }
    }
    return runs;
}

Status add(const CheckContext& context, const TensorStatistics& tensor, bool negative, std::string message,
    FindingSink& sink)
{
    ParamAddress where = addressOf(*context.checkpoint, tensor.tensor.param, tensor.tensor.state);
    const auto runs = badRuns(context, tensor, negative);
    if (!runs && runs.error().code == ErrorCode::Cancelled)
        return forward(runs.error());
    std::vector<Place> parts;
    std::vector<std::string> evidence;
    if (runs && !runs->empty()) { // else the statistics alone say so
        where.range = {runs->front().first, runs->back().second};
        for (const auto& run : *runs) {
            parts.emplace_back(ParamAddress{where.name, where.state, run});
            if (evidence.size() < kMaxNamed && runs->size() > 1)
                evidence.push_back(parts.back().text());
        }
        if (parts.size() == 1)
            parts.clear();
        else if (parts.size() > kMaxNamed)
            evidence.push_back("and " + std::to_string(parts.size() - kMaxNamed) + " more ranges"
                + (parts.size() == kMaxParts ? ", or more" : ""));
    }
    sink.add(Severity::Error, std::move(message), std::move(where), std::move(evidence));
    sink.setParts(std::move(parts));
    return {};
}

Status look(const CheckContext& context, FindingSink& sink)
{
    if (!context.bytes || !context.hasModel())
        return {};
    for (const TensorStatistics& tensor : context.bytes->tensors) {
        // Buffers may be masks, which contain infinities on purpose.
        if (context.checkpoint->params[index(tensor.tensor.param)].role == ParamRole::Buffer)
            continue;
        const Statistics& found = tensor.found;
        const std::string of = " of " + std::to_string(found.elements) + " elements ";
        if (found.nans + found.infinities > 0)
            SHARDSCOPE_CHECK(add(context, tensor, false,
                std::to_string(found.nans + found.infinities) + of + "are not finite: "
                    + std::to_string(found.nans) + " NaN, " + std::to_string(found.infinities) + " infinite",
                sink));
        if (isMeanOfSquares(tensor.tensor.state) && found.finite() > 0 && found.min < 0)
            SHARDSCOPE_CHECK(add(context, tensor, true,
                "a mean of squares is negative, which no optimizer computes: its minimum is "
                    + std::to_string(found.min),
                sink));
    }
    return {};
}

} // namespace

/// Values that training cannot resume from.
extern const Diagnosis kNonFinite;
const Diagnosis kNonFinite{
    .code = "non-finite",
    .letter = "S18",
    .name = "Values that are not finite, or out of range",
    .depth = CheckDepth::Bytes,
    .worst = Severity::Error,
    .silent = true,
    .means = {.loading = "Stock DeepSpeed loads them silently.",
        .resuming = "NaN and infinity spread through the whole model in the first steps; a negative mean of "
                    "squares makes the update NaN.",
        .exporting = "Values of masters or weights that are not finite are exported unchanged."},
    .remedy = "restore the group from an earlier step, or fill the damaged elements, marked",
    .repairs = true,
    .threads = "fudan-generative-vision/hallo#152, NVIDIA-NeMo/RL#3544, DS#697",
    .look = look,
};

} // namespace shardscope::diagnosis
