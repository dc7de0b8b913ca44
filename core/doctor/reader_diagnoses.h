// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/doctor/diagnosis.h"

#include <span>

namespace shardscope {

/// Diagnoses with findings that the readers of core/checkpoint raise: data only
/// (core/doctor/diagnoses/of_readers).
std::span<const Diagnosis> readerLocationDiagnoses(); ///< missing, foreign and stale files
std::span<const Diagnosis> readerFileDiagnoses(); ///< files and the records in them
std::span<const Diagnosis> readerStateDiagnoses(); ///< parameters, optimizer state, options, swap files

} // namespace shardscope
