// SPDX-License-Identifier: Apache-2.0
#include "ui/layoutmap/geometry/map_text.h"

#include "core/base/text.h"
#include "core/checkpoint/model/optim_states.h"
#include "core/layout/whole_units.h"
#include "ui/text/role_text.h"
#include "ui/text/text.h"

#include <QLocale>
#include <QStringList>

#include <algorithm>
#include <cmath>
#include <initializer_list>
#include <optional>

// What the map says of its sections and rows.

namespace shardscope::ui {

namespace {

/// The weight decay of a param group, if its options are known.
std::optional<double> decayOf(const Checkpoint& part, const ParamGroup& group)
{
    if (group.options == kNoNode || part.templateOptim == kNoFile) {
        return std::nullopt;
    }
    const auto& content = part.file(part.templateOptim).content;
    if (!content || !isMapping(content->pickle(), group.options)) {
        return std::nullopt;
    }
    const PickleGraph& graph = content->pickle();
    const NodeId node = readGroupOptions(graph, group.options).weightDecay;
    if (node == kNoNode) {
        return std::nullopt;
    }
    return graph.kind(node) == NodeKind::Float ? std::optional(graph.real(node))
        : graph.kind(node) == NodeKind::Int    ? std::optional(static_cast<double>(graph.integer(node)))
                                               : std::nullopt;
}

/// Whether the weights of a unit decay, where that tells param groups apart.
std::optional<bool> hasDecay(const Checkpoint& checkpoint, const FlatUnit& unit)
{
    const Checkpoint& part = checkpoint.partOf(unit);
    std::optional<bool> own;
    bool with = false;
    bool without = false;
    for (const ParamGroup& group : part.groups) {
        const auto decay = decayOf(part, group);
        with = with || (decay && *decay != 0);
        without = without || (decay && *decay == 0);
        if (decay && unit.group >= 0 && group.index == static_cast<uint32_t>(unit.group)) {
            own = *decay != 0;
        }
    }
    return with && without ? own : std::nullopt;
}

/// "22 parameters"; "4 buffers" of a section that has nothing else.
QString membersText(const MapSource& source, uint64_t count)
{
    const FlatUnit& unit = source.unit();
    const bool hasBuffers = unit.kind == UnitKind::Whole && unit.group < 0 && !unit.params.empty()
        && source.checkpoint().params[index(unit.params.front())].role == ParamRole::Buffer;
    if (!hasBuffers) {
        return parametersText(count);
    }
    return count == 1 ? MapText::tr("1 buffer") : MapText::tr("%1 buffers").arg(countText(count));
}

} // namespace

QString MapText::sectionName(const MapSource& source)
{
    if (source.files()) {
        return tr("Files");
    }
    const auto& sections = source.query().looks().sections;
    const auto content = std::find_if(sections.begin(), sections.end(), [&](const MapSectionContent& of) {
        return !of.units.empty() && of.units.front() == source.query().unit();
    });
    return sectionName(
        source.checkpoint(), source.unit(), content == sections.end() ? uint8_t{0} : content->classes);
}

QString MapText::shortSectionName(const MapSource& source)
{
    const FlatUnit& unit = source.unit();
    return unit.kind == UnitKind::Frozen ? tr("frozen")
        : unit.subgroup                  ? tr("sub-group %1").arg(*unit.subgroup)
        : unit.kind == UnitKind::Whole   ? tr("whole")
                                         : tr("group %1").arg(unit.group);
}

QString MapText::sectionName(const Checkpoint& checkpoint, const MapSectionContent& content)
{
    return content.units.empty()
        ? sectionName(checkpoint, *unitOf(checkpoint, *content.tensors.front()), 0)
        : sectionName(checkpoint, checkpoint.units[index(content.units.front())], content.classes);
}

QString MapText::groupWords(const Checkpoint& checkpoint, const FlatUnit& unit, uint8_t classes)
{
    const auto only = [classes](std::initializer_list<ParamClass> of) {
        unsigned mask = 0;
        for (const ParamClass paramClass : of) {
            mask |= 1u << static_cast<unsigned>(paramClass);
        }
        return classes != 0 && (classes & ~mask) == 0;
    };
    QString words = only({ParamClass::Norm})           ? tr("norms")
        : only({ParamClass::Bias})                     ? tr("biases")
        : only({ParamClass::Norm, ParamClass::Bias})   ? tr("norms and biases")
        : only({ParamClass::Embedding})                ? tr("embeddings")
        : only({ParamClass::Expert})                   ? tr("experts")
        : only({ParamClass::Expert, ParamClass::Bias}) ? tr("experts and biases")
                                                       : tr("weights");
    if (const auto decays = hasDecay(checkpoint, unit)) {
        words += u' ' + (*decays ? tr("with decay") : tr("without decay"));
    }
    return words;
}

QString MapText::sectionName(const Checkpoint& checkpoint, const FlatUnit& unit, uint8_t classes)
{
    if (unit.kind == UnitKind::Whole && unit.group < 0) {
        switch (checkpoint.params[index(unit.params.front())].role) {
        case ParamRole::Buffer:
            return tr("Buffers, stored whole");
        case ParamRole::Frozen:
            return hasNoRunFolder(checkpoint.kind) ? tr("Weights") : tr("Frozen parameters, stored whole");
        case ParamRole::Trainable:
            return tr("Weights, stored whole");
        }
    }
    QString name;
    switch (unit.kind) {
    case UnitKind::Frozen:
        name = tr("Frozen parameters");
        break;
    case UnitKind::Whole:
        name = (unit.partition.ranks() > 1 ? tr("Group %1, %2 · split by rows")
                                           : tr("Group %1, %2 · whole tensors"))
                   .arg(unit.group)
                   .arg(groupWords(checkpoint, unit, classes));
        break;
    case UnitKind::SubGroup:
    case UnitKind::Group:
        name = tr("Group %1, %2").arg(unit.group).arg(groupWords(checkpoint, unit, classes));
        if (unit.subgroup) {
            name += QStringLiteral(" · ") + tr("sub-group %1").arg(*unit.subgroup);
        }
        break;
    }
    const QString holder = holderText(checkpoint, unit);
    return holder.isEmpty() ? name : name + QStringLiteral(" · ") + holder;
}

QString MapText::rowName(const MapSource& source, uint32_t row)
{
    if (source.files()) {
        return toText(source.files()->file(row).name);
    }
    if (isStoredWhole(source.unit())) {
        return tr("whole");
    }
    if (source.projection() == MapQuery::Projection::Unrolled) {
        return source.ranks() == 1 ? tr("1 rank") : tr("%1 ranks").arg(count(source.ranks()));
    }
    return QStringLiteral("dp %1").arg(source.unit().dpRankOf(row));
}

QString MapText::sectionFacts(const MapSource& source)
{
    const MapQuery::Sum all = source.total();
    if (source.files()) {
        return sum(source, all);
    }
    QStringList facts;
    const bool oneType = std::all_of(source.parts().begin(), source.parts().end(), [&](const MapQuery& part) {
        return part.flat().states[part.stateIndex()].dtype == source.state().dtype;
    });
    facts << QString::fromStdString(source.state().name) + QLatin1Char(' ')
            + (oneType ? toText(dtypeName(source.state().dtype)) : tr("of several types"))
          << membersText(source, all.params)
          << (all.elements == 1 ? tr("1 element") : tr("%1 elements").arg(shortCountText(all.elements)))
          << bytesText(all.bytes);
    if (source.unit().kind != UnitKind::Whole) {
        facts << (all.ranks == 1 ? tr("1 rank") : tr("%1 ranks").arg(count(all.ranks)));
    }
    if (all.padding > 0) {
        facts << tr("%1 padding (%2)")
                     .arg(count(all.padding),
                         percentText(static_cast<double>(all.padding)
                             / static_cast<double>(all.padding + all.elements)));
    }
    return facts.join(QStringLiteral(" · "));
}

QString MapText::factor(double widening)
{
    if (widening < 9.95) {
        return QStringLiteral("×") + QLocale::c().toString(widening, 'f', 1);
    }
    const double unit = std::pow(10.0, std::floor(std::log10(widening)) - 1);
    return QStringLiteral("×") + countText(static_cast<uint64_t>(std::round(widening / unit) * unit));
}

QString MapText::axisName(const MapSource& source, const MapLayout& layout)
{
    const QString name = sectionName(source);
    return layout.isEnlarged(source.number()) ? name + u' ' + factor(layout.widening(source.number())) : name;
}

QString MapText::shown(const MapSource& source, const MapBlock& block)
{
    if (block.rows.isEmpty()) {
        return tr("not on screen");
    }
    if (block.elements.isEmpty()) {
        return endsBefore(source);
    }
    const QString first = rowName(source, static_cast<uint32_t>(block.rows.begin));
    const QString last = rowName(source, static_cast<uint32_t>(block.rows.end - 1));
    return (source.files() ? tr("%1, bytes %2 to %3 of %4") : tr("%1, elements %2 to %3 of %4"))
        .arg(first == last ? first : tr("%1 to %2").arg(first, last), count(block.elements.begin),
            count(std::max<uint64_t>(std::min(block.elements.end, source.columns()), 1) - 1),
            count(source.columns()));
}

QString MapText::inStates(const QString& what, const std::vector<std::string>& states)
{
    if (states.empty()) {
        return what;
    }
    QStringList names;
    for (const std::string& state : states) {
        names << toText(state);
    }
    return tr("%1 in %2").arg(what, names.join(QStringLiteral(", ")));
}

QString MapText::worst(const MapStack& stack)
{
    const int8_t worst = stack.worstSeverity();
    return worst < 1 ? QString()
                     : inStates(worst >= 2 ? tr("error") : tr("warning"), stack.otherStatesWithWorst());
}

QString MapText::whole(const MapStack& stack)
{
    QStringList facts;
    if (stack.count() > 0 && !stack.files()) {
        facts << tr("state %1").arg(toText(stack.source(0).state().name));
    }
    facts << (stack.count() == 1 ? tr("1 section") : tr("%1 sections").arg(stack.count()));
    bool missing = false;
    for (uint32_t section = 0; section < stack.count(); ++section) {
        missing = missing || stack.source(section).anyMissing(0, stack.source(section).rows());
    }
    if (missing) {
        facts << (stack.files() ? tr("files are missing") : tr("shards are missing"));
    }
    const int8_t worst = stack.worstSeverity();
    if (worst >= 1) {
        facts << inStates(worst >= 2 ? tr("has errors") : tr("has warnings"), stack.otherStatesWithWorst());
    }
    return facts.join(QStringLiteral(" · "));
}

QString MapText::endsBefore(const MapSource& source)
{
    return tr("‹ %1 elements in a row: the section ends before this place").arg(count(source.columns()));
}

} // namespace shardscope::ui
