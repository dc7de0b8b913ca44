// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/checkpoint/model/checkpoint.h"
#include "ui/jobs/check_run.h"

#include <QStringList>

namespace shardscope::ui {

/// One argument as a POSIX shell takes it: in quotation marks where it needs them.
QString quotedWord(const QString& argument);
QString quotedWord(const std::string& argument);

/// How the command line names what is opened somewhere.
struct SourceWords {
    QString path; ///< PATH or SRC
    QStringList options; ///< --tag, --root and --donor where they are needed
};
SourceWords sourceWords(const CheckPlace& place);
/// The same of an open checkpoint: its run folder and tag where it has them, else what was opened.
SourceWords sourceWords(const Checkpoint& checkpoint, const CheckPlace& place);

} // namespace shardscope::ui
