// SPDX-License-Identifier: Apache-2.0
#include "ui/session/findings/finding_tree_model.h"

#include "ui/models/model_roles.h"
#include "ui/session/findings/finding_groups.h"
#include "ui/session/findings/finding_ways.h"
#include "ui/style/icons.h"
#include "ui/text/text.h"

#include <algorithm>
#include <map>
#include <tuple>

using namespace Qt::StringLiterals;

namespace shardscope::ui {

FindingTreeModel::FindingTreeModel(const Theme& theme, QObject* parent)
    : QAbstractItemModel(parent)
    , m_icons{themedIcon(theme, u"info"_s, ThemeRole::Info),
          themedIcon(theme, u"warning"_s, ThemeRole::Warning),
          themedIcon(theme, u"error"_s, ThemeRole::Error)}
{
}

void FindingTreeModel::setFindings(const std::vector<DoctorFinding>& findings)
{
    beginResetModel();
    m_all = findings;
    rebuild();
    endResetModel();
}

std::vector<FilterTerm> FindingTreeModel::terms()
{
    using enum FilterTerm::Values;
    return {{u"severity"_s, Choice, {u"error"_s, u"warning"_s, u"info"_s}, u"how serious: severity:error"_s},
        {u"code"_s, Text, {}, u"part of the code: code:missing"_s},
        {u"where"_s, Text, {}, u"part of the place: where:rank_3"_s}};
}

void FindingTreeModel::setFilter(const QString& text)
{
    beginResetModel();
    m_filter = FilterText::read(text, terms());
    rebuild();
    endResetModel();
}

void FindingTreeModel::setShown(Severity severity, bool shown)
{
    beginResetModel();
    m_shown[static_cast<size_t>(severity)] = shown;
    rebuild();
    endResetModel();
}

void FindingTreeModel::setTicked(const std::set<std::string>& codes)
{
    m_ticked = codes;
    showTicked();
}

void FindingTreeModel::setOutlook(std::map<std::string, RepairOutlook> outlook)
{
    m_outlook = std::move(outlook);
    showTicked();
}

void FindingTreeModel::setPlanned(std::optional<bool> isPossible)
{
    if (std::exchange(m_planned, isPossible) != isPossible)
        showTicked();
}

void FindingTreeModel::showTicked()
{
    if (!m_kinds.empty())
        Q_EMIT dataChanged(index(0, 0), index(static_cast<int>(m_kinds.size()) - 1, ColumnCount - 1));
}

void FindingTreeModel::rebuild()
{
    m_kinds.clear();
    for (size_t i = 0; i < m_all.size(); ++i) {
        const DoctorFinding& made = m_all[i];
        if (!matches(made))
            continue;
        const auto known = std::find_if(m_kinds.begin(), m_kinds.end(), [&made](const Kind& kind) {
            return kind.code == made.finding.code && kind.severity == made.finding.severity;
        });
        Kind& kind = known != m_kinds.end() ? *known
                                            : m_kinds.emplace_back(Kind{made.diagnosis, made.finding.severity,
                                                std::string(made.finding.code), {}, {}});
        kind.findings.push_back(i);
    }
    for (Kind& kind : m_kinds)
        makeRows(kind);
    const auto order = [](const Kind& kind) {
        return std::tuple(
            -static_cast<int>(kind.severity), kind.diagnosis->silent ? 0 : 1, std::string_view(kind.code));
    };
    std::sort(m_kinds.begin(), m_kinds.end(),
        [&order](const Kind& a, const Kind& b) { return order(a) < order(b); });
}

void FindingTreeModel::makeRows(Kind& kind) const
{
    constexpr size_t kMostCompared = 500; // so many different ones are a list that is searched anyway
    if (kind.findings.size() > kMostCompared) {
        for (const size_t i : kind.findings)
            kind.rows.push_back({sentenceText(m_all[i].finding.message), {i}});
        return;
    }
    std::vector<const Finding*> findings;
    std::map<const Finding*, size_t> numbers;
    for (const size_t i : kind.findings) {
        findings.push_back(&m_all[i].finding);
        numbers.emplace(&m_all[i].finding, i);
    }
    for (const FindingGroup& group : groupFindings(findings, AlikeIn::One)) {
        Row& row = kind.rows.emplace_back(Row{group.message, {}});
        for (const Finding* finding : group.findings)
            row.findings.push_back(numbers.at(finding));
    }
}

const FindingTreeModel::Row& FindingTreeModel::rowAt(const QModelIndex& at) const
{
    return m_kinds[static_cast<size_t>(parent(at).row())].rows[static_cast<size_t>(at.row())];
}

bool FindingTreeModel::matches(const DoctorFinding& made) const
{
    const Finding& finding = made.finding;
    if (!m_shown[static_cast<size_t>(finding.severity)])
        return false;
    if (m_filter.isEmpty())
        return true;
    const std::string where = placeText(finding.where).toStdString(); // as it is seen
    const std::array<std::string, 5> texts{loweredBytes(finding.code), loweredBytes(finding.message),
        loweredBytes(where), loweredBytes(made.diagnosis->name), loweredBytes(made.diagnosis->letter)};
    return m_filter.keeps(
        [&](const FilterWord& word) {
            return std::any_of(
                texts.begin(), texts.end(), [&](const std::string& text) { return word.matches(text); });
        },
        [&](const FilterWord& word) {
            if (word.key == "severity"_L1)
                return word.takes(QString::fromUtf8(severityName(finding.severity)));
            return word.takes(QString::fromStdString(texts[word.key == "code"_L1 ? 0 : 2]));
        });
}

std::vector<const DoctorFinding*> FindingTreeModel::findingsAt(const QModelIndex& at) const
{
    std::vector<const DoctorFinding*> out;
    if (!at.isValid())
        return out;
    const std::vector<size_t>& numbers
        = parent(at).isValid() ? rowAt(at).findings : m_kinds[static_cast<size_t>(at.row())].findings;
    for (const size_t i : numbers)
        out.push_back(&m_all[i]);
    return out;
}

FindingTreeModel::Key FindingTreeModel::keyOf(const QModelIndex& at) const
{
    const std::vector<const DoctorFinding*> findings = findingsAt(at);
    if (findings.empty())
        return {};
    const Finding& first = findings.front()->finding;
    if (!parent(at).isValid())
        return {std::string(first.code), first.severity, {}, {}};
    return {std::string(first.code), first.severity, first.message, first.where};
}

QModelIndex FindingTreeModel::find(const Key& key) const
{
    for (size_t k = 0; k < m_kinds.size(); ++k) {
        if (m_kinds[k].code != key.code || m_kinds[k].severity != key.severity)
            continue;
        const QModelIndex kind = index(static_cast<int>(k), 0);
        if (key.message.empty())
            return kind;
        const std::vector<Row>& rows = m_kinds[k].rows;
        const auto row = std::find_if(rows.begin(), rows.end(), [&](const Row& each) {
            return std::any_of(each.findings.begin(), each.findings.end(), [&](size_t i) {
                return m_all[i].finding.message == key.message && m_all[i].finding.where == key.where;
            });
        });
        return row == rows.end() ? kind : index(static_cast<int>(row - rows.begin()), 0, kind);
    }
    return {};
}

size_t FindingTreeModel::shownCount() const
{
    size_t count = 0;
    for (const Kind& kind : m_kinds)
        count += kind.findings.size();
    return count;
}

QModelIndex FindingTreeModel::index(int row, int column, const QModelIndex& parent) const
{
    if (!hasIndex(row, column, parent))
        return {};
    return createIndex(row, column, quintptr{parent.isValid() ? static_cast<quintptr>(parent.row()) + 1 : 0});
}

QModelIndex FindingTreeModel::parent(const QModelIndex& child) const
{
    if (!child.isValid() || child.internalId() == 0)
        return {};
    return createIndex(static_cast<int>(child.internalId() - 1), 0, quintptr{0});
}

int FindingTreeModel::rowCount(const QModelIndex& parent) const
{
    if (!parent.isValid())
        return static_cast<int>(m_kinds.size());
    if (parent.internalId() != 0 || parent.column() > 0)
        return 0;
    return static_cast<int>(m_kinds[static_cast<size_t>(parent.row())].rows.size());
}

int FindingTreeModel::columnCount(const QModelIndex& /*parent*/) const
{
    return ColumnCount;
}

QString FindingTreeModel::kindName(const Kind& kind)
{
    return sentenceText(kind.diagnosis->code == kind.code ? kind.diagnosis->name : kind.code);
}

/// Rows are cut in their middle: no end of these may say the opposite.
QString FindingTreeModel::repairText(const std::string& code) const
{
    const auto planned = m_outlook.find(code);
    return planned == m_outlook.end()        ? tr("repair not planned yet")
        : planned->second.whyNot.isEmpty()   ? tr("can be repaired")
        : planned->second.otherSettingsMayDo ? tr("repair needs other settings")
                                             : tr("repair refused");
}

QString FindingTreeModel::kindText(const Kind& kind) const
{
    QStringList text{kind.findings.size() == 1
            ? kindName(kind)
            : tr("%1 (%2)").arg(kindName(kind), countText(kind.findings.size()))};
    if (kind.diagnosis->silent && kind.severity == Severity::Error)
        text.append(tr("loads silently"));
    if (m_ticked.contains(kind.code))
        text.append(!m_planned ? tr("chosen for repair")
                : *m_planned   ? tr("will be repaired")
                               : tr("repair refused"));
    else if (kind.diagnosis->repairs && kind.severity >= kind.diagnosis->repairsFrom)
        text.append(repairText(kind.code));
    return text.join(u" · "_s);
}

QVariant FindingTreeModel::data(const QModelIndex& at, int role) const
{
    if (!at.isValid())
        return {};
    const QModelIndex above = parent(at);
    if (!above.isValid()) {
        const Kind& kind = m_kinds[static_cast<size_t>(at.row())];
        if (at.column() != What) // its findings have the places
            return {};
        if (role == Qt::DisplayRole || role == Qt::ToolTipRole)
            return kindText(kind);
        if (role == Qt::AccessibleTextRole)
            return QString(severityText(kind.severity) % u": "_s % kindText(kind));
        return role == Qt::DecorationRole ? QVariant(m_icons[static_cast<size_t>(kind.severity)])
                                          : QVariant();
    }
    const Row& row = rowAt(at);
    if (role == Qt::DisplayRole || role == Qt::ToolTipRole)
        return at.column() == What ? row.message : placeText(m_all[row.findings.front()].finding.where);
    return role == MutedRole && at.column() == Where ? QVariant(true) : QVariant();
}

QVariant FindingTreeModel::headerData(int section, Qt::Orientation orientation, int role) const
{
    if (orientation != Qt::Horizontal || role != Qt::DisplayRole)
        return {};
    return section == What ? tr("Finding") : tr("Where");
}

} // namespace shardscope::ui
