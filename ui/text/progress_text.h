// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/base/job_context.h"

#include <QStringList>

namespace shardscope::ui {

/// How far a job is, a fact each: bytes, rate, time left. Facts that are not known are left out.
QStringList progressFacts(const Progress& progress);

} // namespace shardscope::ui
