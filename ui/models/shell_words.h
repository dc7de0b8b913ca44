// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/checkpoint/checkpoint.h"

#include <QStringList>

namespace shardscope::ui {

/// One argument as a POSIX shell takes it: in quotation marks where it needs them.
QString quotedWord(const QString& argument);
QString quotedWord(const std::string& argument);
/// "--tag NAME" where a run folder alone would mean another tag; else nothing.
QStringList tagWords(const Checkpoint& checkpoint);

} // namespace shardscope::ui
