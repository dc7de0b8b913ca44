// SPDX-License-Identifier: Apache-2.0
#include "core/layout/whole_units.h"
#include "core/report/answers/finding_report.h"
#include "core/report/layout/layout_walk.h"

namespace shardscope {

void describe(auto& out, const PaddingInfo& padding)
{
    out.is("Padding", "Elements of padding, and whether they are stored.");
    out.field("elements", padding.elements);
    out.word("kind", padding.kind, paddingKindName);
}

namespace {

std::optional<uint32_t> groupOf(const FlatUnit& unit)
{
    return unit.group < 0 ? std::nullopt : std::optional<uint32_t>(unit.group);
}

std::string_view paramName(const Checkpoint& checkpoint, ParamId param)
{
    return param == kNoParam ? std::string_view() : checkpoint.params[index(param)].name;
}

/// The file that holds a rank's part of a unit: all its states are in one file.
FileId fileOf(const FlatUnit& unit, uint32_t rank)
{
    for (const UnitState& state : unit.states) {
        if (rank < state.perRank.size() && state.perRank[rank].isPresent())
            return state.perRank[rank].file;
    }
    return kNoFile;
}

void describeShare(auto& out, const Checkpoint& checkpoint, const FlatUnit& unit, uint32_t rank)
{
    out.is("RankShare", "A rank's part of a group.");
    out.field("rank", checkpoint.rankOf(unit, rank));
    out.maybe(isStoredWhole(unit), [&] {
        out.field("whole", true, "true where the tensors are stored once, and no rank has a share of them");
    });
    out.nameOrNull("file", fileName(checkpoint, fileOf(unit, rank)));
    out.field("elements", unit.partition.payloadOn(rank));
    out.field("padding", unit.states | std::views::transform([&](const UnitState& state) {
        return std::pair<std::string_view, PaddingInfo>(state.name, paddingOf(unit, state, rank));
    }));
}

void describeGroup(
    auto& out, const Checkpoint& checkpoint, const FlatUnit& unit, const LayoutQuestion& question)
{
    const ParamId alone = !unit.isFlat() && unit.params.size() == 1 ? unit.params.front() : kNoParam;
    const auto [begin, end] = ranksAsked(checkpoint, unit, question);
    out.is("Group", "A param group, a sub-group or a parameter alone, and its parts on the ranks.");
    out.field("group", groupOf(unit));
    out.field("subgroup", unit.subgroup);
    out.maybe(alone != kNoParam, [&] {
        out.name("param", paramName(checkpoint, alone),
            "the parameter, for one that is partitioned or stored alone");
    });
    out.field("elements", unit.partition.payloadElements());
    out.field("alignment", unit.kind == UnitKind::Whole ? 1 : unit.partition.alignment());
    out.field("parameter_alignment", unit.partition.parameterAlignment(),
        atLeast(1, "alignment of every parameter's start, in elements; 1 if they are back to back"));
    out.field("partition_elements", unit.partition.partitionElements());
    out.list("ranks", std::views::iota(begin, end),
        [&](auto& each, uint32_t rank) { describeShare(each, checkpoint, unit, rank); });
}

void describeFragment(auto& out, const Checkpoint& checkpoint, const Fragment& fragment)
{
    const FlatUnit* unit = fragment.unit == kNoUnit ? nullptr : &checkpoint.units[index(fragment.unit)];
    const CheckpointFile* file = fragment.file == kNoFile ? nullptr : &checkpoint.file(fragment.file);
    const bool inRecord
        = file != nullptr && file->content && fragment.record < file->content->zip().recordCount();
    const bool isBare = file != nullptr && file->role == FileRole::Swap; // bare elements, no records
    out.is("Fragment", "Elements that follow each other in one file. Offsets of files are bytes.");
    out.name("param", paramName(checkpoint, fragment.param));
    out.field("param_offset", fragment.paramOffset);
    out.maybe(fragment.columnMajor, [&] {
        out.field("column_major", true,
            "true where the fragment's matrix is stored column by column (ZenFlow); param_offset then counts "
            "in "
            "that order");
    });
    out.field("rank", fragment.rank);
    out.field("group", unit == nullptr ? std::nullopt : groupOf(*unit));
    out.field("subgroup", unit == nullptr ? std::nullopt : unit->subgroup);
    const bool hasBuffer = unit != nullptr && unit->kind != UnitKind::Whole;
    out.field("flat_offset", hasBuffer ? std::optional(fragment.flatOffset) : std::nullopt);
    out.field("elements", fragment.elements);
    out.field("state", fragment.state);
    out.nameOrNull("file", fileName(checkpoint, fragment.file));
    out.nameOrNull(
        "record", inRecord ? std::string_view(file->content->zip().record(fragment.record).name) : "");
    out.field("byte_offset", inRecord || isBare ? std::optional(fragment.byteOffset) : std::nullopt);
    out.field("bytes", fragment.bytes);
}

/// The question of `layout --address`.
struct AskedPlace {
    std::string_view address = {};
    Location location = {};
};

template <class A>
std::optional<std::string> spelled(const std::optional<A>& address)
{
    return address ? std::optional(formatAddress(*address)) : std::nullopt;
}

void describe(auto& out, const AskedPlace& asked)
{
    const Location& location = asked.location;
    out.is("Location", "One place in all forms of address.");
    out.field("address", asked.address);
    out.field("param", spelled(location.param));
    out.field("flat", spelled(location.flat));
    out.field("file", spelled(location.file));
    out.field("byte_offset", location.file ? std::optional(location.fileByte) : std::nullopt);
    out.word("padding",
        !location.padding            ? "none"
            : location.paddingStored ? "stored"
                                     : "implied",
        {"none", "stored", "implied"});
}

/// Without a question it is about a place.
void describeLayout(auto& out, const AnswerContext& context, const std::optional<LayoutQuestion>& question,
    const std::optional<AskedPlace>& place)
{
    const Checkpoint& checkpoint = context.checkpoint;
    const LayoutQuestion asked = question.value_or(LayoutQuestion());
    out.answer("layout", "LayoutAnswer", "Where everything is stored.");
    describeSubject(out, context);
    out.maybe(question.has_value(), [&] {
        out.list("groups", unitsAsked(checkpoint, asked), [&](auto& each, UnitId unit) {
            describeGroup(each, checkpoint, checkpoint.units[index(unit)], asked);
        });
    });
    out.maybe(asked.rank || asked.param, [&] {
        out.rows(
            "fragments", Row<Fragment>{},
            [&](const auto& add) { forEachFragmentAsked(checkpoint, asked, add); },
            [&](auto& each, const Fragment& fragment) { describeFragment(each, checkpoint, fragment); });
    });
    out.optional("location", place);
    out.field("findings", checkpoint.findings);
}

} // namespace

void writeLayoutJson(const TextSink& sink, const AnswerContext& context, const LayoutQuestion& question)
{
    writeObject(sink, [&](JsonOut& out) { describeLayout(out, context, question, {}); });
}

void writeLocationJson(
    const TextSink& sink, const AnswerContext& context, std::string_view asked, const Location& location)
{
    writeObject(sink, [&](JsonOut& out) { describeLayout(out, context, {}, AskedPlace{asked, location}); });
}

std::string layoutSchema()
{
    return schemaOf("layout", [](SchemaOut& out) { describeLayout(out, schemaContext(), {}, {}); });
}

} // namespace shardscope
