// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/describe/json_writer.h"
#include "core/io/file_system.h"

#include <QString>

#include <functional>
#include <vector>

class QIODevice;

namespace shardscope::ui {

/// A file to write.
struct SaveTarget {
    QString path;
    std::vector<io::Path> read; ///< checkpoints and runs: a file inside of them is refused
};

/// Writes a file; an existing one is kept until the new one is complete. `write` returns whether it went
/// well. Returns why the file could not be written (core/engine/write/output_place.h gives the rule for
/// places that are read); empty if it was. For a worker.
QString saveFile(const SaveTarget& target, const std::function<bool(QIODevice&)>& write);
/// The same, for text in pieces.
QString saveText(const SaveTarget& target, const std::function<void(const TextSink&)>& write);

} // namespace shardscope::ui
