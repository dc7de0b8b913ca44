// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "ui/jobs/latest_only.h"
#include "ui/style/theme.h"
#include "ui/tensorview/element_cursor.h"
#include "ui/tensorview/tensor_findings.h"
#include "ui/tensorview/tensor_slice.h"

#include <QWidget>

#include <functional>

class QCheckBox;
class QLabel;

namespace shardscope::ui {

class HeatMap;
class HistogramView;
class LineChart;
class StatisticsPanel;

/// Heat map, or line of a vector, histogram and statistics of a tensor with their switches; the histogram's
/// brush is the range of the heat map's colours and of the line's axis.
class TensorPictures : public QWidget
{
    Q_OBJECT
public:
    TensorPictures(io::FileSystem& files, Theme& theme, ElementCursor& cursor, QWidget* parent = nullptr);

    void setSlice(const TensorSourcePtr& source, const TensorSlice& slice);
    /// The cursor's element in words.
    void setCursorText(const QString& text);
    /// What computes exact statistics where the tensor is, on a worker, so that its values are not read here.
    using ComputeElsewhere
        = std::function<Result<TensorFindings>(const TensorSource& source, JobContext& job)>;
    /// Reads the statistics of another tensor: of a sample, and of all elements if they are few. Null: none.
    void setSource(const TensorSourcePtr& source, ComputeElsewhere elsewhere = {});
    [[nodiscard]] const std::optional<TensorFindings>& findings() const { return m_findings; }
    [[nodiscard]] bool isBusy() const;

Q_SIGNALS:
    void findingsChanged();
    /// As those of heat map and line.
    void cellDescribed(const QString& text);
    void centreRequested();

private:
    struct Stage {
        std::optional<TensorFindings> findings;
        QString progress;
    };
    void findOut(bool exact);
    void showFindings();
    QCheckBox* addSwitch(const QString& name, const QString& text, const QString& tip);
    void showRange();

    io::FileSystem& m_files;
    TensorSourcePtr m_source;
    ComputeElsewhere m_elsewhere; ///< empty: here
    TensorSourcePtr m_drawn;
    std::optional<TensorFindings> m_findings;
    QString m_progress;
    HeatMap* m_heat;
    LineChart* m_line; ///< in its place for tensors of less than two dimensions
    HistogramView* m_histogram;
    StatisticsPanel* m_statistics;
    QCheckBox* m_symmetric;
    QCheckBox* m_logScale;
    QCheckBox* m_logCounts;
    QCheckBox* m_byExponent;
    QLabel* m_sampled;
    bool m_symmetryIsOurs = true; ///< nobody has chosen it yet: the values' signs decide
    LatestOnly m_reader{WorkLength::Long};
};

} // namespace shardscope::ui
