// SPDX-License-Identifier: Apache-2.0
// Diagnoses of values of parameters and states.
#include "core/base/finding_codes.h"
#include "core/base/text.h"
#include "core/checkpoint/model/scalar_text.h"
#include "core/doctor/byte_facts.h"
#include "core/doctor/diagnosis_tables.h"
#include "core/doctor/finding_sink.h"
#include "core/doctor/saved_facts.h"
#include "core/doctor/sound_values.h"
#include "core/layout/fragments.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <set>

namespace shardscope {

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

Status findMastersNotCopies(const CheckContext& context, FindingSink& sink)
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

/// Every master, rounded, must be equal to the 16-bit copy in the model file.
constexpr Diagnosis kMastersNotCopies{
    .code = "masters-not-copies",
    .letter = "S19",
    .name = "Masters do not match the 16-bit copies",
    .depth = CheckDepth::Bytes,
    .silent = true,
    .means = {.loading = "Stock DeepSpeed loads both, and training resumes from the masters, silently.",
        .resuming = "The masters are another model than the copies: from another step or run, in another "
                    "order, or untrained. The loss jumps.",
        .exporting = "Weights exported from masters differ from those in the module."},
    .remedy = "restore the shards that belong to the model file, rewrite scrambled ones in the right order, "
              "or fill masters on a copy from the 16-bit copies, marked",
    .repairs = true,
    .threads = "DS#6691, DS#5475, DS#1111, ACC#3199, MLM#6920, DS#1999, DS#5283",
    .look = findMastersNotCopies,
};

constexpr uint64_t kWindowElements = uint64_t{1} << 18;
constexpr size_t kMaxRanges = 8; ///< in the evidence
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
            if (evidence.size() < kMaxRanges && runs->size() > 1)
                evidence.push_back(parts.back().text());
        }
        if (parts.size() == 1)
            parts.clear();
        else if (parts.size() > kMaxRanges)
            evidence.push_back("and " + std::to_string(parts.size() - kMaxRanges) + " more ranges"
                + (parts.size() == kMaxParts ? ", or more" : ""));
    }
    sink.add(Severity::Error, std::move(message), std::move(where), std::move(evidence));
    sink.setParts(std::move(parts));
    return {};
}

Status findNonFinite(const CheckContext& context, FindingSink& sink)
{
    if (!context.bytes || !context.hasModel())
        return {};
    for (const TensorStatistics& tensor : context.bytes->tensors) {
        // Buffers may be masks, which contain infinities on purpose.
        if (context.checkpoint->params[index(tensor.tensor.param)].role == ParamRole::Buffer)
            continue;
        const Statistics& found = tensor.found;
        const std::string of = " of " + formatCount(found.elements) + " elements ";
        if (found.nans + found.infinities > 0)
            SHARDSCOPE_CHECK(add(context, tensor, false,
                formatCount(found.nans + found.infinities) + of + "are not finite: " + formatCount(found.nans)
                    + " NaN, " + formatCount(found.infinities) + " infinite",
                sink));
        if (isMeanOfSquares(tensor.tensor.state) && found.finite() > 0 && found.min < 0)
            SHARDSCOPE_CHECK(add(context, tensor, true,
                "a mean of squares is negative, which no optimizer computes: its minimum is "
                    + shortRealText(found.min),
                sink));
    }
    return {};
}

/// Values that training cannot resume from.
constexpr Diagnosis kNonFinite{
    .code = "non-finite",
    .letter = "S18",
    .name = "Values that are not finite, or out of range",
    .depth = CheckDepth::Bytes,
    .silent = true,
    .means = {.loading = "Stock DeepSpeed loads them silently.",
        .resuming = "NaN and infinity spread through the whole model in the first steps; a negative mean of "
                    "squares makes the update NaN.",
        .exporting = "Values of masters or weights that are not finite are exported unchanged."},
    .remedy = "restore the group from an earlier step, or fill the damaged elements, marked",
    .repairs = true,
    .threads = "fudan-generative-vision/hallo#152, NVIDIA-NeMo/RL#3544, DS#697",
    .look = findNonFinite,
};

