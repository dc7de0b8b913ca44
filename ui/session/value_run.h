// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/base/job_context.h"
#include "core/base/result.h"
#include "core/checkpoint/model/checkpoint.h"
#include "core/io/file_system.h"
#include "ui/jobs/latest_only.h"
#include "ui/models/parameters/param_knowledge.h"
#include "ui/session/check_run.h"

#include <QObject>

#include <optional>

namespace shardscope {
struct ByteFacts;
}

namespace shardscope::ui {

/// The values of a checkpoint's tensors, for filters such as `has:nan`: taken from a check of every byte, or
/// read on request. One checkpoint at a time. Lives on the GUI thread.
class ValueRun : public QObject
{
    Q_OBJECT
public:
    explicit ValueRun(io::FileSystem& files, QObject* parent = nullptr);
    ~ValueRun() override;

    /// What was read of this checkpoint so far; null if nothing was.
    [[nodiscard]] ReadValuesPtr of(const CheckpointPtr& checkpoint) const;
    /// Reads all tensors of the checkpoint, on a worker. Nothing if it is being done.
    void start(const PlacedCheckpoint& placed);
    /// Keeps what was read so far.
    void stop();
    /// The same if another checkpoint than this one is being read.
    void leave(const CheckpointPtr& shown);
    /// Takes over what a check has read. `checkpoint` is the check's.
    void take(const CheckpointPtr& checkpoint, std::shared_ptr<const ByteFacts> facts);
    /// Forgets everything, as when no checkpoint is open.
    void clear();

    [[nodiscard]] bool isRunning() const { return m_running; }
    [[nodiscard]] const Progress& progress() const { return m_progress; }
    /// Why reading ended early.
    [[nodiscard]] const std::optional<Error>& error() const { return m_error; }
    /// Stored bytes of all tensors of a checkpoint.
    [[nodiscard]] static uint64_t bytesOf(const Checkpoint& checkpoint);

Q_SIGNALS:
    /// More is known, or it began or ended.
    void changed();
    void progressChanged();

private:
    struct Stage {
        std::optional<Progress> progress;
        ReadValuesPtr values;
        std::optional<Error> error;
        bool isLast = false;
    };
    [[nodiscard]] bool isOf(const CheckpointPtr& checkpoint) const;
    void receive(Stage stage);

    io::FileSystem& m_files;
    CheckpointPtr m_checkpoint; ///< that the following are of
    ReadValuesPtr m_values;
    Progress m_progress;
    std::optional<Error> m_error;
    bool m_running = false;
    std::stop_source m_stop; ///< stops only the reading; what it read is still accepted
    LatestOnly m_reader{WorkLength::Long};
    LatestOnly m_taker{WorkLength::Short};
};

/// Whether two snapshots are of the same files, unchanged.
[[nodiscard]] bool hasSameFiles(const Checkpoint& left, const Checkpoint& right);

} // namespace shardscope::ui
