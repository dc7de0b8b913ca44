// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "ui/style/theme.h"
#include "ui/tensorview/element_cursor.h"
#include "ui/tensorview/tensor_findings.h"
#include "ui/tensorview/tensor_slice.h"

#include <QWidget>

class QCheckBox;
class QLabel;

namespace shardscope::ui {

class HeatMap;
class HistogramView;
class StatisticsPanel;

/// Heat map, histogram and statistics of a tensor with their switches; the histogram's brush is the range of
/// the heat map's colours.
class TensorPictures : public QWidget
{
    Q_OBJECT
public:
    TensorPictures(io::FileSystem& files, Theme& theme, ElementCursor& cursor, QWidget* parent = nullptr);

    void setSlice(const TensorSourcePtr& source, const TensorSlice& slice);
    /// The cursor's element in words.
    void setCursorText(const QString& text);
    void setFindings(const std::optional<TensorFindings>& findings, const QString& progress);
    [[nodiscard]] bool isBusy() const;

Q_SIGNALS:
    void exactRequested();
    void cancelRequested();
    /// As the heat map's.
    void cellDescribed(const QString& text);
    void centreRequested();

private:
    QCheckBox* addSwitch(const QString& name, const QString& text, const QString& tip);
    void showRange();

    HeatMap* m_heat;
    HistogramView* m_histogram;
    StatisticsPanel* m_statistics;
    QCheckBox* m_symmetric;
    QCheckBox* m_logColours;
    QCheckBox* m_logCounts;
    QCheckBox* m_byExponent;
    QLabel* m_sampled;
    bool m_symmetryIsOurs = true; ///< nobody has chosen it yet: the values' signs decide
};

} // namespace shardscope::ui
