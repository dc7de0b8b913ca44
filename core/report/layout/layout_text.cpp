// SPDX-License-Identifier: Apache-2.0
#include "core/base/text.h"
#include "core/layout/counts.h"
#include "core/layout/whole_units.h"
#include "core/report/layout/layout_walk.h"
#include "core/report/text/printable.h"

#include <fmt/format.h>

namespace shardscope {

namespace {

std::string unitText(const Checkpoint& checkpoint, const FlatUnit& unit)
{
    if (unit.kind == UnitKind::Frozen)
        return "frozen "
            + printable(unit.params.empty() ? "" : checkpoint.params[index(unit.params.front())].name);
    std::string out = unit.group < 0 ? std::string() : fmt::format("group {}", unit.group);
    if (unit.kind == UnitKind::Whole)
        out += (out.empty() ? "" : ", ")
            + (unit.params.size() == 1 ? printable(checkpoint.params[index(unit.params.front())].name)
                                       : "whole tensors");
    if (unit.subgroup)
        out += fmt::format(", sub-group {}", *unit.subgroup);
    const RankCoordinate& place = checkpoint.partOf(unit).place;
    if (checkpoint.parallel.pp > 1)
        out += fmt::format(", pp {}", place.pp);
    if (checkpoint.parallel.tp > 1)
        out += fmt::format(", tp {}", place.tp);
    if (unit.isFlat() && checkpoint.parallel.ep > 1 && unit.partition.ranks() < checkpoint.parallel.dp)
        out += fmt::format(", experts of dp {}", checkpoint.rankOf(unit, 0).dp)
            + (unit.partition.ranks() > 1 ? fmt::format(" to {}", unit.dpRankOf(unit.partition.ranks() - 1))
                                          : "");
    return out;
}

std::string paddingText(const FlatUnit& unit, uint32_t rank)
{
    std::string out;
    for (const UnitState& state : unit.states) {
        const PaddingInfo padding = paddingOf(unit, state, rank);
        const bool isThere = rank < state.perRank.size() && state.perRank[rank].isPresent();
        if (padding.kind != PaddingKind::None)
            out += (out.empty() ? "" : ", ") + state.name + " "
                + (isThere ? std::string(paddingKindName(padding.kind)) : "missing");
    }
    return out.empty() ? "-" : out;
}

std::string fileText(const Checkpoint& checkpoint, const FlatUnit& unit, uint32_t rank)
{
    for (const UnitState& state : unit.states) {
        if (rank < state.perRank.size() && state.perRank[rank].isPresent())
            return checkpoint.file(state.perRank[rank].file).name;
    }
    return "missing";
}

/// What ZeRO distributes, over the ranks.
std::string partitionText(const FlatUnit& unit)
{
    const FlatPartition& partition = unit.partition;
    std::string out = fmt::format("{} parameter{}, {} elements over {} rank{} of {}, alignment {}",
        unit.params.size(), unit.params.size() == 1 ? "" : "s", formatCount(partition.payloadElements()),
        partition.ranks(), partition.ranks() == 1 ? "" : "s", formatCount(partition.partitionElements()),
        formatCount(partition.alignment()));
    if (partition.parameterAlignment() > 1)
        out += fmt::format(", parameters aligned to {}", partition.parameterAlignment());
    return out;
}

/// Tensors without flat buffers and padding: whole, or split by rows.
std::string tensorsText(const FlatUnit& unit)
{
    std::string out
        = unit.params.size() == 1 ? std::string() : fmt::format("{} parameters, ", unit.params.size());
    out += formatCount(unit.partition.payloadElements()) + " elements";
    if (unit.partition.ranks() > 1)
        out += fmt::format(", split by rows for {} ranks", unit.partition.ranks());
    return out;
}

void writeUnit(const TextSink& sink, const TextStyle& style, const Checkpoint& checkpoint,
    const FlatUnit& unit, const LayoutQuestion& question)
{
    const FlatPartition& partition = unit.partition;
    const bool isWhole = unit.kind == UnitKind::Whole;
    sink(style.bold(unitText(checkpoint, unit)) + "  " + (isWhole ? tensorsText(unit) : partitionText(unit))
        + "\n");
    using Align = TextTable::Align;
    std::vector<TextTable::Column> columns{{"rank"}, {"elements", Align::Right}};
    if (!isWhole)
        columns.insert(columns.end(), {{"padding", Align::Right}, {"in file"}});
    columns.push_back({"file"});
    TextTable table(std::move(columns));
    const auto [begin, end] = ranksAsked(checkpoint, unit, question);
    for (uint32_t rank = begin; rank < end; ++rank) {
        std::vector<std::string> cells{
            isStoredWhole(unit) ? std::string("whole") : rankText(checkpoint.rankOf(unit, rank)),
            formatCount(partition.payloadOn(rank))};
        if (!isWhole)
            cells.insert(cells.end(), {formatCount(paddingElements(unit, rank)), paddingText(unit, rank)});
        cells.push_back(fileText(checkpoint, unit, rank));
        table.add(std::move(cells));
    }
    table.write(sink, style, "  ");
    sink("\n");
}

std::vector<std::string> fragmentCells(const Checkpoint& checkpoint, const Fragment& fragment)
{
    std::string place = "missing";
    if (fragment.file != kNoFile)
        place = fmt::format("{}+{}", percentEncode(checkpoint.file(fragment.file).name), fragment.byteOffset);
    const ParamAddress address{checkpoint.params[index(fragment.param)].name, fragment.state,
        std::pair{fragment.paramOffset, fragment.paramOffset + fragment.elements}};
    std::string elements = formatCount(fragment.elements);
    if (fragment.columnMajor)
        elements += " in columns";
    std::string flat = "whole";
    if (fragment.unit != kNoUnit) {
        const FlatUnit& unit = checkpoint.units[index(fragment.unit)];
        flat = unit.kind == UnitKind::Frozen ? rankText(fragment.rank) + " (frozen)"
            : isStoredWhole(unit)            ? std::string("whole")
            : unit.kind == UnitKind::Whole
            ? rankText(fragment.rank) + " (rows)"
            : formatAddress(FlatAddress{fragment.rank, unit.subgroup.has_value(),
                unit.subgroup.value_or(static_cast<uint32_t>(unit.group)), fragment.flatOffset,
                fragment.state});
    }
    return {formatAddress(address), elements, flat, place, formatCount(fragment.bytes)};
}

} // namespace

void writeLayoutText(const TextSink& sink, const TextStyle& style, const AnswerContext& context,
    const LayoutQuestion& question)
{
    const Checkpoint& checkpoint = context.checkpoint;
    for (const UnitId unit : unitsAsked(checkpoint, question))
        writeUnit(sink, style, checkpoint, checkpoint.units[index(unit)], question);
    if (!question.rank && !question.param)
        return;
    using Align = TextTable::Align;
    TextTable table(
        {{"parameter"}, {"elements", Align::Right}, {"flat buffer"}, {"file"}, {"bytes", Align::Right}});
    forEachFragmentAsked(checkpoint, question,
        [&](const Fragment& fragment) { table.add(fragmentCells(checkpoint, fragment)); });
    table.write(sink, style);
}

void writeLocationText(
    const TextSink& sink, const TextStyle& style, std::string_view asked, const Location& location)
{
    TextFields fields;
    fields.add("address", printable(asked));
    fields.add("parameter",
        location.param         ? printable(formatAddress(*location.param))
            : location.padding ? "none: this is padding"
                               : "none");
    fields.add("flat buffer",
        location.flat ? printable(formatAddress(*location.flat)) : "none: not in a flat buffer");
    if (location.file) {
        fields.add("file", printable(formatAddress(*location.file)));
        fields.add("byte of file", formatCount(location.fileByte));
    } else {
        fields.add("file", location.padding ? "none: the padding is implied" : "none: the shard is missing");
    }
    fields.write(sink, style);
}

} // namespace shardscope
