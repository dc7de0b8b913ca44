// SPDX-License-Identifier: Apache-2.0
#include "core/layout/address.h"
#include "core/layout/fragments.h"
#include "core/layout/strided_runs.h"

#include <fmt/format.h>

#include <algorithm>

namespace shardscope {

namespace {

constexpr std::string_view kMaster = "fp32";

void setFile(Location& location, const Checkpoint& checkpoint, FileId id, uint64_t byte)
{
    const CheckpointFile& file = checkpoint.file(id);
    location.file = FileAddress{file.name, {}, byte};
    location.fileByte = byte;
    if (!file.content)
        return; // records are known only while the parsed file is kept
    for (const ZipRecord& record : file.content->zip().records()) {
        if (byte >= record.payloadOffset && byte - record.payloadOffset < record.bytes && !record.damaged) {
            location.file = FileAddress{file.name, record.name, byte - record.payloadOffset};
            return;
        }
    }
}

/// `name`: the requested name, which may be an alias.
Location locateElement(const Checkpoint& checkpoint, const StateSource& source, const std::string& name,
    std::string_view state, uint64_t element)
{
    Location location;
    location.param = ParamAddress{name, std::string(state), std::pair(element, element + 1)};
    forEachFragmentOf(checkpoint, source, element, element + 1, [&](const Fragment& fragment) {
        if (source.whole == nullptr) {
            const FlatUnit& unit = checkpoint.units[index(source.unit)];
            if (unit.isFlat()) {
                FlatAddress flat;
                flat.rank = fragment.rank;
                flat.subgroup = unit.kind == UnitKind::SubGroup;
                flat.group = flat.subgroup ? unit.subgroup.value_or(0) : static_cast<uint32_t>(unit.group);
                flat.element = fragment.flatOffset;
                flat.state = state == kMaster ? std::string() : std::string(state);
                location.flat = std::move(flat);
            }
        }
        if (fragment.file != kNoFile)
            setFile(location, checkpoint, fragment.file, fragment.byteOffset);
        return false;
    });
    return location;
}

Result<Location> locateParam(const Checkpoint& checkpoint, const ParamAddress& address)
{
    const auto param = checkpoint.findParam(address.name);
    if (!param)
        return fail(ErrorCode::NotFound, fmt::format("there is no parameter \"{}\"", address.name),
            checkpoint.tagFolder.string(), Hint::command("params") + " lists the names");
    SHARDSCOPE_TRY(const StateSource source, findState(checkpoint, *param, address.state));
    const uint64_t element = address.range ? address.range->first : 0;
    const uint64_t end = address.range ? address.range->second : 1;
    if (end > source.elements || element >= end)
        return fail(ErrorCode::NotFound,
            fmt::format("\"{}\" has {} elements; {} to {} are out of range", address.name, source.elements,
                element, end));
    return locateElement(checkpoint, source, address.name, address.state, element);
}

/// A place in one rank's buffer of one unit: payload or padding.
Result<Location> locateInUnit(
    const Checkpoint& checkpoint, UnitId unitId, uint32_t stateIndex, uint32_t rank, uint64_t offset)
{
    const FlatUnit& unit = checkpoint.units[index(unitId)];
    const UnitState& state = unit.states[stateIndex];
    const auto piece = unit.partition.pieceAt(rank, offset);
    if (!piece)
        return fail(ErrorCode::NotFound,
            fmt::format(
                "the flat buffer has {} elements on each of {} ranks; element {} of rank {} does not exist",
                unit.partition.partitionElements(), unit.partition.ranks(), offset, rank));
    if (!piece->isPadding()) {
        const ParamId param = unit.params[piece->param];
        StateSource source;
        source.param = param;
        source.elements = checkpoint.params[index(param)].elements;
        source.unit = unitId;
        source.stateIndex = stateIndex;
        source.dtype = state.dtype;
        const uint64_t stored = piece->paramOffset + (offset - piece->flatOffset);
        const auto order = checkpoint.transposedOrder(param);
        return locateElement(checkpoint, source, checkpoint.params[index(param)].name, state.name,
            order ? order->elementOf(stored) : stored);
    }
    Location location;
    location.padding = true;
    if (rank < state.perRank.size() && state.perRank[rank].isPresent()
        && offset < state.perRank[rank].elements) {
        const StoredRun& run = state.perRank[rank];
        location.paddingStored = true;
        setFile(location, checkpoint, run.file, run.byteOffset + offset * itemSize(state.dtype));
    }
    if (unit.isFlat())
        location.flat = flatAddressOf(
            checkpoint, unit, rank, offset, state.name == kMaster ? std::string() : state.name);
    return location;
}

/// A param group may be stored in another way than as one flat buffer on each rank.
Error noSuchGroup(const Checkpoint& checkpoint, const FlatAddress& address)
{
    const auto of = std::find_if(checkpoint.units.begin(), checkpoint.units.end(), [&](const FlatUnit& unit) {
        return !address.subgroup && unit.group >= 0 && static_cast<uint32_t>(unit.group) == address.group;
    });
    Error error{ErrorCode::NotFound,
        fmt::format("there is no {} {}", address.subgroup ? "sub-group" : "flat group", address.group),
        checkpoint.tagFolder.string(), Hint::command("layout") + " lists them"};
    if (of == checkpoint.units.end())
        return error;
    error.message
        = fmt::format("param group {} is not stored as one flat buffer on each rank", address.group);
    error.hint = of->kind == UnitKind::SubGroup
        ? fmt::format("it has sub-groups; the first is addressed as subgroup{}", of->subgroup.value_or(0))
        : "give the name of a parameter";
    return error;
}

Result<Location> locateFlat(const Checkpoint& checkpoint, const FlatAddress& address)
{
    const auto isMeant = [&](const FlatUnit& candidate) {
        return address.subgroup ? candidate.kind == UnitKind::SubGroup && candidate.subgroup == address.group
                                : candidate.kind == UnitKind::Group && candidate.group >= 0
                && static_cast<uint32_t>(candidate.group) == address.group;
    };
    if (std::none_of(checkpoint.units.begin(), checkpoint.units.end(), isMeant))
        return forward(noSuchGroup(checkpoint, address));
    const auto unit
        = std::find_if(checkpoint.units.begin(), checkpoint.units.end(), [&](const FlatUnit& candidate) {
              return isMeant(candidate) && checkpoint.shareOf(candidate, address.rank);
          });
    if (unit == checkpoint.units.end())
        return fail(ErrorCode::NotFound, fmt::format("there is no rank {}", rankText(address.rank)),
            checkpoint.tagFolder.string());
    const std::string_view name = address.state.empty() ? kMaster : std::string_view(address.state);
    const auto state = std::find_if(unit->states.begin(), unit->states.end(),
        [name](const UnitState& candidate) { return candidate.name == name; });
    if (state == unit->states.end())
        return fail(ErrorCode::NotFound,
            fmt::format(
                "{} {} has no state \"{}\"", address.subgroup ? "sub-group" : "group", address.group, name));
    if (const uint64_t elements = unit->partition.partitionElements();
        address.last() > elements && address.end)
        return fail(ErrorCode::NotFound,
            fmt::format(
                "the flat buffer has {} elements on each rank; the range ends at {}", elements, *address.end),
            checkpoint.tagFolder.string());
    SHARDSCOPE_TRY(Location found,
        locateInUnit(checkpoint, UnitId{static_cast<uint32_t>(unit - checkpoint.units.begin())},
            static_cast<uint32_t>(state - unit->states.begin()), *checkpoint.shareOf(*unit, address.rank),
            address.element));
    if (found.flat)
        found.flat->end = address.end;
    return found;
}

/// A position in a flat unit: what locateInUnit() needs.
struct UnitPosition {
    uint32_t share = 0;
    uint64_t element = 0;
};

/// Where a unit's state has the byte of a file.
std::optional<UnitPosition> positionOfByte(
    const FlatUnit& unit, const UnitState& state, FileId file, uint64_t byte)
{
    const uint64_t itemBytes = itemSize(state.dtype);
    std::optional<UnitPosition> out;
    state.visitRuns([&](const MappedRun& mapped) {
        if (!mapped.run.contains(file, byte, itemBytes))
            return true;
        const uint64_t number = (byte - mapped.run.byteOffset) / itemBytes;
        if (const auto element = mapped.shareElement(unit.partition, number))
            out = UnitPosition{mapped.share, *element};
        return !out;
    });
    return out;
}

/// What is at a byte of a file: a place in a flat unit, an element of a whole tensor, or no tensor.
Result<Location> locateByte(const Checkpoint& checkpoint, FileId file, uint64_t byte)
{
    for (uint32_t unit = 0; unit < checkpoint.units.size(); ++unit) {
        const FlatUnit& flat = checkpoint.units[unit];
        for (uint32_t i = 0; i < flat.states.size(); ++i) {
            if (const auto found = positionOfByte(flat, flat.states[i], file, byte))
                return locateInUnit(checkpoint, UnitId{unit}, i, found->share, found->element);
        }
    }
    for (const WholeTensor& whole : checkpoint.whole) {
        if (whole.run.file != file || byte < whole.run.byteOffset)
            continue;
        const Parameter& param = checkpoint.params[index(whole.param)];
        const uint64_t offset = (byte - whole.run.byteOffset) / itemSize(whole.dtype);
        const auto element = !whole.contiguous ? elementAtStorageOffset(param.shape, whole.strides, offset)
            : offset < whole.run.elements      ? std::optional(offset)
                                               : std::nullopt;
        if (!element || *element >= param.elements)
            continue;
        StateSource source;
        source.param = whole.param;
        source.elements = param.elements;
        source.whole = &whole;
        source.dtype = whole.dtype;
        return locateElement(checkpoint, source, param.name, whole.state, *element);
    }
    return Location{};
}

Result<Location> locateFile(const Checkpoint& checkpoint, const FileAddress& address)
{
    const auto found = std::find_if(checkpoint.files.begin(), checkpoint.files.end(),
        [&](const CheckpointFile& file) { return file.name == address.path; });
    if (found == checkpoint.files.end())
        return fail(ErrorCode::NotFound, fmt::format("the checkpoint has no file \"{}\"", address.path),
            checkpoint.tagFolder.string(), Hint::command("files") + " lists them");
    const FileId id{static_cast<uint32_t>(found - checkpoint.files.begin())};
    uint64_t byte = address.byte;
    uint64_t limit = found->identity.bytes;
    if (!address.record.empty()) {
        if (!found->content && found->recordCount > 0)
            return fail(ErrorCode::Unsupported,
                fmt::format("the records of \"{}\" are not kept after the file was read", address.path),
                found->path.string(),
                "use a byte of the file; " + Hint::command("files --records")
                    + " shows where a record begins");
        const auto record = found->content ? found->content->zip().find(address.record) : std::nullopt;
        if (!record)
            return fail(ErrorCode::NotFound, fmt::format("the file has no record \"{}\"", address.record),
                found->path.string(), Hint::command("files --records") + " lists them");
        const ZipRecord& entry = found->content->zip().record(*record);
        limit = entry.bytes;
        byte += entry.payloadOffset;
    }
    if (address.byte >= limit)
        return fail(ErrorCode::NotFound,
            fmt::format("byte {} is beyond the {} bytes of the {}", address.byte, limit,
                address.record.empty() ? "file" : "record"),
            found->path.string());
    SHARDSCOPE_TRY(Location location, locateByte(checkpoint, id, byte));
    setFile(location, checkpoint, id, byte); // the requested byte, not the first one of its element
    return location;
}

} // namespace

Result<Location> locate(const Checkpoint& checkpoint, const Address& address)
{
    if (const auto* param = std::get_if<ParamAddress>(&address))
        return locateParam(checkpoint, *param);
    if (const auto* flat = std::get_if<FlatAddress>(&address))
        return locateFlat(checkpoint, *flat);
    return locateFile(checkpoint, std::get<FileAddress>(address));
}

} // namespace shardscope
