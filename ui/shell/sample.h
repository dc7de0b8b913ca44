// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/base/error.h"
#include "ui/jobs/latest_only.h"

#include <QObject>

namespace shardscope::ui {

/// Finds the run folder of the bundled sample, a checkpoint of ZeRO-3 on four ranks that DeepSpeed wrote. It
/// is in the program, and is unpacked next to the settings once, as files that can only be read. Deletes
/// itself after one of its signals.
class SampleOpener : public QObject
{
    Q_OBJECT
public:
    SampleOpener(const QString& settingsFolder, QObject* parent);

Q_SIGNALS:
    void unpacked(const QString& runFolder);
    void failed(const shardscope::Error& error);

private:
    LatestOnly m_worker{WorkLength::Long};
};

} // namespace shardscope::ui