constexpr size_t kMaxNamed = 4;
constexpr size_t kMaxShort = 1000; ///< parameters that a finding names exactly

/// The first rank before the last that holds padding of a contiguous unit.
std::optional<uint32_t> earlyPadding(const FlatUnit& unit)
{
    const uint32_t ranks = unit.partition.ranks();
    if (ranks < 2 || unit.partition.payloadElements() == 0)
        return std::nullopt;
    const uint64_t part = unit.partition.partitionElements();
    if (unit.partition.leanElementsOn(ranks - 2) == part)
        return std::nullopt;
    uint32_t first = ranks - 2;
    while (first > 0 && unit.partition.leanElementsOn(first - 1) < part)
        --first;
    return first;
}

/// Whether slices of a parameter before the last one are short: those converters then compute a negative
/// length.
bool endsEarly(const FlatPartition& partition, uint32_t position)
{
    const uint64_t elements = partition.paramElements(position);
    return elements > 0 && partition.ranks() > 1
        && elements < partition.sliceElements(position) * (partition.ranks() - 1);
}

void lookContiguous(const Checkpoint& checkpoint, FindingSink& sink)
{
    for (const FlatUnit& unit : checkpoint.units) {
        const auto first = unit.kind == UnitKind::Group ? earlyPadding(unit) : std::nullopt;
        if (!first)
            continue;
        const uint64_t padding
            = unit.partition.partitionElements() * unit.partition.ranks() - unit.partition.payloadElements();
        sink.add(Severity::Info,
            "the padding of group " + std::to_string(unit.group) + " begins on rank " + std::to_string(*first)
                + ", before the last of " + std::to_string(unit.partition.ranks()) + " ranks",
            addressOf(checkpoint, unit.params.back(), "fp32"),
            {std::to_string(unit.partition.payloadElements()) + " elements, " + std::to_string(padding)
                + " of padding"});
    }
}

void lookSliced(const Checkpoint& checkpoint, FindingSink& sink)
{
    size_t count = 0;
    std::vector<Place> places; // the first ones: large models have very many, and nothing is wrong with them
    std::vector<std::string> named;
    for (const FlatUnit& unit : checkpoint.units) {
        if (unit.kind != UnitKind::SubGroup)
            continue;
        for (uint32_t i = 0; i < unit.partition.paramCount(); ++i) {
            if (!endsEarly(unit.partition, i) || ++count > kMaxShort)
                continue;
            places.emplace_back(addressOf(checkpoint, unit.params[i], "fp32"));
            if (named.size() < kMaxNamed)
                named.push_back(places.back().text());
        }
    }
    if (places.empty())
        return;
    sink.add(Severity::Info,
        std::to_string(count) + (count == 1 ? " parameter ends" : " parameters end")
            + " before the last rank's slice begins",
        places.front(), std::move(named));
    sink.setParts(std::move(places));
}

Status findPaddingStripFailure(const CheckContext& context, FindingSink& sink)
{
    if (!context.hasModel() || !hasRankFiles(context.checkpoint->kind))
        return {};
    if (partitionsParameters(context.checkpoint->kind))
        lookSliced(*context.checkpoint, sink);
    else
        lookContiguous(*context.checkpoint, sink);
    return {};
}

/// Padding that begins before the last rank: converters before July 2025 compute a negative length from it.
constexpr Diagnosis kPaddingStripFailure{
    .code = "padding-strip-failure",
    .letter = "S3",
    .name = "Padding on more than the last rank",
    .worst = Severity::Info,
    .means = {.loading = "It loads.",
        .resuming = "ds_to_universal of releases before July 2025 stops with a negative length, or with a "
                    "start beyond the size; later ones and this program convert it."},
    .remedy = "convert it with this program, which knows where the padding is on every rank",
    .command = convertCommand,
    .threads = "DS#6918, DS#7426, argonne-lcf/Megatron-DeepSpeed#73, DS#5822",
    .look = findPaddingStripFailure,
};

