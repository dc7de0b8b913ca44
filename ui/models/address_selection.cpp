// SPDX-License-Identifier: Apache-2.0
#include "ui/models/address_selection.h"

#include "core/checkpoint/model/layer_names.h"
#include "core/layout/address.h"
#include "core/layout/fragments.h"
#include "ui/text/rank_list.h"

#include <QRegularExpression>

#include <algorithm>

using namespace Qt::StringLiterals;

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

std::optional<SelectedThing> rankNamed(const Checkpoint& checkpoint, const QString& text)
{
    static const QRegularExpression kNumber(u"^rank\\s*(\\d+)$"_s, QRegularExpression::CaseInsensitiveOption);
    static const QRegularExpression kPlace(u"^dp\\s*(\\d+)(?:[. ·]+tp\\s*(\\d+))?(?:[. ·]+pp\\s*(\\d+))?$"_s,
        QRegularExpression::CaseInsensitiveOption);
    SelectedThing thing;
    if (const auto match = kNumber.match(text); match.hasMatch()) {
        thing.rank = match.captured(1).toUInt();
    } else if (const auto place = kPlace.match(text); place.hasMatch()) {
        const RankCoordinate rank{
            place.captured(1).toUInt(), place.captured(2).toUInt(), place.captured(3).toUInt()};
        const ParallelDegrees& degrees = checkpoint.parallel;
        if (rank.dp >= degrees.dp || rank.tp >= degrees.tp || rank.pp >= degrees.pp)
            return std::nullopt;
        thing.rank = rankNumber(checkpoint, rank);
    }
    return thing.rank && *thing.rank < rankCount(checkpoint) ? std::optional(thing) : std::nullopt;
}

std::optional<SelectedThing> layerNamed(const Checkpoint& checkpoint, const QString& text)
{
    static const QRegularExpression kLayer(u"^layer\\s*(\\d+)$"_s, QRegularExpression::CaseInsensitiveOption);
    const auto match = kLayer.match(text);
    if (!match.hasMatch())
        return std::nullopt;
    const uint32_t wanted = match.captured(1).toUInt();
    for (uint32_t i = 0; i < checkpoint.params.size(); ++i) {
        const auto layer = numberedName(checkpoint.params[i].name);
        if (!layer || layer->number != wanted)
            continue;
        SelectedThing thing;
        thing.param = ParamId{i};
        return thing;
    }
    return std::nullopt;
}

/// "name#exp_avg[5, 7]" as an address: the element by its place in the flattened parameter.
std::optional<QString> flattened(const Checkpoint& checkpoint, const QString& text)
{
    static const QRegularExpression kIndices(u"^(.+)\\[\\s*(\\d+(?:\\s*,\\s*\\d+)*)\\s*\\]$"_s);
    const auto match = kIndices.match(text);
    if (!match.hasMatch())
        return std::nullopt;
    QString name = match.captured(1);
    const auto param = checkpoint.findParam(name.section(u'#', 0, 0).toStdString());
    const std::vector<std::string> states = param ? statesOf(checkpoint, *param) : std::vector<std::string>();
    if (states.empty())
        return std::nullopt;
    if (!name.contains(u'#'))
        name += u'#' % QString::fromStdString(states.front());
    const Shape& shape = checkpoint.params[index(*param)].shape;
    const QStringList indices = match.captured(2).split(u',');
    if (static_cast<size_t>(indices.size()) != shape.size())
        return std::nullopt;
    uint64_t element = 0;
    for (size_t i = 0; i < shape.size(); ++i) {
        const uint64_t at = indices[static_cast<qsizetype>(i)].trimmed().toULongLong();
        if (at >= shape[i])
            return std::nullopt;
        element = element * shape[i] + at;
    }
    return u"%1[%2:%3]"_s.arg(name).arg(element).arg(element + 1);
}

} // namespace

Result<SelectedThing> selectionOf(const Checkpoint& checkpoint, const QString& address)
{
    const QString text = address.trimmed();
    const QString plain = flattened(checkpoint, text).value_or(text);
    auto parsed = parseAddress(plain.toStdString(), checkpoint);
    auto found = parsed ? selectionAt(checkpoint, *parsed) : forward(std::move(parsed).error());
    if (found)
        return found;
    for (const auto& other : {rankNamed(checkpoint, text), layerNamed(checkpoint, text)}) {
        if (other)
            return *other;
    }
    SelectedThing file;
    file.file = fileAt(checkpoint, text.toStdString());
    return file.file == kNoFile ? found : Result<SelectedThing>(file);
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

QString addressOf(const Checkpoint& checkpoint, const SelectedThing& thing)
{
    if (thing.param != kNoParam) {
        const Parameter& param = checkpoint.params[index(thing.param)];
        const std::vector<std::string> states = statesOf(checkpoint, thing.param);
        if (states.empty() || param.elements == 0)
            return QString::fromStdString(param.name); // it has no address
        ParamAddress address{param.name, thing.state.empty() ? states.front() : thing.state, {}};
        if (thing.element)
            address.range = {*thing.element, *thing.element + 1};
        return QString::fromStdString(formatAddress(address));
    }
    if (thing.file != kNoFile) {
        const std::string& name = checkpoint.file(thing.file).name;
        return QString::fromStdString(thing.byte ? formatAddress(FileAddress{name, {}, *thing.byte}) : name);
    }
    return thing.rank ? u"rank %1"_s.arg(*thing.rank) : QString();
}

} // namespace shardscope::ui
