// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/base/finding.h"
#include "ui/jobs/latest_only.h"
#include "ui/jobs/save_file.h"
#include "ui/tensorview/tensor_slice.h"
#include "ui/tensorview/tensor_source.h"

#include <QWidget>

class QLabel;
class QPushButton;

namespace shardscope::ui {

/// A tensor as a NumPy file: all of it, or one slice.
struct ArrayWish {
    TensorSourcePtr source;
    std::optional<TensorSlice> slice;

    /// "norm.weight.fp32.npy", "conv.weight.fp32.slice.npy"
    [[nodiscard]] QString fileName() const;
};

/// Writes tensors as NumPy files, with all their digits. While it does, it is a line with the progress and a
/// button to cancel; else it is hidden.
class ArraySaver : public QWidget
{
    Q_OBJECT
public:
    explicit ArraySaver(io::FileSystem& files, QWidget* parent = nullptr);
    ~ArraySaver() override;

    /// Stops what is being written.
    void save(ArrayWish wish, SaveTarget target);
    [[nodiscard]] bool isRunning() const { return m_writer.isRunning(); }

Q_SIGNALS:
    void told(shardscope::Severity severity, const QString& text);

private:
    struct Stage;

    io::FileSystem& m_files;
    QLabel* m_text;
    QPushButton* m_cancel;
    std::stop_source m_stop;
    LatestOnly m_writer{WorkLength::Long};
};

} // namespace shardscope::ui
