// SPDX-License-Identifier: Apache-2.0
#include "ui/models/parameters/parameter_table_model.h"

#include "ui/text/rank_list.h"
#include "ui/text/role_text.h"
#include "ui/text/text.h"

#include <QPointF>

using namespace Qt::StringLiterals;

namespace shardscope::ui {

ParameterTableModel::ParameterTableModel(QObject* parent)
    : ColumnTable(parent)
{
    using enum ParamColumn;
    std::vector<Column> columns(kParamColumns);
    const auto at = [&](ParamColumn column) -> Column& { return columns[static_cast<size_t>(column)]; };
    const QString titles[] = {tr("Name"), tr("Shape"), tr("Elements"), tr("Size"), tr("Ranks"), tr("Where"),
        tr("Padding"), tr("Dtype"), tr("Role"), tr("Group"), tr("States")};
    for (int i = 0; i < kParamColumns; ++i) {
        const auto column = static_cast<ParamColumn>(i);
        at(column).title = titles[i];
        at(column).text = [this, column](ParamId id) { return textOf(id, column); };
        if (column != Name && column != Bytes)
            at(column).muted = Column::always;
    }
    for (const ParamColumn column : {Elements, Bytes, Ranks, Padding, Group})
        at(column).isNumber = true;
    const auto place = [this](ParamId id) { return placeOf(id); };
    at(Elements).copy = [this](ParamId id) { return QString::number(param(id).elements); };
    at(Bytes).copy = [this](ParamId id) { return QString::number(facts(id).bytes); };
    at(Name).tip = [this](ParamId id) {
        QString text = toText(param(id).name);
        if (facts(id).lostBytes > 0)
            text += u'\n' % tr("%1 of it is missing.").arg(bytesText(facts(id).lostBytes));
        const QString found = markAt(id).text();
        return found.isEmpty() ? text : QString(text % u'\n' % found);
    };
    at(Bytes).tip = [this](ParamId id) {
        const QString present = tr("%1 in all states").arg(exactBytesText(facts(id).bytes));
        return facts(id).lostBytes == 0
            ? present
            : QString(present % u'\n' % tr("%1 more is missing").arg(exactBytesText(facts(id).lostBytes)));
    };
    at(Bytes).share = [this](ParamId id) { return shareOf(facts(id).bytes, m_index->maxBytes()); };
    at(Ranks).tip = place;
    at(Where).text = nullptr; // drawn
    at(Where).tip = place;
    at(Where).copy = place;
    at(Where).where = [this](ParamId id) -> QVariant {
        if (facts(id).ranks() == 0)
            return {};
        QVariantList segments{QPointF(facts(id).begin, facts(id).end)};
        for (const auto& [begin, end] : m_index->lostParts(id))
            segments.append(QPointF(begin, end));
        return segments;
    };
    at(Name).severity
        = [this](ParamId id) { return std::max(facts(id).lostBytes > 0 ? 2 : -1, markAt(id).severity); };
    at(Padding).copy = [this](ParamId id) { return QString::number(facts(id).padding); };
    at(Padding).tip = [this](ParamId id) {
        return tr("%1 elements of padding next to it, on all ranks together")
            .arg(countText(facts(id).padding));
    };
    at(Role).tip = [this](ParamId id) {
        return param(id).sharedWith == kNoParam
            ? textOf(id, Role)
            : tr("Shares its storage with %1").arg(toText(param(param(id).sharedWith).name));
    };
    setColumns(std::move(columns));
}

void ParameterTableModel::setIndex(ParameterIndexPtr index)
{
    m_index = std::move(index);
    setRows({});
}

void ParameterTableModel::setFindings(FindingPlacesPtr findings)
{
    m_findings = std::move(findings);
    if (rowCount() > 0)
        Q_EMIT dataChanged(index(0, 0), index(rowCount() - 1, 0), {SeverityRole, Qt::ToolTipRole});
}

FindingMark ParameterTableModel::markAt(ParamId id) const
{
    const bool isOfIndex = m_findings && &m_findings->checkpoint() == m_index->checkpoint().get();
    return isOfIndex ? markOf(*m_findings, m_findings->ofParam(id)) : FindingMark();
}

const Parameter& ParameterTableModel::param(ParamId id) const
{
    return m_index->checkpoint()->params[shardscope::index(id)];
}

QString ParameterTableModel::textOf(ParamId id, ParamColumn column) const
{
    switch (column) {
    case ParamColumn::Name:
        return toText(param(id).name);
    case ParamColumn::Shape:
        return QString::fromStdString(shapeText(param(id).shape));
    case ParamColumn::Elements:
        return countText(param(id).elements);
    case ParamColumn::Bytes:
        return bytesText(facts(id).bytes);
    case ParamColumn::Ranks:
        return facts(id).ranks() == 0 ? u"–"_s : countText(facts(id).ranks());
    case ParamColumn::Where:
        return {}; // drawn
    case ParamColumn::Padding:
        return facts(id).padding == 0 ? u"–"_s : countText(facts(id).padding);
    case ParamColumn::DType:
        return facts(id).dtype == DType::Unknown ? u"–"_s : toText(dtypeName(facts(id).dtype));
    case ParamColumn::Role: {
        const QString role = paramRoleText(*m_index->checkpoint(), param(id));
        return param(id).sharedWith != kNoParam ? tr("%1, shared").arg(role) : role;
    }
    case ParamColumn::Group:
        return param(id).group < 0 ? u"–"_s : QString::number(param(id).group);
    case ParamColumn::States:
        return toText(m_index->stateSets()[facts(id).states]);
    }
    return {};
}

QString ParameterTableModel::placeOf(ParamId id) const
{
    const Checkpoint& checkpoint = *m_index->checkpoint();
    const FlatUnit* unit = m_index->unitOf(id);
    const ParamFacts& held = facts(id);
    const ParamId owner = param(id).sharedWith;
    const QString tied = owner == kNoParam ? QString() : tr(", tied to %1").arg(toText(param(owner).name));
    if (unit == nullptr || held.ranks() == 0)
        return tr("stored whole") % tied;
    const auto rank = [&](uint32_t share) { return rankLabel(checkpoint, checkpoint.rankOf(*unit, share)); };
    const QString where = held.ranks() == 1 ? rank(held.firstShare)
                                            : tr("%1 to %2").arg(rank(held.firstShare), rank(held.lastShare));
    return tr("%1, of %2 ranks").arg(where, countText(unit->partition.ranks())) % tied;
}

} // namespace shardscope::ui
