// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/checkpoint/model/checkpoint.h"
#include "ui/jobs/check_run.h"

#include <QStringList>

namespace shardscope::ui {

/// One argument, quoted for a POSIX shell where necessary.
QString quotedWord(const QString& argument);
QString quotedWord(const std::string& argument);

/// The command-line arguments that open a checkpoint.
struct SourceWords {
    QString path; ///< PATH or SRC
    QStringList options; ///< --tag, --root and --donor where they are needed
};
SourceWords sourceWords(const CheckPlace& place);
/// The same for an open checkpoint: its run folder and tag if it has them, else the opened path.
SourceWords sourceWords(const Checkpoint& checkpoint, const CheckPlace& place);

} // namespace shardscope::ui
