// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/report/json/json_writer.h"

#include <QString>

#include <functional>

namespace shardscope::ui {

/// Writes a file in pieces; an existing file is kept until the new one is complete. Returns why it could not
/// be written; empty if it was.
QString saveText(const QString& path, const std::function<void(const TextSink&)>& write);

} // namespace shardscope::ui
