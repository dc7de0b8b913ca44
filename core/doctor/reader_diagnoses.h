// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/doctor/diagnosis.h"

#include <span>

namespace shardscope {

/// Diagnoses whose findings the readers of core/checkpoint raise: data alone
/// (core/doctor/diagnoses/of_readers).
std::span<const Diagnosis> readerLocationDiagnoses(); ///< which files are there, and which belong together
std::span<const Diagnosis> readerFileDiagnoses(); ///< files as such, and the records in them
std::span<const Diagnosis> readerStateDiagnoses(); ///< parameters, optimizer state, options, swap files

} // namespace shardscope
