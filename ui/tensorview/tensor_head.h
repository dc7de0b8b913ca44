// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "ui/jobs/latest_only.h"
#include "ui/tensorview/tensor_source.h"

#include <QWidget>

class QLabel;
class QTabBar;

namespace shardscope::ui {

class ElidedLabel;

/// "float32 · (256, 64) · 16,384 elements · 64.0 KiB · in group 0": the tensor.
QString tensorFacts(const TensorSource& source);
/// "strides (64, 1) · on 2 ranks · from byte 616 of storage data/11 in FILE · tied with lm_head.weight": how
/// it is stored. Looks at every parameter: for a worker.
QString storageFacts(const TensorSource& source);

/// Name, states and facts of a parameter, and what is wrong with its values.
class TensorHead : public QWidget
{
    Q_OBJECT
public:
    explicit TensorHead(QWidget* parent);

    [[nodiscard]] QTabBar* states() const { return m_states; }
    [[nodiscard]] std::string state() const;
    /// Without signals. The first one is chosen if `wanted` is none of them.
    void setStates(const std::vector<std::string>& states, const std::string& wanted);
    void setSource(const TensorSourcePtr& source);
    void setHealth(const QStringList& words);
    /// What was found about copies on other ranks; empty: nothing.
    void setCopies(const QString& text);
    [[nodiscard]] bool isBusy() const { return m_storageReader.isRunning(); }

private:
    ElidedLabel* m_name;
    QTabBar* m_states;
    QLabel* m_facts;
    QLabel* m_storage;
    QLabel* m_health;
    QLabel* m_copies;
    LatestOnly m_storageReader{WorkLength::Short};
};

} // namespace shardscope::ui
