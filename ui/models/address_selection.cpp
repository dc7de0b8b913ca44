// SPDX-License-Identifier: Apache-2.0
#include "ui/models/address_selection.h"

#include "core/layout/address.h"
#include "ui/text/rank_list.h"

namespace shardscope::ui {

namespace {

UnitId unitOf(const Checkpoint& checkpoint, const FlatAddress& address)
{
    for (size_t i = 0; i < checkpoint.units.size(); ++i) {
        const FlatUnit& unit = checkpoint.units[i];
        if (!unit.isFlat())
            continue;
        const bool same = address.subgroup ? unit.subgroup == address.group
                                           : unit.group == static_cast<int32_t>(address.group);
        if (same)
            return UnitId{static_cast<uint32_t>(i)};
    }
    return kNoUnit;
}

/// What the address selects. Errors as locate() gives them.
Result<SelectedThing> selectionAt(const Checkpoint& checkpoint, const Address& address)
{
    SHARDSCOPE_TRY(const Location location, locate(checkpoint, address));
    SelectedThing thing;
    if (location.param) {
        thing.param = checkpoint.findParam(location.param->name).value_or(kNoParam);
        thing.state = location.param->state;
        const auto* asked = std::get_if<ParamAddress>(&address);
        if (location.param->range && (asked == nullptr || asked->range))
            thing.element = location.param->range->first; // else all of the parameter is meant
    }
    if (location.flat) {
        thing.rank = rankNumber(checkpoint, location.flat->rank);
        thing.unit = unitOf(checkpoint, *location.flat);
        const auto row = thing.unit == kNoUnit
            ? std::nullopt
            : rowOfRank(checkpoint, checkpoint.units[index(thing.unit)], *thing.rank);
        if (row)
            thing.block = FlatBlock{*row, *row + 1, location.flat->element, location.flat->last()};
        thing.isPadding = row && location.padding;
        if (thing.state.empty())
            thing.state = location.flat->state;
    }
    if (location.file) {
        for (size_t i = 0; i < checkpoint.files.size(); ++i)
            if (checkpoint.files[i].name == location.file->path)
                thing.file = FileId{static_cast<uint32_t>(i)};
        if (thing.file != kNoFile) {
            thing.byte = location.fileByte;
            if (const auto& content = checkpoint.file(thing.file).content)
                thing.record = content->zip().find(location.file->record);
        }
    }
    return thing;
}

FileId fileAt(const Checkpoint& checkpoint, const std::string& path)
{
    for (uint32_t i = 0; i < checkpoint.files.size(); ++i) {
        if (checkpoint.files[i].name == path || checkpoint.files[i].path.native() == path)
            return FileId{i};
    }
    return kNoFile;
}

} // namespace

Result<SelectedThing> selectionOf(const Checkpoint& checkpoint, const QString& address)
{
    SHARDSCOPE_TRY(const Address parsed, parseAddress(address.trimmed().toStdString(), checkpoint));
    return selectionAt(checkpoint, parsed);
}

std::optional<SelectedThing> selectionOf(const Checkpoint& checkpoint, const Place& place)
{
    const auto at = [&](const Address& address) {
        const auto found = selectionAt(checkpoint, address);
        return found ? std::optional(*found) : std::nullopt;
    };
    SelectedThing thing;
    if (place.bytes() != nullptr)
        return at(*place.bytes());
    if (place.flat() != nullptr)
        return at(*place.flat());
    if (const ParamAddress* param = place.param()) {
        const auto found = param->state.empty() ? std::nullopt : at(*param);
        thing.param = checkpoint.findParam(param->name).value_or(kNoParam); // it may have no such state
        return found || thing.param == kNoParam ? found : std::optional(thing);
    }
    if (place.rank() != nullptr) {
        thing.rank = rankNumber(checkpoint, *place.rank());
        return thing;
    }
    thing.file = fileAt(checkpoint, place.file());
    return thing.file == kNoFile ? std::nullopt : std::optional(thing);
}

} // namespace shardscope::ui
