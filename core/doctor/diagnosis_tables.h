// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/doctor/diagnosis.h"

#include <span>

namespace shardscope {

// The tables of core/doctor/diagnoses, each in a file of that name.
std::span<const Diagnosis> filesDiagnoses();
std::span<const Diagnosis> locationDiagnoses();
std::span<const Diagnosis> parametersDiagnoses();
std::span<const Diagnosis> stateDiagnoses();
std::span<const Diagnosis> targetsDiagnoses();
std::span<const Diagnosis> trainingDiagnoses();
std::span<const Diagnosis> valuesDiagnoses();

} // namespace shardscope
