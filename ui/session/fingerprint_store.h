// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/checkpoint/model/checkpoint.h"

#include <QObject>
#include <QString>

#include <memory>
#include <vector>

namespace shardscope::ui {

/// The fingerprints of the checkpoints of a window that were computed. GUI thread only.
class FingerprintStore : public QObject
{
    Q_OBJECT
public:
    using QObject::QObject;

    /// Of this snapshot: a checkpoint that is read again may be another one.
    void put(const std::weak_ptr<const Checkpoint>& checkpoint, const QString& fingerprint);
    /// Empty if it is not known.
    [[nodiscard]] QString of(const CheckpointPtr& checkpoint) const;

Q_SIGNALS:
    void changed();

private:
    struct Known {
        std::weak_ptr<const Checkpoint> checkpoint;
        QString fingerprint;
    };
    std::vector<Known> m_known;
};

} // namespace shardscope::ui
