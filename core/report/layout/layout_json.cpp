// SPDX-License-Identifier: Apache-2.0
#include "core/report/answers/finding_report.h"
#include "core/report/layout/layout_walk.h"

namespace shardscope {

namespace {

void writeGroupOf(JsonWriter& json, const FlatUnit& unit)
{
    if (unit.group < 0)
        json.nullField("group");
    else
        json.field("group", unit.group);
    json.field("subgroup", unit.subgroup);
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

void writeUnitRank(JsonWriter& json, const Checkpoint& checkpoint, const FlatUnit& unit, uint32_t rank)
{
    json.beginObject();
    writeRank(json, "rank", checkpoint.rankOf(unit, rank));
    writeFileName(json, "file", checkpoint, fileOf(unit, rank));
    json.field("elements", unit.partition.payloadOn(rank));
    json.objectField("padding");
    for (const UnitState& state : unit.states) {
        const PaddingInfo padding = paddingOf(unit, state, rank);
        json.objectField(state.name);
        json.field("elements", padding.elements);
        json.field("kind", paddingKindName(padding.kind));
        json.endObject();
    }
    json.endObject();
    json.endObject();
}

void writeUnit(
    JsonWriter& json, const Checkpoint& checkpoint, const FlatUnit& unit, const LayoutQuestion& question)
{
    json.beginObject();
    writeGroupOf(json, unit);
    if (unit.kind == UnitKind::Frozen && !unit.params.empty())
        json.nameField("param", checkpoint.params[index(unit.params.front())].name);
    json.field("elements", unit.partition.payloadElements());
    json.field("alignment", unit.partition.alignment());
    json.field("parameter_alignment", unit.partition.parameterAlignment());
    json.field("partition_elements", unit.partition.partitionElements());
    json.arrayField("ranks");
    const auto [begin, end] = ranksAsked(checkpoint, unit, question);
    for (uint32_t rank = begin; rank < end; ++rank)
        writeUnitRank(json, checkpoint, unit, rank);
    json.endArray();
    json.endObject();
}

void writeFragment(JsonWriter& json, const Checkpoint& checkpoint, const Fragment& fragment)
{
    json.beginObject();
    json.nameField("param", checkpoint.params[index(fragment.param)].name);
    json.field("param_offset", fragment.paramOffset);
    if (fragment.columnMajor)
        json.field("column_major", true);
    writeRank(json, "rank", fragment.rank);
    if (fragment.unit == kNoUnit) {
        json.nullField("group");
        json.nullField("subgroup");
        json.nullField("flat_offset");
    } else {
        writeGroupOf(json, checkpoint.units[index(fragment.unit)]);
        json.field("flat_offset", fragment.flatOffset);
    }
    json.field("elements", fragment.elements);
    json.field("state", fragment.state);
    writeFileName(json, "file", checkpoint, fragment.file);
    const CheckpointFile* file = fragment.file == kNoFile ? nullptr : &checkpoint.file(fragment.file);
    if (file != nullptr && file->content && fragment.record < file->content->zip().recordCount()) {
        json.nameField("record", file->content->zip().record(fragment.record).name);
        json.field("byte_offset", fragment.byteOffset);
    } else {
        json.nullField("record");
        if (file != nullptr && file->role == FileRole::Swap) // bare elements, no records
            json.field("byte_offset", fragment.byteOffset);
        else
            json.nullField("byte_offset");
    }
    json.field("bytes", fragment.bytes);
    json.endObject();
}

template <class A>
void writeSpelling(JsonWriter& json, std::string_view field, const std::optional<A>& address)
{
    if (address)
        json.field(field, formatAddress(*address));
    else
        json.nullField(field);
}

} // namespace

void writeLayoutJson(const TextSink& sink, const AnswerContext& context, const LayoutQuestion& question)
{
    const Checkpoint& checkpoint = context.checkpoint;
    JsonWriter json(sink);
    beginAnswer(json, "layout", context);
    json.arrayField("groups");
    for (const UnitId unit : unitsAsked(checkpoint, question))
        writeUnit(json, checkpoint, checkpoint.units[index(unit)], question);
    json.endArray();
    if (question.rank || question.param) {
        json.arrayField("fragments");
        forEachFragmentAsked(checkpoint, question,
            [&](const Fragment& fragment) { writeFragment(json, checkpoint, fragment); });
        json.endArray();
    }
    writeFindings(json, "findings", checkpoint.findings);
    endAnswer(json, sink);
}

void writeLocationJson(
    const TextSink& sink, const AnswerContext& context, std::string_view asked, const Location& location)
{
    JsonWriter json(sink);
    beginAnswer(json, "layout", context);
    json.objectField("location");
    json.field("address", asked);
    writeSpelling(json, "param", location.param);
    writeSpelling(json, "flat", location.flat);
    writeSpelling(json, "file", location.file);
    if (location.file)
        json.field("byte_offset", location.fileByte);
    else
        json.nullField("byte_offset");
    json.field("padding", !location.padding ? "none" : location.paddingStored ? "stored" : "implied");
    json.endObject();
    writeFindings(json, "findings", context.checkpoint.findings);
    endAnswer(json, sink);
}

} // namespace shardscope
