// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "ui/style/theme.h"
#include "ui/tensorview/tensor_findings.h"

#include <QWidget>

class QGridLayout;
class QLabel;
class QPushButton;

namespace shardscope::ui {

/// The statistics of a tensor as facts; says whether they are of a sample, and offers exact ones.
class StatisticsPanel : public QWidget
{
    Q_OBJECT
public:
    StatisticsPanel(Theme& theme, QWidget* parent = nullptr);

    /// `progress` empty: no computation runs.
    void show(const std::optional<TensorFindings>& findings, const QString& progress);
    /// A statistic as it is shown, by its name.
    [[nodiscard]] QString value(const QString& name) const;

Q_SIGNALS:
    void exactRequested();
    void cancelRequested();

protected:
    void resizeEvent(QResizeEvent* event) override;

private:
    void arrange();

    Theme& m_theme;
    QWidget* m_facts;
    QGridLayout* m_grid;
    QList<std::pair<QLabel*, QLabel*>> m_pairs;
    QLabel* m_note;
    QPushButton* m_exact;
    bool m_running = false;
    int m_columns = 0;
};

} // namespace shardscope::ui
