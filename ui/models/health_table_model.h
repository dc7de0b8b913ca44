// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/compare/health/health_alarms.h"
#include "ui/models/column_table.h"

#include <memory>

namespace shardscope::ui {

/// A figure of a layer or parameter.
struct HealthQuantity {
    QString title; ///< "Update"
    std::string state; ///< rms of it; empty: of what the kind says
    enum class Kind : uint8_t { Update, Weights, State, Zeros } kind = Kind::Update;

    [[nodiscard]] double valueOf(const HealthRow& row) const; ///< NaN if it is not known
    bool operator==(const HealthQuantity&) const = default;
};
QString healthValueText(double value); ///< "1.23e-05", "–"

/// Layers, or parameters, of a tag with their figures, and one figure over the tags of the run as a small
/// line.
class HealthTableModel : public ColumnTable<uint32_t>
{
    Q_OBJECT
public:
    explicit HealthTableModel(QObject* parent = nullptr);

    static constexpr int kOverTags = 1; ///< the column of small lines

    /// `owner` keeps all others alive.
    struct Content {
        std::shared_ptr<const void> owner;
        const std::vector<HealthRow>* rows = nullptr;
        const std::vector<TagHealth>* history = nullptr;
        const std::vector<HealthAlarm>* alarms = nullptr;
        bool byParam = false;
    };
    void setContent(Content content, const HealthQuantity& overTags);
    [[nodiscard]] const std::vector<HealthQuantity>& quantities() const { return m_quantities; }
    [[nodiscard]] const HealthRow& row(uint32_t number) const { return (*m_content.rows)[number]; }
    /// -1 if it is not shown.
    [[nodiscard]] int rowNamed(std::string_view name) const;
    void sort(int column, Qt::SortOrder order) override;

private:
    void makeColumns();
    [[nodiscard]] std::vector<uint32_t> sorted(std::vector<uint32_t> rows) const;
    [[nodiscard]] Column nameColumn() const;
    [[nodiscard]] Column quantityColumn(const HealthQuantity& quantity) const;
    [[nodiscard]] Column countColumn(const QString& title, uint64_t StateHealth::*count) const;
    [[nodiscard]] Column tagsColumn() const;
    [[nodiscard]] int severityOf(const HealthRow& row) const;

    Content m_content;
    HealthQuantity m_overTags;
    std::vector<HealthQuantity> m_quantities;
    int m_sortColumn = -1;
    Qt::SortOrder m_sortOrder = Qt::AscendingOrder;
};

/// The values of a layer or parameter in each tag: NaN where it has none. `place`: its number in the rows,
/// which most tags share.
std::vector<double> valuesOverTags(const std::vector<TagHealth>& history, std::string_view name, bool byParam,
    const HealthQuantity& quantity, size_t place = 0);

} // namespace shardscope::ui