constexpr uint64_t kSampleBytes = uint64_t{64} << 10;

/// Whether samples from begin, middle and end of two tensors of the same shape and type differ.
Result<bool> differ(
    const CheckContext& context, const TorchFile& file, const TensorView& a, const TensorView& b)
{
    SHARDSCOPE_TRY(const TensorExtent first, file.extentOf(a));
    SHARDSCOPE_TRY(const TensorExtent second, file.extentOf(b));
    if (first.byteOffset == second.byteOffset)
        return false;
    SHARDSCOPE_TRY(const auto opened, context.files.openRead(file.path()));
    const uint64_t bytes = first.bytes;
    const uint64_t sample = std::min(bytes, kSampleBytes);
    std::vector<uint8_t> left(sample);
    std::vector<uint8_t> right(sample);
    for (const uint64_t at : std::array{uint64_t{0}, (bytes - sample) / 2, bytes - sample}) {
        SHARDSCOPE_CHECK(context.job.poll());
        SHARDSCOPE_CHECK(opened->readAt(first.byteOffset + at, left));
        SHARDSCOPE_CHECK(opened->readAt(second.byteOffset + at, right));
        if (left != right)
            return true;
    }
    return false;
}

Status findTiedDiverged(const CheckContext& context, FindingSink& sink)
{
    if (!context.hasModel())
        return {};
    const ModelStates model = modelStates(*context.checkpoint);
    if (!model.hasModule())
        return {};
    const PickleGraph& graph = *model.graph;
    const auto items = mappingItems(graph, model.sharedParams);
    for (size_t i = 0; i + 1 < items.size(); i += 2) {
        const auto alias = asString(graph, items[i]);
        const auto owner = asString(graph, items[i + 1]);
        if (!alias || !owner)
            continue;
        const NodeId aliasNode = lookup(graph, model.module, *alias);
        const NodeId ownerNode = lookup(graph, model.module, *owner);
        if (aliasNode == kNoNode || ownerNode == kNoNode || aliasNode == ownerNode)
            continue;
        const auto left = asTensor(graph, aliasNode);
        const auto right = asTensor(graph, ownerNode);
        const bool comparable = left && right && left->isContiguous() && right->isContiguous()
            && left->sizes == right->sizes && left->dtype == right->dtype && left->elements().value_or(0) > 0;
        if (!comparable)
            continue;
        SHARDSCOPE_TRY(const bool diverged, differ(context, *model.file->content, *left, *right));
        if (diverged) {
            const ParamAddress where{std::string(*alias), "weight"};
            sink.add(Severity::Error, "the two names of this tied parameter have different values", where,
                {"`shared_params` ties it to " + std::string(*owner)});
            sink.setParts({where, ParamAddress{std::string(*owner), "weight"}});
        }
    }
    return {};
}

/// A tie is recorded, but its copies have different values.
constexpr Diagnosis kTiedDiverged{
    .code = "tied-diverged",
    .letter = "S9",
    .name = "Tied parameters differ",
    .silent = true,
    .means = {.loading = "Both names are one parameter in the live model: the copy that is loaded last is "
                         "used, silently; with ZeRO the master is used.",
        .resuming = "The loss jumps if the other copy is the trained one.",
        .exporting = "The owner's values are written, and the other copy is dropped."},
    .remedy = "give both names the owner's values, which match its master",
    .repairs = true,
    .threads = "NVIDIA-NeMo/Automodel#2511, DS#1896, DS#3033",
    .look = findTiedDiverged,
};

constexpr std::array kDiagnoses{
    kMastersNotCopies,
    kNonFinite,
    kPaddingStripFailure,
    kTiedDiverged,

};

} // namespace

std::span<const Diagnosis> valuesDiagnoses()
{
    return kDiagnoses;
}

} // namespace shardscope
