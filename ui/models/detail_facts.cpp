// SPDX-License-Identifier: Apache-2.0
#include "ui/models/detail_facts.h"

#include "core/base/text.h"
#include "core/layout/address.h"
#include "core/layout/counts.h"
#include "core/layout/lost_shares.h"
#include "core/layout/map_query.h"
#include "core/layout/whole_units.h"
#include "ui/text/padding_text.h"
#include "ui/text/rank_list.h"
#include "ui/text/role_text.h"
#include "ui/text/text.h"
#include "ui/text/unreadable.h"

#include <algorithm>
#include <map>

using namespace Qt::StringLiterals;

namespace shardscope::ui {

namespace {

constexpr size_t kMaxFragments = 5000;

void addStates(Details& details, const Checkpoint& checkpoint, ParamId id)
{
    const Parameter& param = checkpoint.params[index(id)];
    DetailSection section{u"States"_s, {}};
    for (const std::string& state : details.states)
        section.facts.append(
            {toText(state), toText(formatAddress(ParamAddress{param.name, state, {}})), true});
    if (param.unit != kNoUnit)
        section.facts.append(
            {u"Stored in"_s, heldUnitText(checkpoint, checkpoint.units[index(param.unit)]), false});
    if (const uint64_t lost = LostShares(checkpoint, param.unit).bytesOf(id); lost > 0)
        section.facts.append({u"Missing"_s, bytesText(lost), false});
    details.sections.append(section);
}

void addPlaces(Details& details, const Checkpoint& checkpoint, const Parameter& param)
{
    if (details.state.empty() || param.elements == 0)
        return;
    const auto location
        = locate(checkpoint, ParamAddress{param.name, details.state, std::pair{uint64_t{0}, uint64_t{1}}});
    if (!location)
        return;
    DetailSection section{u"First element"_s, {}};
    if (location->flat)
        section.facts.append({u"Rank"_s, toText(formatAddress(*location->flat)), true});
    if (location->file) {
        section.facts.append({u"File"_s, toText(formatAddress(*location->file)), true});
        section.facts.append({u"Byte"_s,
            toText(formatAddress(FileAddress{location->file->path, {}, location->fileByte})), true});
    }
    if (!section.facts.isEmpty())
        details.sections.append(section);
}

/// First, because they must be seen without scrolling.
void addFindings(Details& details, const FindingPlaces& places, const FindingPlaces::Numbers& here)
{
    constexpr size_t kMaxShown = 6; // the facts follow
    std::vector<const Finding*> found;
    for (const uint32_t number : here)
        found.push_back(&places.findings()[number]);
    std::ranges::stable_sort(found, std::greater<>(), &Finding::severity); // the worst come first
    DetailSection section{u"Findings here"_s, {}};
    for (size_t i = 0; i < found.size() && i < kMaxShown; ++i)
        section.facts.append({severityText(found[i]->severity), sentenceText(found[i]->message), false});
    if (found.size() > kMaxShown)
        section.facts.append(
            {u"More"_s, u"%1, on the page Findings"_s.arg(countText(found.size() - kMaxShown)), false});
    if (!section.facts.isEmpty())
        details.sections.prepend(section);
}

Details paramDetails(const Checkpoint& checkpoint, const SelectedThing& thing)
{
    const Parameter& param = checkpoint.params[index(thing.param)];
    Details details;
    details.kind = param.role == ParamRole::Buffer ? u"Buffer"_s : u"Parameter"_s;
    details.title = toText(param.name);
    details.states = statesOf(checkpoint, thing.param);
    details.state = details.states.empty() ? std::string() : details.states.front();
    if (std::find(details.states.begin(), details.states.end(), thing.state) != details.states.end())
        details.state = thing.state;
    DetailSection section{{}, {}};
    section.facts.append({u"Shape"_s, QString::fromStdString(shapeText(param.shape)), false});
    section.facts.append({u"Elements"_s, countText(param.elements), false});
    section.facts.append({u"Role"_s, paramRoleText(checkpoint, param), false});
    const ParamClass paramClass = classOf(param.name, param.shape, param.role);
    section.facts.append({u"Kind"_s, toText(paramClassName(paramClass)), false});
    if (param.group >= 0)
        section.facts.append({u"Group"_s, QString::number(param.group), false});
    if (param.sharedWith != kNoParam)
        section.facts.append(
            {u"Shared with"_s, toText(checkpoint.params[index(param.sharedWith)].name), false});
    details.sections.append(section);
    addStates(details, checkpoint, thing.param);
    addPlaces(details, checkpoint, param);
    if (!details.state.empty() && param.elements > 0) {
        auto fragments = storedFragmentsOf(checkpoint, thing.param, details.state);
        if (fragments)
            details.fragments = std::move(*fragments);
        details.hasMoreFragments = details.fragments.size() > kMaxFragments;
        if (details.hasMoreFragments)
            details.fragments.resize(kMaxFragments);
    }
    return details;
}

void addFile(DetailSection& section, const Checkpoint& checkpoint, FileId id, const QString& name)
{
    if (id == kNoFile) {
        section.facts.append({name, u"missing"_s, false});
        return;
    }
    const CheckpointFile& file = checkpoint.file(id);
    section.facts.append({name, toText(file.name), true}); // a link, which breaks long names
    if (file.status != FileStatus::Ok)
        section.facts.append({u"Status"_s, fileStatusText(checkpoint, id), false});
}

/// What a rank has of parameters that are tensors of their own, which no flat buffer holds, and in which
/// files.
void addTensors(Details& details, const Checkpoint& checkpoint, uint32_t rank)
{
    constexpr size_t kMaxFiles = 12;
    uint64_t params = 0;
    uint64_t elements = 0;
    uint64_t lost = 0;
    std::map<FileId, uint64_t> files; ///< bytes of the rank's tensors
    std::map<std::string_view, uint64_t> states;
    for (uint32_t i = 0; i < checkpoint.units.size(); ++i) {
        const FlatUnit& unit = checkpoint.units[i];
        const auto row = rowOfRank(checkpoint, unit, rank);
        if (!row || unit.kind != UnitKind::Whole)
            continue;
        params += unit.partition.paramsIn(*row, *row + 1, 0, unit.partition.partitionElements());
        elements += unit.partition.payloadOn(*row);
        for (uint32_t state = 0; state < unit.states.size(); ++state)
            forEachFragmentOnRank(checkpoint, UnitId{i}, state, *row, [&](const Fragment& fragment) {
                if (fragment.file == kNoFile) {
                    lost += fragment.bytes;
                } else {
                    files[fragment.file] += fragment.bytes;
                    states[unit.states[state].name] += fragment.bytes;
                }
                return true;
            });
    }
    if (params == 0)
        return;
    DetailSection held{u"Tensors"_s, {}};
    held.facts.append({u"Parameters"_s, countText(params), false});
    held.facts.append({u"Elements"_s, countText(elements), false});
    for (const std::string& name : checkpoint.stateNames()) {
        if (const auto state = states.find(name); state != states.end())
            held.facts.append({toText(name), exactBytesText(state->second), false});
    }
    if (lost > 0)
        held.facts.append({u"Missing"_s, exactBytesText(lost), false});
    DetailSection in{u"In the files"_s, {}};
    for (const auto& [file, bytes] : files) {
        if (static_cast<size_t>(in.facts.size()) < kMaxFiles)
            in.facts.append({bytesText(bytes), toText(checkpoint.file(file).name), true});
    }
    if (files.size() > kMaxFiles)
        in.facts.append({u"More"_s, filesText(files.size() - kMaxFiles), false});
    details.sections.append(held);
    details.sections.append(in);
}

Details rankDetails(const Checkpoint& checkpoint, const SelectedThing& thing)
{
    const uint32_t rank = *thing.rank;
    Details details;
    details.kind = u"Rank"_s;
    const RankCoordinate coordinate = rankAt(checkpoint, rank);
    const Checkpoint& part = partOfRank(checkpoint, rank);
    details.title = rankLabel(checkpoint, coordinate);
    DetailSection files{u"Files"_s, {}};
    if (!checkpoint.archives.empty()) { // one file has the objects of both
        addFile(files, checkpoint, checkpoint.templateModel, u"Metadata"_s);
    } else {
        if (coordinate.dp < part.optimFiles.size() && !isUniversal(checkpoint.kind)) // whose is no rank's
            addFile(files, checkpoint, part.optimFiles[coordinate.dp], u"Optimizer"_s);
        if (coordinate.dp < part.modelFiles.size())
            addFile(files, checkpoint, part.modelFiles[coordinate.dp], u"Model"_s);
    }
    if (!files.facts.isEmpty())
        details.sections.append(files);
    if (thing.unit == kNoUnit)
        addTensors(details, checkpoint, rank);
    constexpr size_t kMaxUnits = 40;
    for (size_t i = 0; i < checkpoint.units.size() && i < kMaxUnits; ++i) {
        if (thing.unit != kNoUnit && index(thing.unit) != i)
            continue;
        const FlatUnit& unit = checkpoint.units[i];
        if (isStoredWhole(unit) && &checkpoint.partOf(unit) == &part) {
            const QString elements = countText(unit.partition.payloadElements());
            details.sections.append({heldUnitText(checkpoint, unit),
                {{u"Elements"_s, u"%1, the same on every rank"_s.arg(elements), false}}});
            continue;
        }
        const auto row = rowOfRank(checkpoint, unit, rank);
        if (!row || (!unit.isFlat() && thing.unit == kNoUnit))
            continue;
        DetailSection section{heldUnitText(checkpoint, unit), {}};
        section.facts.append({u"Elements"_s, countText(unit.partition.payloadOn(*row)), false});
        for (const UnitState& state : unit.states) {
            const StoredRun run = *row < state.perRank.size() ? state.perRank[*row] : StoredRun{};
            if (run.isPresent() && checkpoint.file(run.file).role == FileRole::Swap)
                section.facts.append({u"Swap file, %1"_s.arg(toText(state.name)),
                    toText(checkpoint.file(run.file).name), true});
            const PaddingInfo padding = paddingOf(unit, state, *row);
            if (padding.elements > 0)
                section.facts.append({u"Padding, %1"_s.arg(toText(state.name)),
                    (!run.isPresent()                             ? u"%1, missing"_s
                            : padding.kind == PaddingKind::Stored ? u"%1, stored"_s
                                                                  : u"%1, implied"_s)
                        .arg(countText(padding.elements)),
                    false});
        }
        FlatAddress address;
        address.rank = coordinate;
        address.subgroup = unit.subgroup.has_value();
        address.group = unit.subgroup.value_or(static_cast<uint32_t>(std::max(0, unit.group)));
        if (unit.isFlat())
            section.facts.append({u"Address"_s, toText(formatAddress(address)), true});
        details.sections.append(section);
    }
    return details;
}

Details fileDetails(const Checkpoint& checkpoint, const SelectedThing& thing)
{
    const CheckpointFile& file = checkpoint.file(thing.file);
    Details details;
    details.kind = fileRoleText(checkpoint, file.role);
    details.title = toText(file.name);
    DetailSection section{{}, {}};
    section.facts.append({u"Status"_s, fileStatusText(checkpoint, thing.file), false});
    section.facts.append({u"Size"_s, exactBytesText(file.identity.bytes), false});
    if (const auto rank = rankOfFile(checkpoint, file))
        section.facts.append({u"Rank"_s, rankLabel(checkpoint, rankAt(checkpoint, *rank)), false});
    if (file.recordCount > 0)
        section.facts.append({u"Records"_s, countText(file.recordCount), false});
    section.facts.append({u"Path"_s, pathText(file.path), true});
    details.sections.append(section);
    if (thing.byte) {
        const auto location = locate(checkpoint, FileAddress{file.name, {}, *thing.byte});
        DetailSection place{u"Selected byte"_s, {}};
        place.facts.append({u"Byte"_s, toText(formatAddress(FileAddress{file.name, {}, *thing.byte})), true});
        if (location && location->file)
            place.facts.append({u"Record"_s, toText(formatAddress(*location->file)), true});
        if (location && location->flat)
            place.facts.append({u"Rank"_s, toText(formatAddress(*location->flat)), true});
        if (location && location->param)
            place.facts.append({u"Parameter"_s, toText(formatAddress(*location->param)), true});
        if (location && location->padding)
            place.facts.append({u"Holds"_s, u"padding"_s, false});
        details.sections.append(place);
    }
    return details;
}

Details paddingDetails(const Checkpoint& checkpoint, const SelectedThing& thing, const PaddingRun& run)
{
    Details details;
    details.kind = u"Padding"_s;
    details.title = u"Padding of %1"_s.arg(rankLabel(checkpoint, rankAt(checkpoint, *thing.rank)));
    DetailSection section{{}, {}};
    section.facts.append({u"Why"_s, paddingReason(checkpoint, run), false});
    section.facts.append({u"Stored"_s, paddingStorage(run), false});
    section.facts.append({u"Share"_s, paddingShare(checkpoint, run), false});
    if (run.unit.isFlat())
        section.facts.append({u"Address"_s,
            toText(formatAddress(flatAddressOf(checkpoint, run.unit, run.share, run.offset, run.state.name))),
            true});
    if (thing.file != kNoFile && thing.byte)
        section.facts.append({u"Byte"_s,
            toText(formatAddress(FileAddress{checkpoint.file(thing.file).name, {}, *thing.byte})), true});
    details.sections.append(section);
    DetailSection sums{heldUnitText(checkpoint, run.unit), {}};
    sums.facts.append({u"On this rank"_s, countText(paddingElements(run.unit, run.share)), false});
    sums.facts.append({u"On all ranks"_s, countText(paddingElements(run.unit)), false});
    details.sections.append(sums);
    return details;
}

/// The padding that is selected, if the selection fits the checkpoint.
std::optional<PaddingRun> selectedPadding(const Checkpoint& checkpoint, const SelectedThing& thing)
{
    if (!thing.isPadding || !thing.block || !thing.rank || thing.unit == kNoUnit
        || index(thing.unit) >= checkpoint.units.size())
        return std::nullopt;
    const FlatUnit& unit = checkpoint.units[index(thing.unit)];
    for (const UnitState& state : unit.states) {
        if (thing.state.empty() || state.name == thing.state)
            return paddingAt(unit, state, thing.block->rankBegin, thing.block->begin);
    }
    return std::nullopt;
}

Details unitDetails(const Checkpoint& checkpoint, const SelectedThing& thing)
{
    const FlatUnit& unit = checkpoint.units[index(thing.unit)];
    Details details;
    details.kind = u"Flat group"_s;
    details.title = heldUnitText(checkpoint, unit);
    DetailSection section{{}, {}};
    const FlatPartition& partition = unit.partition;
    section.facts.append({u"Parameters"_s, countText(unit.params.size()), false});
    section.facts.append({u"Elements"_s, countText(partition.payloadElements()), false});
    section.facts.append({u"Per rank"_s, countText(partition.partitionElements()), false});
    if (unit.kind != UnitKind::Whole) {
        section.facts.append({u"Alignment"_s, countText(partition.alignment()), false});
        section.facts.append({u"Padding"_s, countText(paddingElements(unit)), false});
    }
    for (const UnitState& state : unit.states)
        section.facts.append({toText(state.name),
            toText(dtypeName(state.dtype)) % (state.lean ? u", stored without padding"_s : QString()),
            false});
    details.sections.append(section);
    if (thing.block) {
        DetailSection block{u"Selected range"_s, {}};
        block.facts.append(
            {u"Ranks"_s, u"%1 to %2"_s.arg(thing.block->rankBegin).arg(thing.block->rankEnd - 1), false});
        block.facts.append({u"Elements"_s,
            u"%1 to %2 of each"_s.arg(countText(thing.block->begin),
                countText(std::max(thing.block->end, thing.block->begin + 1) - 1)),
            false});
        details.sections.append(block);
    }
    return details;
}

bool hasUnit(const Checkpoint& checkpoint, const SelectedThing& thing)
{
    return thing.unit != kNoUnit && index(thing.unit) < checkpoint.units.size();
}

/// Ranks × elements of a unit are selected.
bool isRange(const Checkpoint& checkpoint, const SelectedThing& thing)
{
    return thing.block && hasUnit(checkpoint, thing) && thing.block->end > thing.block->begin + 1;
}

Details factsOf(const Checkpoint& checkpoint, const SelectedThing& thing)
{
    if (thing.param != kNoParam && index(thing.param) < checkpoint.params.size())
        return paramDetails(checkpoint, thing);
    if (const auto padding = selectedPadding(checkpoint, thing))
        return paddingDetails(checkpoint, thing, *padding);
    if (thing.file != kNoFile && index(thing.file) < checkpoint.files.size())
        return fileDetails(checkpoint, thing);
    if (isRange(checkpoint, thing))
        return unitDetails(checkpoint, thing);
    if (thing.rank)
        return rankDetails(checkpoint, thing);
    return hasUnit(checkpoint, thing) ? unitDetails(checkpoint, thing) : Details();
}

/// Of the thing that factsOf() shows.
FindingPlaces::Numbers findingsOf(const FindingPlaces& places, const SelectedThing& thing)
{
    const Checkpoint& checkpoint = places.checkpoint();
    if (thing.param != kNoParam && index(thing.param) < checkpoint.params.size())
        return places.ofParam(thing.param);
    if (thing.isPadding)
        return {};
    if (thing.file != kNoFile && index(thing.file) < checkpoint.files.size())
        return places.ofFile(thing.file);
    if (thing.rank && !isRange(checkpoint, thing))
        return places.ofRank(rankAt(checkpoint, *thing.rank));
    return hasUnit(checkpoint, thing) ? places.ofUnit(thing.unit) : FindingPlaces::Numbers();
}

} // namespace

Details detailsOf(const Checkpoint& checkpoint, const SelectedThing& thing, const FindingPlaces* findings)
{
    Details details = factsOf(checkpoint, thing);
    if (findings != nullptr)
        addFindings(details, *findings, findingsOf(*findings, thing));
    return details;
}

} // namespace shardscope::ui
