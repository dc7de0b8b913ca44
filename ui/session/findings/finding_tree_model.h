// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/doctor/examine.h"
#include "ui/models/find/filter_text.h"
#include "ui/style/theme.h"

#include <QAbstractItemModel>
#include <QIcon>

#include <array>
#include <map>
#include <optional>
#include <set>

namespace shardscope::ui {

/// Whether findings of a kind can be repaired with the default settings.
struct RepairOutlook {
    QString whyNot; ///< empty if they can be
    bool otherSettingsMayDo = true; ///< such as a donor
};

/// The findings of the check, grouped by kind: errors that load silently first, then errors, warnings, infos.
/// Below each kind its findings. Filtered by severity and by a filter of words.
class FindingTreeModel : public QAbstractItemModel
{
    Q_OBJECT
public:
    enum Column { What, Where, ColumnCount };

    /// Which row something is, whatever else is found meanwhile.
    struct Key {
        std::string code;
        Severity severity = Severity::Info;
        std::string message; ///< empty: the kind
        Place where;
        bool operator==(const Key&) const = default;
    };

    explicit FindingTreeModel(const Theme& theme, QObject* parent = nullptr);

    void setFindings(const std::vector<DoctorFinding>& findings);
    /// Terms: severity, code, where.
    [[nodiscard]] static std::vector<FilterTerm> terms();
    void setFilter(const QString& text);
    [[nodiscard]] const std::optional<FilterProblem>& problem() const { return m_filter.problem(); }
    void setShown(Severity severity, bool shown);
    /// Codes of kinds that are chosen for the repair.
    void setTicked(const std::set<std::string>& codes);
    /// By code. Kinds that are not there were not planned.
    void setOutlook(std::map<std::string, RepairOutlook> outlook);
    [[nodiscard]] const std::map<std::string, RepairOutlook>& outlook() const { return m_outlook; }
    /// What their plan says: whether they will be repaired. Empty: there is no plan yet.
    void setPlanned(std::optional<bool> isPossible);

    /// The findings of a row: those that are alike, or all of a kind. Never empty for a valid index.
    [[nodiscard]] std::vector<const DoctorFinding*> findingsAt(const QModelIndex& at) const;
    [[nodiscard]] Key keyOf(const QModelIndex& at) const;
    /// Invalid when it is not shown.
    [[nodiscard]] QModelIndex find(const Key& key) const;
    [[nodiscard]] size_t shownCount() const;

    [[nodiscard]] QModelIndex index(int row, int column, const QModelIndex& parent = {}) const override;
    [[nodiscard]] QModelIndex parent(const QModelIndex& child) const override;
    [[nodiscard]] int rowCount(const QModelIndex& parent = {}) const override;
    [[nodiscard]] int columnCount(const QModelIndex& parent = {}) const override;
    [[nodiscard]] QVariant data(const QModelIndex& at, int role = Qt::DisplayRole) const override;
    [[nodiscard]] QVariant headerData(int section, Qt::Orientation orientation, int role) const override;

private:
    /// Findings in one place whose messages differ in names and numbers only.
    struct Row {
        QString message;
        std::vector<size_t> findings; ///< into m_all
    };
    struct Kind {
        const Diagnosis* diagnosis = nullptr;
        Severity severity = Severity::Info;
        std::string code;
        std::vector<size_t> findings; ///< into m_all
        std::vector<Row> rows;
    };
    void rebuild();
    void makeRows(Kind& kind) const;
    [[nodiscard]] const Row& rowAt(const QModelIndex& at) const;
    void showTicked();
    [[nodiscard]] bool matches(const DoctorFinding& made) const;
    [[nodiscard]] QString repairText(const std::string& code) const;
    /// Its name, how many there are, and what becomes of them.
    [[nodiscard]] QString kindText(const Kind& kind) const;
    [[nodiscard]] static QString kindName(const Kind& kind);

    std::vector<DoctorFinding> m_all;
    std::vector<Kind> m_kinds; ///< those that are shown
    FilterText m_filter;
    std::array<bool, 3> m_shown{true, true, true}; ///< by Severity
    std::set<std::string> m_ticked;
    std::map<std::string, RepairOutlook> m_outlook;
    std::optional<bool> m_planned;
    std::array<QIcon, 3> m_icons; ///< by Severity
};

} // namespace shardscope::ui
