// SPDX-License-Identifier: Apache-2.0
#include "core/doctor/finding_sink.h"
#include "core/doctor/saved_facts.h"

namespace shardscope::diagnosis {

namespace {

constexpr size_t kMaxNamed = 4;

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
    std::optional<ParamAddress> first;
    std::vector<std::string> named;
    for (const FlatUnit& unit : checkpoint.units) {
        if (unit.kind != UnitKind::SubGroup)
            continue;
        for (uint32_t i = 0; i < unit.partition.paramCount(); ++i) {
            if (!endsEarly(unit.partition, i) || ++count > kMaxNamed)
                continue;
            const ParamAddress address = addressOf(checkpoint, unit.params[i], "fp32");
            named.push_back(formatAddress(address));
            first = first.value_or(address);
        }
    }
    if (!first)
        return;
    sink.add(Severity::Info,
        std::to_string(count) + (count == 1 ? " parameter ends" : " parameters end")
            + " before the last rank's slice begins",
        *first, std::move(named));
}

Status look(const CheckContext& context, FindingSink& sink)
{
    if (!context.hasModel() || !hasRankFiles(context.checkpoint->kind))
        return {};
    if (partitionsParameters(context.checkpoint->kind))
        lookSliced(*context.checkpoint, sink);
    else
        lookContiguous(*context.checkpoint, sink);
    return {};
}

} // namespace

/// Padding that begins before the last rank: converters before July 2025 compute a negative length from it.
extern const Diagnosis kPaddingStripFailure;
const Diagnosis kPaddingStripFailure{
    .code = "padding-strip-failure",
    .letter = "S3",
    .name = "Padding on more than the last rank",
    .depth = CheckDepth::Metadata,
    .worst = Severity::Info,
    .means = {.loading = "It loads.",
        .resuming = "ds_to_universal of releases before July 2025 stops with a negative length, or with a "
                    "start beyond the size; later ones and this program convert it."},
    .remedy = "convert it with this program, which knows where the padding is on every rank",
    .command = convertCommand,
    .threads = "DS#6918, DS#7426, argonne-lcf/Megatron-DeepSpeed#73, DS#5822",
    .look = look,
};

} // namespace shardscope::diagnosis
